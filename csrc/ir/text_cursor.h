/// A place in one line of text that is being read. What does not fit is a `UserError` that names
/// the line, the column, what is there and what was expected.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace nvfuser {

class TextCursor {
 public:
  TextCursor(std::string_view line, size_t number) : line_(line), number_(number) {}

  size_t lineNumber() const { return number_; }
  /// What is left of the line, without the spaces before it.
  std::string_view rest();
  /// The same with them.
  std::string_view here() const { return line_.substr(place_); }
  bool atEnd() { return rest().empty(); }
  /// Whether `word` is next.
  bool sees(std::string_view word) { return rest().starts_with(word); }
  /// Passes `word` if it is next.
  bool take(std::string_view word);
  void expect(std::string_view word, std::string_view where);
  /// Passes a character that stands right here, with no space before it.
  bool takeDirectly(char c);
  /// The name that is next: letters, digits, '_', '.' and "::"; empty where there is none.
  std::string_view seenName();
  std::string_view takeName(std::string_view what);
  int64_t takeInteger(std::string_view what);
  void advance(size_t characters) { place_ += characters; }
  void expectEnd(std::string_view where);

  [[noreturn]] void fail(std::string_view expected);
  /// Of what can be read but is wrong: "line 3: " and the message.
  [[noreturn]] void refuse(std::string_view message) const;

 private:
  std::string_view line_;
  size_t number_;
  size_t place_ = 0;
};

}  // namespace nvfuser
