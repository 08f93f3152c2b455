#include <codegen/snippets.h>

#include <string_view>
#include <vector>

#include <codegen/embedded_runtime.h>
#include <support/error.h>
#include <support/text.h>

namespace nvfuser {

std::string_view runtimeFile(std::string_view path) {
  for (const detail::EmbeddedFile& file : detail::embeddedRuntime()) {
    if (file.path == path) {
      return file.text;
    }
  }
  throw InternalError(text("internal error: runtime/", path, " is not embedded; embedded are ",
                           join(runtimeFiles(), ", ")));
}

std::vector<std::string_view> runtimeFiles() {
  std::vector<std::string_view> paths;
  for (const detail::EmbeddedFile& file : detail::embeddedRuntime()) {
    paths.push_back(file.path);
  }
  return paths;
}

}  // namespace nvfuser
