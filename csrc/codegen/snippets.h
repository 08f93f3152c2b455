/// The device-side library: the files of `runtime/`, embedded in the shared library as text. A
/// generated kernel gets the snippets that it uses and nothing else; the code generator says which
/// it needs.
#pragma once

#include <string_view>
#include <vector>

namespace nvfuser {

/// The text of `runtime/<path>`, e.g. "welford.cuh" or "emulated/prelude.h". Valid as long as the
/// program runs, not terminated by a zero. Throws `InternalError` if there is no such file: paths
/// are ours, never a user's.
std::string_view runtimeFile(std::string_view path);

/// The paths that `runtimeFile` takes, sorted.
std::vector<std::string_view> runtimeFiles();

}  // namespace nvfuser
