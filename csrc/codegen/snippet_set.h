/// Which files of `runtime/` a kernel's text contains.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <ops/table/pointwise.h>

namespace nvfuser::codegen {

class SnippetSet {
 public:
  explicit SnippetSet(Target target) : target_(target) {}

  /// Adds a file, after those that its line `// needs: …` names. On the host the names of
  /// `basics.cuh` come from `cpu/prelude.h`, so that both targets can share a snippet.
  void add(std::string_view path);
  void add(const std::vector<std::string_view>& paths);
  /// The names of integer types, `infinity<T>()` and the like.
  void addBasics() { add("basics.cuh"); }

  const std::vector<std::string>& paths() const { return paths_; }
  std::string text() const;

 private:
  Target target_;
  std::vector<std::string> paths_;
};

/// One file of `runtime/` under a line with its name.
void appendSnippet(std::string& out, std::string_view path);

}  // namespace nvfuser::codegen
