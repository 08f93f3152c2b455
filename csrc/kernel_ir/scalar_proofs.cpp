/// Proofs: upper bounds in terms of symbols, and divisibility.
#include <algorithm>
#include <numeric>

#include <kernel_ir/scalar_arithmetic.h>

namespace nvfuser::kir {

namespace {

constexpr size_t kMostTerms = 256;  ///< of a product that is multiplied out

}  // namespace

Scalar ScalarPool::expand(Scalar a) {
  if (a->op == ScalarOp::Sum) {
    Scalar result = constant(a->value);
    for (const auto& [term, coefficient] : a->terms) {
      result = add(result, mul(expand(term), coefficient));
    }
    return result;
  }
  if (a->op != ScalarOp::Product) {
    return a;
  }
  Scalar result = one_;
  for (Scalar factor : a->args) {
    int64_t value = 0;
    ScalarTerms terms;
    decompose(factor, &value, &terms);
    int64_t left_value = 0;
    ScalarTerms left;
    decompose(result, &left_value, &left);
    if (terms.size() * left.size() > kMostTerms) {
      return a;  // what is not multiplied out may go unproved
    }
    Scalar product = constant(mulSat(value, left_value));
    for (const auto& [term, coefficient] : terms) {
      product = add(product, mul(makeProduct(coefficient, factorsOf(term)), left_value));
    }
    for (const auto& [l, lc] : left) {
      product = add(product, mul(makeProduct(lc, factorsOf(l)), value));
      for (const auto& [term, coefficient] : terms) {
        product = add(
            product, mul(makeProduct(lc, factorsOf(l)), makeProduct(coefficient, factorsOf(term))));
      }
    }
    result = product;
  }
  return result;
}

namespace {

/// Values of extents and indices stay far below; what an interval allows beyond is "unknown".
constexpr int64_t kLargestBound = int64_t{1} << 31;

}  // namespace

Scalar ScalarPool::upperBound(Scalar a) {
  auto known = upper_bounds_.find(a);
  if (known == upper_bounds_.end()) {
    Scalar bound = computeUpperBound(a);
    known = upper_bounds_.emplace(a, bound).first;
  }
  return known->second;
}

Scalar ScalarPool::computeUpperBound(Scalar a) {
  switch (a->op) {
    case ScalarOp::Constant:
      return constant(a->value + 1);
    case ScalarOp::Symbol:
      if (a->bound != nullptr) {
        return a->bound;
      }
      break;
    case ScalarOp::Mod:
      if (a->args[0]->lo >= 0) {
        return a->args[1];
      }
      break;
    case ScalarOp::Div:
      if (a->args[0]->lo >= 0) {
        Scalar top = upperBound(a->args[0]);
        if (top != nullptr) {
          return ceilDiv(top, a->args[1]);
        }
      }
      break;
    case ScalarOp::Product: {
      Scalar result = one_;
      for (Scalar factor : a->args) {
        if (factor->lo < 0) {
          return nullptr;
        }
        // A symbol without a bound (an extent) is its own largest value.
        Scalar top = upperBound(factor);
        result = mul(result, top != nullptr ? sub(top, one_) : factor);
      }
      return add(expand(result), one_);
    }
    case ScalarOp::Sum: {
      Scalar result = constant(a->value);
      for (const auto& [term, coefficient] : a->terms) {
        if (coefficient < 0) {
          if (term->lo == INT64_MIN) {
            return nullptr;
          }
          // An unbounded symbol stays itself: n − 1 has the bound n.
          result = add(result, upperBound(term) == nullptr && term->op == ScalarOp::Symbol
                                   ? mul(term, coefficient)
                                   : constant(mulSat(term->lo, coefficient)));
          continue;
        }
        Scalar top = upperBound(term);
        result = add(result, mul(top != nullptr ? sub(top, one_) : term, coefficient));
      }
      return add(expand(result), one_);
    }
    default:
      break;
  }
  // A bound that is no better than INT64_MAX / 2^k tells nothing, and sums of it would overflow.
  return a->hi > kLargestBound ? nullptr : constant(a->hi + 1);
}

bool ScalarPool::provesLess(Scalar a, Scalar b) {
  if (a->hi < b->lo) {
    return true;
  }
  Scalar top = upperBound(a);
  if (top == nullptr) {
    return false;
  }
  if (top == b) {
    return true;
  }
  return sub(expand(top), expand(b))->hi <= 0;
}

bool ScalarPool::provesDivisible(Scalar a, Scalar b) {
  if (exactQuotient(a, b) != nullptr) {
    return true;
  }
  if (!b->isConstant()) {
    return false;
  }
  int64_t value = 0;
  ScalarTerms terms;
  decompose(a, &value, &terms);
  if (value % b->value != 0) {
    return false;
  }
  // Every term: the product of what is known to divide its parts.
  for (const auto& [term, coefficient] : terms) {
    int64_t known = std::gcd(coefficient, b->value);
    for (Scalar factor : factorsOf(term)) {
      known = mulSat(known, knownDivisor(factor));
    }
    known = std::max(known, mulSat(std::gcd(coefficient, b->value), knownDivisor(term)));
    if (known % b->value != 0) {
      return false;
    }
  }
  return true;
}

int64_t ScalarPool::knownDivisor(Scalar a) const {
  auto known = divisible_.find(a);
  return known != divisible_.end() ? known->second : 1;
}

Scalar ScalarPool::floorToMultiple(Scalar a, int64_t divisor) {
  int64_t value = 0;
  ScalarTerms terms;
  decompose(a, &value, &terms);
  Scalar multiple = zero_;
  Scalar rest = constant(value);
  for (const auto& [term, coefficient] : terms) {
    Scalar part = mul(term, coefficient);
    Scalar& side = provesDivisible(part, constant(divisor)) ? multiple : rest;
    side = add(side, part);
  }
  return rest->lo >= 0 && rest->hi < divisor ? multiple : nullptr;
}

void ScalarPool::assumeDivisible(Scalar a, int64_t divisor) {
  int64_t& known = divisible_.emplace(a, 1).first->second;
  known = std::lcm(known, divisor);
  upper_bounds_.clear();  // all of these may be simpler now
  quotients_.clear();
  remainders_.clear();
}

}  // namespace nvfuser::kir
