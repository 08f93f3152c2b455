#include <settling/redefine.h>

#include <algorithm>
#include <map>

#include <ir/builder.h>
#include <ir/composite_nodes.h>
#include <ops/alias.h>
#include <ops/arith.h>
#include <ops/axes.h>
#include <ops/communication.h>
#include <ops/composite.h>
#include <ops/define_again.h>
#include <ops/indexing.h>
#include <ops/tensor_of_shape.h>
#include <ops/utils.h>
#include <preseg_passes/rewrite.h>

namespace nvfuser::settling {

namespace {

using ops::axesOf;
using ops::constantOf;
using ops::extentOf;

TensorView* asTensor(Val* val) { return val == nullptr ? nullptr : val->as<TensorView>(); }
TensorView* operand(const Expr* expr, size_t i) { return expr->input(i)->as<TensorView>(); }
TensorView* result(const Expr* expr, size_t i = 0) { return expr->output(i)->as<TensorView>(); }

std::vector<Val*> sizesOf(const TensorView* tv) {
  std::vector<Val*> sizes;
  for (const IterDomain* id : axesOf(tv)) {
    sizes.push_back(extentOf(id));
  }
  return sizes;
}

/// Axes of `x` that have one element although they are not known as such.
TensorView* withUnitAxesStretchable(TensorView* x) {
  for (size_t axis = 0; axis < axesOf(x).size(); ++axis) {
    if (ops::isUnitAxis(axesOf(x)[axis]) && !axesOf(x)[axis]->isBroadcast()) {
      x = ops::asBroadcast(x, axis);
    }
  }
  return x;
}

TensorView* copied(const LoadStoreOp* op) {
  TensorView* in = operand(op, 0);
  const TensorView* out = result(op);
  if (!out->hasRoot()) {
    return op->opType() == LoadStoreOpType::SegmenterSet ? segment_set(in) : set(in);
  }
  std::vector<int64_t> order;
  const std::vector<IterDomain*> root = TensorDomain::noReductions(out->getRootDomain());
  for (const IterDomain* id : axesOf(out)) {
    order.push_back(std::find(root.begin(), root.end(), id) - root.begin());
  }
  return permute(in, order);
}

/// It makes some broadcast axes iterated: an expanded one at its length, one of one element at the
/// length that the definition says.
TensorView* repeated(const RepeatOp* op) {
  TensorView* in = operand(op, 0);
  std::vector<IterDomain*> axes = ops::freshAxes(in);
  const std::vector<IterDomain*> asked = axesOf(result(op));
  bool changed = false;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (!axes[i]->isBroadcast() || asked[i]->isBroadcast()) {
      continue;
    }
    Val* size = axes[i]->hasExpandedExtent() ? extentOf(axes[i]) : extentOf(asked[i]);
    if (constantOf(size) == 1) {
      changed |= axes[i]->hasExpandedExtent();
      axes[i] = ops::newBroadcastAxis();
    } else {
      changed = true;
      axes[i] = ops::newIterAxis(size);
    }
  }
  if (!changed) {
    return set(in);
  }
  TensorView* out = ops::newTensor(std::move(axes), in->dtype());
  IrBuilder::create<RepeatOp>(out, in);
  return out;
}

TensorView* sliced(const SliceOp* op) {
  TensorView* out = ops::cutTo(operand(op, 0), ops::rangesOf(op));
  return out == operand(op, 0) ? set(out) : out;
}

TensorView* reshaped(const ReshapeOp* op) {
  const std::vector<IterDomain*> root =
      TensorDomain::noReductions(result(op)->getMaybeRootDomain());
  const std::vector<IterDomain*> present = axesOf(operand(op, 0));
  std::vector<Val*> sizes;
  for (IterDomain* id : axesOf(result(op))) {
    const auto kept = static_cast<size_t>(std::find(root.begin(), root.end(), id) - root.begin());
    sizes.push_back(extentOf(kept < root.size() ? present[kept] : id));
  }
  return ops::reshapeTo(operand(op, 0), sizes);
}

/// The parts of a concatenation keep their iterated axis: it says where they lie.
TensorView* padded(const PadOp* op) {
  const std::vector<IterDomain*> root =
      TensorDomain::noReductions(result(op)->getMaybeRootDomain());
  const std::vector<IterDomain*> logical = axesOf(result(op));
  std::vector<ops::Margin> margins(logical.size());
  for (size_t i = 0; i < logical.size(); ++i) {
    if (root[i] != logical[i]) {
      margins[i] = {op->leftWidth(i), op->rightWidth(i), extentOf(logical[i])};
    }
  }
  const auto& uses = result(op)->uses();
  const bool is_part = !uses.empty() && std::all_of(uses.begin(), uses.end(), [](const Expr* use) {
    return use->isA<CatOp>();
  });
  TensorView* out = ops::padTo(operand(op, 0), margins, op->value());
  return is_part ? out : withUnitAxesStretchable(out);
}

TensorView* joined(const CatOp* op) {
  std::vector<TensorView*> parts;
  for (Val* part : op->inputs()) {
    parts.push_back(asTensor(part));
  }
  return withUnitAxesStretchable(cat(parts, op->concatenatedDim(), std::nullopt, true));
}

TensorView* drawn(const RNGOp* op) {
  TensorView* out = ops::tensorOfShape("random", sizesOf(result(op)), result(op)->dtype());
  std::vector<Val*> parameters;
  for (int64_t i = 0; i < op->numParameters(); ++i) {
    parameters.push_back(op->parameter(static_cast<size_t>(i)));
  }
  auto* made =
      IrBuilder::create<RNGOp>(op->getRNGOpType(), out, parameters, op->seed(), op->offset());
  Fusion* fusion = out->fusion();
  if (fusion->hasManaged("random_draws")) {
    // It draws the numbers that the first definition drew.
    auto draws = fusion->getManaged<std::map<int64_t, int64_t>>("random_draws");
    if (const auto found = draws.find(op->name()); found != draws.end()) {
      draws[made->name()] = found->second;
      fusion->manage("random_draws", draws);
    }
  }
  return out;
}

TensorView* selected(const SelectOp* op) {
  std::vector<IterDomain*> axes = ops::freshAxes(operand(op, 0));
  axes.erase(axes.begin() + op->dim());
  TensorView* out = ops::newTensor(std::move(axes), result(op)->dtype());
  IrBuilder::create<SelectOp>(out, operand(op, 0), op->dim(), op->input(1));
  return out;
}

std::vector<TensorView*> largest(const TopKOp* op) {
  const std::vector<Val*> sizes = sizesOf(result(op));
  Val* k = sizes.empty() ? op->input(1) : sizes[static_cast<size_t>(op->dim())];
  const TopKResult found = topk(operand(op, 0), k, op->dim(), op->isLargest(), true);
  return {found.values, found.indices};
}

std::vector<TensorView*> attended(const SdpaFwdOp* op) {
  auto at = [&](std::optional<size_t> place) { return place ? op->input(*place) : nullptr; };
  const SdpaFwdResult all =
      sdpfa_fwd(operand(op, 0), operand(op, 1), operand(op, 2), asTensor(at(op->biasPlace())),
                asTensor(at(op->maskPlace())), op->dropoutP(), op->input(SdpaFwdOp::kIsCausal),
                at(op->scalePlace()));
  return {all.output, all.logsumexp, all.philox_seed, all.philox_offset};
}

std::vector<TensorView*> attentionGradients(const SdpaBwdOp* op) {
  const SdpaBwdResult all = sdpfa_bwd(
      operand(op, 0), operand(op, 1), operand(op, 2), operand(op, 3), operand(op, 4),
      operand(op, SdpaBwdOp::kLogSumExp), op->input(SdpaBwdOp::kDropoutP),
      op->input(SdpaBwdOp::kIsCausal), operand(op, SdpaBwdOp::kSeed),
      operand(op, SdpaBwdOp::kOffset), op->hasScale() ? op->input(SdpaBwdOp::kScale) : nullptr);
  return {all.grad_query, all.grad_key, all.grad_value};
}

template <typename Op>
TensorView* scaledProduct(const Op* op) {
  const ScaledProductPlaces places = op->places();
  auto at = [&](std::optional<size_t> place) {
    return place ? asTensor(op->input(*place)) : nullptr;
  };
  const DataType dtype = result(op)->dtype();
  if constexpr (std::is_same_v<Op, ScaledMmaOp>) {
    return scaled_mm(operand(op, 0), operand(op, 1), at(places.scale1), at(places.scale2),
                     at(places.alpha), at(places.bias), at(places.beta), dtype)
        .tv;
  } else {
    return grouped_mm(operand(op, 0), operand(op, 1), operand(op, 2), at(places.scale1),
                      at(places.scale2), at(places.alpha), at(places.bias), at(places.beta), dtype)
        .tv;
  }
}

TensorView* reduced(const ReductionOp* op) {
  return reductionOp(op->getReductionOpType(), ops::reducedAxes(result(op)), op->init(),
                     operand(op, 0), false, result(op)->dtype());
}

std::vector<TensorView*> welford(const WelfordOp* op) {
  const WelfordResult all = Welford(operand(op, 0), ops::reducedAxes(result(op)));
  return {all.avg, all.var_sum, all.n};
}

TensorView* counted(const IotaOp* op) {
  return iota(sizesOf(result(op))[0], op->input(1), op->input(2), result(op)->dtype());
}

TensorView* identityMatrix(const EyeOp* op) {
  const std::vector<Val*> sizes = sizesOf(result(op));
  return eye(sizes[0], sizes[1], result(op)->dtype());
}

TensorView* gathered(const GatherOp* op) {
  return op->exactSizes() ? takeAlongAxis(operand(op, 0), operand(op, 1), op->dim())
                          : gather(operand(op, 0), op->dim(), operand(op, 1));
}

TensorView* scattered(const ScatterOp* op) {
  return scatter(operand(op, 0), op->dim(), operand(op, 1), op->input(2), op->accumulateOp());
}

TensorView* linearMap(const LinearOp* op) {
  return op->hasBias() ? linear(operand(op, 0), operand(op, 1), operand(op, 2))
                       : linear(operand(op, 0), operand(op, 1));
}

TensorView* scanned(const ScanOp* op) {
  return scan(operand(op, 0), op->dim(), op->scanType(), op->init(), op->isBackward());
}

TensorView* sortedOrder(const ArgsortOp* op) {
  return argsort(operand(op, 0), op->dim(), op->isDescending(), true);
}

std::vector<TensorView*> exchanged(const CommunicationOp* op) {
  std::vector<TensorView*> ins;
  for (size_t i = 0; i < op->count(); ++i) {
    ins.push_back(operand(op, i));
  }
  return communicate(op->type(), ins, op->mesh(), op->along(), op->reduction(),
                     asTensor(op->after()));
}

}  // namespace

std::vector<TensorView*> redefine(Expr* expr) {
  const auto in = [&](size_t i) { return operand(expr, i); };
  switch (expr->kind()) {
    case ExprKind::UnaryOp:
    case ExprKind::BinaryOp:
    case ExprKind::TernaryOp:
      return {preseg_passes::applyTo(expr, expr->inputs())};
    case ExprKind::LoadStoreOp:
      return {copied(expr->as<LoadStoreOp>())};
    case ExprKind::BroadcastOp:
      return {broadcast(in(0), expr->as<BroadcastOp>()->flags())};
    case ExprKind::SqueezeOp:
      return {squeeze(in(0), expr->as<SqueezeOp>()->flags(), true)};
    case ExprKind::ExpandOp:
      return {expand(in(0), {expr->inputs().begin() + 1, expr->inputs().end()})};
    case ExprKind::RepeatOp:
      return {repeated(expr->as<RepeatOp>())};
    case ExprKind::ReshapeOp:
      return {reshaped(expr->as<ReshapeOp>())};
    case ExprKind::SliceOp:
      return {sliced(expr->as<SliceOp>())};
    case ExprKind::PadOp:
      return {padded(expr->as<PadOp>())};
    case ExprKind::CatOp:
      return {joined(expr->as<CatOp>())};
    case ExprKind::ViewAsScalar:
      return {viewAsScalar(in(0))};
    case ExprKind::ReductionOp:
      return {reduced(expr->as<ReductionOp>())};
    case ExprKind::WelfordOp:
      return welford(expr->as<WelfordOp>());
    case ExprKind::FullOp:
      return {full(sizesOf(result(expr)), expr->input(0), result(expr)->dtype())};
    case ExprKind::IotaOp:
      return {counted(expr->as<IotaOp>())};
    case ExprKind::EyeOp:
      return {identityMatrix(expr->as<EyeOp>())};
    case ExprKind::RNGOp:
      return {drawn(expr->as<RNGOp>())};
    case ExprKind::SelectOp:
      return {selected(expr->as<SelectOp>())};
    case ExprKind::IndexSelectOp:
      return {indexSelect(in(0), expr->as<IndexSelectOp>()->dim(), in(1))};
    case ExprKind::GatherOp:
      return {gathered(expr->as<GatherOp>())};
    case ExprKind::ScatterOp:
      return {scattered(expr->as<ScatterOp>())};
    case ExprKind::MatmulOp:
      return {matmul(in(0), in(1))};
    case ExprKind::LinearOp:
      return {linearMap(expr->as<LinearOp>())};
    case ExprKind::ScanOp:
      return {scanned(expr->as<ScanOp>())};
    case ExprKind::ArgsortOp:
      return {sortedOrder(expr->as<ArgsortOp>())};
    case ExprKind::TopKOp:
      return largest(expr->as<TopKOp>());
    case ExprKind::SdpaFwdOp:
      return attended(expr->as<SdpaFwdOp>());
    case ExprKind::SdpaBwdOp:
      return attentionGradients(expr->as<SdpaBwdOp>());
    case ExprKind::ScaledMmaOp:
      return {scaledProduct(expr->as<ScaledMmaOp>())};
    case ExprKind::GroupedMmaOp:
      return {scaledProduct(expr->as<GroupedMmaOp>())};
    case ExprKind::CommunicationOp:
      return exchanged(expr->as<CommunicationOp>());
    case ExprKind::OnlineSoftmaxOp:
    case ExprKind::WriteAtOp:
    case ExprKind::WrittenOp:
    case ExprKind::Split:
    case ExprKind::Merge:
    case ExprKind::Swizzle:
    case ExprKind::Swizzle1D:
    case ExprKind::Resize:
      break;
  }
  throw InternalError(text("no operation of a definition: ", exprKindName(expr->kind())));
}

}  // namespace nvfuser::settling
