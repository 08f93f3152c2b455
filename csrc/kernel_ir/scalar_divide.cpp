/// Quotients and remainders: what is a multiple of the divisor comes out of them.
#include <algorithm>
#include <numeric>
#include <set>

#include <kernel_ir/scalar_arithmetic.h>

namespace nvfuser::kir {

Scalar ScalarPool::exactQuotient(Scalar a, Scalar b) {
  if (a->isConstant(0) || b->isConstant(1)) {
    return b->isConstant(1) ? a : zero_;
  }
  if (a == b) {
    return one_;
  }
  const auto [divisor, divided_by] = splitCoefficient(b);
  std::vector<Scalar> divisor_factors;
  if (!b->isConstant()) {
    divisor_factors = factorsOf(divided_by);
  }
  if (divisor == 0) {
    return nullptr;
  }
  int64_t value = 0;
  std::vector<std::pair<Scalar, int64_t>> terms;
  decompose(a, &value, &terms);
  if (value != 0 && (!divisor_factors.empty() || value % divisor != 0)) {
    return nullptr;
  }
  Scalar result = constant(value / divisor);
  for (const auto& [term, coefficient] : terms) {
    std::vector<Scalar> factors = factorsOf(term);
    for (Scalar f : divisor_factors) {
      if (!removeFactor(&factors, f)) {
        return nullptr;
      }
    }
    if (coefficient % divisor != 0) {
      return nullptr;
    }
    result = add(result, makeProduct(coefficient / divisor, std::move(factors)));
  }
  return result;
}

void ScalarPool::splitByDivisor(Scalar a, Scalar b, Scalar* quotient, Scalar* remainder) {
  int64_t value = 0;
  std::vector<std::pair<Scalar, int64_t>> terms;
  decompose(a, &value, &terms);
  *quotient = zero_;
  *remainder = zero_;
  int64_t value_rest = value;
  if (b->isConstant() && value >= 0) {
    *quotient = constant(value / b->value);
    value_rest = value % b->value;
  }
  for (const auto& [term, coefficient] : terms) {
    Scalar whole = makeProduct(coefficient, factorsOf(term));
    Scalar part = exactQuotient(whole, b);
    if (part != nullptr) {
      *quotient = add(*quotient, part);
      continue;
    }
    // 640·t = 5·128·t: the whole multiples of a constant divisor go to the quotient too.
    if (b->isConstant() && coefficient > b->value) {
      Scalar base = makeProduct(1, factorsOf(term));
      *quotient = add(*quotient, mul(base, coefficient / b->value));
      *remainder = add(*remainder, mul(base, coefficient % b->value));
      continue;
    }
    *remainder = add(*remainder, whole);
  }
  *remainder = add(*remainder, constant(value_rest));
}

std::pair<int64_t, Scalar> ScalarPool::splitCoefficient(Scalar a) {
  if (a->isConstant()) {
    return {a->value, one_};
  }
  if (a->op == ScalarOp::Sum && a->value == 0 && a->terms.size() == 1) {
    return {a->terms[0].second, a->terms[0].first};
  }
  if (a->op != ScalarOp::Sum) {
    return {1, a};
  }
  int64_t common = a->value;
  for (const auto& [term, coefficient] : a->terms) {
    common = std::gcd(common, coefficient);
  }
  if (common == 1) {
    return {1, a};
  }
  auto terms = a->terms;
  for (auto& term : terms) {
    term.second /= common;
  }
  return {common, makeSum(a->value / common, std::move(terms))};
}

std::vector<std::pair<int64_t, Scalar>> ScalarPool::commonFactors(Scalar a, Scalar b) {
  const auto [coefficient, factor] = splitCoefficient(b);
  int64_t value = 0;
  std::vector<std::pair<Scalar, int64_t>> terms;
  decompose(a, &value, &terms);
  // What the terms have in common with the divisor's constant part, the largest first.
  std::set<int64_t, std::greater<>> found;
  found.insert(coefficient);
  for (const auto& [term, of_term] : terms) {
    found.insert(std::gcd(of_term, coefficient));
  }
  found.erase(1);
  std::vector<std::pair<int64_t, Scalar>> factors;
  for (int64_t k : found) {
    factors.emplace_back(k, mul(factor, coefficient / k));
  }
  return factors;
}

namespace {

uint64_t pairOf(Scalar a, Scalar b) {
  return static_cast<uint64_t>(a->id) << 32 | static_cast<uint32_t>(b->id);
}

}  // namespace

Scalar ScalarPool::div(Scalar a, Scalar b) {
  const auto known = quotients_.find(pairOf(a, b));
  if (known != quotients_.end()) {
    return known->second;
  }
  return quotients_[pairOf(a, b)] = makeQuotient(a, b);
}

Scalar ScalarPool::mod(Scalar a, Scalar b) {
  const auto known = remainders_.find(pairOf(a, b));
  if (known != remainders_.end()) {
    return known->second;
  }
  return remainders_[pairOf(a, b)] = makeRemainder(a, b);
}

/// (s + r div k) div b = (k·s + r) div (k·b); null: no term of `a` is such a quotient. Where
/// constants are added, as to round up, the sum could outgrow an index: these stay.
Scalar ScalarPool::withoutInnerQuotient(Scalar a, Scalar b) {
  if (a->op == ScalarOp::Div) {
    return div(a->args[0], mul(a->args[1], b));
  }
  int64_t value = 0;
  ScalarTerms terms;
  decompose(a, &value, &terms);
  const auto is_quotient = [](const auto& term) {
    return term.first->op == ScalarOp::Div && term.second == 1 && term.first->lo >= 0 &&
           term.first->args[0]->lo >= 0 && term.first->args[1]->isConstant();
  };
  const auto found = std::find_if(terms.begin(), terms.end(), is_quotient);
  const Scalar dividend = found == terms.end() ? nullptr : found->first->args[0];
  if (dividend == nullptr || !b->isConstant() || value != 0 ||
      (dividend->op == ScalarOp::Sum && dividend->value != 0)) {
    return nullptr;
  }
  const Scalar divisor = found->first->args[1];
  const Scalar rest = sub(a, found->first);
  if (rest->lo < 0) {
    return nullptr;
  }
  return div(add(mul(rest, divisor), dividend), mul(divisor, b));
}

Scalar ScalarPool::makeQuotient(Scalar a, Scalar b) {
  if (b->isConstant(1) || a->isConstant(0)) {
    return a;
  }
  if (b->isConstant(0)) {
    return zero_;  // an index of an axis without elements: its value does not matter, a trap would
  }
  if (a->isConstant() && b->isConstant()) {
    return constant(a->value / b->value);
  }
  if (Scalar exact = exactQuotient(a, b)) {
    return exact;
  }
  if (a->lo >= 0 && provesLess(a, b)) {
    return zero_;
  }
  if (a->lo >= 0 && b->lo >= 0) {
    Scalar quotient;
    Scalar remainder;
    splitByDivisor(a, b, &quotient, &remainder);
    if (!quotient->isConstant(0) && quotient->lo >= 0 && remainder->lo >= 0) {
      return add(quotient, div(remainder, b));
    }
    if (Scalar whole = withoutInnerQuotient(a, b)) {
      return whole;
    }
    // (k·q + r) div (k·f) = q div f where 0 ≤ r < k
    for (const auto& [k, factor] : commonFactors(a, b)) {
      splitByDivisor(a, constant(k), &quotient, &remainder);
      if (quotient->lo >= 0 && remainder->lo >= 0 && provesLess(remainder, constant(k))) {
        return div(quotient, factor);
      }
    }
    // (x mod (b·c)) div b stays; x mod b is below b and was caught above.
  }
  const int64_t divisor = std::max<int64_t>(b->lo, 1);
  ScalarNode node{.op = ScalarOp::Div, .id = 0, .args = {a, b}, .lo = 0, .hi = a->hi / divisor};
  if (a->lo < 0) {
    node.lo = a->lo;
    node.hi = std::max(a->hi, mulSat(a->lo, -1));
  } else if (b->hi != INT64_MAX && b->hi > 0) {
    node.lo = a->lo / b->hi;
  }
  return intern(std::move(node));
}

Scalar ScalarPool::makeRemainder(Scalar a, Scalar b) {
  if (b->isConstant(1) || b->isConstant(0) || a->isConstant(0)) {
    return zero_;  // by 0: see div
  }
  if (a->isConstant() && b->isConstant()) {
    return constant(a->value % b->value);
  }
  if (exactQuotient(a, b) != nullptr) {
    return zero_;
  }
  if (a->lo >= 0 && b->lo >= 0) {
    if (provesLess(a, b)) {
      return a;
    }
    Scalar quotient;
    Scalar remainder;
    splitByDivisor(a, b, &quotient, &remainder);
    if (!quotient->isConstant(0) && quotient->lo >= 0 && remainder->lo >= 0) {
      return mod(remainder, b);
    }
    if (a->op == ScalarOp::Mod && exactQuotient(a->args[1], b) != nullptr) {
      return mod(a->args[0], b);
    }
    // (k·q + r) mod (k·f) = k·(q mod f) + r where 0 ≤ r < k
    for (const auto& [k, factor] : commonFactors(a, b)) {
      splitByDivisor(a, constant(k), &quotient, &remainder);
      if (quotient->lo >= 0 && remainder->lo >= 0 && provesLess(remainder, constant(k))) {
        return add(mul(mod(quotient, factor), k), remainder);
      }
    }
  }
  const int64_t top = b->hi == INT64_MAX ? a->hi : std::min(a->hi, b->hi - 1);
  ScalarNode node{
      .op = ScalarOp::Mod, .id = 0, .args = {a, b}, .lo = 0, .hi = std::max<int64_t>(top, 0)};
  if (a->lo < 0) {
    node.lo = b->hi == INT64_MAX ? a->lo : std::max(a->lo, 1 - b->hi);
  }
  return intern(std::move(node));
}

Scalar ScalarPool::ceilDiv(Scalar a, Scalar b) {
  if (b->isConstant(0)) {
    return zero_;  // see div
  }
  if (Scalar exact = exactQuotient(a, b)) {
    return exact;
  }
  return div(add(a, sub(b, one_)), b);
}

namespace {

/// What is divided by, in an expression, and may be zero.
void collectDivisors(Scalar a, std::set<Scalar>* divisors) {
  const bool divides = a->op == ScalarOp::Div || a->op == ScalarOp::Mod;
  if (divides && a->args[1]->lo < 1) {
    divisors->insert(a->args[1]);
  }
  for (Scalar arg : a->args) {
    collectDivisors(arg, divisors);
  }
  for (const auto& [term, coefficient] : a->terms) {
    collectDivisors(term, divisors);
  }
}

}  // namespace

Scalar ScalarPool::withoutZeroDivisors(Scalar a) {
  std::set<Scalar> divisors;
  collectDivisors(a, &divisors);
  std::unordered_map<Scalar, Scalar> positive;
  for (Scalar divisor : divisors) {
    positive[divisor] = max(divisor, one_);
  }
  return positive.empty() ? a : substitute(a, positive);
}

}  // namespace nvfuser::kir
