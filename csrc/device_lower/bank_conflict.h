/// How many ways the accesses of a kernel to shared memory conflict.
///
/// Shared memory has 32 banks of 4 bytes; word w lies in bank w mod 32. A warp's access takes as
/// many turns as the bank that is asked for most has *different* words to give (lanes that read one
/// word share it). Accesses of 8 and 16 bytes a lane are served half a warp and a quarter of a warp
/// at a time, each with its own count. One way is free of conflicts.
///
///   T1[threadIdx.y * 32 + threadIdx.x]      lanes 0…31 in banks 0…31             1 way
///   T1[threadIdx.x * 32 + threadIdx.y]      all lanes in one bank                32 ways
///   T1[threadIdx.x * 32 + (threadIdx.x ^ threadIdx.y)]   swizzled                1 way
///
/// The kernel's own indices are evaluated for every lane that its predicates let through: for the
/// warps of the first block, and for the first iterations of each loop. What the library snippets
/// do in a reduction's workspace is not looked at, nor are indices that come from memory.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <kernel_ir/kernel.h>

namespace nvfuser {

struct BankConflict {
  std::string access;  ///< "T1[threadIdx.x * 32 + threadIdx.y]"
  bool is_write = false;
  const TensorView* tv = nullptr;  ///< of the buffer
  int ways = 0;                    ///< the worst that was found; 0: cannot be told
};

/// One for each access, in the order of the kernel. `valueOf` gives sizes and strides.
std::vector<BankConflict> findBankConflicts(const kir::Kernel& kernel,
                                            const std::function<int64_t(kir::Scalar)>& valueOf);

/// A line for each access.
std::string toString(const std::vector<BankConflict>& conflicts);

/// Turns that a warp's access takes: lane `lanes[i]` asks for `bytes` bytes from `first_bytes[i]`
/// on.
int conflictWays(const std::vector<int64_t>& first_bytes, const std::vector<int>& lanes,
                 int64_t bytes);

}  // namespace nvfuser
