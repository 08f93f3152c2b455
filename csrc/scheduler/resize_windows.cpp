#include <scheduler/resize_windows.h>

#include <algorithm>
#include <functional>

#include <ir/builder.h>

namespace nvfuser::scheduler_tools {

namespace {

using Simplify = SimplifyingIrBuilder;

Val* quotient(Val* value, Val* by);

/// Of a sum, a product or a negative number, by its parts.
Val* quotientOfParts(const Expr* def, Val* by) {
  if (const auto* op = dynamic_cast<const UnaryOp*>(def)) {
    Val* of_operand = quotient(op->in(), by);
    switch (of_operand == nullptr ? UnaryOpType::Abs : op->getUnaryOpType()) {
      case UnaryOpType::Neg:
        return Simplify::negExpr(of_operand);
      case UnaryOpType::Cast:
        return Simplify::maybeCastExpr(op->out()->dtype(), of_operand);
      default:
        return nullptr;
    }
  }
  const auto* op = dynamic_cast<const BinaryOp*>(def);
  if (op == nullptr) {
    return nullptr;
  }
  const BinaryOpType type = op->getBinaryOpType();
  if (type == BinaryOpType::Mul) {
    if (Val* of_left = quotient(op->lhs(), by)) {
      return Simplify::mulExpr(of_left, op->rhs());
    }
    Val* of_right = quotient(op->rhs(), by);
    return of_right == nullptr ? nullptr : Simplify::mulExpr(op->lhs(), of_right);
  }
  if (type != BinaryOpType::Add && type != BinaryOpType::Sub) {
    return nullptr;
  }
  Val* left = quotient(op->lhs(), by);
  Val* right = left == nullptr ? nullptr : quotient(op->rhs(), by);
  if (right == nullptr) {
    return nullptr;
  }
  return type == BinaryOpType::Add ? Simplify::addExpr(left, right)
                                   : Simplify::subExpr(left, right);
}

/// value / by where it is known to leave no remainder, else null.
Val* quotient(Val* value, Val* by) {
  if (value->isZero() || by->isOneInt()) {
    return value;
  }
  if (value->sameAs(by)) {
    return value->fusion()->oneVal(DataType::Index);
  }
  if (value->isConstInt() && by->isConstInt()) {
    const int64_t divisor = by->evaluate().as<int64_t>();
    const int64_t number = value->evaluate().as<int64_t>();
    if (divisor == 0 || number % divisor != 0) {
      return nullptr;
    }
    return IrBuilder::createInContainer<Val>(value->fusion(), PolymorphicValue(number / divisor),
                                             DataType::Index);
  }
  return value->definition() == nullptr ? nullptr : quotientOfParts(value->definition(), by);
}

/// Broadcasts and expanded axes have no place in memory to begin at.
bool isPlain(const IterDomain* id) { return !id->isBroadcast() && !id->hasExpandedExtent(); }

using Made = std::unordered_map<const IterDomain*, IterDomain*>;

/// The copy of a logical axis over the copies of root axes.
IterDomain* copyOf(const IterDomain* id, const std::function<Val*(const Split*)>& factorOf,
                   Made& made) {
  if (made.count(id) == 0) {
    const Expr* def = id->definition();
    if (const auto* merge = dynamic_cast<const Merge*>(def)) {
      IterDomain* outer = copyOf(merge->outer(), factorOf, made);
      made[id] = IterDomain::merge(outer, copyOf(merge->inner(), factorOf, made), true);
    } else {
      const auto* split = def->as<Split>();
      IterDomain* in = copyOf(split->in(), factorOf, made);
      std::tie(made[split->outer()], made[split->inner()]) =
          IterDomain::split(in, factorOf(split), split->innerSplit(), true);
    }
  }
  return made.at(id);
}

}  // namespace

std::optional<WindowsOfReshape> WindowsOfReshape::of(const TensorView* result,
                                                     const Windows& windows) {
  const std::vector<IterDomain*>& logical = result->getLogicalDomain();
  WindowsOfReshape all(result);
  for (size_t i = 0; i < logical.size(); ++i) {
    all.windows_[logical[i]] = windows[i];
  }
  for (const IterDomain* id : logical) {
    if (!all.spread(id)) {
      return std::nullopt;
    }
  }
  return all;
}

/// To what the axis was made of, if all that was made with it is known.
bool WindowsOfReshape::spread(const IterDomain* id) {
  const Expr* def = id->definition();
  const std::vector<IterDomain*>& root = result_->getRootDomain();
  if (def == nullptr || std::find(root.begin(), root.end(), id) != root.end()) {
    return true;
  }
  if (const auto* merge = dynamic_cast<const Merge*>(def)) {
    const Window window = windows_.at(id);
    Window& outer = windows_[merge->outer()];
    windows_[merge->inner()] = {};
    if (window.isMoved()) {
      if (window.step != 1) {
        return false;
      }
      Val* inner = merge->inner()->extent();
      outer = {quotient(window.start, inner), quotient(window.extent, inner), window.inside};
      if (outer.start == nullptr || outer.extent == nullptr || !isPlain(merge->outer()) ||
          !isPlain(merge->inner())) {
        return false;
      }
    }
    return spread(merge->outer()) && spread(merge->inner());
  }
  const auto* split = dynamic_cast<const Split*>(def);
  if (split == nullptr) {
    return false;
  }
  if (windows_.count(split->outer()) == 0 || windows_.count(split->inner()) == 0) {
    return true;  // the other one comes later
  }
  const Window outer = windows_.at(split->outer());
  if (windows_.at(split->inner()).isMoved() ||
      (outer.isMoved() && (outer.step != 1 || !isPlain(split->in())))) {
    return false;
  }
  Window& whole = windows_[split->in()];
  if (outer.isMoved()) {
    Val* inner = split->inner()->extent();
    whole = {Simplify::mulExpr(outer.start, inner), Simplify::mulExpr(outer.extent, inner),
             outer.inside};
  }
  return spread(split->in());
}

Windows WindowsOfReshape::ofRoot() const {
  Windows result;
  for (const IterDomain* id : result_->getRootDomain()) {
    result.push_back(windows_.at(id));
  }
  return result;
}

std::vector<IterDomain*> WindowsOfReshape::axesOver(const std::vector<IterDomain*>& root) const {
  Made made;
  for (size_t i = 0; i < root.size(); ++i) {
    made[result_->getRootDomain()[i]] = root[i];
  }
  // Where the factor is the outer extent, a window changes it.
  auto factorOf = [&](const Split* split) {
    const Window& outer = windows_.at(split->outer());
    return outer.isMoved() && !split->innerSplit() ? outer.extent : split->factor();
  };
  std::vector<IterDomain*> axes;
  for (const IterDomain* id : result_->getLogicalDomain()) {
    axes.push_back(copyOf(id, factorOf, made));
  }
  return axes;
}

}  // namespace nvfuser::scheduler_tools
