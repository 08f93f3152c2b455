#include <evaluator/interpreter.h>

#include <algorithm>
#include <map>

#include <evaluator/operations.h>
#include <ir/axis_map.h>

namespace nvfuser {

namespace reference {

Array Context::operand(const Val* val) {
  if (val->isA<TensorView>()) {
    auto found = arrays.find(val);
    check(found != arrays.end(), "a tensor is read before it is computed");
    return found->second;
  }
  const PolymorphicValue value = evaluator.evaluate(val);
  if (!value.hasValue()) {
    userError("the value of ", val->toInlineString(),
              " is not known: it depends on a scalar that no input gives a value to");
  }
  return splat(value, val->dtype(), {});
}

std::vector<int64_t> Context::logicalSizes(const TensorView* tv) {
  std::vector<int64_t> sizes;
  for (const IterDomain* id : TensorDomain::noReductions(tv->getLogicalDomain())) {
    sizes.push_back(evaluator.evaluateInt(id->getMaybeExpandedExtent(), "the extent of an axis"));
    if (sizes.back() < 0) {
      userError("axis ", *id, " of ", *tv, " has the negative extent ", sizes.back());
    }
  }
  return sizes;
}

namespace {

/// Whether the results of a kind of operation stand in the logical domain already, although there
/// is a root domain.
bool givesLogicalDomain(ExprKind kind) {
  switch (kind) {
    case ExprKind::ReshapeOp:
    case ExprKind::SliceOp:
    case ExprKind::PadOp:
    case ExprKind::ReductionOp:
    case ExprKind::WelfordOp:
    case ExprKind::OnlineSoftmaxOp:
    case ExprKind::FullOp:
    case ExprKind::EyeOp:
    case ExprKind::RNGOp:
      return true;
    default:
      return false;
  }
}

[[noreturn]] void refuseToCompute(const Expr* expr) {
  if (expr->isA<CommunicationOp>()) {
    userError(expr->getOpString(), ": ", *expr,
              " asks other devices for data, and one process cannot tell what they have");
  }
  throwInternal(expr->isOneOf<WriteAtOp, WrittenOp>()
                    ? "what a schedule made of a scatter stands in a definition"
                    : "a transform of axes stands among the operations",
                std::source_location::current());
}

std::vector<Array> results(const Expr* expr, Context& context) {
  switch (expr->kind()) {
    case ExprKind::UnaryOp:
      return {unary(expr->as<UnaryOp>(), context)};
    case ExprKind::BinaryOp:
      return {binary(expr->as<BinaryOp>(), context)};
    case ExprKind::TernaryOp:
      return {ternary(expr->as<TernaryOp>(), context)};
    case ExprKind::LoadStoreOp:
      return {convert(context.operand(expr->input(0)), expr->output(0)->dtype())};
    case ExprKind::BroadcastOp:
      return {broadcast(expr->as<BroadcastOp>(), context)};
    case ExprKind::SqueezeOp:
      return {squeeze(expr->as<SqueezeOp>(), context)};
    case ExprKind::ExpandOp:
      return {expand(expr->as<ExpandOp>(), context)};
    case ExprKind::RepeatOp:
      return {repeat(expr->as<RepeatOp>(), context)};
    case ExprKind::ReshapeOp:
      return {reshape(expr->as<ReshapeOp>(), context)};
    case ExprKind::SliceOp:
      return {slice(expr->as<SliceOp>(), context)};
    case ExprKind::PadOp:
      return {pad(expr->as<PadOp>(), context)};
    case ExprKind::CatOp:
      return {cat(expr->as<CatOp>(), context)};
    case ExprKind::ReductionOp:
      return {reduce(expr->as<ReductionOp>(), context)};
    case ExprKind::WelfordOp:
      return welford(expr->as<WelfordOp>(), context);
    case ExprKind::OnlineSoftmaxOp:
      return onlineSoftmax(expr->as<OnlineSoftmaxOp>(), context);
    case ExprKind::FullOp:
      return {full(expr->as<FullOp>(), context)};
    case ExprKind::IotaOp:
      return {iota(expr->as<IotaOp>(), context)};
    case ExprKind::EyeOp:
      return {eye(expr->as<EyeOp>(), context)};
    case ExprKind::RNGOp:
      return {random(expr->as<RNGOp>(), context)};
    case ExprKind::SelectOp:
      return {select(expr->as<SelectOp>(), context)};
    case ExprKind::IndexSelectOp:
      return {indexSelect(expr->as<IndexSelectOp>(), context)};
    case ExprKind::GatherOp:
      return {gather(expr->as<GatherOp>(), context)};
    case ExprKind::ScatterOp:
      return {scatter(expr->as<ScatterOp>(), context)};
    case ExprKind::MatmulOp:
      return {matmul(expr->as<MatmulOp>(), context)};
    case ExprKind::LinearOp:
      return {linear(expr->as<LinearOp>(), context)};
    case ExprKind::ScanOp:
      return {scan(expr->as<ScanOp>(), context)};
    case ExprKind::ArgsortOp:
      return {argsort(expr->as<ArgsortOp>(), context)};
    case ExprKind::TopKOp:
      return topk(expr->as<TopKOp>(), context);
    case ExprKind::SdpaFwdOp:
      return attention(expr->as<SdpaFwdOp>(), context);
    case ExprKind::SdpaBwdOp:
      return attentionBackward(expr->as<SdpaBwdOp>(), context);
    case ExprKind::ScaledMmaOp:
    case ExprKind::GroupedMmaOp:
      return {scaledProduct(expr, context)};
    case ExprKind::ViewAsScalar:
      return {viewAsScalar(expr->as<ViewAsScalar>(), context)};
    case ExprKind::CommunicationOp:
    case ExprKind::WriteAtOp:
    case ExprKind::WrittenOp:
    case ExprKind::Split:
    case ExprKind::Merge:
    case ExprKind::Swizzle:
    case ExprKind::Swizzle1D:
    case ExprKind::Resize:
      break;
  }
  refuseToCompute(expr);
}

/// Checks a result's sizes against the extents that the Fusion states, and binds extents that only
/// the data tells.
void settleExtents(const TensorView* tv, const Array& array, Context& context) {
  const std::vector<IterDomain*> logical = TensorDomain::noReductions(tv->getLogicalDomain());
  check(logical.size() == array.rank(), "an operation's result has another rank than its output");
  for (size_t axis = 0; axis < logical.size(); ++axis) {
    const Val* extent = logical[axis]->getMaybeExpandedExtent();
    const PolymorphicValue stated = context.evaluator.evaluate(extent);
    if (!stated.hasValue()) {
      context.evaluator.bind(extent, array.sizes[axis]);
    } else if (stated.as<int64_t>() != array.sizes[axis]) {
      userError("axis ", axis, " of ", *tv, " has extent ", array.sizes[axis],
                ", where the fusion says ", stated, ", in ", *tv->definition());
    }
  }
}

/// Axes that meet in an operation have one size. Only an axis that is declared broadcast is
/// stretched: one that has one element by chance is not, as no kernel is made for that.
void requireCommonSizes(const Expr* expr, const TensorView* out, Context& context) {
  for (const Val* input : expr->inputs()) {
    if (!input->isA<TensorView>()) {
      continue;
    }
    auto* in = input->as<TensorView>();
    for (auto [axis, result] : mapAxes(expr, in, out)) {
      if (axis->isBroadcast() || result->isBroadcast()) {
        continue;
      }
      const PolymorphicValue size = context.evaluator.evaluate(axis->extent());
      const PolymorphicValue common = context.evaluator.evaluate(result->extent());
      if (size.hasValue() && common.hasValue() && size != common) {
        userError("the inputs' sizes do not agree: ", axis, " of ", in, " has extent ", size,
                  ", but ", common, " is needed in ", *expr,
                  "; an axis is stretched only if it is declared as a broadcast axis");
      }
    }
  }
}

/// Whether a kernel rounds the results of a kind of operation: it computes numbers rather than
/// moves them.
bool isArithmetic(const Expr* expr) {
  switch (expr->kind()) {
    case ExprKind::UnaryOp: {
      const UnaryOpType type = expr->as<UnaryOp>()->getUnaryOpType();
      return type != UnaryOpType::Cast && type != UnaryOpType::BitCast;
    }
    case ExprKind::BinaryOp:
      return true;
    case ExprKind::TernaryOp:
      return expr->as<TernaryOp>()->getTernaryOpType() != TernaryOpType::Where;
    default:
      return false;
  }
}

bool isComparison(const Expr* expr) {
  if (!expr->isA<BinaryOp>()) {
    return false;
  }
  switch (expr->as<BinaryOp>()->getBinaryOpType()) {
    case BinaryOpType::Eq:
    case BinaryOpType::NE:
    case BinaryOpType::LT:
    case BinaryOpType::LE:
    case BinaryOpType::GT:
    case BinaryOpType::GE:
      return true;
    default:
      return false;
  }
}

bool isProductOfTwo(const Expr* expr) {
  return expr->isA<BinaryOp>() && expr->as<BinaryOp>()->getBinaryOpType() == BinaryOpType::Mul;
}

bool isRemainder(const Expr* expr) {
  const bool is_binary = expr->isA<BinaryOp>();
  return is_binary && (expr->as<BinaryOp>()->getBinaryOpType() == BinaryOpType::Mod ||
                       expr->as<BinaryOp>()->getBinaryOpType() == BinaryOpType::Remainder ||
                       expr->as<BinaryOp>()->getBinaryOpType() == BinaryOpType::Fmod);
}

bool isSilu(const Expr* expr) {
  return expr->isA<UnaryOp>() && expr->as<UnaryOp>()->getUnaryOpType() == UnaryOpType::Silu;
}

bool isComplexPower(const Expr* expr) {
  return expr->isA<BinaryOp>() && isComplexType(expr->output(0)->dtype()) &&
         expr->as<BinaryOp>()->getBinaryOpType() == BinaryOpType::Pow;
}

void disturb(const Expr* expr, std::vector<Array>& arrays, size_t position, Context& context) {
  const uint64_t pair = context.options.disturbance / 2;
  const uint64_t opposite = context.options.disturbance % 2;
  const uint64_t seed = (opposite << 63) + (pair << 32) + position;
  if (expr->isA<UnaryOp>()) {
    arrays[0] = resultAcrossJump(expr->as<UnaryOp>(), seed, context).value_or(arrays[0]);
  }
  if (expr->isOneOf<UnaryOp, BinaryOp, TernaryOp>() && arrays[0].kind() == HostNumber::Integer) {
    arrays[0] = disturbedIntegers(expr, arrays[0], seed, context);
  }
  if (expr->isA<TernaryOp>() && expr->as<TernaryOp>()->getTernaryOpType() == TernaryOpType::Lerp) {
    arrays[0] = disturbedLerp(expr->as<TernaryOp>(), arrays[0], seed, context);
  } else if (isComparison(expr)) {
    arrays[0] = disturbedComparison(expr->as<BinaryOp>(), arrays[0], seed, context);
  } else if (isProductOfTwo(expr)) {
    arrays[0] = disturbedProductOfTwo(expr->as<BinaryOp>(), arrays[0], seed, context);
  } else if (isRemainder(expr)) {
    arrays[0] = disturbedRemainder(expr->as<BinaryOp>(), arrays[0], seed, context);
  } else if (isSilu(expr)) {
    arrays[0] = disturbedSilu(expr->as<UnaryOp>(), arrays[0], seed, context);
  } else if (isComplexPower(expr)) {
    arrays[0] = disturbedComplexPower(expr->as<BinaryOp>(), arrays[0], seed, context);
  } else if (isArithmetic(expr)) {
    arrays[0] = expr->isA<UnaryOp>()
                    ? disturbedFunction(expr->as<UnaryOp>(), arrays[0], seed, context)
                    : disturbed(arrays[0], seed);
  } else if (expr->isA<RNGOp>()) {
    arrays[0] = disturbedDraw(expr->as<RNGOp>(), arrays[0], seed, context);
  } else if (expr->isA<ReductionOp>()) {
    arrays[0] = disturbedReduction(expr->as<ReductionOp>(), arrays[0], seed, context);
  } else if (expr->isOneOf<MatmulOp, LinearOp>()) {
    arrays[0] = disturbedProduct(expr, arrays[0], seed, context);
  } else if (expr->isA<ScanOp>()) {
    arrays[0] = disturbedScan(expr->as<ScanOp>(), arrays[0], seed, context);
  } else if (expr->isA<ScatterOp>() && expr->as<ScatterOp>()->accumulateOp()) {
    arrays[0] = disturbed(arrays[0], seed);
  } else if (expr->isOneOf<ScaledMmaOp, GroupedMmaOp>()) {
    arrays = {scaledProduct(expr, context, seed)};
  } else if (expr->isA<SdpaFwdOp>()) {
    arrays = attention(expr->as<SdpaFwdOp>(), context, seed);
  } else if (expr->isA<SdpaBwdOp>()) {
    arrays = attentionBackward(expr->as<SdpaBwdOp>(), context, seed);
  } else if (expr->isA<WelfordOp>()) {
    disturbWelford(arrays, seed);
  }
}

/// Every second pair of disturbances gives numbers that a kernel can have: only such are equal to
/// what they are compared with.
bool roundsOperations(const InterpreterOptions& options) {
  return options.rounding == Rounding::EveryOperation ||
         (options.rounding == Rounding::Disturbed && options.disturbance / 2 % 2 == 1);
}

/// `position` of the operation among all.
void run(const Expr* expr, size_t position, Context& context) {
  std::vector<Array> arrays = results(expr, context);
  if (context.options.rounding == Rounding::Disturbed) {
    disturb(expr, arrays, position, context);
  }
  for (size_t n = 0; n < arrays.size(); ++n) {
    const auto* tv = expr->output(n)->as<TensorView>();
    Array array = std::move(arrays[n]);
    check(array.dtype == tv->dtype(), "an operation's result has another dtype than its output");
    if (tv->hasRoot() && !givesLogicalDomain(expr->kind())) {
      array = transformAxes(array, TensorDomain::noReductions(tv->getRootDomain()),
                            TensorDomain::noReductions(tv->getLogicalDomain()), 0, context);
    }
    settleExtents(tv, array, context);
    requireCommonSizes(expr, tv, context);
    if (roundsOperations(context.options)) {
      array = rounded(array);
    }
    context.arrays[tv] = std::move(array);
  }
}

/// k of each random operation that draws from the executor's generator, in order of definition;
/// part of a larger fusion keeps that fusion's numbers.
std::unordered_map<const Expr*, int64_t> randomIndices(const Fusion& fusion,
                                                       const std::vector<Expr*>& exprs) {
  std::vector<const Expr*> drawing;
  for (const Expr* expr : exprs) {
    if (drawsFromGenerator(expr)) {
      drawing.push_back(expr);
    }
  }
  std::sort(drawing.begin(), drawing.end(),
            [](const Expr* a, const Expr* b) { return a->name() < b->name(); });
  std::unordered_map<const Expr*, int64_t> indices;
  const bool numbered = fusion.hasManaged("random_draws");
  for (const Expr* expr : drawing) {
    const auto next = static_cast<int64_t>(indices.size());
    indices.emplace(
        expr, numbered
                  ? fusion.getManaged<std::map<int64_t, int64_t>>("random_draws").at(expr->name())
                  : next);
  }
  return indices;
}

}  // namespace
}  // namespace reference

std::vector<HostTensor> interpret(const Fusion& fusion, std::span<const InterpreterInput> inputs,
                                  const InterpreterOptions& options) {
  using namespace reference;
  const std::vector<Expr*> exprs = fusion.exprs();
  Context context{bindInputs(fusion, inputs), options, {}, randomIndices(fusion, exprs)};
  for (size_t number = 0; number < inputs.size(); ++number) {
    if (const auto* tensor = std::get_if<TensorRef>(&inputs[number])) {
      context.arrays[fusion.inputs()[number]] = load(*tensor);
    }
  }
  // A tensor is dropped after its last use, so that long graphs need memory only for what is alive.
  std::unordered_map<const Val*, size_t> last_use;
  for (size_t position = 0; position < exprs.size(); ++position) {
    for (const Val* input : exprs[position]->inputs()) {
      last_use[input] = position;
    }
  }
  for (const Val* output : fusion.outputs()) {
    last_use[output] = exprs.size();
  }
  for (size_t position = 0; position < exprs.size(); ++position) {
    const Expr* expr = exprs[position];
    if (!expr->output(0)->isA<TensorView>()) {
      continue;  // scalars are evaluated where they are read
    }
    run(expr, position, context);
    for (const Val* input : expr->inputs()) {
      if (last_use.at(input) == position) {
        context.arrays.erase(input);
      }
    }
  }
  std::vector<HostTensor> outputs;
  outputs.reserve(fusion.outputs().size());
  for (const Val* output : fusion.outputs()) {
    outputs.push_back(store(context.operand(output)));
  }
  return outputs;
}

}  // namespace nvfuser
