#include <fuzz/kernel_interpreter/launch_lanes.h>

#include <algorithm>
#include <numeric>

#include <codegen/scalar_text.h>
#include <fuzz/kernel_interpreter/kernel_memory.h>

namespace nvfuser::fuzz {

namespace {

constexpr int64_t kMostLanes = 512;             ///< of blocks that do not depend on each other
constexpr int64_t kMostTogether = 1 << 20;      ///< of those that do
constexpr size_t kMostBytes = size_t{1} << 28;  ///< of their registers and shared memory

int64_t product(const int64_t (&extents)[3]) { return extents[0] * extents[1] * extents[2]; }

bool waitForEachOther(const kir::Kernel& kernel) {
  bool together = kernel.cooperative;
  kir::forEach(kernel.body, [&](const kir::Stmt& stmt) {
    const auto* sync = std::get_if<kir::Sync>(&stmt.node);
    together = together || std::holds_alternative<kir::GridReduce>(stmt.node) ||
               std::holds_alternative<kir::ClusterReduce>(stmt.node) ||
               (sync != nullptr && sync->kind == kir::SyncKind::GridBarrier);
  });
  return together;
}

int64_t coordinate(int64_t linear, const int64_t (&extents)[3], int dimension) {
  for (int d = 0; d < dimension; ++d) {
    linear /= extents[d];
  }
  return linear % extents[dimension];
}

kir::Scalar symbolOf(const kir::Kernel& kernel, const codegen::LaunchIndex& index) {
  return kernel.pool->symbol(std::string(index.symbol));
}
int dimensionOf(const codegen::LaunchIndex& index) { return index.symbol.back() - 'x'; }

}  // namespace

LaunchLanes::LaunchLanes(const kir::Kernel& kernel, const LaunchShape& shape)
    : kernel_(kernel), shape_(shape), threads_(product(shape.block)), blocks_(product(shape.grid)) {
  const size_t bytes = KernelMemory::registerBytes(kernel) * static_cast<size_t>(threads_) +
                       static_cast<size_t>(shape.shared_bytes);
  const auto room = static_cast<int64_t>(kMostBytes / std::max<size_t>(1, bytes));
  blocks_at_once_ = waitForEachOther(kernel)
                        ? blocks_
                        : std::min({blocks_, std::max<int64_t>(1, room),
                                    std::max(int64_t{1}, kMostLanes / threads_)});
  if (blocks_at_once_ > room || blocks_at_once_ > kMostTogether / threads_) {
    throw TooLong("interpreting a kernel: more threads than are worth waiting for");
  }
}

void LaunchLanes::setParameters(std::span<void* const> args, LaneScalars& scalars) const {
  for (size_t i = 0; i < kernel_.params.size(); ++i) {
    const kir::Param& param = kernel_.params[i];
    if (param.kind == kir::ParamKind::IndexArg) {
      const DataType dtype = param.dtype == DataType::Int32 ? DataType::Int32 : DataType::Int;
      scalars.set(param.symbol, load(args[i], dtype).integer);
    }
  }
  for (const codegen::LaunchIndex& index : codegen::kLaunchIndices) {
    if (index.symbol.starts_with("blockDim")) {
      scalars.set(symbolOf(kernel_, index), shape_.block[dimensionOf(index)]);
    } else if (index.symbol.starts_with("gridDim")) {
      scalars.set(symbolOf(kernel_, index), shape_.grid[dimensionOf(index)]);
    }
  }
}

std::vector<int64_t> LaunchLanes::begin(int64_t first_block, LaneScalars& scalars) {
  first_block_ = first_block;
  for (const codegen::LaunchIndex& index : codegen::kLaunchIndices) {
    const bool of_thread = index.symbol.starts_with("threadIdx");
    if (!of_thread && !index.symbol.starts_with("blockIdx")) {
      continue;
    }
    int64_t* values = scalars.setLanes(symbolOf(kernel_, index));
    for (int64_t lane = 0; lane < count(); ++lane) {
      values[lane] =
          of_thread ? threadIndex(lane, dimensionOf(index)) : blockIndex(lane, dimensionOf(index));
    }
  }
  const int64_t blocks = std::min(blocks_at_once_, blocks_ - first_block);
  std::vector<int64_t> lanes(static_cast<size_t>(blocks * threads_));
  std::iota(lanes.begin(), lanes.end(), 0);
  return lanes;
}

int64_t LaunchLanes::threadIndex(int64_t lane, int dimension) const {
  return coordinate(threadOf(lane), shape_.block, dimension);
}

int64_t LaunchLanes::blockIndex(int64_t lane, int dimension) const {
  return coordinate(first_block_ + blockOf(lane), shape_.grid, dimension);
}

}  // namespace nvfuser::fuzz
