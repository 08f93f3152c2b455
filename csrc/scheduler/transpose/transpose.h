/// Element-wise fusions whose tensors have different fastest axes, tile by tile.
///
///   T1[i1, i0] = T0[i0, i1]ᵀ       compute side i1 (T0's), other side i0 (T1's)
///   GPU: [blockIdx.x tiles, threadIdx.x over the tile, V neighbours]; tensors of the other side
///        pass through shared memory, whose vectors are swizzled by XOR
///   CPU: [tasks, tiles of a task, rows, SIMD]; a tile is turned in registers
///
/// An input that is read through windows lies as they do: of a picture that is turned by a quarter,
/// a transpose of a flip, rows are read backwards into a tile.
///
/// Everything is computed along the side that leaves the fewer bytes to be turned. Each side is
/// read and written in vectors of its own.
///
/// It takes what the pointwise scheduler takes if tensors lie in memory along two different axes,
/// both are long enough, and reading or writing whole lines saves more than turning costs.
#pragma once

#include <vector>

#include <scheduler/registry.h>

namespace nvfuser {

struct TransposeParams : HeuristicParams {
  TransposeParams() : HeuristicParams(SchedulerType::Transpose) {}

  int64_t reference = 0;         ///< number of the output whose loops all others get
  std::vector<int64_t> order;    ///< of its logical axes: rest, other side, compute side
  int64_t other_axes = 1;        ///< how many of them are the other side
  int64_t compute_axes = 1;      ///< how many, the last ones, are the compute side
  int64_t other_tile = 32;       ///< elements
  int64_t compute_tile = 32;     ///< elements
  int64_t other_vector = 1;      ///< V where loops go along the other side
  int64_t compute_vector = 1;    ///< V where loops go along the compute side
  int64_t threads = 128;         ///< of a block on a GPU
  int64_t tiles = 1;             ///< of a task on the CPU
  bool host = false;             ///< tasks and SIMD instead of blocks and threads
  bool streaming = false;        ///< outputs go past the caches (CPU)
  std::vector<int64_t> inputs;   ///< elements in one access of each input; 0: not copied first
  std::vector<int64_t> windows;  ///< the same for each window of an input (analysis/windows.h)
  std::vector<int64_t> outputs;  ///< the same for each output
  std::vector<int64_t> turned_inputs;   ///< numbers of inputs that lie along the other side
  std::vector<int64_t> turned_windows;  ///< the same for windows of inputs
  std::vector<int64_t> turned_outputs;  ///< the same for outputs

  std::string toString() const override;
  std::unique_ptr<HeuristicParams> clone() const override {
    return std::make_unique<TransposeParams>(*this);
  }
};

const SchedulerEntry& transposeScheduler();

}  // namespace nvfuser
