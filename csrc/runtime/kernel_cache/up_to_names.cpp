#include <runtime/kernel_cache/up_to_names.h>

#include <algorithm>
#include <array>
#include <map>

namespace nvfuser {

namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isWord(char c) {
  return isDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/// What stands in front of a number that is one of a tensor, a loop or another node.
constexpr std::array<std::string_view, 13> kKinds = {"T",     "i",       "k",    "n",     "acc",
                                                     "work",  "tickets", "last", "carry", "total",
                                                     "stage", "barrier", "p"};

bool isSpace(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

class Renamer {
 public:
  Renamer(std::string_view text, std::string_view entry) : text_(text), entry_(entry) {
    out_.reserve(text.size());
  }

  std::string run() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '/' && next() == '/') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (c == '/' && next() == '*') {
        const size_t end = text_.find("*/", at_ + 2);
        at_ = end == std::string_view::npos ? text_.size() : end + 2;
      } else if (c == '"' || c == '\'') {
        literal(c);
      } else if (isWord(c)) {
        word();
      } else if (isSpace(c)) {
        space();
      } else if (c == '#' && (out_.empty() || out_.back() == ' ' || out_.back() == '\n')) {
        directive();
      } else {
        out_ += text_[at_++];
      }
    }
    return std::move(out_);
  }

 private:
  char next() const { return at_ + 1 < text_.size() ? text_[at_ + 1] : '\0'; }

  /// One space for any number, and none at the beginning: where a line was broken says nothing.
  void space() {
    while (at_ < text_.size() && isSpace(text_[at_])) {
      ++at_;
    }
    if (!out_.empty() && out_.back() != ' ' && out_.back() != '\n') {
      out_ += ' ';
    }
  }

  /// A line of its own, as it is.
  void directive() {
    const size_t end = std::min(text_.find('\n', at_), text_.size());
    if (!out_.empty()) {
      out_.back() = '\n';
    }
    out_ += text_.substr(at_, end - at_);
    out_ += '\n';
    at_ = end;
  }

  /// A string or character, as it is.
  void literal(char quote) {
    size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != quote && text_[end] != '\n') {
      end += text_[end] == '\\' ? 2 : 1;
    }
    end = std::min(end + 1, text_.size());
    out_ += text_.substr(at_, end - at_);
    at_ = end;
  }

  /// A number or a name; of names, each part between underscores by itself.
  void word() {
    size_t end = at_;
    while (end < text_.size() && isWord(text_[end])) {
      ++end;
    }
    std::string_view rest = text_.substr(at_, end - at_);
    at_ = end;
    if (isDigit(rest.front())) {
      out_ += rest;
      return;
    }
    if (!entry_.empty() && rest.substr(0, entry_.size()) == entry_ &&
        (rest.size() == entry_.size() || rest[entry_.size()] == '_')) {
      out_ += '@';
      rest.remove_prefix(entry_.size());
    }
    const bool is_scalar = rest.starts_with("s_");
    while (!rest.empty()) {
      const size_t length = std::min(rest.find('_'), rest.size());
      part(rest.substr(0, length), is_scalar);
      rest.remove_prefix(length);
      if (!rest.empty()) {
        out_ += '_';
        rest.remove_prefix(1);
      }
    }
  }

  void part(std::string_view name, bool is_scalar) {
    const bool is_type = name == "i8" || name == "i16" || name == "i32" || name == "i64";
    size_t letters = name.size();
    while (letters > 0 && isDigit(name[letters - 1])) {
      --letters;
    }
    const std::string_view kind = name.substr(0, letters);
    const bool is_kind = std::find(kKinds.begin(), kKinds.end(), kind) != kKinds.end() ||
                         (is_scalar && letters == 1);
    if (letters == name.size() || !is_kind || (is_type && !is_scalar)) {
      out_ += name;
      return;
    }
    auto& numbers = numbers_[kind];
    const auto number = numbers.emplace(name.substr(letters), numbers.size()).first->second;
    out_ += kind;
    out_ += '#';
    out_ += std::to_string(number);
  }

  std::string_view text_;
  std::string_view entry_;
  size_t at_ = 0;
  std::string out_;
  std::map<std::string_view, std::map<std::string_view, size_t>> numbers_;
};

}  // namespace

std::string upToNames(std::string_view text, std::string_view entry) {
  return Renamer(text, entry).run();
}

}  // namespace nvfuser
