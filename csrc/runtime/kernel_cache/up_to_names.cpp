#include <runtime/kernel_cache/up_to_names.h>

#include <algorithm>
#include <map>

namespace nvfuser {

namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isWord(char c) {
  return isDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

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
      } else {
        out_ += text_[at_++];
      }
    }
    return std::move(out_);
  }

 private:
  char next() const { return at_ + 1 < text_.size() ? text_[at_ + 1] : '\0'; }

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
    while (!rest.empty()) {
      const size_t length = std::min(rest.find('_'), rest.size());
      part(rest.substr(0, length));
      rest.remove_prefix(length);
      if (!rest.empty()) {
        out_ += '_';
        rest.remove_prefix(1);
      }
    }
  }

  void part(std::string_view name) {
    const bool is_type = name == "i8" || name == "i16" || name == "i32" || name == "i64";
    bool is_numbered = name.size() > 1 && !is_type &&
                       (name[0] == 'T' || name[0] == 'i' || name[0] == 'k' || name[0] == 'n');
    for (size_t i = 1; i < name.size(); ++i) {
      is_numbered = is_numbered && isDigit(name[i]);
    }
    if (!is_numbered) {
      out_ += name;
      return;
    }
    auto& numbers = numbers_[name[0]];
    const auto number = numbers.emplace(name.substr(1), numbers.size()).first->second;
    out_ += name[0];
    out_ += '#';
    out_ += std::to_string(number);
  }

  std::string_view text_;
  std::string_view entry_;
  size_t at_ = 0;
  std::string out_;
  std::map<char, std::map<std::string_view, size_t>> numbers_;
};

}  // namespace

std::string upToNames(std::string_view text, std::string_view entry) {
  return Renamer(text, entry).run();
}

}  // namespace nvfuser
