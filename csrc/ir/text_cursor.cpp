#include <ir/text_cursor.h>

#include <cctype>
#include <charconv>

#include <support/error.h>

namespace nvfuser {

namespace {

bool isNamePart(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
}

}  // namespace

std::string_view TextCursor::rest() {
  while (place_ < line_.size() && line_[place_] == ' ') {
    ++place_;
  }
  return line_.substr(place_);
}

bool TextCursor::take(std::string_view word) {
  if (!sees(word)) {
    return false;
  }
  place_ += word.size();
  return true;
}

bool TextCursor::takeDirectly(char c) {
  const bool is_here = place_ < line_.size() && line_[place_] == c;
  place_ += is_here ? 1 : 0;
  return is_here;
}

void TextCursor::expect(std::string_view word, std::string_view where) {
  if (!take(word)) {
    fail(text("'", word, "' ", where));
  }
}

std::string_view TextCursor::seenName() {
  const std::string_view left = rest();
  size_t length = 0;
  while (length < left.size() && isNamePart(left[length])) {
    ++length;
  }
  return left.substr(0, length);
}

std::string_view TextCursor::takeName(std::string_view what) {
  const std::string_view name = seenName();
  if (name.empty()) {
    fail(what);
  }
  place_ += name.size();
  return name;
}

int64_t TextCursor::takeInteger(std::string_view what) {
  const std::string_view left = rest();
  int64_t value = 0;
  const auto [end, error] = std::from_chars(left.data(), left.data() + left.size(), value);
  if (error != std::errc()) {
    fail(what);
  }
  place_ += static_cast<size_t>(end - left.data());
  return value;
}

void TextCursor::expectEnd(std::string_view where) {
  if (!atEnd()) {
    fail(text("the end of the line ", where));
  }
}

void TextCursor::fail(std::string_view expected) {
  const std::string_view left = rest();
  userError("Fusion::fromText: line ", number_, ", column ", place_ + 1, ": expected ", expected,
            ", found ",
            left.empty() ? std::string("the end of the line") : text("'", left.substr(0, 40), "'"));
}

void TextCursor::refuse(std::string_view message) const {
  userError("Fusion::fromText: line ", number_, ": ", message);
}

}  // namespace nvfuser
