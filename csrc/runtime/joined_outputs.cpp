#include <runtime/joined_outputs.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <unordered_map>

#include <device_lower/split_loops.h>
#include <ir/builder.h>
#include <ops/alias.h>
#include <ops/axes.h>
#include <preseg_passes/mark_joins.h>
#include <runtime/in_place.h>

namespace nvfuser {

namespace {

/// Shorter rows would be written to lines of the cache that other kernels write to, too.
constexpr int64_t kLeastRowBytes = 64;

/// From so long rows on, a GPU stores them where no vector begins, too, in narrower ones: which
/// costs less than all parts computed for each element (not timed alone).
constexpr int64_t kLeastOddRowBytes = 1024;

/// Whether the kernel that joins parts computes each of them apart all the same, in a loop along
/// the innermost axis that is split where a part ends (device_lower/split_loops.h).
bool areComputedApart(const preseg_passes::JoinedOutput& mark, const ViewLayout& layout) {
  return layout.strides[mark.axis] == 1 && std::ssize(mark.parts) <= kMostLoopParts;
}

std::unordered_map<int64_t, TensorView*> tensorsByName(const Fusion& fusion) {
  std::unordered_map<int64_t, TensorView*> tensors;
  for (const auto& val : fusion.vals()) {
    if (val->isA<TensorView>()) {
      tensors[val->name()] = val->as<TensorView>();
    }
  }
  return tensors;
}

std::optional<PlannedJoin> planJoin(const preseg_passes::JoinedOutput& mark,
                                    const std::unordered_map<int64_t, TensorView*>& tensors,
                                    DeviceKind device, ExpressionEvaluator& evaluator) {
  const TensorView* output = tensors.at(mark.output);
  const std::optional<ViewLayout> layout = denseLayout(output, evaluator);
  using enum preseg_passes::JoinGain;
  const bool is_host = device == DeviceKind::Cpu;
  if (!layout || (mark.gain == OwnTiles && is_host) ||
      (mark.gain == OwnLoops && (!is_host || areComputedApart(mark, *layout)))) {
    return std::nullopt;
  }
  const int64_t width = dataTypeSizeByte(output->dtype());
  const int64_t stride = layout->strides[mark.axis];
  const auto isVector = [&](int64_t elements) {
    return is_host || elements * width % kMaxVectorBytes == 0;
  };
  // Parts one behind the other, each without gaps.
  const bool is_outermost =
      stride * layout->sizes[mark.axis] ==
      std::accumulate(layout->sizes.begin(), layout->sizes.end(), int64_t{1}, std::multiplies<>());
  const auto isRow = [&](int64_t elements, int64_t offset) {
    const int64_t bytes = elements * width;
    return (is_outermost && bytes >= kLeastOddRowBytes) ||
           (bytes >= kLeastRowBytes && isVector(elements) && isVector(offset));
  };
  PlannedJoin join{output, *layout, {}, mark.axis};
  int64_t at = 0;
  for (const preseg_passes::JoinedOutput::Part& marked : mark.parts) {
    const TensorView* part = tensors.at(marked.tensor);
    ViewLayout place{{}, layout->strides, at * stride};
    for (const IterDomain* id : ops::axesOf(part)) {
      place.sizes.push_back(evaluator.evaluateInt(id->extent(), "the size of an axis"));
      if (place.sizes.back() == 0) {
        return std::nullopt;
      }
    }
    const int64_t length = marked.lacks_axis ? 1 : place.sizes[mark.axis];
    if (!isRow(length * stride, place.offset)) {
      return std::nullopt;
    }
    if (marked.lacks_axis) {
      place.strides.erase(place.strides.begin() + static_cast<std::ptrdiff_t>(mark.axis));
    }
    at += length;
    join.parts.push_back({part, std::move(place), marked.lacks_axis});
  }
  return at == layout->sizes[mark.axis] ? std::optional(std::move(join)) : std::nullopt;
}

/// Axes like those of `part`, in the order in memory of `whole`, with a gap outside of the joined
/// axis.
TensorDomain* domainOfPlace(const TensorView* part, bool lacks_axis, const TensorView* whole,
                            size_t axis) {
  const std::vector<IterDomain*> logical = ops::axesOf(whole);
  const std::vector<IterDomain*> axes = IterDomain::clone(ops::axesOf(part));
  std::vector<IterDomain*> memory;
  size_t outside = 0;  // axes outside of the joined one in memory
  for (const IterDomain* id : TensorDomain::noReductions(whole->getMaybeAllocationDomain())) {
    const auto place =
        static_cast<size_t>(std::find(logical.begin(), logical.end(), id) - logical.begin());
    outside = place == axis ? memory.size() : outside;
    if (place != axis || !lacks_axis) {
      memory.push_back(axes[place - (lacks_axis && place > axis ? 1 : 0)]);
    }
  }
  Contiguity contiguity = TensorDomain::getContiguityFilledWith(memory, true);
  while (outside > 0 && !contiguity[outside - 1]) {
    --outside;
  }
  if (outside > 0) {
    contiguity[outside - 1] = false;
  }
  auto* domain = IrBuilder::createInContainer<TensorDomain>(
      part->fusion(), axes, TensorDomain::getContiguityFilledWith(axes, true));
  domain->setAllocationDomain(std::move(memory), std::move(contiguity));
  return domain;
}

/// `part`, or a copy of it where it is needed elsewhere or lies otherwise: an output of its own.
TensorView* storedPart(TensorView* part, const TensorView* place) {
  Fusion* fusion = part->fusion();
  const bool is_own = part->definition() != nullptr && !part->isFusionOutput() &&
                      !part->hasAllocation() && fusion->usesOf(part).empty();
  TensorView* stored = is_own ? part : set(part);
  const std::vector<IterDomain*> axes = ops::axesOf(place);
  const std::vector<IterDomain*> own = ops::axesOf(stored);
  std::vector<IterDomain*> memory;
  for (const IterDomain* id : place->getMaybeAllocationDomain()) {
    const auto at = std::find(axes.begin(), axes.end(), id) - axes.begin();
    memory.push_back(own[static_cast<size_t>(at)]);
  }
  fusion->addOutput(stored);
  if (memory != own) {
    Contiguity contiguity = TensorDomain::getContiguityFilledWith(memory, true);
    stored->setAllocationDomain(std::move(memory), std::move(contiguity));
  }
  return stored;
}

}  // namespace

std::vector<PlannedJoin> planJoins(const Fusion& fusion, DeviceKind device,
                                   ExpressionEvaluator& evaluator) {
  std::vector<PlannedJoin> joins;
  if (preseg_passes::joinedOutputs(fusion).empty()) {
    return joins;
  }
  const std::unordered_map<int64_t, TensorView*> tensors = tensorsByName(fusion);
  for (const preseg_passes::JoinedOutput& mark : preseg_passes::joinedOutputs(fusion)) {
    if (auto join = planJoin(mark, tensors, device, evaluator)) {
      joins.push_back(std::move(*join));
    }
  }
  return joins;
}

const TensorView* storeParts(Fusion& fusion, const PlannedJoin& join) {
  FusionGuard guard(&fusion);
  const std::unordered_map<int64_t, TensorView*> tensors = tensorsByName(fusion);
  TensorView* output = tensors.at(join.output->name());
  fusion.removeOutput(output);
  for (const PlannedJoin::Part& planned : join.parts) {
    TensorView* part = tensors.at(planned.tensor->name());
    auto* place = IrBuilder::createInContainer<TensorView>(
        &fusion, domainOfPlace(part, planned.lacks_axis, output, join.axis), part->dtype());
    fusion.addInput(place);
    fusion.aliasOutputToInput(storedPart(part, place), place, AllocationType::ReuseBuffer);
  }
  return output;
}

KernelArgumentHolder memoryOf(const PlannedJoin& join, Device& device, const RunContext& context) {
  const Tensor whole = Tensor::emptyStrided(join.layout.sizes, join.layout.strides,
                                            join.output->dtype(), device, context);
  KernelArgumentHolder memory;
  memory.push(whole);
  for (const PlannedJoin::Part& part : join.parts) {
    memory.push(whole.asStrided(part.place.sizes, part.place.strides,
                                whole.storageOffset() + part.place.offset));
  }
  return memory;
}

}  // namespace nvfuser
