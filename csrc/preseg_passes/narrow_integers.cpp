#include <preseg_passes/narrow_integers.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <unordered_map>

#include <ir/internal_nodes.h>
#include <ops/alias.h>
#include <ops/arith.h>
#include <ops/axes.h>
#include <ops/define_again.h>
#include <preseg_passes/rewrite.h>

namespace nvfuser::preseg_passes {

namespace {

constexpr int64_t kLeast = std::numeric_limits<int32_t>::min();
constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
constexpr int64_t kExactFloat = int64_t{1} << 24;  ///< up to which float has all integers

/// The values of a tensor. In 32 bits it has the nearest that there is: for all within, itself.
struct Range {
  int64_t least = 0;
  int64_t most = 0;
  bool fits() const { return least >= kLeast && most <= kMost; }
  /// Whether no other number has its place in 32 bits.
  bool isApart() const { return least > kLeast && most < kMost; }
};

bool isOrder(BinaryOpType type) {
  return type == BinaryOpType::LT || type == BinaryOpType::LE || type == BinaryOpType::GT ||
         type == BinaryOpType::GE || type == BinaryOpType::Eq || type == BinaryOpType::NE;
}

std::optional<int64_t> constantOf(const Val* val) {
  return val->isConst() && isIntegralType(val->dtype()) ? std::optional(val->value().as<int64_t>())
                                                        : std::nullopt;
}

/// A position along an axis, or that along more axes.
bool isPosition(const Val* val) {
  const Expr* def = val->definition();
  return def != nullptr &&
         (def->isA<IotaOp>() ||
          ((def->isA<BroadcastOp>() || def->isA<ExpandOp>() || def->isA<LoadStoreOp>()) &&
           isPosition(def->input(0))));
}

/// The operand that says where elements are read; null: the operation reads at no index.
const Val* indexOf(const Expr* expr) {
  return expr->isOneOf<GatherOp, IndexSelectOp>() ? expr->input(1) : nullptr;
}

const TernaryOp* asChoice(const Expr* expr) {
  const auto* op = dynamic_cast<const TernaryOp*>(expr);
  return op != nullptr && op->getTernaryOpType() == TernaryOpType::Where ? op : nullptr;
}

class Narrow {
 public:
  explicit Narrow(Fusion& fusion) : fusion_(fusion), exprs_(fusion.exprs()) {}

  void run() {
    for (const Expr* expr : exprs_) {
      if (auto* tv = dynamic_cast<TensorView*>(expr->output(0));
          tv != nullptr && expr->outputs().size() == 1 && tv->dtype() == DataType::Int) {
        if (const std::optional<Range> range = rangeOf(expr)) {
          ranges_[tv] = *range;
        }
      }
    }
    // Who reads what is not narrow itself has to be one of those that take narrow operands.
    for (bool changed = true; changed;) {
      changed = false;
      for (const Expr* expr : exprs_) {
        for (const Val* in : expr->inputs()) {
          changed |= ranges_.count(in) != 0 && !takes(expr) && ranges_.erase(in) != 0;
        }
        const Val* out = expr->output(0);
        if (ranges_.count(out) != 0 && (out->isFusionOutput() || !rangeOf(expr).has_value())) {
          ranges_.erase(out);
          changed = true;
        }
      }
    }
    for (const Expr* expr : exprs_) {
      if (const TernaryOp* choice = asChoice(expr); choice != nullptr && neverChooses(*choice)) {
        unmade_.insert(choice);
      }
    }
    for (Expr* expr : exprs_) {
      if (ranges_.count(expr->output(0)) != 0) {
        narrow_[expr->output(0)] = defined(expr);
      } else if (readsAtIndex(expr)) {
        fusion_.replaceInput(expr, expr->input(1), narrow_.at(expr->input(1)));
      } else if (reads(expr)) {
        auto* out = expr->output(0)->as<TensorView>();
        replaceTensor(out, expr->isA<BinaryOp>() ? compared(expr->as<BinaryOp>())
                           : expr->isA<ReductionOp>()
                               ? castOp(out->dtype(), summed(expr->as<ReductionOp>()))
                               : castOp(out->dtype(), narrow_.at(expr->input(0))));
      }
    }
  }

 private:
  std::optional<Range> rangeOf(const Val* val) const {
    if (const std::optional<int64_t> number = constantOf(val)) {
      return *number > kLeast && *number < kMost ? std::optional(Range{*number, *number})
                                                 : std::nullopt;
    }
    const auto found = ranges_.find(val);
    return found == ranges_.end() ? std::nullopt : std::optional(found->second);
  }

  /// Of what a comparison reads: an operand of 64 bits that has one element for many of the other
  /// one, as labels beside classes, is clamped to the other one's range and one more on either
  /// side.
  std::optional<Range> comparedRange(const Val* val, const std::optional<Range>& other) const {
    const auto* tv = dynamic_cast<const TensorView*>(val);
    const bool is_few = tv != nullptr && tv->dtype() == DataType::Int && other &&
                        other->isApart() && !tv->getLogicalDomain().empty() &&
                        tv->getLogicalDomain().back()->isBroadcast();
    const std::optional<Range> own = rangeOf(val);
    return !own && is_few ? std::optional(Range{other->least - 1, other->most + 1}) : own;
  }

  /// Of what `expr` computes, if it can do so in 32 bits.
  std::optional<Range> rangeOf(const Expr* expr) const {
    if (const auto* op = dynamic_cast<const IotaOp*>(expr)) {
      const std::optional<int64_t> length = constantOf(op->length());
      const std::optional<int64_t> start = constantOf(op->start());
      const std::optional<int64_t> step = constantOf(op->step());
      if (!length || !start || !step || *length < 1 || *length > kMost ||
          std::max(std::abs(*start), std::abs(*step)) > kMost) {
        return std::nullopt;
      }
      const int64_t last = *start + (*length - 1) * *step;
      return fitting({std::min(*start, last), std::max(*start, last)});
    }
    if (expr->isA<BroadcastOp>() || expr->isA<ExpandOp>() ||
        (expr->isA<LoadStoreOp>() && expr->output(0)->isA<TensorView>() &&
         !expr->output(0)->as<TensorView>()->hasRoot())) {
      return rangeOf(expr->input(0));
    }
    if (const auto* op = dynamic_cast<const SliceOp*>(expr)) {
      return rangeOf(op->in());
    }
    if (const auto* op = dynamic_cast<const ReductionOp*>(expr)) {
      return sumRange(op);
    }
    if (const auto* op = dynamic_cast<const UnaryOp*>(expr)) {
      return op->getUnaryOpType() == UnaryOpType::Cast ? castRange(op->in()->dtype())
                                                       : std::nullopt;
    }
    if (const TernaryOp* op = asChoice(expr)) {
      return chosenRange(*op);
    }
    if (const auto* op = dynamic_cast<const BinaryOp*>(expr)) {
      const std::optional<Range> a = rangeOf(op->lhs());
      const std::optional<Range> b = rangeOf(op->rhs());
      return a && b ? combined(op->getBinaryOpType(), *a, *b) : std::nullopt;
    }
    return std::nullopt;
  }

  /// Whether it chooses for numbers below 0, and there are none. (An index may count from an axis'
  /// end.)
  bool neverChooses(const TernaryOp& choice) const {
    const auto* op = dynamic_cast<const BinaryOp*>(choice.in1()->definition());
    const auto* otherwise = dynamic_cast<const TensorView*>(choice.in3());
    if (op == nullptr || op->getBinaryOpType() != BinaryOpType::LT || otherwise == nullptr) {
      return false;
    }
    const std::optional<Range> compared = rangeOf(op->lhs());
    const auto own = ops::axesOf(choice.out()->as<TensorView>());
    const auto axes = ops::axesOf(otherwise);
    const bool is_whole = std::equal(own.begin(), own.end(), axes.begin(), axes.end(),
                                     [](const IterDomain* a, const IterDomain* b) {
                                       return a->isBroadcast() == b->isBroadcast();
                                     });
    return is_whole && compared && compared->least >= 0 && constantOf(op->rhs()) == 0;
  }

  std::optional<Range> chosenRange(const TernaryOp& op) const {
    const std::optional<Range> otherwise = rangeOf(op.in3());
    if (neverChooses(op)) {
      return otherwise;
    }
    const std::optional<Range> chosen = rangeOf(op.in2());
    return chosen && otherwise ? std::optional(Range{std::min(chosen->least, otherwise->least),
                                                     std::max(chosen->most, otherwise->most)})
                               : std::nullopt;
  }

  std::optional<Range> sumRange(const ReductionOp* sum) const {
    const std::optional<Range> each = rangeOf(sum->in());
    if (sum->getReductionOpType() != BinaryOpType::Add || constantOf(sum->init()) != 0 || !each ||
        !each->fits()) {
      return std::nullopt;
    }
    int64_t number = 1;
    for (const IterDomain* id : sum->out()->as<TensorView>()->getLogicalDomain()) {
      const std::optional<int64_t> extent = id->isReduction() ? constantOf(id->extent()) : 1;
      number = extent && number <= kMost ? number * *extent : kMost + 1;
    }
    return number <= kMost ? fitting({number * each->least, number * each->most}) : std::nullopt;
  }

  static std::optional<Range> fitting(Range range) {
    return range.fits() ? std::optional(range) : std::nullopt;
  }

  static std::optional<Range> castRange(DataType from) {
    if (from == DataType::Float || from == DataType::Double || from == DataType::Half ||
        from == DataType::BFloat16) {
      return Range{std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
    }
    if (isBooleanType(from)) {
      return Range{0, 1};
    }
    if (!isIntegralType(from) || dataTypeSizeByte(from) > 4) {
      return std::nullopt;
    }
    const int64_t values = int64_t{1} << (8 * dataTypeSizeByte(from));
    return fitting(isUnsignedIntegralType(from) ? Range{0, values - 1}
                                                : Range{-values / 2, values / 2 - 1});
  }

  static std::optional<Range> combined(BinaryOpType type, Range a, Range b) {
    if (type == BinaryOpType::Max) {
      return Range{std::max(a.least, b.least), std::max(a.most, b.most)};
    }
    if (type == BinaryOpType::Min) {
      return Range{std::min(a.least, b.least), std::min(a.most, b.most)};
    }
    if (!a.fits() || !b.fits()) {
      return std::nullopt;
    }
    if (type == BinaryOpType::BitwiseAnd && std::max(a.least, b.least) >= 0) {
      return Range{0, a.least < 0 ? b.most : b.least < 0 ? a.most : std::min(a.most, b.most)};
    }
    if (type == BinaryOpType::Lshift && a.least >= 0 && b.least >= 0 && b.most < 32) {
      return fitting({a.least << b.least, a.most << b.most});
    }
    if (type == BinaryOpType::Rshift && a.least >= 0 && b.least >= 0 && b.most < 32) {
      return Range{a.least >> b.most, a.most >> b.least};
    }
    if (type == BinaryOpType::Remainder && b.least == b.most && b.least > 0) {
      return Range{0, b.most - 1};
    }
    if (type == BinaryOpType::Add) {
      return fitting({a.least + b.least, a.most + b.most});
    }
    if (type == BinaryOpType::Sub) {
      return fitting({a.least - b.most, a.most - b.least});
    }
    if (type == BinaryOpType::Mul) {
      const auto ends =
          std::minmax({a.least * b.least, a.least * b.most, a.most * b.least, a.most * b.most});
      return fitting({ends.first, ends.second});
    }
    return std::nullopt;
  }

  /// Whether it gives the same of narrow operands; all of its integers are some then.
  bool takes(const Expr* expr) const {
    return ranges_.count(expr->output(0)) != 0 || reads(expr) || readsAtIndex(expr);
  }

  bool readsAtIndex(const Expr* expr) const {
    const auto found = ranges_.find(indexOf(expr));
    return found != ranges_.end() && found->second.fits();
  }

  bool reads(const Expr* expr) const {
    if (const auto* op = dynamic_cast<const BinaryOp*>(expr)) {
      const std::optional<Range> a = comparedRange(op->lhs(), rangeOf(op->rhs()));
      const std::optional<Range> b = comparedRange(op->rhs(), rangeOf(op->lhs()));
      const bool of_place = (op->lhs()->isScalar() && isPosition(op->rhs())) ||
                            (op->rhs()->isScalar() && isPosition(op->lhs()));
      return isOrder(op->getBinaryOpType()) && a && b && !of_place &&
             (ranges_.count(op->lhs()) != 0 || ranges_.count(op->rhs()) != 0) &&
             (a->isApart() || b->isApart() || (a->fits() && b->fits()));
    }
    if (const auto* sum = dynamic_cast<const ReductionOp*>(expr)) {
      return ranges_.count(sum->in()) != 0 && sumRange(sum).has_value();
    }
    const auto* op = dynamic_cast<const UnaryOp*>(expr);
    if (op == nullptr || op->getUnaryOpType() != UnaryOpType::Cast ||
        ranges_.count(op->in()) == 0) {
      return false;
    }
    const Range range = ranges_.at(op->in());
    const DataType to = op->out()->dtype();
    return range.fits() && (to == DataType::Float || to == DataType::Double ||
                            ((to == DataType::Half || to == DataType::BFloat16) &&
                             range.least >= -kExactFloat && range.most <= kExactFloat));
  }

  Val* operandOf(Val* val) const {
    const std::optional<int64_t> number = constantOf(val);
    return number ? static_cast<Val*>(IrBuilder::create<Val>(*number, DataType::Int32))
                  : narrow_.at(val);
  }

  TensorView* defined(Expr* expr) const {
    if (const auto* op = dynamic_cast<const IotaOp*>(expr)) {
      return iota(op->length(), op->start(), op->step(), DataType::Int32);
    }
    if (expr->isA<BroadcastOp>()) {
      return broadcast(narrow_.at(expr->input(0)), expr->as<BroadcastOp>()->flags());
    }
    if (expr->isA<ExpandOp>()) {
      return expand(narrow_.at(expr->input(0)), {expr->inputs().begin() + 1, expr->inputs().end()});
    }
    if (expr->isA<LoadStoreOp>()) {
      return narrow_.at(expr->input(0));
    }
    if (const auto* op = dynamic_cast<const SliceOp*>(expr)) {
      return ops::cutTo(narrow_.at(op->in()), ops::rangesOf(op));
    }
    if (expr->isA<ReductionOp>()) {
      return summed(expr->as<ReductionOp>());
    }
    if (expr->isA<UnaryOp>()) {
      return castOp(DataType::Int32, expr->input(0)->as<TensorView>());
    }
    if (const TernaryOp* choice = asChoice(expr)) {
      Val* otherwise = operandOf(choice->in3());
      return (unmade_.count(choice) != 0
                  ? otherwise
                  : where(choice->in1(), operandOf(choice->in2()), otherwise))
          ->as<TensorView>();
    }
    const auto* op = expr->as<BinaryOp>();
    return binaryOp(op->getBinaryOpType(), operandOf(op->lhs()), operandOf(op->rhs()))
        ->as<TensorView>();
  }

  TensorView* summed(const ReductionOp* sum) const {
    return reductionOp(BinaryOpType::Add, ops::reducedAxes(sum->out()->as<TensorView>()),
                       IrBuilder::create<Val>(int64_t{0}, DataType::Int32), narrow_.at(sum->in()));
  }

  TensorView* compared(BinaryOp* op) const {
    const auto operand = [&](Val* val, Val* other) -> Val* {
      return rangeOf(val) ? operandOf(val) : clamped(val->as<TensorView>(), *rangeOf(other));
    };
    return binaryOp(op->getBinaryOpType(), operand(op->lhs(), op->rhs()),
                    operand(op->rhs(), op->lhs()))
        ->as<TensorView>();
  }

  static TensorView* clamped(TensorView* tv, Range other) {
    const auto* spread =
        tv->isFusionInput() ? nullptr : dynamic_cast<BroadcastOp*>(tv->definition());
    auto* all = spread == nullptr ? tv : spread->in()->as<TensorView>();
    const auto bound = [](int64_t value) { return IrBuilder::create<Val>(value, DataType::Int); };
    all = binaryOp(BinaryOpType::Max, all, bound(other.least - 1));
    all = binaryOp(BinaryOpType::Min, all, bound(other.most + 1));
    all = castOp(DataType::Int32, all);
    return spread == nullptr ? all : broadcast(all, spread->flags());
  }

  Fusion& fusion_;
  std::vector<Expr*> exprs_;
  std::unordered_map<const Val*, Range> ranges_;  ///< of tensors that can have 32 bits
  std::set<const Expr*> unmade_;  ///< choices that always take what they have otherwise
  std::unordered_map<const Val*, TensorView*> narrow_;
};

}  // namespace

void narrowIntegers(Fusion& fusion) {
  FusionGuard guard(&fusion);
  Narrow(fusion).run();
}

}  // namespace nvfuser::preseg_passes
