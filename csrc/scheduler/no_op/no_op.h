/// The scheduler of segments that compute nothing: each output is an input with other sizes,
/// strides and offset. No kernel is made; a run hands on the memory.
///
///   T1 = reshape(T0)   →   T1: input 0, sizes [4, 2, 3], strides [6, 3, 1], offset 0
///
/// What it hands to another kernel must look like a tensor between kernels: dense and aligned.
/// Otherwise, and where strides cannot say what the view is, it refuses, and a kernel copies.
#pragma once

#include <scheduler/analysis/view_layout.h>
#include <scheduler/registry.h>

namespace nvfuser {

struct NoOpParams : HeuristicParams {
  struct View {
    int64_t input;  ///< position among the inputs of the segment
    ViewLayout layout;
  };
  std::vector<View> views;  ///< one for each output

  NoOpParams() : HeuristicParams(SchedulerType::NoOp) {}
  std::string toString() const override;
  std::unique_ptr<HeuristicParams> clone() const override;
};

const SchedulerEntry& noOpScheduler();

}  // namespace nvfuser
