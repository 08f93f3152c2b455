/// Making nodes. `IrBuilder::create<T>(…)` makes a node in the active Fusion (`FusionGuard`),
/// `createInContainer` in a given one. The scalar builders make expressions of scalars;
/// `SimplifyingIrBuilder` folds constants and neutral operands on the way.
#pragma once

#include <memory>

#include <ir/fusion.h>
#include <ir/internal_nodes.h>

namespace nvfuser {

template <typename T>
T* Fusion::adopt(std::unique_ptr<T> node) {
  T* raw = node.get();
  if constexpr (std::is_base_of_v<Val, T>) {
    vals_.push_back(std::move(node));
    nameVal(raw);
  } else {
    exprs_.push_back(std::move(node));
    registerExpr(raw);
  }
  return raw;
}

class IrBuilder {
 public:
  template <typename T, typename... Args>
  static T* createInContainer(Fusion* container, Args&&... args) {
    if (container == nullptr) {
      userError("create: there is no active Fusion; make a FusionGuard before defining operations");
    }
    return container->adopt(
        std::make_unique<T>(IrBuilderPasskey(container), std::forward<Args>(args)...));
  }
  template <typename T, typename... Args>
  static T* create(Args&&... args) {
    return createInContainer<T>(FusionGuard::getCurFusion(), std::forward<Args>(args)...);
  }

  static Val* negExpr(Val* val);
  static Val* logicalNotExpr(Val* val);
  static Val* bitwiseNotExpr(Val* val);
  static Val* absExpr(Val* val);
  static Val* setExpr(Val* val);
  static Val* maybeCastExpr(DataType dtype, Val* val);
  static Val* logicalAndExpr(Val* lhs, Val* rhs);
  static Val* logicalOrExpr(Val* lhs, Val* rhs);
  static Val* bitwiseAndExpr(Val* lhs, Val* rhs);
  static Val* bitwiseOrExpr(Val* lhs, Val* rhs);
  static Val* bitwiseXorExpr(Val* lhs, Val* rhs);
  static Val* lShiftExpr(Val* lhs, Val* rhs);
  static Val* rShiftExpr(Val* lhs, Val* rhs);
  static Val* eqExpr(Val* lhs, Val* rhs);
  static Val* neExpr(Val* lhs, Val* rhs);
  static Val* gtExpr(Val* lhs, Val* rhs);
  static Val* ltExpr(Val* lhs, Val* rhs);
  static Val* leExpr(Val* lhs, Val* rhs);
  static Val* geExpr(Val* lhs, Val* rhs);
  static Val* addExpr(Val* lhs, Val* rhs);
  static Val* subExpr(Val* lhs, Val* rhs);
  static Val* mulExpr(Val* lhs, Val* rhs);
  static Val* divExpr(Val* lhs, Val* rhs);
  static Val* ceilDivExpr(Val* lhs, Val* rhs);
  static Val* modExpr(Val* lhs, Val* rhs);
  static Val* maxExpr(Val* lhs, Val* rhs);
  static Val* minExpr(Val* lhs, Val* rhs);
  static Val* gcdExpr(Val* lhs, Val* rhs);
  static Val* isDivisibleExpr(Val* dividend, Val* divisor);
  static Val* whereExpr(Val* pred, Val* lhs, Val* rhs);
  /// Both operands in the container of the first.
  static Val* binaryExpr(BinaryOpType type, Val* lhs, Val* rhs);
  static Val* unaryExpr(UnaryOpType type, Val* val);
};

/// As `IrBuilder`, but constants are folded, x+0, x·1, x·0 (integers), x/1, max(x, x) … become
/// their value.
class SimplifyingIrBuilder {
 public:
  static Val* negExpr(Val* val);
  static Val* logicalNotExpr(Val* val);
  static Val* maybeCastExpr(DataType dtype, Val* val);
  static Val* addExpr(Val* lhs, Val* rhs);
  static Val* addExpr(Val* lhs, int64_t rhs);
  static Val* subExpr(Val* lhs, Val* rhs);
  static Val* mulExpr(Val* lhs, Val* rhs);
  static Val* mulExpr(Val* lhs, int64_t rhs);
  static Val* divExpr(Val* lhs, Val* rhs);
  static Val* ceilDivExpr(Val* lhs, Val* rhs);
  static Val* modExpr(Val* lhs, Val* rhs);
  static Val* maxExpr(Val* lhs, Val* rhs);
  static Val* minExpr(Val* lhs, Val* rhs);
  static Val* gcdExpr(Val* lhs, Val* rhs);
  static Val* eqExpr(Val* lhs, Val* rhs);
  static Val* neExpr(Val* lhs, Val* rhs);
  static Val* ltExpr(Val* lhs, Val* rhs);
  static Val* leExpr(Val* lhs, Val* rhs);
  static Val* gtExpr(Val* lhs, Val* rhs);
  static Val* geExpr(Val* lhs, Val* rhs);
  static Val* logicalAndExpr(Val* lhs, Val* rhs);
  static Val* logicalOrExpr(Val* lhs, Val* rhs);
  static Val* whereExpr(Val* pred, Val* lhs, Val* rhs);
  static Val* binaryExpr(BinaryOpType type, Val* lhs, Val* rhs);
};

/// Of a scalar expression: Bool for comparisons and logic, else the wider of both (of Int and
/// Index, Index).
DataType scalarResultType(BinaryOpType type, DataType lhs, DataType rhs);

/// Integer result of `op` on two int64 constants with C++ meaning (division truncates); nullopt
/// where it has none (division by zero). The one place that folds integer scalars.
std::optional<PolymorphicValue> foldBinary(BinaryOpType type, const PolymorphicValue& lhs,
                                           const PolymorphicValue& rhs);

}  // namespace nvfuser
