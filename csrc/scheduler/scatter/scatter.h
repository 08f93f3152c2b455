/// Scatters of the CPU, with what computes their entries and what reads their results, in one
/// kernel: element-wise operations and reads at an index on either side.
///
///   T3 = relu(T0[T1] * T2)                  one kernel, three loop nests:
///   T4 = scatter(0, T5, T3, add)      →       T6 = 0                    the target, over its axes
///   T7 = T4 + T0                              T6[T5[e]] += relu(…)      over the entries, in order
///                                             T7 = T6 + T0              readers, over its axes
///
/// Entries are written one after the other, as they stand along the scattered axis: what goes to
/// one place is combined in the order that eager PyTorch has, whoever runs it.
///
///   rows     axes inside of the scattered one are columns, in vectors      [A, D, B]
///   points   entries are computed in vectors, and written one by one       [A, D / 128, B, 128]
///
/// Tasks share the axes outside (A), or else the columns; each goes through all entries of its own.
/// Left to a library: what is written from outside of the target's extents, half precision, which a
/// library adds more exactly, and all scatters on a GPU.
#pragma once

#include <scheduler/registry.h>

namespace nvfuser {

struct ScatterParams : HeuristicParams {
  ScatterParams() : HeuristicParams(SchedulerType::Scatter) {}

  bool rows = false;
  int64_t tasks = 1;    ///< that share the axes outside of the scattered one
  int64_t columns = 0;  ///< of a task; 0: all

  std::string toString() const override;
  std::unique_ptr<HeuristicParams> clone() const override {
    return std::make_unique<ScatterParams>(*this);
  }
};

bool hasScatters(const Fusion& fusion);

const SchedulerEntry& scatterScheduler();

}  // namespace nvfuser
