/// Lines of generated text: indented, and none over 120 columns.
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace nvfuser::codegen {

class TextWriter {
 public:
  explicit TextWriter(int depth) : depth_(depth) {}

  /// A line, with a comment behind it or, where that is too long, in front of it. Long lines
  /// continue on the next, with four more spaces.
  void line(std::string_view content, std::string_view comment = {});
  /// A line that ends with an opening brace; what follows is indented until `close`.
  void open(std::string_view head, std::string_view comment = {});
  void close(std::string_view tail = "}");
  /// `} else {`.
  void reopen(std::string_view content);
  /// A line of its own that is never broken (a preprocessor directive).
  void directive(std::string_view content);
  /// `// comment` on as many lines as it takes.
  void comment(std::string_view content);

  /// Lines that another writer made.
  void raw(std::string_view lines) { out_ += lines; }

  std::string take() { return std::move(out_); }

 private:
  /// Broken into as many lines as it takes, without the end of the last.
  void broken(std::string_view content);

  std::string out_;
  int depth_;
};

}  // namespace nvfuser::codegen
