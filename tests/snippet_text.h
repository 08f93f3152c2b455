/// Files of the device-side library (`runtime/`) as the beginning of a kernel's text.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>

#include <codegen/snippets.h>

namespace nvfuser {

/// Appends `file` to `text`, after the files that it needs; each of `seen` only once. Reads the
/// `// needs:` lines by itself, so that the code generator's reader is not tested against itself.
inline void addSnippet(const std::string& file, std::set<std::string>& seen, std::string& text) {
  if (!seen.insert(file).second) {
    return;
  }
  std::string content(runtimeFile(file));
  size_t needs = content.find("// needs:");
  REQUIRE_MESSAGE(needs != std::string::npos, file);
  std::string line = content.substr(needs + 9, content.find('\n', needs) - needs - 9);
  for (size_t at = line.find_first_not_of(' '); at != std::string::npos;) {
    size_t end = std::min(line.find(' ', at), line.size());
    addSnippet(line.substr(at, end - at), seen, text);
    at = line.find_first_not_of(' ', end);
  }
  text += content;
}

}  // namespace nvfuser
