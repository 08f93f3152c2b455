/// What a FusionExecutorCache did with a call, as data for somebody who draws it:
/// `FusionExecutorCache::describe`.
///
///   steps     in the order in which they run: operations, schedule, text of the kernel, what it
///   costs borders   two steps that one tensor connects, and why they are not one kernel
///
/// Tensors are named as in the reports ("T3"); names are those of the fusion that was cut, after
/// the passes over the whole.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <runtime/fusion_profile.h>

namespace nvfuser {

enum class StepKind : uint8_t { Kernel, Interpreted, Library, Views };

struct OperationDescription {
  std::string name;                  ///< "exp"
  std::string text;                  ///< "T2_l_float[ … ] = exp( T0 )"
  std::vector<std::string> reads;    ///< tensors
  std::vector<std::string> results;  ///< tensors
};

/// A loop of a kernel: the comment that marks it in the text, and the axes it came from.
struct LoopDescription {
  std::string comment;  ///< "T3 iUR50{8}"; "blockIdx.x" for a dimension of the launch
  std::string origin;   ///< "inside the pieces of 8 steps of (axis 1 of T3, i1)"
};

struct StepDescription {
  StepKind kind = StepKind::Kernel;
  std::string name;    ///< "kernel 1", "external call 1, matmul", "views"
  std::string ran_by;  ///< the library, once it has run
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<OperationDescription> operations;
  std::string scheduler;
  std::string params;
  std::vector<std::string> refusals;  ///< schedulers asked before, and why they declined
  std::string code;                   ///< of the kernel, without the runtime's snippets
  std::vector<LoopDescription> loops;
  KernelProfile cost;  ///< with no bytes and no time where the step was not measured
};

struct BorderDescription {
  size_t first = 0;  ///< positions in `steps`
  size_t second = 0;
  std::vector<std::string> tensors;  ///< from the first to the second, or read by both
  bool is_flow = true;               ///< false: both only read them
  std::vector<std::string> why;      ///< that they are not one kernel
};

struct TensorDescription {
  std::string name;
  std::string text;   ///< "T0_g_float[iS0{i0}, iS1{i1}]"
  std::string sizes;  ///< of the call: "[64, 128]"; empty where they are not known
  bool is_input = false;
  bool is_output = false;
};

struct FusionDescription {
  std::string device;
  double call_ms = 0;
  std::vector<TensorDescription> tensors;
  std::vector<StepDescription> steps;
  std::vector<BorderDescription> borders;
  /// Outputs without a step: (output, what it is a view of).
  std::vector<std::pair<std::string, std::string>> views;
};

}  // namespace nvfuser
