#include <codegen/snippet_set.h>

#include <algorithm>

#include <codegen/snippets.h>

namespace nvfuser::codegen {

namespace {

/// The words of the line `// needs: …` of a file.
std::vector<std::string_view> needsOf(std::string_view file) {
  constexpr std::string_view kNeeds = "// needs:";
  std::vector<std::string_view> words;
  const size_t begin = file.find(kNeeds);
  check(begin != std::string_view::npos, "every snippet has a line `// needs:`");
  std::string_view line = file.substr(begin + kNeeds.size());
  line = line.substr(0, line.find('\n'));
  while (true) {
    const size_t first = line.find_first_not_of(' ');
    if (first == std::string_view::npos) {
      return words;
    }
    line.remove_prefix(first);
    const size_t end = std::min(line.find(' '), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

}  // namespace

void SnippetSet::add(std::string_view path) {
  if (target_ == Target::Host && path == "basics.cuh") {
    path = "cpu/prelude.h";
  }
  if (std::find(paths_.begin(), paths_.end(), path) != paths_.end()) {
    return;
  }
  for (std::string_view needed : needsOf(runtimeFile(path))) {
    add(needed);
  }
  paths_.emplace_back(path);
}

void SnippetSet::add(const std::vector<std::string_view>& paths) {
  for (std::string_view path : paths) {
    add(path);
  }
}

std::string SnippetSet::text() const {
  std::string out;
  for (const std::string& path : paths_) {
    appendSnippet(out, path);
  }
  return out;
}

void appendSnippet(std::string& out, std::string_view path) {
  append(out, text("\n// ---- ", path, " ----\n"));
  out += runtimeFile(path);
  if (!out.ends_with('\n')) {
    out += '\n';
  }
}

}  // namespace nvfuser::codegen
