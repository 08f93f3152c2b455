#include "explanation.h"

#include <string>

#include "arrays.h"
#include "interpreter_lock.h"
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <support/text.h>

namespace nvfuser::python {

namespace {

const char* nameOf(StepKind kind) {
  switch (kind) {
    case StepKind::Kernel:
      return "kernel";
    case StepKind::Interpreted:
      return "interpreted";
    case StepKind::Library:
      return "library";
    case StepKind::Views:
      return "views";
  }
  return "";
}

nb::dict dictOf(const OperationDescription& operation) {
  nb::dict result;
  result["name"] = operation.name;
  result["text"] = operation.text;
  result["reads"] = operation.reads;
  result["results"] = operation.results;
  return result;
}

nb::dict dictOf(const LoopDescription& loop) {
  nb::dict result;
  result["comment"] = loop.comment;
  result["origin"] = loop.origin;
  return result;
}

nb::dict dictOf(const StepDescription& step) {
  nb::dict result;
  result["kind"] = nameOf(step.kind);
  result["name"] = step.name;
  result["ran_by"] = step.ran_by;
  result["inputs"] = step.inputs;
  result["outputs"] = step.outputs;
  result["scheduler"] = step.scheduler;
  result["params"] = step.params;
  result["refusals"] = step.refusals;
  result["code"] = step.code;
  nb::list operations;
  for (const OperationDescription& operation : step.operations) {
    operations.append(dictOf(operation));
  }
  result["operations"] = operations;
  nb::list loops;
  for (const LoopDescription& loop : step.loops) {
    loops.append(dictOf(loop));
  }
  result["loops"] = loops;
  result["bytes"] = step.cost.bytes;
  result["devices"] = step.cost.devices;
  result["ms"] = step.cost.ms;
  result["copy_ms"] = step.cost.copy_ms;
  result["gigabytes_per_second"] = step.cost.gigabytesPerSecond();
  result["of_copy"] = step.cost.ofCopy();
  result["launch"] =
      step.cost.ms > 0 && step.cost.devices == 1 ? step.cost.launchText() : std::string();
  return result;
}

nb::dict dictOf(const TensorDescription& tensor) {
  nb::dict result;
  result["name"] = tensor.name;
  result["text"] = tensor.text;
  result["sizes"] = tensor.sizes;
  result["is_input"] = tensor.is_input;
  result["is_output"] = tensor.is_output;
  return result;
}

nb::dict dictOf(const BorderDescription& border) {
  nb::dict result;
  result["first"] = border.first;
  result["second"] = border.second;
  result["tensors"] = border.tensors;
  result["is_flow"] = border.is_flow;
  result["why"] = border.why;
  return result;
}

template <typename Description>
nb::list listOf(const std::vector<Description>& descriptions) {
  nb::list result;
  for (const Description& description : descriptions) {
    result.append(dictOf(description));
  }
  return result;
}

nb::dict dictOf(const FusionDescription& fusion) {
  nb::dict result;
  result["device"] = fusion.device;
  result["call_ms"] = fusion.call_ms;
  result["tensors"] = listOf(fusion.tensors);
  result["steps"] = listOf(fusion.steps);
  result["borders"] = listOf(fusion.borders);
  nb::list views;
  for (const auto& [output, source] : fusion.views) {
    views.append(nb::make_tuple(output, source));
  }
  result["views"] = views;
  return result;
}

constexpr int kRepeats = 5;

}  // namespace

nb::dict describeFusion(FusionExecutorCache& executor, nb::handle inputs) {
  FusionDescription description;
  if (inputs.is_none()) {
    OthersRun others_run;
    description = executor.describe(kRepeats);
  } else {
    const Inputs given(inputs);
    OthersRun others_run;
    description = executor.describe(given.holder(), kRepeats);
  }
  return dictOf(description);
}

void writePage(nb::handle path, const std::string& definition, const nb::dict& description) {
  nb::module_::import_("nvfuser._explain_page").attr("write")(path, definition, description);
}

}  // namespace nvfuser::python
