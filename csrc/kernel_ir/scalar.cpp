#include <kernel_ir/scalar.h>

#include <algorithm>
#include <numeric>

#include <support/error.h>

namespace nvfuser::kir {

namespace {

int64_t saturate(__int128 value) {
  if (value > INT64_MAX) {
    return INT64_MAX;
  }
  if (value < INT64_MIN) {
    return INT64_MIN;
  }
  return static_cast<int64_t>(value);
}
int64_t addSat(int64_t a, int64_t b) {
  if (a == INT64_MAX || b == INT64_MAX) {
    return INT64_MAX;
  }
  if (a == INT64_MIN || b == INT64_MIN) {
    return INT64_MIN;
  }
  return saturate(static_cast<__int128>(a) + b);
}
int64_t mulSat(int64_t a, int64_t b) { return saturate(static_cast<__int128>(a) * b); }

bool byId(Scalar a, Scalar b) { return a->id < b->id; }

}  // namespace

ScalarPool::ScalarPool() {
  zero_ = constant(0);
  one_ = constant(1);
}

Scalar ScalarPool::intern(ScalarNode node) {
  std::string key = text(static_cast<int>(node.op), ":", node.value, ":", node.name);
  for (const auto& [term, coefficient] : node.terms) {
    key += text(";", term->id, "*", coefficient);
  }
  for (Scalar arg : node.args) {
    key += text(",", arg->id);
  }
  auto found = interned_.find(key);
  if (found != interned_.end()) {
    return found->second;
  }
  node.id = static_cast<int>(nodes_.size());
  nodes_.push_back(std::move(node));
  return interned_[key] = &nodes_.back();
}

Scalar ScalarPool::constant(int64_t value) {
  return intern({.op = ScalarOp::Constant, .id = 0, .value = value, .lo = value, .hi = value});
}

Scalar ScalarPool::symbol(const std::string& name, Scalar bound, int64_t lo, int64_t hi) {
  if (bound != nullptr && bound->hi != INT64_MAX) {
    hi = std::min(hi, std::max(lo, bound->hi - 1));
  }
  return intern(
      {.op = ScalarOp::Symbol, .id = 0, .name = name, .bound = bound, .lo = lo, .hi = hi});
}

// ---- sums and products
// --------------------------------------------------------------------------------------------

void ScalarPool::decompose(Scalar a, int64_t* constant,
                           std::vector<std::pair<Scalar, int64_t>>* terms) {
  if (a->isConstant()) {
    *constant += a->value;
  } else if (a->op == ScalarOp::Sum) {
    *constant += a->value;
    terms->insert(terms->end(), a->terms.begin(), a->terms.end());
  } else {
    terms->emplace_back(a, 1);
  }
}

namespace {

/// Factors of a term that is no sum.
std::vector<Scalar> factorsOf(Scalar term) {
  return term->op == ScalarOp::Product ? term->args : std::vector<Scalar>{term};
}

/// Removes `factor` once; false if it is not there.
bool removeFactor(std::vector<Scalar>* factors, Scalar factor) {
  auto found = std::find(factors->begin(), factors->end(), factor);
  if (found == factors->end()) {
    return false;
  }
  factors->erase(found);
  return true;
}

}  // namespace

Scalar ScalarPool::makeProduct(int64_t coefficient, std::vector<Scalar> factors) {
  if (coefficient == 0) {
    return zero_;
  }
  std::sort(factors.begin(), factors.end(), byId);
  Scalar product = one_;
  if (factors.size() == 1) {
    product = factors[0];
  } else if (factors.size() > 1) {
    int64_t lo = 1;
    int64_t hi = 1;
    for (Scalar f : factors) {
      const int64_t ends[] = {mulSat(lo, f->lo), mulSat(lo, f->hi), mulSat(hi, f->lo),
                              mulSat(hi, f->hi)};
      lo = *std::min_element(std::begin(ends), std::end(ends));
      hi = *std::max_element(std::begin(ends), std::end(ends));
    }
    product =
        intern({.op = ScalarOp::Product, .id = 0, .args = std::move(factors), .lo = lo, .hi = hi});
  }
  if (coefficient == 1) {
    return product;
  }
  if (product->isConstant()) {
    return constant(mulSat(coefficient, product->value));
  }
  if (product->op == ScalarOp::Sum) {
    auto terms = product->terms;
    for (auto& term : terms) {
      term.second = mulSat(term.second, coefficient);
    }
    return makeSum(mulSat(product->value, coefficient), std::move(terms));
  }
  return makeSum(0, {{product, coefficient}});
}

Scalar ScalarPool::makeSum(int64_t value, std::vector<std::pair<Scalar, int64_t>> terms) {
  // Collect equal terms.
  auto collect = [&] {
    std::sort(terms.begin(), terms.end(),
              [](const auto& a, const auto& b) { return a.first->id < b.first->id; });
    std::vector<std::pair<Scalar, int64_t>> merged;
    for (const auto& [term, coefficient] : terms) {
      if (!merged.empty() && merged.back().first == term) {
        merged.back().second += coefficient;
      } else {
        merged.emplace_back(term, coefficient);
      }
    }
    std::erase_if(merged, [](const auto& term) { return term.second == 0; });
    terms = std::move(merged);
  };
  collect();

  // k·(x div y)·y·F + k·(x mod y)·F = k·x·F.
  auto recombine = [&]() -> bool {
    for (size_t m = 0; m < terms.size(); ++m) {
      std::vector<Scalar> mod_factors = factorsOf(terms[m].first);
      for (Scalar remainder : std::vector<Scalar>(mod_factors)) {
        if (remainder->op != ScalarOp::Mod) {
          continue;
        }
        std::vector<Scalar> rest = mod_factors;
        removeFactor(&rest, remainder);
        Scalar x = remainder->args[0];
        Scalar y = remainder->args[1];
        // The partner: (x div y)·y·rest with the same coefficient. Its quotient may have been
        // simplified away, so it is built and compared.
        Scalar partner = mul(makeProduct(terms[m].second, rest), mul(div(x, y), y));
        int64_t partner_value = 0;
        std::vector<std::pair<Scalar, int64_t>> partner_terms;
        decompose(partner, &partner_value, &partner_terms);
        if (partner_terms.empty()) {
          continue;
        }
        bool present = true;
        for (const auto& [term, coefficient] : partner_terms) {
          auto found = std::find_if(terms.begin(), terms.end(),
                                    [&, t = term](const auto& p) { return p.first == t; });
          present &= found != terms.end() && found->second == coefficient;
        }
        if (!present) {
          continue;
        }
        const int64_t k = terms[m].second;
        terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(m));
        for (const auto& [term, coefficient] : partner_terms) {
          std::erase_if(terms, [&, t = term](const auto& p) { return p.first == t; });
        }
        value -= partner_value;
        decompose(mul(makeProduct(k, rest), x), &value, &terms);
        return true;
      }
    }
    return false;
  };
  while (recombine()) {
    collect();
  }

  if (terms.empty()) {
    return constant(value);
  }
  if (value == 0 && terms.size() == 1 && terms[0].second == 1) {
    return terms[0].first;
  }
  int64_t lo = value;
  int64_t hi = value;
  for (const auto& [term, coefficient] : terms) {
    lo = addSat(lo, mulSat(coefficient, coefficient > 0 ? term->lo : term->hi));
    hi = addSat(hi, mulSat(coefficient, coefficient > 0 ? term->hi : term->lo));
  }
  return intern({.op = ScalarOp::Sum,
                 .id = 0,
                 .value = value,
                 .terms = std::move(terms),
                 .lo = lo,
                 .hi = hi});
}

Scalar ScalarPool::add(Scalar a, Scalar b) {
  if (a->isConstant(0)) {
    return b;
  }
  if (b->isConstant(0)) {
    return a;
  }
  int64_t value = 0;
  std::vector<std::pair<Scalar, int64_t>> terms;
  decompose(a, &value, &terms);
  decompose(b, &value, &terms);
  return makeSum(value, std::move(terms));
}

Scalar ScalarPool::sub(Scalar a, Scalar b) { return a == b ? zero_ : add(a, mul(b, -1)); }

Scalar ScalarPool::mul(Scalar a, int64_t factor) { return mul(a, constant(factor)); }

Scalar ScalarPool::mul(Scalar a, Scalar b) {
  int64_t coefficient = 1;
  std::vector<Scalar> factors;
  for (Scalar s : {a, b}) {
    if (s->isConstant()) {
      coefficient = mulSat(coefficient, s->value);
    } else if (s->op == ScalarOp::Sum && s->value == 0 && s->terms.size() == 1) {
      coefficient = mulSat(coefficient, s->terms[0].second);
      for (Scalar f : factorsOf(s->terms[0].first)) {
        factors.push_back(f);
      }
    } else {
      for (Scalar f : factorsOf(s)) {
        factors.push_back(f);
      }
    }
  }
  return makeProduct(coefficient, std::move(factors));
}

// ---- division
// -----------------------------------------------------------------------------------------------------

Scalar ScalarPool::exactQuotient(Scalar a, Scalar b) {
  if (a->isConstant(0) || b->isConstant(1)) {
    return b->isConstant(1) ? a : zero_;
  }
  if (a == b) {
    return one_;
  }
  // b as coefficient·factors.
  int64_t divisor = 1;
  std::vector<Scalar> divisor_factors;
  if (b->isConstant()) {
    divisor = b->value;
  } else if (b->op == ScalarOp::Sum && b->value == 0 && b->terms.size() == 1) {
    divisor = b->terms[0].second;
    divisor_factors = factorsOf(b->terms[0].first);
  } else {
    divisor_factors = factorsOf(b);
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
  return {1, a};
}

Scalar ScalarPool::div(Scalar a, Scalar b) {
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
    if (a->op == ScalarOp::Div) {
      return div(a->args[0], mul(a->args[1], b));
    }
    // (k·q + r) div (k·f) = q div f where 0 ≤ r < k
    if (auto [k, factor] = splitCoefficient(b); k > 1 && factor != one_) {
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
    node.hi = std::max<int64_t>(a->hi, -a->lo);
  } else if (b->hi != INT64_MAX && b->hi > 0) {
    node.lo = a->lo / b->hi;
  }
  return intern(std::move(node));
}

Scalar ScalarPool::mod(Scalar a, Scalar b) {
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
    if (auto [k, factor] = splitCoefficient(b); k > 1 && factor != one_) {
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

// ---- the rest
// -----------------------------------------------------------------------------------------------------

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
  if (a == b || a->hi <= b->lo) {
    return a;
  }
  if (b->hi <= a->lo) {
    return b;
  }
  if (byId(b, a)) {
    std::swap(a, b);
  }
  return makeBinary(ScalarOp::Min, a, b);
}

Scalar ScalarPool::max(Scalar a, Scalar b) {
  if (a == b || b->hi <= a->lo) {
    return a;
  }
  if (a->hi <= b->lo) {
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

// ---- proofs
// -------------------------------------------------------------------------------------------------------

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
    std::vector<std::pair<Scalar, int64_t>> terms;
    decompose(factor, &value, &terms);
    int64_t left_value = 0;
    std::vector<std::pair<Scalar, int64_t>> left;
    decompose(result, &left_value, &left);
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
  // Kept: div asks for it, and it is made by div; without memory each level would double the work.
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
  std::vector<std::pair<Scalar, int64_t>> terms;
  decompose(a, &value, &terms);
  if (value % b->value != 0) {
    return false;
  }
  // Every term: the product of what is known to divide its parts.
  for (const auto& [term, coefficient] : terms) {
    int64_t known = std::gcd(coefficient, b->value);
    for (Scalar factor : factorsOf(term)) {
      for (const auto& [assumed, divisor] : divisible_) {
        if (assumed == factor) {
          known = mulSat(known, divisor);
        }
      }
    }
    for (const auto& [assumed, divisor] : divisible_) {
      if (assumed == term) {
        known = std::max(known, std::gcd(coefficient, b->value) * divisor);
      }
    }
    if (known % b->value != 0) {
      return false;
    }
  }
  return true;
}

void ScalarPool::assumeDivisible(Scalar a, int64_t divisor) {
  divisible_.emplace_back(a, divisor);
  upper_bounds_.clear();  // they may be simpler now
}

// ---- looking inside
// -----------------------------------------------------------------------------------------------

Scalar ScalarPool::substitute(Scalar a, const std::unordered_map<Scalar, Scalar>& replacement) {
  auto found = replacement.find(a);
  if (found != replacement.end()) {
    return found->second;
  }
  if (a->op == ScalarOp::Constant || a->op == ScalarOp::Symbol) {
    return a;
  }
  if (a->op == ScalarOp::Sum) {
    Scalar result = constant(a->value);
    for (const auto& [term, coefficient] : a->terms) {
      result = add(result, mul(substitute(term, replacement), coefficient));
    }
    return result;
  }
  std::vector<Scalar> args;
  for (Scalar arg : a->args) {
    args.push_back(substitute(arg, replacement));
  }
  switch (a->op) {
    case ScalarOp::Product: {
      Scalar result = one_;
      for (Scalar arg : args) {
        result = mul(result, arg);
      }
      return result;
    }
    case ScalarOp::Div:
      return div(args[0], args[1]);
    case ScalarOp::Mod:
      return mod(args[0], args[1]);
    case ScalarOp::Min:
      return min(args[0], args[1]);
    case ScalarOp::Max:
      return max(args[0], args[1]);
    case ScalarOp::Xor:
      return bitXor(args[0], args[1]);
    case ScalarOp::Less:
      return less(args[0], args[1]);
    case ScalarOp::Equal:
      return equal(args[0], args[1]);
    case ScalarOp::And: {
      Scalar result = one_;
      for (Scalar arg : args) {
        result = logicalAnd(result, arg);
      }
      return result;
    }
    case ScalarOp::Or:
      return logicalOr(args[0], args[1]);
    case ScalarOp::Not:
      return logicalNot(args[0]);
    default:
      return select(args[0], args[1], args[2]);
  }
}

bool ScalarPool::contains(Scalar a, Scalar symbol) {
  if (a == symbol) {
    return true;
  }
  for (const auto& [term, coefficient] : a->terms) {
    if (contains(term, symbol)) {
      return true;
    }
  }
  return std::any_of(a->args.begin(), a->args.end(),
                     [&](Scalar arg) { return contains(arg, symbol); });
}

bool ScalarPool::splitLinear(Scalar a, Scalar symbol, int64_t* coefficient, Scalar* rest) {
  int64_t value = 0;
  std::vector<std::pair<Scalar, int64_t>> terms;
  decompose(a, &value, &terms);
  *coefficient = 0;
  std::vector<std::pair<Scalar, int64_t>> others;
  for (const auto& [term, c] : terms) {
    if (term == symbol) {
      *coefficient = c;
    } else if (contains(term, symbol)) {
      return false;
    } else {
      others.emplace_back(term, c);
    }
  }
  *rest = makeSum(value, std::move(others));
  return true;
}

std::vector<Scalar> ScalarPool::symbolsOf(Scalar a) {
  std::vector<Scalar> result;
  std::vector<Scalar> open{a};
  while (!open.empty()) {
    Scalar s = open.back();
    open.pop_back();
    if (s->op == ScalarOp::Symbol) {
      result.push_back(s);
    }
    for (const auto& [term, coefficient] : s->terms) {
      open.push_back(term);
    }
    for (Scalar arg : s->args) {
      open.push_back(arg);
    }
  }
  std::sort(result.begin(), result.end(), byId);
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

int64_t evaluate(Scalar a, const std::function<int64_t(Scalar)>& valueOf) {
  auto arg = [&](size_t i) { return evaluate(a->args[i], valueOf); };
  switch (a->op) {
    case ScalarOp::Constant:
      return a->value;
    case ScalarOp::Symbol:
      return valueOf(a);
    case ScalarOp::Sum: {
      int64_t sum = a->value;
      for (const auto& [term, coefficient] : a->terms) {
        sum += coefficient * evaluate(term, valueOf);
      }
      return sum;
    }
    case ScalarOp::Product: {
      int64_t product = 1;
      for (size_t i = 0; i < a->args.size(); ++i) {
        product *= arg(i);
      }
      return product;
    }
    case ScalarOp::Div: {
      const int64_t divisor = arg(1);
      return divisor == 0 ? 0 : arg(0) / divisor;
    }
    case ScalarOp::Mod: {
      const int64_t divisor = arg(1);
      return divisor == 0 ? 0 : arg(0) % divisor;
    }
    case ScalarOp::Min:
      return std::min(arg(0), arg(1));
    case ScalarOp::Max:
      return std::max(arg(0), arg(1));
    case ScalarOp::Xor:
      return arg(0) ^ arg(1);
    case ScalarOp::Less:
      return arg(0) < arg(1) ? 1 : 0;
    case ScalarOp::Equal:
      return arg(0) == arg(1) ? 1 : 0;
    case ScalarOp::And:
      for (size_t i = 0; i < a->args.size(); ++i) {
        if (arg(i) == 0) {
          return 0;
        }
      }
      return 1;
    case ScalarOp::Or:
      return arg(0) != 0 || arg(1) != 0 ? 1 : 0;
    case ScalarOp::Not:
      return arg(0) == 0 ? 1 : 0;
    case ScalarOp::Select:
      return arg(0) != 0 ? arg(1) : arg(2);
  }
  return 0;
}

// ---- text
// ---------------------------------------------------------------------------------------------------------

namespace {

enum Precedence : int { kSelect, kOr, kAnd, kXor, kEqual, kLess, kAdd, kMul, kUnary, kAtom };

std::string show(Scalar a, int around);

std::string wrap(std::string inside, int own, int around) {
  return own < around ? "(" + inside + ")" : inside;
}

std::string showSum(Scalar a) {
  std::string out;
  for (const auto& [term, coefficient] : a->terms) {
    const bool negative = coefficient < 0;
    const auto magnitude =
        negative ? -static_cast<uint64_t>(coefficient) : static_cast<uint64_t>(coefficient);
    if (out.empty()) {
      if (negative) {
        out += "-";
      }
    } else {
      out += negative ? " - " : " + ";
    }
    if (magnitude == 1) {
      out += show(term, kMul);
    } else {
      out += text(show(term, kMul), " * ", magnitude);
    }
  }
  if (a->value != 0) {
    out += a->value < 0 ? text(" - ", -a->value) : text(" + ", a->value);
  }
  return out;
}

std::string show(Scalar a, int around) {
  auto infix = [&](std::string_view symbol, int own) {
    std::string out;
    for (size_t i = 0; i < a->args.size(); ++i) {
      if (i > 0) {
        out += text(" ", symbol, " ");
      }
      out += show(a->args[i], own + (i > 0 ? 1 : 0));
    }
    return wrap(std::move(out), own, around);
  };
  switch (a->op) {
    case ScalarOp::Constant:
      return a->value < 0 ? wrap(text(a->value), kUnary, around) : text(a->value);
    case ScalarOp::Symbol:
      return a->name;
    case ScalarOp::Sum:
      return wrap(showSum(a), kAdd, around);
    case ScalarOp::Product:
      return infix("*", kMul);
    case ScalarOp::Div:
      return infix("/", kMul);
    case ScalarOp::Mod:
      return infix("%", kMul);
    case ScalarOp::Min:
      return text("min(", show(a->args[0], kSelect), ", ", show(a->args[1], kSelect), ")");
    case ScalarOp::Max:
      return text("max(", show(a->args[0], kSelect), ", ", show(a->args[1], kSelect), ")");
    case ScalarOp::Xor:
      return wrap(text(show(a->args[0], kAdd), " ^ ", show(a->args[1], kAdd)), kXor, around);
    case ScalarOp::Less:
      return infix("<", kLess);
    case ScalarOp::Equal:
      return infix("==", kEqual);
    case ScalarOp::And:
      return infix("&&", kAnd);
    case ScalarOp::Or:
      return infix("||", kOr);
    case ScalarOp::Not:
      return text("!", show(a->args[0], kUnary));
    case ScalarOp::Select:
      return wrap(
          text(show(a->args[0], kOr), " ? ", show(a->args[1], kOr), " : ", show(a->args[2], kOr)),
          kSelect, around);
  }
  return "";
}

}  // namespace

std::string ScalarNode::toString() const { return show(this, kSelect); }

}  // namespace nvfuser::kir
