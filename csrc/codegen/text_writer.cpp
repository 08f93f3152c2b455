#include <codegen/text_writer.h>

#include <support/error.h>

namespace nvfuser::codegen {

namespace {

constexpr size_t kColumns = 120;
constexpr size_t kContinuation = 4;

/// How bad a break at the space `at` is, brackets apart: best behind a comma or in front of a
/// logical operator.
int penalty(std::string_view content, size_t at) {
  const std::string_view next = content.substr(at + 1, 2);
  if (content[at - 1] == ',' || content[at - 1] == ';' || next == "&&" || next == "||") {
    return 0;
  }
  if (content[at - 1] == '=' || next == "? " || next == ": ") {
    return 1;
  }
  if (next == "+ " || next == "- ") {
    return 2;
  }
  return 3;
}

/// Where to break `content` so that its first part has at most `room` characters: the space inside
/// the fewest brackets, of those the least bad, the last, and none in the first third. `npos` where
/// there is none.
size_t breakAt(std::string_view content, size_t room) {
  size_t best = std::string_view::npos;
  int best_badness = 0;
  int depth = 0;
  for (size_t i = 0; i < content.size() && i <= room; ++i) {
    const char c = content[i];
    // Template arguments have no space beside their brackets, comparisons have.
    const bool tight = i > 0 && content[i - 1] != ' ';
    if (c == '(' || c == '[' || c == '{' || (c == '<' && tight)) {
      ++depth;
    }
    if (c == ')' || c == ']' || c == '}' || (c == '>' && tight)) {
      --depth;
    }
    if (c != ' ' || i < room / 3) {
      continue;
    }
    const int badness = depth * 4 + penalty(content, i);
    if (best == std::string_view::npos || badness <= best_badness) {
      best = i;
      best_badness = badness;
    }
  }
  return best != std::string_view::npos ? best : content.find(' ', room);
}

}  // namespace

void TextWriter::broken(std::string_view content) {
  size_t indent = static_cast<size_t>(depth_) * 2;
  while (indent + content.size() > kColumns) {
    const size_t at = breakAt(content, kColumns - indent);
    if (at == std::string_view::npos) {
      break;
    }
    out_.append(indent, ' ');
    out_ += content.substr(0, at);
    out_ += '\n';
    content.remove_prefix(at + 1);
    indent = static_cast<size_t>(depth_) * 2 + kContinuation;
  }
  out_.append(indent, ' ');
  out_ += content;
}

void TextWriter::line(std::string_view content, std::string_view what) {
  const bool beside =
      static_cast<size_t>(depth_) * 2 + content.size() + what.size() + 4 <= kColumns;
  if (!what.empty() && !beside) {
    comment(what);
  }
  broken(content);
  if (!what.empty() && beside) {
    out_ += "  // ";
    out_ += what;
  }
  out_ += '\n';
}

void TextWriter::open(std::string_view head, std::string_view what) {
  line(head, what);
  ++depth_;
}

void TextWriter::close(std::string_view tail) {
  check(depth_ > 0, "a block of generated text is closed that was opened");
  --depth_;
  line(tail);
}

void TextWriter::reopen(std::string_view content) {
  close(content);
  ++depth_;
}

void TextWriter::directive(std::string_view content) {
  out_.append(static_cast<size_t>(depth_) * 2, ' ');
  out_ += content;
  out_ += '\n';
}

void TextWriter::comment(std::string_view content) {
  const size_t indent = static_cast<size_t>(depth_) * 2;
  while (true) {
    const size_t line_end = content.find('\n');
    std::string_view rest = content.substr(0, line_end);
    while (true) {
      size_t at = rest.size();
      if (indent + 3 + rest.size() > kColumns) {
        at = rest.rfind(' ', kColumns - indent - 3);
        if (at == std::string_view::npos || at == 0) {
          at = rest.size();
        }
      }
      out_.append(indent, ' ');
      out_ += "// ";
      out_ += rest.substr(0, at);
      out_ += '\n';
      if (at >= rest.size()) {
        break;
      }
      rest.remove_prefix(at + 1);
    }
    if (line_end == std::string_view::npos) {
      return;
    }
    content.remove_prefix(line_end + 1);
  }
}

}  // namespace nvfuser::codegen
