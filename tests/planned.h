/// What an automatic scheduler says of a Fusion at given sizes, without running anything: for tests
/// of plans.
#pragma once

#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <vector>

#include <fusion.h>
#include <ir/builder.h>
#include <runtime/device.h>
#include <scheduler/registry.h>

namespace nvfuser {

struct Call {
  std::vector<std::vector<int64_t>> sizes;  ///< of each input
  bool host = false;
  std::vector<std::vector<int64_t>> strides = {};  ///< none: row-major
};

/// The plan's text, or why there is none.
inline std::string planned(const SchedulerEntry& scheduler, const Fusion& fusion,
                           const Call& call) {
  if (auto refusal = refusalOfForm(scheduler, fusion)) {
    return "form: " + refusal->why;
  }
  ExpressionEvaluator evaluator;
  std::vector<TensorLayout> layouts;
  for (size_t i = 0; i < call.sizes.size(); ++i) {
    const auto* tv = fusion.inputs()[i]->as<TensorView>();
    TensorLayout layout;
    layout.sizes = call.sizes[i];
    layout.strides.assign(layout.sizes.size(), 1);
    for (size_t k = layout.sizes.size(); k-- > 1;) {
      layout.strides[k - 1] = layout.strides[k] * layout.sizes[k];
    }
    if (!call.strides.empty()) {
      layout.strides = call.strides[i];
    }
    for (size_t k = 0; k < layout.sizes.size(); ++k) {
      evaluator.bind(tv->getLogicalDomain()[k]->extent(), layout.sizes[k]);
    }
    layouts.push_back(layout);
  }
  DeviceProperties device = emulatedDevice().properties();
  device.multiprocessors = call.host ? 8 : 132;
  SchedulerRuntimeInfo info(fusion, layouts, evaluator,
                            call.host ? DeviceKind::Cpu : DeviceKind::Cuda, device,
                            DataType::Int32);
  Plan plan = scheduler.plan(fusion, info);
  if (auto* refusal = std::get_if<Refusal>(&plan)) {
    return "refused: " + refusal->why;
  }
  return std::get<std::unique_ptr<HeuristicParams>>(plan)->toString();
}

inline std::string planned(const SchedulerEntry& scheduler,
                           const std::function<void(Fusion&)>& define, const Call& call) {
  Fusion fusion;
  FusionGuard guard(&fusion);
  define(fusion);
  return planned(scheduler, fusion, call);
}

inline bool has(const std::string& text, std::string_view part) {
  CAPTURE(text);
  CAPTURE(part);
  CHECK(text.find(part) != std::string::npos);
  return true;
}

}  // namespace nvfuser
