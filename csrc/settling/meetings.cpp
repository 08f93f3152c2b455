#include <settling/meetings.h>

#include <algorithm>

#include <ir/axis_map.h>
#include <ir/builder.h>
#include <ir/internal_nodes.h>

namespace nvfuser::settling {

namespace {

Val* extentOf(const IterDomain* id) { return id->getMaybeExpandedExtent(); }

std::vector<IterDomain*> axesOf(const TensorView* tv) {
  return TensorDomain::noReductions(tv->getLogicalDomain());
}

size_t placeOf(const std::vector<IterDomain*>& axes, const IterDomain* id) {
  return static_cast<size_t>(std::find(axes.begin(), axes.end(), id) - axes.begin());
}

bool isStretched(const IterDomain* id) { return id->isBroadcast() && !id->hasExpandedExtent(); }

}  // namespace

Meetings::Meetings(const Fusion& fusion) {
  for (const Expr* expr : fusion.exprs()) {
    for (const TensorView* out : tensorOutputs(expr)) {
      addPairs(expr, out);
    }
    const TensorView* in = expr->inputs().empty() || !expr->input(0)->isA<TensorView>()
                               ? nullptr
                               : expr->input(0)->as<TensorView>();
    const std::vector<IterDomain*> axes = in == nullptr ? std::vector<IterDomain*>() : axesOf(in);
    for (size_t i = 0; i < axes.size(); ++i) {
      if (expr->isA<SqueezeOp>() && expr->as<SqueezeOp>()->isSqueezeDim(i) &&
          !axes[i]->isBroadcast()) {
        meetings_.push_back(
            {expr, in, i, extentOf(axes[i]), in->fusion()->oneVal(DataType::Index), nullptr, 0});
      }
      if (expr->isA<ExpandOp>() && !isStretched(axes[i]) &&
          !extentOf(axes[i])->sameAs(expr->input(i + 1))) {
        meetings_.push_back({expr, in, i, extentOf(axes[i]), expr->input(i + 1), nullptr, 0});
      }
    }
  }
}

/// Each operand's axis beside the first one of another extent that becomes the same axis.
void Meetings::addPairs(const Expr* expr, const TensorView* out) {
  struct Side {
    const TensorView* tensor;
    size_t axis;
    Val* size;
  };
  std::vector<std::pair<const IterDomain*, std::vector<Side>>> joined;
  for (const TensorView* in : tensorInputs(expr)) {
    const std::vector<IterDomain*> axes = axesOf(in);
    for (auto [from, to] : mapAxes(expr, in, out)) {
      if (isStretched(from) && !expr->isA<CatOp>()) {
        continue;
      }
      auto place = std::find_if(joined.begin(), joined.end(),
                                [to = to](const auto& entry) { return entry.first == to; });
      if (place == joined.end()) {
        place = joined.insert(joined.end(), {to, {}});
      }
      place->second.push_back({in, placeOf(axes, from), extentOf(from)});
    }
  }
  for (const auto& [to, sides] : joined) {
    for (size_t i = 1; i < sides.size(); ++i) {
      if (!sides[i].size->sameAs(sides[0].size)) {
        meetings_.push_back({expr, sides[0].tensor, sides[0].axis, sides[0].size, sides[i].size,
                             sides[i].tensor, sides[i].axis});
      }
    }
  }
}

void Meetings::check(ExpressionEvaluator& sizes) const {
  for (const Meeting& meeting : meetings_) {
    const PolymorphicValue size = sizes.evaluate(meeting.size);
    const PolymorphicValue needed = sizes.evaluate(meeting.needed);
    // What settling left of a squeeze is no broadcast axis: a kernel could not drop it.
    const bool fits = !size.hasValue() || !needed.hasValue() || size == needed;
    if (fits && !meeting.expr->isA<SqueezeOp>()) {
      continue;
    }
    if (meeting.other == nullptr) {
      userError(meeting.expr->getOpString(), ": axis ", meeting.axis, " of ",
                meeting.tensor->toInlineString(), " has size ", size, ", but ", needed,
                " is needed; only an axis of size 1 is stretched or dropped");
    }
    userError(
        "Tried to bind to a value: ", meeting.needed->toInlineString(), " (which evaluated to ",
        needed, ") as ", size, ": the inputs' sizes do not agree: axis ", meeting.axis, " of ",
        meeting.tensor->toInlineString(), " has size ", size, " and axis ", meeting.other_axis,
        " of ", meeting.other->toInlineString(), " has size ", needed, ", and they meet in ",
        meeting.expr->getOpString(), "; they must be equal, or one of them 1");
  }
}

}  // namespace nvfuser::settling
