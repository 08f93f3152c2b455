#include <capi/operation_of_expr.h>

#include <algorithm>

#include <capi/definition_text.h>
#include <ir/composite_nodes.h>
#include <ops/axes.h>
#include <ops/table/pointwise.h>
#include <support/error.h>

namespace nvfuser::capi {

namespace {

using Written = WrittenArgument;

std::string flagText(bool flag) { return flag ? "True" : "False"; }

template <typename Items, typename Text>
std::string listText(const Items& items, const Text& one) {
  return text("[", join(items, ", ", one), "]");
}

/// A call that is put together argument by argument.
class CallWriter {
 public:
  explicit CallWriter(std::string_view operation) { call_.operation = operation; }

  CallWriter& operand(Val* val) { return add({"", {val}, false, ""}); }
  CallWriter& value(std::string_view name, Val* val) {
    return add({std::string(name), {val}, false, ""});
  }
  CallWriter& values(std::string_view name, std::vector<Val*> vals) {
    return add({std::string(name), std::move(vals), true, ""});
  }
  CallWriter& written(std::string_view name, std::string argument) {
    return add({std::string(name), {}, false, std::move(argument)});
  }
  CallWriter& flag(std::string_view name, bool flag) { return written(name, flagText(flag)); }
  CallWriter& number(std::string_view name, int64_t number) { return written(name, text(number)); }
  CallWriter& numbers(std::string_view name, const std::vector<int64_t>& numbers) {
    return written(name, listText(numbers, [](int64_t n) { return text(n); }));
  }
  CallWriter& dtype(DataType dtype) { return written("dtype", dtypeText(dtype)); }
  /// Where an operand is given: by its name.
  CallWriter& optional(std::string_view name, const Expr* expr, std::optional<size_t> place) {
    return place ? value(name, expr->input(*place)) : *this;
  }
  CallWriter& moreResults(size_t count) {
    call_.more_results = count;
    return *this;
  }
  WrittenCall call() const { return call_; }

 private:
  CallWriter& add(Written argument) {
    call_.arguments.push_back(std::move(argument));
    return *this;
  }
  WrittenCall call_;
};

[[noreturn]] void notAnOperation(const Expr* expr, std::string_view why) {
  userError("translate_fusion: ", expr->toString(), " cannot be written as an operation: ", why,
            "; translate the fusion before it is scheduled");
}

TensorView* resultOf(const Expr* expr, size_t i = 0) { return expr->output(i)->as<TensorView>(); }

std::vector<Val*> shapeOf(const TensorView* tv) {
  std::vector<Val*> sizes;
  for (const IterDomain* id : ops::axesOf(tv)) {
    sizes.push_back(ops::extentOf(id));
  }
  return sizes;
}

// ---- pointwise

/// The function of the table that gives this operation back for operands that are already promoted.
std::string_view functionName(int arity, int code, const Expr* expr) {
  for (const PointwiseFunction& function : pointwiseFunctions()) {
    const bool casts_first = function.name == "truediv";  // `div` keeps the operands' dtype
    if (function.arity == arity && function.code == code && !casts_first) {
      return function.name;
    }
  }
  notAnOperation(expr, "there is none of this name");
}

WrittenCall ofUnary(const UnaryOp* op) {
  const UnaryOpType type = op->getUnaryOpType();
  if (type == UnaryOpType::Cast || type == UnaryOpType::BitCast) {
    return CallWriter(type == UnaryOpType::Cast ? "cast" : "bitcast")
        .operand(op->in())
        .dtype(op->out()->dtype())
        .call();
  }
  return CallWriter(functionName(1, static_cast<int>(type), op)).operand(op->in()).call();
}

WrittenCall ofBinary(const BinaryOp* op) {
  const BinaryOpType type = op->getBinaryOpType();
  const std::string_view name =
      type == BinaryOpType::Complex ? "complex" : functionName(2, static_cast<int>(type), op);
  return CallWriter(name).operand(op->lhs()).operand(op->rhs()).call();
}

WrittenCall ofTernary(const TernaryOp* op) {
  return CallWriter(functionName(3, static_cast<int>(op->getTernaryOpType()), op))
      .operand(op->in1())
      .operand(op->in2())
      .operand(op->in3())
      .call();
}

// ---- shapes

/// dims[i]: which axis of `from` is axis i of `to`.
std::vector<int64_t> placesIn(const std::vector<IterDomain*>& from,
                              const std::vector<IterDomain*>& to) {
  std::vector<int64_t> places;
  for (const IterDomain* id : to) {
    places.push_back(std::find(from.begin(), from.end(), id) - from.begin());
  }
  return places;
}

WrittenCall ofCopy(const LoadStoreOp* op) {
  if (!op->out()->isA<TensorView>()) {
    return CallWriter("set").operand(op->in()).call();
  }
  const TensorView* out = resultOf(op);
  if (op->opType() == LoadStoreOpType::SegmenterSet) {
    return CallWriter("segment_set").operand(op->in()).call();
  }
  if (out->hasRoot()) {
    return CallWriter("permute")
        .operand(op->in())
        .numbers("dims", placesIn(out->getRootDomain(), out->getLogicalDomain()))
        .call();
  }
  if (!out->hasAllocation()) {
    return CallWriter("set").operand(op->in()).call();
  }
  std::vector<int64_t> order = placesIn(out->getAllocationDomain(), out->getLogicalDomain());
  for (int64_t& place : order) {
    place = static_cast<int64_t>(order.size()) - 1 - place;
  }
  return CallWriter("stride_order").operand(op->in()).numbers("stride_order", order).call();
}

WrittenCall ofSqueeze(const SqueezeOp* op) {
  const std::vector<IterDomain*> axes = ops::axesOf(op->in()->as<TensorView>());
  std::vector<int64_t> dims;
  bool is_expanded = false;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (op->isSqueezeDim(i)) {
      dims.push_back(static_cast<int64_t>(i));
      is_expanded |= axes[i]->hasExpandedExtent();
    }
  }
  CallWriter call("squeeze");
  call.operand(op->in()).numbers("dims", dims);
  return is_expanded ? call.flag("squeeze_expanded", true).call() : call.call();
}

/// How often each axis of extent 1 is repeated; 1 for others.
std::vector<int64_t> repeatTimes(const RepeatOp* op) {
  const std::vector<IterDomain*> from = ops::axesOf(op->in()->as<TensorView>());
  const std::vector<IterDomain*> to = ops::axesOf(resultOf(op));
  std::vector<int64_t> times(from.size(), 1);
  for (size_t i = 0; i < from.size(); ++i) {
    if (from[i]->isBroadcast() && !from[i]->hasExpandedExtent()) {
      times[i] = ops::constantOf(ops::extentOf(to[i])).value_or(1);
    }
  }
  return times;
}

WrittenCall ofRepeat(const RepeatOp* op) {
  const std::vector<int64_t> times = repeatTimes(op);
  if (std::all_of(times.begin(), times.end(), [](int64_t n) { return n == 1; })) {
    notAnOperation(op, "it makes stretched axes real for another one");
  }
  return CallWriter("repeat").operand(op->in()).numbers("repeat_times", times).call();
}

WrittenCall ofSlice(const SliceOp* op) {
  const size_t rank = ops::axesOf(resultOf(op)).size();
  std::vector<Val*> starts;
  std::vector<Val*> stops;
  std::vector<Val*> steps;
  bool is_dense = true;
  for (size_t i = 0; i < rank; ++i) {
    starts.push_back(op->start(i));
    stops.push_back(op->stop(i));
    steps.push_back(op->step(i));
    is_dense = is_dense && op->step(i)->isOne();
  }
  if (!is_dense) {
    std::vector<int64_t> strides;
    for (const Val* step : steps) {
      strides.push_back(step->value().as<int64_t>());
    }
    return CallWriter("strided_slice")
        .operand(op->in())
        .values("start_indices", starts)
        .values("sizes", shapeOf(resultOf(op)))
        .numbers("strides", strides)
        .call();
  }
  return CallWriter("slice")
      .operand(op->in())
      .values("start_indices", starts)
      .values("end_indices", stops)
      .values("strides", steps)
      .flag("manual_normalization", true)
      .call();
}

WrittenCall ofPad(const PadOp* op) {
  std::vector<Val*> widths;
  for (size_t i = ops::axesOf(resultOf(op)).size(); i-- > 0;) {
    widths.insert(widths.end(), {op->leftWidth(i), op->rightWidth(i)});
  }
  return CallWriter("pad")
      .operand(op->in())
      .values("pad_widths", widths)
      .value("value", op->value())
      .call();
}

// ---- reductions, scans, indices

WrittenCall ofReduction(const ReductionOp* op) {
  const TensorView* out = resultOf(op);
  if (out->hasRoot()) {
    notAnOperation(op, "it is a part of a reduction");
  }
  std::vector<int64_t> dims;
  const std::vector<IterDomain*>& axes = out->getLogicalDomain();
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i]->isReduction()) {
      dims.push_back(static_cast<int64_t>(i));
    }
  }
  const BinaryOpType type = op->getReductionOpType();
  const bool accumulates = type == BinaryOpType::Add || type == BinaryOpType::Mul;
  if (!accumulates && type != BinaryOpType::Max && type != BinaryOpType::Min) {
    notAnOperation(op, "there is no such reduction in Python");
  }
  CallWriter call(type == BinaryOpType::Add   ? "sum"
                  : type == BinaryOpType::Mul ? "prod"
                  : type == BinaryOpType::Max ? "max"
                                              : "min");
  call.operand(op->in()).numbers("dims", dims);
  return accumulates ? call.dtype(out->dtype()).call() : call.call();
}

WrittenCall ofWelford(const WelfordOp* op) {
  const TensorView* out = resultOf(op);
  if (out->hasRoot() || !op->inN()->isConst()) {
    notAnOperation(op, "it is a part of a reduction");
  }
  std::vector<int64_t> dims;
  for (size_t i = 0; i < out->getLogicalDomain().size(); ++i) {
    if (out->getLogicalDomain()[i]->isReduction()) {
      dims.push_back(static_cast<int64_t>(i));
    }
  }
  return CallWriter("welford").operand(op->inAvg()).numbers("dims", dims).call();
}

WrittenCall ofScan(const ScanOp* op) {
  const BinaryOpType type = op->scanType();
  CallWriter call(type == BinaryOpType::Add   ? "cumsum"
                  : type == BinaryOpType::Mul ? "cumprod"
                  : type == BinaryOpType::Max ? "cummax"
                                              : "cummin");
  call.operand(op->input(0)).number("dim", op->dim());
  if (op->init() != nullptr) {
    call.value("init", op->init());
  }
  return op->isBackward() ? call.flag("backward", true).call() : call.call();
}

WrittenCall ofScatter(const ScatterOp* op) {
  const auto type = op->accumulateOp();
  const bool adds = type == BinaryOpType::Add;
  CallWriter call(!type || adds               ? "scatter"
                  : type == BinaryOpType::Mul ? "scatter_mul"
                  : type == BinaryOpType::Max ? "scatter_max"
                                              : "scatter_min");
  call.operand(op->input(0)).operand(op->input(1)).operand(op->input(2)).number("dim", op->dim());
  return adds ? call.flag("accumulate", true).call() : call.call();
}

// ---- from nothing

WrittenCall ofRandom(const RNGOp* op) {
  const RNGOpType type = op->getRNGOpType();
  if (type == RNGOpType::UniformOfThreads) {
    return CallWriter("uniform_of_threads")
        .values("shape", shapeOf(resultOf(op)))
        .value("threads", op->parameter(0))
        .value("width", op->parameter(1))
        .value("rng_seed", op->seed())
        .value("rng_offset", op->offset())
        .call();
  }
  const bool uniform = type == RNGOpType::Uniform || type == RNGOpType::UniformRange;
  CallWriter call(uniform ? "uniform" : "normal");
  if (op->numParameters() == 2) {
    call.operand(op->parameter(0)).operand(op->parameter(1));
  } else {
    call.written("", "0.00000").written("", "1.00000");
  }
  call.values("shape", shapeOf(resultOf(op)));
  if (op->isDeterministic()) {
    call.value("rng_seed", op->seed()).value("rng_offset", op->offset());
  }
  return call.dtype(op->out()->dtype()).call();
}

/// The draw that a minimum is a part of; null for others.
const RNGOp* drawBehind(const Expr* expr) {
  const Expr* def = expr->input(0)->definition();
  const bool is_draw = def != nullptr && def->isA<RNGOp>();
  return is_draw && writtenDraw(def->as<RNGOp>()) == expr ? def->as<RNGOp>() : nullptr;
}

WrittenCall ofIota(const IotaOp* op) {
  return CallWriter("iota")
      .value("length", op->length())
      .value("start", op->start())
      .value("step", op->step())
      .dtype(op->out()->dtype())
      .call();
}

// ---- of a library

WrittenCall ofAttention(const SdpaFwdOp* op) {
  return CallWriter("sdpfa_fwd")
      .operand(op->input(0))
      .operand(op->input(1))
      .operand(op->input(2))
      .optional("bias", op, op->biasPlace())
      .optional("mask", op, op->maskPlace())
      .value("dropout_p", op->dropoutP())
      .value("is_causal", op->input(SdpaFwdOp::kIsCausal))
      .optional("scale", op, op->scalePlace())
      .call();
}

/// Products with scales; `plain`: how many operands come before them.
WrittenCall ofScaledProduct(std::string_view name, const Expr* expr, size_t plain,
                            const ScaledProductPlaces& places) {
  CallWriter call(name);
  for (size_t i = 0; i < plain; ++i) {
    call.operand(expr->input(i));
  }
  call.optional("scale1", expr, places.scale1)
      .optional("scale2", expr, places.scale2)
      .optional("alpha", expr, places.alpha)
      .optional("bias", expr, places.bias)
      .optional("beta", expr, places.beta);
  const bool has_scales = places.scale1 || places.scale2;
  return has_scales ? call.dtype(expr->output(0)->dtype()).moreResults(2).call() : call.call();
}

WrittenCall ofOperands(std::string_view name, const Expr* expr) {
  CallWriter call(name);
  for (Val* in : expr->inputs()) {
    call.operand(in);
  }
  return call.call();
}

bool isCast(const Expr* expr) {
  return expr->isA<UnaryOp>() && expr->as<UnaryOp>()->getUnaryOpType() == UnaryOpType::Cast;
}

/// Whether the operation makes stretched axes of its first operand real by itself.
bool makesAxesReal(const Expr* expr) {
  return expr->isOneOf<ReshapeOp, SliceOp, PadOp>() || expr->isA<ScatterOp>();
}

}  // namespace

const Expr* writtenDraw(const RNGOp* draw) {
  const std::vector<Expr*>& uses = draw->out()->uses();
  if (draw->getRNGOpType() != RNGOpType::UniformRange || uses.size() != 1 ||
      draw->out()->isFusionOutput() || !uses[0]->isA<BinaryOp>()) {
    return draw;
  }
  const auto* bound = uses[0]->as<BinaryOp>();
  if (bound->getBinaryOpType() != BinaryOpType::Min || !bound->rhs()->isScalar()) {
    return draw;
  }
  const std::vector<Expr*>& readers = bound->out()->uses();
  const bool is_cast = readers.size() == 1 && isCast(readers[0]) &&
                       isReducedPrecisionFloat(readers[0]->output(0)->dtype());
  return is_cast ? static_cast<const Expr*>(draw) : bound;
}

Val* withoutRealCopy(Val* val) {
  const Expr* def = val->definition();
  if (def == nullptr || !def->isA<RepeatOp>() || val->isFusionOutput()) {
    return val;
  }
  const std::vector<int64_t> times = repeatTimes(def->as<RepeatOp>());
  const bool repeats = std::any_of(times.begin(), times.end(), [](int64_t n) { return n != 1; });
  const bool serves = std::all_of(val->uses().begin(), val->uses().end(), [&](const Expr* use) {
    return makesAxesReal(use) && use->input(0) == val;
  });
  return repeats || !serves ? val : def->input(0);
}

WrittenCall operationOf(const Expr* expr) {
  auto dim = [&](std::string_view name) {
    return CallWriter(name)
        .operand(expr->input(0))
        .operand(expr->input(1))
        .number("dim", indexedAxis(expr))
        .call();
  };
  switch (expr->kind()) {
    case ExprKind::UnaryOp:
      return ofUnary(expr->as<UnaryOp>());
    case ExprKind::BinaryOp:
      if (const RNGOp* draw = drawBehind(expr)) {
        return ofRandom(draw);
      }
      return ofBinary(expr->as<BinaryOp>());
    case ExprKind::TernaryOp:
      return ofTernary(expr->as<TernaryOp>());
    case ExprKind::LoadStoreOp:
      return ofCopy(expr->as<LoadStoreOp>());
    case ExprKind::BroadcastOp:
      return CallWriter("broadcast")
          .operand(expr->input(0))
          .written("is_broadcast_dim",
                   listText(expr->as<BroadcastOp>()->flags(), [](bool f) { return flagText(f); }))
          .call();
    case ExprKind::SqueezeOp:
      return ofSqueeze(expr->as<SqueezeOp>());
    case ExprKind::ExpandOp:
      return CallWriter("expand")
          .operand(expr->input(0))
          .values("shape", {expr->inputs().begin() + 1, expr->inputs().end()})
          .call();
    case ExprKind::RepeatOp:
      return ofRepeat(expr->as<RepeatOp>());
    case ExprKind::ReshapeOp:
      return CallWriter("reshape")
          .operand(expr->input(0))
          .values("new_shape", shapeOf(resultOf(expr)))
          .call();
    case ExprKind::SliceOp:
      return ofSlice(expr->as<SliceOp>());
    case ExprKind::PadOp:
      return ofPad(expr->as<PadOp>());
    case ExprKind::CatOp: {
      CallWriter call("cat");
      call.values("", expr->inputs()).number("dim", expr->as<CatOp>()->concatenatedDim());
      return call.flag("manual_padding", true).call();
    }
    case ExprKind::ReductionOp:
      return ofReduction(expr->as<ReductionOp>());
    case ExprKind::WelfordOp:
      return ofWelford(expr->as<WelfordOp>());
    case ExprKind::FullOp:
      return CallWriter("full")
          .values("shape", shapeOf(resultOf(expr)))
          .value("fill_value", expr->input(0))
          .dtype(expr->output(0)->dtype())
          .call();
    case ExprKind::IotaOp:
      return ofIota(expr->as<IotaOp>());
    case ExprKind::EyeOp: {
      const std::vector<Val*> shape = shapeOf(resultOf(expr));
      CallWriter call("eye");
      call.value("rows", shape.at(0)).dtype(expr->output(0)->dtype());
      return call.value("cols", shape.at(1)).call();
    }
    case ExprKind::RNGOp:
      return ofRandom(expr->as<RNGOp>());
    case ExprKind::SelectOp:
      return dim("select");
    case ExprKind::IndexSelectOp:
      return dim("index_select");
    case ExprKind::GatherOp:
      return dim(expr->as<GatherOp>()->exactSizes() ? "take_along_axis" : "gather");
    case ExprKind::ScatterOp:
      return ofScatter(expr->as<ScatterOp>());
    case ExprKind::MatmulOp:
      return ofOperands("matmul", expr);
    case ExprKind::LinearOp: {
      CallWriter call("linear");
      call.operand(expr->input(0)).operand(expr->input(1));
      return expr->as<LinearOp>()->hasBias() ? call.value("bias", expr->input(2)).call()
                                             : call.call();
    }
    case ExprKind::ScanOp:
      return ofScan(expr->as<ScanOp>());
    case ExprKind::ArgsortOp:
      return CallWriter("argsort")
          .operand(expr->input(0))
          .number("dim", expr->as<ArgsortOp>()->dim())
          .flag("descending", expr->as<ArgsortOp>()->isDescending())
          .flag("stable", expr->as<ArgsortOp>()->isStable())
          .call();
    case ExprKind::TopKOp:
      return CallWriter("topk")
          .operand(expr->input(0))
          .operand(expr->input(1))
          .number("dim", expr->as<TopKOp>()->dim())
          .flag("largest", expr->as<TopKOp>()->isLargest())
          .flag("sorted", expr->as<TopKOp>()->isSorted())
          .call();
    case ExprKind::SdpaFwdOp:
      return ofAttention(expr->as<SdpaFwdOp>());
    case ExprKind::SdpaBwdOp:
      return ofOperands("sdpfa_bwd", expr);
    case ExprKind::ScaledMmaOp:
      return ofScaledProduct("scaled_mm", expr, 2, expr->as<ScaledMmaOp>()->places());
    case ExprKind::GroupedMmaOp:
      return ofScaledProduct("grouped_mm", expr, 3, expr->as<GroupedMmaOp>()->places());
    case ExprKind::ViewAsScalar:
      return ofOperands("view_as_real", expr);
    case ExprKind::CommunicationOp:
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
  notAnOperation(expr, "it is made by the compiler alone");
}

}  // namespace nvfuser::capi
