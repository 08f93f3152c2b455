// Which outputs of a step are written straight to the inputs that they reuse.
#include <algorithm>

#include <runtime/in_place.h>
#include <runtime/launch_values.h>
#include <runtime/prepared_fusion.h>

namespace nvfuser {

namespace {

size_t positionIn(const std::vector<const Val*>& list, const Val* val) {
  return static_cast<size_t>(std::find(list.begin(), list.end(), val) - list.begin());
}

/// Whether a tensor's rows, along the axis that `in` declares to be innermost and without gaps, are
/// of whole vectors, each at a multiple of their width, in which a GPU's kernel may write them.
/// (Vectors of the CPU begin anywhere.)
bool liesInVectors(const Tensor& tensor, const TensorView* in) {
  const int64_t width = kMaxVectorBytes / dataTypeSizeByte(tensor.dtype());
  if (alignmentOf(tensor) < kMaxVectorBytes) {
    return false;
  }
  const std::vector<IterDomain*> logical = TensorDomain::noReductions(in->getLogicalDomain());
  const std::vector<IterDomain*>& memory = in->getMaybeAllocationDomain();
  bool is_row = true;
  for (size_t place = memory.size(); place-- > 0;) {
    const auto axis = std::find(logical.begin(), logical.end(), memory[place]) - logical.begin();
    if (memory[place]->isBroadcast() || axis == std::ssize(logical)) {
      continue;
    }
    const auto at = static_cast<size_t>(axis);
    if (is_row ? in->getContiguity()[place] != true || tensor.sizes()[at] % width != 0
               : tensor.strides()[at] % width != 0) {
      return false;
    }
    is_row = false;
  }
  return !is_row;
}

}  // namespace

/// Outputs of a step that may go straight to the inputs that they reuse, as far as the call can
/// tell (in_place.h). `last_use`: the last step that reads each input; `last_risk`: the last step
/// that may fail.
std::vector<InPlace> FusionExecutorCache::inPlaceOf(
    const Variant& variant, const FusionSegment& segment, size_t step,
    const std::unordered_map<const Val*, size_t>& last_use, size_t last_risk, Call& call) {
  std::vector<InPlace> pairs;
  for (size_t k = 0; k < segment.outputs().size(); ++k) {
    const AliasInfo& alias = variant.fusion->getOutputAlias(segment.outputs()[k]);
    const size_t place = positionIn(segment.inputs(), alias.aliased_io);
    if (alias.type != AllocationType::ReuseBuffer || alias.aliased_io == nullptr ||
        place == segment.inputs().size() || alias.aliased_io->isFusionOutput() ||
        last_use.at(alias.aliased_io) > step) {
      continue;
    }
    const auto& arguments = variant.fusion->inputs();
    const auto argument = std::find(arguments.begin(), arguments.end(), alias.aliased_io);
    const auto position = static_cast<size_t>(argument - arguments.begin());
    // What a call makes for parts of a join is lost with the call that fails.
    if (step < last_risk && position < call.args.size()) {
      continue;
    }
    const Tensor& tensor = call.planned_args[position].tensor();
    const auto* out = segment.outputs()[k]->as<TensorView>();
    const std::optional<ViewLayout> dense = denseLayout(out, call.evaluator);
    // A kernel of a GPU writes a caller's memory in vectors, as memory of its own; parts of a join
    // in those that their place allows. On a CPU vectors begin anywhere.
    const bool in_vectors = call.device->kind() != DeviceKind::Cpu && position < call.args.size();
    const int64_t unit = in_vectors ? kMaxVectorBytes : dataTypeSizeByte(tensor.dtype());
    if (!dense || alignmentOf(tensor) < unit) {
      continue;
    }
    if (sameLayout(tensor, dense->sizes, dense->strides)) {
      pairs.push_back({k, place});
      continue;
    }
    // Other steps expect what they read to lie without gaps.
    const auto* in = segment.fusion().inputs()[place]->as<TensorView>();
    if (tensor.sizes() == dense->sizes && last_use.count(out) == 0 &&
        mayTakeGaps(segment.fusion().outputs()[k]->as<TensorView>(), in) &&
        (call.device->kind() == DeviceKind::Cpu || liesInVectors(tensor, in))) {
      pairs.push_back({k, place, true});
    }
  }
  return pairs;
}

}  // namespace nvfuser
