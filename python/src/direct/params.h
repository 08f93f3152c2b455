/// Parameters of compiling, launching and scheduling as Python values.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>
#include <runtime/executor_params.h>
#include <scheduler/heuristic.h>

namespace nvfuser::python {

namespace nb = nanobind;

/// With fields that programs set but nothing here depends on.
struct CompileParamsView : CompileParams {
  bool enable_magic_zero = true;
  std::vector<std::string> include_paths;
};

/// What an automatic scheduler decided.
struct Heuristics {
  std::shared_ptr<nvfuser::HeuristicParams> params;
};
struct PointwiseHeuristics : Heuristics {};
struct ReductionHeuristics : Heuristics {};

/// As the class that fits.
nb::object wrapHeuristics(std::shared_ptr<nvfuser::HeuristicParams> params);

/// "cpu", "cuda", "cuda:1", "emulated", an index, a torch.device, or None (null). Throws
/// `UserError` for a device that is not there.
Device* deviceFrom(nb::handle given, const char* what);

}  // namespace nvfuser::python
