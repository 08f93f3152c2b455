/// Instruction sets for which a test compiles host text: this CPU's, and on x86-64 the oldest and
/// the one with 256-bit vectors.
#pragma once

#include <string>
#include <vector>

#include <runtime/host_compiler/host_compiler.h>

namespace nvfuser {

/// Compiler flags of each, to be added to `hostFlags`.
inline std::vector<std::vector<std::string>> hostVariants() {
  std::vector<std::vector<std::string>> all = {{}};
#if defined(__x86_64__)
  const std::string level = hostCompiler().is_zig ? "-march=x86_64" : "-march=x86-64";
  all.push_back({level, "-Wno-psabi"});
  if (__builtin_cpu_supports("avx2")) {
    all.push_back({level + (hostCompiler().is_zig ? "_v3" : "-v3"), "-Wno-psabi"});
  }
#endif
  return all;
}

}  // namespace nvfuser
