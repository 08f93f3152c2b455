/// Operations that compute each element by itself.
#include <algorithm>

#include <device_lower/kernel_builder.h>
#include <ir/axis_map.h>
#include <ops/table/pointwise.h>

namespace nvfuser {

using kir::Scalar;

void KernelBuilder::compute(kir::PointwiseType type, const Leaf& leaf, const Places& places,
                            const kir::Ref& dst, kir::Block& out) {
  const Expr* expr = leaf.expr;
  std::vector<kir::Operand> operands;
  for (const Val* input : expr->inputs()) {
    operands.push_back(operand(input, expr, leaf.out, places));
  }
  const auto shown = digits_shown_.find(leaf.out);
  out.push_back({kir::Compute{type, dst, std::move(operands), pointwiseComputeType(expr),
                              shown == digits_shown_.end() ? 0 : shown->second,
                              quotients_by_shared_.count(leaf.out) != 0}});
}

void KernelBuilder::pointwise(Leaf& leaf, const Places& places, const kir::Ref& dst,
                              kir::Block& out) {
  const Expr* expr = leaf.expr;
  auto compute = [&](kir::PointwiseType type) { this->compute(type, leaf, places, dst, out); };
  auto in = [&] { return operand(expr->input(0), expr, leaf.out, places); };
  switch (expr->kind()) {
    case ExprKind::UnaryOp:
      compute(expr->as<UnaryOp>()->getUnaryOpType());
      break;
    case ExprKind::BinaryOp:
      compute(expr->as<BinaryOp>()->getBinaryOpType());
      break;
    case ExprKind::TernaryOp:
      compute(expr->as<TernaryOp>()->getTernaryOpType());
      break;
    case ExprKind::LoadStoreOp:
      out.push_back({kir::Assign{dst, in(), expr->as<LoadStoreOp>()->cacheOp()}});
      break;
    case ExprKind::BroadcastOp:
    case ExprKind::SqueezeOp:
    case ExprKind::ExpandOp:
    case ExprKind::RepeatOp:
    case ExprKind::ReshapeOp:
    case ExprKind::SliceOp:
    case ExprKind::FullOp:
      out.push_back({kir::Assign{dst, in()}});
      break;
    case ExprKind::PadOp:
      pad(expr->as<PadOp>(), places, dst, out);
      break;
    case ExprKind::CatOp:
      cat(expr->as<CatOp>(), places, dst, out);
      break;
    case ExprKind::IotaOp:
      iota(expr->as<IotaOp>(), places, dst, out);
      break;
    case ExprKind::EyeOp:
      eye(expr->as<EyeOp>(), places, dst, out);
      break;
    case ExprKind::RNGOp:
      random(expr->as<RNGOp>(), places, dst, out);
      break;
    case ExprKind::ViewAsScalar:
      complexPart(expr->as<ViewAsScalar>(), places, dst, out);
      break;
    case ExprKind::SelectOp:
    case ExprKind::IndexSelectOp:
    case ExprKind::GatherOp:
      indirect(expr, places, dst, out);
      break;
    case ExprKind::WriteAtOp:
      writeAt(expr->as<WriteAtOp>(), places, out);
      break;
    case ExprKind::WrittenOp:
      break;  // it has no statement
    case ExprKind::ScatterOp:
    case ExprKind::MatmulOp:
    case ExprKind::LinearOp:
    case ExprKind::ArgsortOp:
    case ExprKind::TopKOp:
    case ExprKind::SdpaFwdOp:
    case ExprKind::SdpaBwdOp:
    case ExprKind::ScaledMmaOp:
    case ExprKind::GroupedMmaOp:
    case ExprKind::CommunicationOp:
      userError("lower: ", expr->getOpString(), " (", expr->toString(),
                ") cannot be part of a generated kernel; run it as an operation of its own");
    case ExprKind::ReductionOp:
    case ExprKind::WelfordOp:
    case ExprKind::OnlineSoftmaxOp:
    case ExprKind::ScanOp:
    case ExprKind::Split:
    case ExprKind::Merge:
    case ExprKind::Swizzle:
    case ExprKind::Swizzle1D:
    case ExprKind::Resize:
      throw InternalError("this kind of expression is no pointwise statement");
  }
}

const kir::Buffer* KernelBuilder::temporary(DataType dtype, kir::Block& out) {
  kir::Buffer buffer;
  buffer.name = text("t", temporaries_++);
  buffer.dtype = dtype;
  buffer.elements = pool_.one();
  buffer.read = buffer.written = true;
  const kir::Buffer* made = kernel_.addBuffer(std::move(buffer));
  out.push_back({kir::Declare{made}});
  return made;
}

AxisIndex KernelBuilder::windowAxes(const Expr* window, const Places& places) {
  auto* in = window->input(0)->as<TensorView>();
  auto* result = window->output(0)->as<TensorView>();
  AxisIndex axes = indexer_.producerAxes(window, in, result, places);
  for (auto [p, c] : mapAxes(window, in, result)) {
    if (p->isBroadcast() && !c->isBroadcast()) {
      axes[p] = pool_.zero();
    }
  }
  return axes;
}

std::vector<KernelBuilder::Bound> KernelBuilder::windowBounds(const Expr* window,
                                                              const Places& places) {
  auto* result = window->output(0)->as<TensorView>();
  const auto& logical = result->getLogicalDomain();
  std::vector<Bound> bounds;
  for (auto [p, c] : mapAxes(window, window->input(0)->as<TensorView>(), result)) {
    // The consumer's root axis has the producer's extent; its index may lie outside, where it is
    // padded.
    if (std::find(logical.begin(), logical.end(), c) == logical.end()) {
      bounds.push_back({places.index(c), symbols_.extent(c)});
    }
  }
  return bounds;
}

Scalar KernelBuilder::insideWindow(const std::vector<Bound>& bounds) {
  Scalar inside = pool_.one();
  for (const auto& [index, extent] : bounds) {
    if (index->lo < 0) {
      inside = pool_.logicalAnd(inside, pool_.less(pool_.constant(-1), index));
    }
    inside = pool_.logicalAnd(inside, pool_.less(index, extent));
  }
  return inside;
}

void KernelBuilder::pad(const PadOp* op, const Places& places, const kir::Ref& dst,
                        kir::Block& out) {
  Scalar inside = insideWindow(windowBounds(op, places));
  kir::Operand src = markRead(indexer_.read(op->in()->as<TensorView>(), op->out()->as<TensorView>(),
                                            places, windowAxes(op, places)));
  if (inside->isConstant(1)) {
    out.push_back({kir::Assign{dst, src}});
  } else {
    out.push_back({kir::Guarded{dst, inside, src, scalarOperand(op->value())}});
  }
}

namespace {

/// The pad that made an input of a concatenation, seen through copies.
const PadOp* padBehind(const TensorView* tv) {
  while (tv->definition() != nullptr && tv->definition()->isA<LoadStoreOp>()) {
    tv = tv->definition()->input(0)->as<TensorView>();
  }
  return tv->definition() != nullptr && tv->definition()->isA<PadOp>()
             ? tv->definition()->as<PadOp>()
             : nullptr;
}

}  // namespace

void KernelBuilder::cat(const CatOp* op, const Places& places, const kir::Ref& dst,
                        kir::Block& out) {
  auto* result = op->out()->as<TensorView>();
  const auto dim = static_cast<size_t>(op->concatenatedDim());
  Scalar index = elementIndex(result->getLogicalDomain()[dim], places);
  const std::vector<Val*>& inputs = op->inputs();
  // The last input that starts at or before the index holds it. (All are padded to the result's
  // sizes, so each may be read anywhere.)
  kir::Block body{{kir::Assign{dst, operand(inputs.back(), op, result, places)}}};
  for (size_t i = inputs.size() - 1; i > 0; --i) {
    const PadOp* pad = padBehind(inputs[i]->as<TensorView>());
    if (pad == nullptr) {
      userError("lower: input ", i, " of ", op->toString(),
                " does not come from a pad; concatenate with cat(), which pads its inputs");
    }
    Scalar before = pool_.less(index, symbols_.of(pad->leftWidth(dim)));
    if (before->isConstant(0)) {
      continue;
    }
    kir::Operand part = operand(inputs[i - 1], op, result, places);
    if (before->isConstant()) {
      body = {{kir::Assign{dst, part}}};
    } else {
      body.push_back({kir::Guarded{dst, before, part, dst}});
    }
  }
  std::move(body.begin(), body.end(), std::back_inserter(out));
}

Scalar KernelBuilder::elementIndex(const IterDomain* id, const Places& places) const {
  return id->isBroadcast() || id->extent()->isOneInt() ? pool_.zero() : places.index(id);
}

void KernelBuilder::iota(const IotaOp* op, const Places& places, const kir::Ref& dst,
                         kir::Block& out) {
  auto* result = op->out()->as<TensorView>();
  Scalar index = elementIndex(result->getLogicalDomain()[0], places);
  const DataType dtype = result->dtype();
  if (op->step()->isOne() && op->start()->isZero()) {
    out.push_back({kir::Assign{dst, kir::IndexValue{index, dtype}}});
    return;
  }
  // start + i·step in the result's type, floats in at least Float.
  const DataType compute = isReducedPrecisionFloat(dtype) ? DataType(DataType::Float) : dtype;
  kir::Ref value{temporary(compute, out), pool_.zero(), 1};
  out.push_back({kir::Compute{BinaryOpType::Mul,
                              value,
                              {kir::IndexValue{index, compute}, scalarOperand(op->step())},
                              compute}});
  out.push_back(
      {kir::Compute{BinaryOpType::Add, dst, {value, scalarOperand(op->start())}, compute}});
}

void KernelBuilder::eye(const EyeOp* op, const Places& places, const kir::Ref& dst,
                        kir::Block& out) {
  auto* result = op->out()->as<TensorView>();
  const auto& axes = result->getLogicalDomain();
  Scalar same = pool_.equal(elementIndex(axes[0], places), elementIndex(axes[1], places));
  out.push_back({kir::Assign{
      dst, kir::IndexValue{pool_.select(same, pool_.one(), pool_.zero()), result->dtype()}}});
}

void KernelBuilder::random(const RNGOp* op, const Places& places, const kir::Ref& dst,
                           kir::Block& out) {
  kir::Random statement;
  statement.type = op->getRNGOpType();
  statement.dst = dst;
  statement.element = indexer_.logicalElement(op->out()->as<TensorView>(), places);
  if (op->seed() != nullptr) {
    statement.seed = scalarOperand(op->seed());
    statement.offset = scalarOperand(op->offset());
  } else {
    statement.seed = kir::ParamRef{"philox_seed", DataType::Int};
    statement.offset = kir::ParamRef{"philox_offset", DataType::Int};
  }
  statement.draw = draw_of_.at(op);
  for (int64_t i = 0; i < op->numParameters(); ++i) {
    statement.parameters.push_back(scalarOperand(op->parameter(static_cast<size_t>(i))));
  }
  out.push_back({std::move(statement)});
}

void KernelBuilder::complexPart(const ViewAsScalar* op, const Places& places, const kir::Ref& dst,
                                kir::Block& out) {
  auto* result = op->out()->as<TensorView>();
  const auto& axes = result->getMaybeRootDomain();
  Scalar part = places.index(axes.back());
  kir::Operand in = operand(op->in(), op, result, places);
  const DataType compute = op->in()->dtype();
  kir::Block real{{kir::Compute{UnaryOpType::Real, dst, {in}, compute}}};
  kir::Block imag{{kir::Compute{UnaryOpType::Imag, dst, {in}, compute}}};
  kir::If branch;
  branch.condition = pool_.equal(part, pool_.zero());
  branch.then_body = std::make_shared<kir::Block>(std::move(real));
  branch.else_body = std::make_shared<kir::Block>(std::move(imag));
  out.push_back({std::move(branch)});
}

}  // namespace nvfuser
