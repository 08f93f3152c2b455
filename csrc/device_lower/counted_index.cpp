#include <device_lower/counted_index.h>

#include <algorithm>

#include <ir/axis_map.h>

namespace nvfuser {

namespace {

constexpr int64_t kMost = int64_t{1} << 30;  ///< of what is multiplied, so that nothing overflows

std::optional<int64_t> numberOf(const Val* val) {
  if (!val->isConstInt()) {
    return std::nullopt;
  }
  const int64_t number = val->evaluate().as<int64_t>();
  return number >= -kMost && number <= kMost ? std::optional(number) : std::nullopt;
}

class Counting {
 public:
  explicit Counting(kir::ScalarPool& pool) : pool_(pool) {}

  std::optional<CountedIndex> of(const Val* val, const AxisIndex& axes) {
    if (const auto* tv = dynamic_cast<const TensorView*>(val)) {
      return ofTensor(tv, axes);
    }
    const auto number = numberOf(val);
    if (!number) {
      return std::nullopt;
    }
    return CountedIndex{pool_.constant(*number), *number, *number};
  }

 private:
  std::optional<CountedIndex> ofTensor(const TensorView* tv, const AxisIndex& axes) {
    const Expr* def = tv->isFusionInput() ? nullptr : tv->definition();
    if (def == nullptr || tv->hasRoot() ||
        (tv->dtype() != DataType::Int && tv->dtype() != DataType::Index)) {
      return std::nullopt;
    }
    if (const auto* op = dynamic_cast<const IotaOp*>(def)) {
      return counted(op, axes.at(tv->getLogicalDomain()[0]));
    }
    if (def->isOneOf<BroadcastOp, LoadStoreOp>()) {
      return of(def->input(0), axesOf(def, def->input(0), tv, axes));
    }
    const auto* op = dynamic_cast<const BinaryOp*>(def);
    if (op == nullptr) {
      return std::nullopt;
    }
    const auto left = of(op->lhs(), axesOf(def, op->lhs(), tv, axes));
    const auto right = left ? of(op->rhs(), axesOf(def, op->rhs(), tv, axes)) : left;
    return right ? combined(op->getBinaryOpType(), *left, *right) : std::nullopt;
  }

  /// Indices of an operand's axes.
  AxisIndex axesOf(const Expr* expr, const Val* operand, const TensorView* result,
                   const AxisIndex& axes) {
    AxisIndex known;
    const auto* tv = dynamic_cast<const TensorView*>(operand);
    if (tv == nullptr) {
      return known;
    }
    for (const IterDomain* id : tv->getLogicalDomain()) {
      known[id] = pool_.zero();
    }
    for (const auto& [p, c] : mapAxes(expr, tv, result)) {
      if (!p->isBroadcast()) {
        known[p] = axes.at(c);
      }
    }
    return known;
  }

  std::optional<CountedIndex> counted(const IotaOp* op, kir::Scalar place) {
    const auto length = numberOf(op->length());
    const auto start = numberOf(op->start());
    const auto step = numberOf(op->step());
    if (!length || !start || !step || *length < 1) {
      return std::nullopt;
    }
    const int64_t last = *start + *step * (*length - 1);
    const kir::Scalar value =
        pool_.add(pool_.constant(*start), pool_.mul(pool_.constant(*step), place));
    return CountedIndex{value, std::min(*start, last), std::max(*start, last)};
  }

  std::optional<CountedIndex> combined(BinaryOpType type, const CountedIndex& a,
                                       const CountedIndex& b) {
    if (std::max({-a.least, a.most, -b.least, b.most}) > kMost) {
      return std::nullopt;
    }
    switch (type) {
      case BinaryOpType::Add:
        return CountedIndex{pool_.add(a.value, b.value), a.least + b.least, a.most + b.most};
      case BinaryOpType::Sub:
        return CountedIndex{pool_.sub(a.value, b.value), a.least - b.most, a.most - b.least};
      case BinaryOpType::Mul: {
        const auto [least, most] =
            std::minmax({a.least * b.least, a.least * b.most, a.most * b.least, a.most * b.most});
        return CountedIndex{pool_.mul(a.value, b.value), least, most};
      }
      default:
        return std::nullopt;
    }
  }

  kir::ScalarPool& pool_;
};

}  // namespace

std::optional<CountedIndex> countedIndex(const TensorView* tv, const AxisIndex& axes,
                                         kir::ScalarPool& pool) {
  return Counting(pool).of(tv, axes);
}

}  // namespace nvfuser
