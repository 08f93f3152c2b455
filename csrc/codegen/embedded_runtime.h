/// The table behind snippets.h. The build writes its definition (`cmake/embed_runtime.cmake`).
#pragma once

#include <span>
#include <string_view>

namespace nvfuser::detail {

struct EmbeddedFile {
  std::string_view path;  ///< below `runtime/`
  std::string_view text;
};

/// All embedded files, sorted by path.
std::span<const EmbeddedFile> embeddedRuntime();

}  // namespace nvfuser::detail
