/// Iterations at a loop's end in which nothing is done: loops over thousands of elements, of which
/// a small tensor has two, would take most of an interpreter's time.
///
///   for k in 0..8192                 at i0 = 2 and a = 0: from iteration 2 on
///     if k < i0 && a < 1
///       …
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include <fuzz/kernel_interpreter/lane_scalars.h>
#include <kernel_ir/kernel.h>

namespace nvfuser::fuzz {

class IdleIterations {
 public:
  explicit IdleIterations(const kir::Kernel& kernel) : kernel_(kernel) {}

  /// The iteration from which on a loop does nothing in any of these lanes, as far as that is seen:
  /// where it has nothing but `If`s in it whose conditions end as its variable grows.
  int64_t from(const kir::For& loop, const std::vector<int64_t>& lanes, LaneScalars& scalars);

 private:
  /// first + step · (the loop's variable) < end, which no later iteration meets again.
  struct Limit {
    kir::Scalar first, end;
    int64_t step;
  };
  struct Limits {
    bool is_known = false;
    bool is_limited = true;  ///< whether each `If` has one
    std::vector<std::vector<Limit>> of_branches;
  };

  const Limits& limitsOf(const kir::For& loop);
  std::vector<Limit> limitsOf(kir::Scalar condition, kir::Scalar var) const;

  const kir::Kernel& kernel_;
  std::unordered_map<const kir::For*, Limits> limits_;
};

}  // namespace nvfuser::fuzz
