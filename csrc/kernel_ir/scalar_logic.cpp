/// Least and largest, exclusive or, comparisons and conditions: folded where intervals or proofs
/// decide them.
#include <algorithm>

#include <kernel_ir/scalar_arithmetic.h>

namespace nvfuser::kir {

namespace {

/// Whether `b` is min(a, …) or max(a, …), nested or not.
bool isOneOf(Scalar a, Scalar b, ScalarOp op) {
  return b->op == op && std::any_of(b->args.begin(), b->args.end(),
                                    [&](Scalar arg) { return arg == a || isOneOf(a, arg, op); });
}

}  // namespace

Scalar ScalarPool::makeBinary(ScalarOp op, Scalar a, Scalar b) {
  ScalarNode node{.op = op, .id = 0, .args = {a, b}};
  switch (op) {
    case ScalarOp::Min:
      node.lo = std::min(a->lo, b->lo);
      node.hi = std::min(a->hi, b->hi);
      break;
    case ScalarOp::Max:
      node.lo = std::max(a->lo, b->lo);
      node.hi = std::max(a->hi, b->hi);
      break;
    case ScalarOp::Xor: {
      // Below the next power of two of both.
      int64_t top = std::max(a->hi, b->hi);
      int64_t limit = 1;
      while (limit <= top && limit < (int64_t{1} << 62)) {
        limit *= 2;
      }
      node.lo = a->lo < 0 || b->lo < 0 ? INT64_MIN : 0;
      node.hi = limit - 1;
      break;
    }
    default:
      node.hi = 1;
  }
  return intern(std::move(node));
}

Scalar ScalarPool::min(Scalar a, Scalar b) {
  if (a == b || a->hi <= b->lo || isOneOf(b, a, ScalarOp::Min)) {
    return a;
  }
  if (b->hi <= a->lo || isOneOf(a, b, ScalarOp::Min)) {
    return b;
  }
  if (byId(b, a)) {
    std::swap(a, b);
  }
  return makeBinary(ScalarOp::Min, a, b);
}

Scalar ScalarPool::max(Scalar a, Scalar b) {
  if (a == b || b->hi <= a->lo || isOneOf(b, a, ScalarOp::Max)) {
    return a;
  }
  if (a->hi <= b->lo || isOneOf(a, b, ScalarOp::Max)) {
    return b;
  }
  if (byId(b, a)) {
    std::swap(a, b);
  }
  return makeBinary(ScalarOp::Max, a, b);
}

Scalar ScalarPool::bitXor(Scalar a, Scalar b) {
  if (a->isConstant() && b->isConstant()) {
    return constant(a->value ^ b->value);
  }
  if (b->isConstant(0)) {
    return a;
  }
  if (a->isConstant(0)) {
    return b;
  }
  if (a == b) {
    return zero_;
  }
  // (y ^ x) ^ x = y
  for (auto [x, y] : {std::pair{a, b}, std::pair{b, a}}) {
    if (x->op != ScalarOp::Xor) {
      continue;
    }
    if (x->args[0] == y) {
      return x->args[1];
    }
    if (x->args[1] == y) {
      return x->args[0];
    }
  }
  if (byId(b, a)) {
    std::swap(a, b);
  }
  return makeBinary(ScalarOp::Xor, a, b);
}

Scalar ScalarPool::less(Scalar a, Scalar b) {
  if (keep_comparisons_ && !(a->isConstant() && b->isConstant())) {
    return makeBinary(ScalarOp::Less, a, b);
  }
  if (a->hi < b->lo && a->hi != INT64_MAX) {
    return one_;
  }
  if (a->lo >= b->hi) {
    return zero_;
  }
  if (a == b) {
    return zero_;
  }
  if (provesLess(a, b)) {
    return one_;
  }
  // 8·x + v < 8·m, with v below 8, says 8·x < 8·m: the elements of a vector share a condition.
  for (int64_t d = knownDivisor(b); d > 1; d = d % 2 == 0 ? d / 2 : 1) {
    if (Scalar floor = floorToMultiple(a, d); floor != nullptr && floor != a) {
      return less(floor, b);
    }
  }
  return makeBinary(ScalarOp::Less, a, b);
}

Scalar ScalarPool::equal(Scalar a, Scalar b) {
  if (a == b) {
    return one_;
  }
  if (a->hi < b->lo || b->hi < a->lo) {
    return zero_;
  }
  if (byId(b, a)) {
    std::swap(a, b);
  }
  return makeBinary(ScalarOp::Equal, a, b);
}

Scalar ScalarPool::logicalAnd(Scalar a, Scalar b) {
  if (a->isConstant()) {
    return a->value != 0 ? b : zero_;
  }
  if (b->isConstant()) {
    return b->value != 0 ? a : zero_;
  }
  std::vector<Scalar> parts;
  for (Scalar s : {a, b}) {
    if (s->op == ScalarOp::And) {
      parts.insert(parts.end(), s->args.begin(), s->args.end());
    } else {
      parts.push_back(s);
    }
  }
  std::vector<Scalar> unique;
  for (Scalar part : parts) {
    if (std::find(unique.begin(), unique.end(), part) == unique.end()) {
      unique.push_back(part);
    }
  }
  if (unique.size() == 1) {
    return unique[0];
  }
  return intern({.op = ScalarOp::And, .id = 0, .args = std::move(unique), .lo = 0, .hi = 1});
}

Scalar ScalarPool::logicalOr(Scalar a, Scalar b) {
  if (a->isConstant()) {
    return a->value != 0 ? one_ : b;
  }
  if (b->isConstant()) {
    return b->value != 0 ? one_ : a;
  }
  return a == b ? a : makeBinary(ScalarOp::Or, a, b);
}

Scalar ScalarPool::logicalNot(Scalar a) {
  if (a->isConstant()) {
    return a->value != 0 ? zero_ : one_;
  }
  if (a->op == ScalarOp::Not) {
    return a->args[0];
  }
  return intern({.op = ScalarOp::Not, .id = 0, .args = {a}, .lo = 0, .hi = 1});
}

Scalar ScalarPool::select(Scalar condition, Scalar a, Scalar b) {
  if (condition->isConstant()) {
    return condition->value != 0 ? a : b;
  }
  if (a == b) {
    return a;
  }
  return intern({.op = ScalarOp::Select,
                 .id = 0,
                 .args = {condition, a, b},
                 .lo = std::min(a->lo, b->lo),
                 .hi = std::max(a->hi, b->hi)});
}

}  // namespace nvfuser::kir
