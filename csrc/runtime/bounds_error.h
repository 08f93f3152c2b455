/// What a kernel of the CPU met that checks its accesses (NVFUSER_ENABLE=bounds).
#pragma once

#include <cstdint>
#include <stdexcept>
#include <utility>

namespace nvfuser {

namespace kir {
class Kernel;
}

/// Thrown after a launch that wanted to read or write outside of a tensor's memory. The access was
/// left out, and what was computed of it is worth nothing. Whose mistake it is, the kernel cannot
/// tell: a wrong index of ours, or a tensor whose sizes are not those of its memory.
class BoundsError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// `BoundsError`: "kernel nvfuser_0: elements 96 to 103 of T2 do not lie in its memory, which has
/// elements 0 to 99, …". Ranges are half open, counted in elements from the tensor's address;
/// `param`: the tensor's place among the kernel's parameters.
[[noreturn]] void accessOutside(const kir::Kernel& kernel, size_t param,
                                std::pair<int64_t, int64_t> access,
                                std::pair<int64_t, int64_t> memory);

}  // namespace nvfuser
