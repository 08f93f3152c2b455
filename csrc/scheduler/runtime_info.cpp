#include <scheduler/runtime_info.h>

#include <algorithm>

namespace nvfuser {

SchedulerRuntimeInfo::SchedulerRuntimeInfo(const Fusion& fusion,
                                           const std::vector<TensorLayout>& layouts,
                                           ExpressionEvaluator evaluator, DeviceKind kind,
                                           const DeviceProperties& device, DataType index_type)
    : evaluator_(std::move(evaluator)), kind_(kind), device_(device), index_type_(index_type) {
  size_t next = 0;
  for (const Val* input : fusion.inputs()) {
    if (input->isA<TensorView>()) {
      inputs_[input->name()] = layouts.at(next++);
    }
  }
  check(next == layouts.size(), "one layout for each tensor input");
}

int64_t SchedulerRuntimeInfo::evaluate(const Val* val) {
  return val == nullptr ? 1 : evaluator_.evaluateInt(val, "a scheduler's size");
}

int64_t SchedulerRuntimeInfo::extent(const IterDomain* id) {
  return id->isBroadcast() ? 1 : evaluate(id->extent());
}

int64_t SchedulerRuntimeInfo::extent(const std::vector<IterDomain*>& ids) {
  int64_t product = 1;
  for (const IterDomain* id : ids) {
    product *= extent(id);
  }
  return product;
}

int64_t SchedulerRuntimeInfo::bytes(const TensorView* tv) {
  return extent(TensorDomain::noReductions(tv->getLogicalDomain())) * elementBytes(tv);
}

int64_t SchedulerRuntimeInfo::elementBytes(const TensorView* tv) {
  return dataTypeSizeByte(tv->dtype() == DataType::Index ? DataType::Int : tv->dtype());
}

std::vector<int64_t> SchedulerRuntimeInfo::strides(const TensorView* tv) {
  auto input = inputs_.find(tv->name());
  if (tv->isFusionInput() && input != inputs_.end()) {
    return input->second.strides;
  }
  const std::vector<IterDomain*> logical = TensorDomain::noReductions(tv->getLogicalDomain());
  std::vector<int64_t> strides(logical.size(), 0);
  int64_t stride = 1;
  const auto& memory = tv->getMaybeAllocationDomain();
  for (auto it = memory.rbegin(); it != memory.rend(); ++it) {
    auto place = std::find(logical.begin(), logical.end(), *it);
    if (place == logical.end() || (*it)->isBroadcast()) {
      continue;
    }
    strides[static_cast<size_t>(place - logical.begin())] = stride;
    stride *= std::max<int64_t>(extent(*it), 1);
  }
  return strides;
}

int64_t SchedulerRuntimeInfo::alignment(const TensorView* tv) const {
  if (tv->isFusionInput()) {
    const auto input = inputs_.find(tv->name());
    return input != inputs_.end() ? input->second.alignment : kMaxAlignment;
  }
  const auto output = outputs_.find(tv->name());
  return output != outputs_.end() ? std::min(output->second, kMaxAlignment) : kMaxAlignment;
}

}  // namespace nvfuser
