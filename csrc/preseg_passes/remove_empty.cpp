#include <preseg_passes/remove_empty.h>

#include <algorithm>
#include <limits>

#include <ir/axis_map.h>
#include <ir/builder.h>
#include <ops/alias.h>
#include <ops/arith.h>
#include <ops/axes.h>
#include <preseg_passes/rewrite.h>

namespace nvfuser::preseg_passes {

namespace {

bool isEmpty(const TensorView* tv) {
  const std::vector<IterDomain*> axes = ops::axesOf(tv);
  return std::any_of(axes.begin(), axes.end(),
                     [](const IterDomain* id) { return ops::constantOf(ops::extentOf(id)) == 0; });
}

/// A tensor with the axes of `tv`, all elements `value`; an iterated axis of one element stays
/// iterated, an expanded one expanded.
TensorView* filled(const TensorView* tv, Val* value) {
  std::vector<IterDomain*> axes;
  for (IterDomain* id : ops::freshAxes(tv)) {
    axes.push_back(id->isBroadcast() ? ops::newBroadcastAxis(id->expandedExtent())
                                     : ops::newIterAxis(ops::extentOf(id)));
  }
  TensorView* out = ops::newTensor(std::move(axes), tv->dtype());
  IrBuilder::create<FullOp>(out, SimplifyingIrBuilder::maybeCastExpr(tv->dtype(), value));
  return out;
}

/// What every element of `out` is where the operand of `expr` has none; null where that has to be
/// computed.
Val* valueOfNothing(const Expr* expr, const TensorView* out) {
  if (expr->isA<PadOp>()) {
    return expr->as<PadOp>()->value();
  }
  if (expr->isA<ReductionOp>()) {
    return expr->as<ReductionOp>()->init();
  }
  if (!expr->isA<WelfordOp>()) {
    return nullptr;
  }
  if (out == expr->as<WelfordOp>()->outAvg()) {
    return IrBuilder::create<Val>(PolymorphicValue(std::numeric_limits<double>::quiet_NaN()),
                                  out->dtype());
  }
  return out->fusion()->zeroVal(out->dtype());
}

/// What `expr` gives although an operand has no elements; null for what stays as it is.
TensorView* ofNothing(const Expr* expr, const TensorView* out) {
  if (isEmpty(out)) {
    return filled(out, out->fusion()->zeroVal(out->dtype()));
  }
  Val* value = valueOfNothing(expr, out);
  return value != nullptr && isEmpty(expr->input(0)->as<TensorView>()) ? filled(out, value)
                                                                       : nullptr;
}

/// The tensor that a concatenation pads; null if it is given padded.
const TensorView* padded(const Val* part) {
  const Expr* def = part->definition();
  return def != nullptr && def->isA<PadOp>() ? def->input(0)->as<TensorView>() : nullptr;
}

/// Whether it says where a part of a concatenation lies: that is read off the pad.
bool placesPart(const Expr* expr) {
  if (!expr->isA<PadOp>()) {
    return false;
  }
  const std::vector<Expr*>& readers = expr->output(0)->uses();
  return std::any_of(readers.begin(), readers.end(),
                     [](const Expr* reader) { return reader->isA<CatOp>(); });
}

/// A concatenation of its parts with elements; null if all have some.
TensorView* joinedAgain(const CatOp* cat) {
  std::vector<TensorView*> kept;
  for (Val* part : cat->inputs()) {
    const TensorView* inside = padded(part);
    if (inside == nullptr || !isEmpty(inside)) {
      kept.push_back(part->as<TensorView>());
    }
  }
  if (kept.empty() || kept.size() == cat->inputs().size()) {
    return nullptr;
  }
  return nvfuser::cat(kept, cat->concatenatedDim(), std::nullopt, true);
}

}  // namespace

void removeEmpty(Fusion& fusion) {
  FusionGuard guard(&fusion);
  const std::vector<Expr*> exprs = fusion.exprs();
  // Concatenations first, while their parts are still pads.
  for (const Expr* expr : exprs) {
    if (expr->isA<CatOp>() && !isEmpty(expr->output(0)->as<TensorView>())) {
      TensorView* out = expr->output(0)->as<TensorView>();
      TensorView* joined = joinedAgain(expr->as<CatOp>());
      if (joined != nullptr && sameForm(out, joined)) {
        replaceTensor(out, joined);
      }
    }
  }
  for (const Expr* expr : exprs) {
    const std::vector<TensorView*> outputs = tensorOutputs(expr);
    if ((outputs.size() != 1 && !expr->isA<WelfordOp>()) || expr->isA<FullOp>() ||
        placesPart(expr) || tensorInputs(expr).empty() || outputs[0]->isFusionInput()) {
      continue;
    }
    for (TensorView* out : outputs) {
      if (TensorView* replacement = ofNothing(expr, out)) {
        replaceTensor(out, replacement);
      }
    }
  }
}

}  // namespace nvfuser::preseg_passes
