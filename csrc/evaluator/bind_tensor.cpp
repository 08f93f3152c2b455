// Binding the extents of a tensor to actual sizes, and checking an actual layout against what the
// tensor promises.

#include <algorithm>
#include <map>
#include <utility>

#include <evaluator/expression_evaluator.h>
#include <ir/internal_nodes.h>

namespace nvfuser {

namespace {

using SizeAndStride = std::pair<int64_t, int64_t>;

/// Replays transforms on (size, stride) pairs, from the logical axes to any axis made from them.
class LayoutReplay {
 public:
  LayoutReplay(const TensorView* tv, ExpressionEvaluator& evaluator)
      : tv_(tv), evaluator_(evaluator) {}

  void set(const IterDomain* id, SizeAndStride layout) { known_[id] = layout; }

  SizeAndStride of(const IterDomain* id) {
    if (auto found = known_.find(id); found != known_.end()) {
      return found->second;
    }
    const Expr* def = id->definition();
    if (def != nullptr && def->isA<Split>()) {
      replay(def->as<Split>());
    } else if (def != nullptr && def->isA<Merge>()) {
      replay(def->as<Merge>());
    } else {
      userError("allocation axis ", *id, " of ", *tv_,
                " is not made from the logical domain by splits and merges");
    }
    return known_.at(id);
  }

 private:
  void replay(const Split* split) {
    const auto [size, stride] = of(split->in());
    const int64_t factor = evaluator_.evaluateInt(split->factor(), "the factor of a split");
    if (factor <= 0 || size % factor != 0) {
      userError("axis ", *split->in(), " of ", *tv_, " has extent ", size, ", which the factor ",
                factor, " of its allocation domain does not divide");
    }
    const int64_t rest = size / factor;  // also of an axis without elements
    const int64_t inner = split->innerSplit() ? factor : rest;
    known_[split->outer()] = {split->innerSplit() ? rest : factor, stride * inner};
    known_[split->inner()] = {inner, stride};
  }

  void replay(const Merge* merge) {
    const auto [outer_size, outer_stride] = of(merge->outer());
    const auto [inner_size, inner_stride] = of(merge->inner());
    if (outer_size != 1 && inner_size != 1 && outer_stride != inner_stride * inner_size) {
      userError("axes ", *merge->outer(), " and ", *merge->inner(), " of ", *tv_,
                " are merged in the allocation domain, but there is a gap between them: strides ",
                outer_stride, " and ", inner_stride, " with an inner extent of ", inner_size);
    }
    known_[merge->out()] = {outer_size * inner_size, inner_size == 1 ? outer_stride : inner_stride};
  }

  const TensorView* tv_;
  ExpressionEvaluator& evaluator_;
  std::map<const IterDomain*, SizeAndStride> known_;
};

/// What a layout lacks that the tensor promises; empty where it has all.
std::string gapIn(const TensorView* tv, const AllocationLayout& layout,
                  const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides) {
  const std::vector<IterDomain*>& allocation = tv->getMaybeAllocationDomain();
  const Contiguity& contiguity = tv->getContiguity();
  int64_t expected = 1;
  size_t at = layout.sizes.size();
  for (size_t axis = allocation.size(); axis-- > 0;) {
    if (allocation[axis]->isReduction() || allocation[axis]->isStride()) {
      continue;
    }
    --at;
    if (allocation[axis]->isBroadcast()) {
      continue;
    }
    if (layout.sizes[at] == 1) {
      // Its own stride does not matter, unless that of the next axis outwards is worked out from
      // it.
      expected = contiguity[axis].value_or(false) ? expected : layout.strides[at];
      continue;
    }
    if (contiguity[axis].value_or(false) && layout.strides[at] != expected) {
      return text(*tv, "'s stride mismatch with contiguity info. Axis ", *allocation[axis],
                  " is declared contiguous and needs stride ", expected, ", but has ",
                  layout.strides[at], "\n  note: sizes [", join(sizes, ", "), "], strides [",
                  join(strides, ", "),
                  "]  help: declare the tensor without contiguity, or pass a contiguous tensor");
    }
    expected = layout.sizes[at] * layout.strides[at];
  }
  return {};
}

}  // namespace

AllocationLayout allocationLayout(const TensorView* tv, const std::vector<int64_t>& sizes,
                                  const std::vector<int64_t>& strides,
                                  ExpressionEvaluator& evaluator) {
  LayoutReplay replay(tv, evaluator);
  const std::vector<IterDomain*> logical = TensorDomain::noReductions(tv->getLogicalDomain());
  check(sizes.size() == logical.size() && strides.size() == logical.size(),
        "a tensor's layout has another rank than the tensor");
  for (size_t axis = 0; axis < logical.size(); ++axis) {
    replay.set(logical[axis], {sizes[axis], strides[axis]});
  }
  AllocationLayout layout;
  for (const IterDomain* id : TensorDomain::noReductions(tv->getMaybeAllocationDomain())) {
    const auto [size, stride] = replay.of(id);
    layout.sizes.push_back(size);
    layout.strides.push_back(stride);
  }
  return layout;
}

void ExpressionEvaluator::bindTensor(const TensorView* tv, const std::vector<int64_t>& sizes) {
  const std::vector<IterDomain*> logical = TensorDomain::noReductions(tv->getLogicalDomain());
  if (sizes.size() != logical.size()) {
    userError("Expected ", *tv, ", to be bound to a tensor of rank ", logical.size(),
              ", but got a tensor of rank ", sizes.size());
  }
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    try {
      bind(logical[axis]->getMaybeExpandedExtent(), PolymorphicValue(sizes[axis]), true);
    } catch (const UserError& error) {
      userError(error.what(), "\n  note: axis ", axis, " of ", *tv,
                " was given a tensor of sizes [", join(sizes, ", "), "]");
    }
  }
}

std::string refusesLayout(const TensorView* tv, const std::vector<int64_t>& sizes,
                          const std::vector<int64_t>& strides, ExpressionEvaluator& evaluator) {
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) {
    return {};
  }
  const std::vector<IterDomain*> logical = TensorDomain::noReductions(tv->getLogicalDomain());
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    if (logical[axis]->hasExpandedExtent() && sizes[axis] != 1 && strides[axis] != 0) {
      return text("Expecting an expanded dimension on dimension ", axis, " of ", *tv,
                  ", but found stride ", strides[axis], "; an expanded dimension has stride 0");
    }
  }
  return gapIn(tv, allocationLayout(tv, sizes, strides, evaluator), sizes, strides);
}

void ExpressionEvaluator::bindTensor(const TensorView* tv, const std::vector<int64_t>& sizes,
                                     const std::vector<int64_t>& strides) {
  bindTensor(tv, sizes);
  if (const std::string reason = refusesLayout(tv, sizes, strides, *this); !reason.empty()) {
    userError(reason);
  }
}

}  // namespace nvfuser
