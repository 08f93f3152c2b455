#include <algorithm>

#include <codegen/generate.h>
#include <codegen/snippet_set.h>
#include <codegen/snippets.h>

namespace nvfuser {

std::string GeneratedKernel::ownText() const {
  size_t end = 0;  // of the comment lines at the top
  while (end < own_begin && std::string_view(text).substr(end).starts_with("//")) {
    end = std::min(text.find('\n', end) + 1, own_begin);
  }
  return text.substr(0, end) + text.substr(own_begin);
}

std::string joinKernels(std::span<const GeneratedKernel* const> kernels) {
  // Each list has a file after those that it needs, so their union in order of appearance has too.
  std::vector<std::string> paths;
  for (const GeneratedKernel* kernel : kernels) {
    for (const std::string& path : kernel->snippets) {
      if (std::find(paths.begin(), paths.end(), path) == paths.end()) {
        paths.push_back(path);
      }
    }
  }
  std::string out;
  for (const std::string& path : paths) {
    codegen::appendSnippet(out, path);
  }
  for (size_t i = 0; i < kernels.size(); ++i) {
    const GeneratedKernel& kernel = *kernels[i];
    append(out, text("\nnamespace kernel_", i, " {\n"));
    out += std::string_view(kernel.text).substr(kernel.own_begin);
    append(out, text("}\nusing kernel_", i, "::", kernel.entry, ";\n"));
  }
  return out;
}

}  // namespace nvfuser
