/// Which threads of a launch run together, and what their indices are.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <fuzz/kernel_interpreter/lane_scalars.h>
#include <kernel_ir/kernel.h>
#include <runtime/device.h>

namespace nvfuser::fuzz {

class LaunchLanes {
 public:
  /// All blocks together where they wait for each other or combine their results, else some.
  /// Throws `TooLong` where these are too many, or have too much memory.
  LaunchLanes(const kir::Kernel& kernel, const LaunchShape& shape);

  const LaunchShape& shape() const { return shape_; }
  int64_t threads() const { return threads_; }  ///< of a block
  int64_t blocks() const { return blocks_; }
  int64_t blocksAtOnce() const { return blocks_at_once_; }
  int64_t count() const { return threads_ * blocks_at_once_; }

  /// Gives the kernel's sizes, strides and launch extents their values.
  void setParameters(std::span<void* const> args, LaneScalars& scalars) const;
  /// Gives thread and block indices those of the blocks from `first_block` on; their lanes.
  std::vector<int64_t> begin(int64_t first_block, LaneScalars& scalars);

  int64_t blockOf(int64_t lane) const { return lane / threads_; }   ///< among those that run
  int64_t threadOf(int64_t lane) const { return lane % threads_; }  ///< in its block
  int64_t threadIndex(int64_t lane, int dimension) const;
  int64_t blockIndex(int64_t lane, int dimension) const;

 private:
  const kir::Kernel& kernel_;
  const LaunchShape& shape_;
  int64_t threads_;
  int64_t blocks_;
  int64_t blocks_at_once_ = 1;
  int64_t first_block_ = 0;
};

}  // namespace nvfuser::fuzz
