/// What a kernel is lowered for. The schedule language is one; some bindings mean something else on
/// another machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ir/type.h>

namespace nvfuser {

/// On `Cpu`, blocks become tasks, threads become loops inside a task; innermost ones, like
/// those of Vectorize, are SIMD loops.
enum class LowerTarget : uint8_t { Cuda, Cpu };

struct LowerOptions {
  LowerTarget target = LowerTarget::Cuda;
  /// Int (64 bit) or Int32: the executor's choice from the sizes at hand.
  DataType index_type = DataType::Int;
  /// Hardware the kernel may rely on: major·10 + minor. 0 on the CPU.
  int compute_capability = 80;
  // Optional parts, as csrc/support/options.def describes them.
  bool index_hoist = true;
  bool predicate_elimination = true;
  bool unroll_with_rng = true;
  bool dependent_launch = false;
  /// Optional passes to leave out, by name.
  std::vector<std::string> skip_passes = {};
  /// On the CPU: kernels check each access to memory of the caller, and to workspaces.
  bool bounds = false;
  /// Check the fusion and the kernel after each pass.
  bool verify = false;
};

}  // namespace nvfuser
