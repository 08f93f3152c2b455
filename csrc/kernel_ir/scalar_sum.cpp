/// Sums and products: terms are collected, factors sorted, and what division took apart is put
/// together again, so that equal values are one node.
#include <algorithm>

#include <kernel_ir/scalar_arithmetic.h>

namespace nvfuser::kir {

void ScalarPool::decompose(Scalar a, int64_t* constant, ScalarTerms* terms) {
  if (a->isConstant()) {
    *constant = saturate(static_cast<__int128>(*constant) + a->value);
  } else if (a->op == ScalarOp::Sum) {
    *constant = saturate(static_cast<__int128>(*constant) + a->value);
    terms->insert(terms->end(), a->terms.begin(), a->terms.end());
  } else {
    terms->emplace_back(a, 1);
  }
}

Scalar ScalarPool::makeProduct(int64_t coefficient, std::vector<Scalar> factors) {
  if (coefficient == 0) {
    return zero_;
  }
  if (factors.size() > 1) {
    // (4·n + 8)·k is 4·((n + 2)·k), in whichever order they were multiplied.
    for (Scalar& factor : factors) {
      const auto [common, rest] = splitCoefficient(factor);
      coefficient = mulSat(coefficient, common);
      factor = rest;
    }
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

namespace {

/// Equal terms become one; those that cancel go.
void collect(ScalarTerms& terms) {
  std::sort(terms.begin(), terms.end(),
            [](const auto& a, const auto& b) { return a.first->id < b.first->id; });
  ScalarTerms merged;
  for (const auto& [term, coefficient] : terms) {
    if (!merged.empty() && merged.back().first == term) {
      merged.back().second += coefficient;
    } else {
      merged.emplace_back(term, coefficient);
    }
  }
  std::erase_if(merged, [](const auto& term) { return term.second == 0; });
  terms = std::move(merged);
}

bool has(const ScalarTerms& terms, const std::pair<Scalar, int64_t>& term) {
  return std::find(terms.begin(), terms.end(), term) != terms.end();
}

void erase(ScalarTerms& terms, size_t place) {
  terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(place));
}

/// The factors of a term without one of them.
std::vector<Scalar> otherFactors(Scalar term, Scalar factor) {
  std::vector<Scalar> rest = factorsOf(term);
  removeFactor(&rest, factor);
  return rest;
}

/// Whether a sum has `part` as one of its terms, or is it.
bool isPart(Scalar part, Scalar sum) {
  return sum == part || has(sum->terms, std::pair<Scalar, int64_t>(part, 1));
}

}  // namespace

/// k·(x div y)·y·F + k·(x mod y)·F = k·x·F, where the m-th term has the remainder x mod y; and the
/// same of (p + x div y)·y, which leaves p·y.
bool ScalarPool::joinQuotient(size_t m, Scalar remainder, int64_t* value, ScalarTerms* terms) {
  const Scalar x = remainder->args[0];
  const Scalar y = remainder->args[1];
  const Scalar around = makeProduct((*terms)[m].second, otherFactors((*terms)[m].first, remainder));
  const Scalar scale = mul(around, y);
  // The quotient may have been simplified away, so it is built and compared; one by c·z may have
  // been taken by one after the other, too.
  const auto [c, z] = splitCoefficient(y);
  std::vector<Scalar> quotients{div(x, y)};
  if (c > 1 && !y->isConstant()) {
    quotients.push_back(div(div(x, constant(c)), z));
  }
  for (Scalar quotient : quotients) {
    int64_t partner_value = 0;
    ScalarTerms partner;
    decompose(mul(scale, quotient), &partner_value, &partner);
    Scalar more = zero_;
    if (partner.empty() || !std::all_of(partner.begin(), partner.end(),
                                        [&](const auto& term) { return has(*terms, term); })) {
      partner.clear();
      for (size_t n = 0; n < terms->size(); ++n) {
        const auto [term, coefficient] = (*terms)[n];
        for (Scalar factor : factorsOf(term)) {
          if (n != m && factor->op == ScalarOp::Sum && isPart(quotient, factor) &&
              makeProduct(coefficient, otherFactors(term, factor)) == scale) {
            partner = {{term, coefficient}};
            partner_value = 0;
            more = sub(factor, quotient);
          }
        }
      }
    }
    if (partner.empty()) {
      continue;
    }
    erase(*terms, m);
    std::erase_if(*terms, [&](const auto& term) { return has(partner, term); });
    *value -= partner_value;
    decompose(mul(scale, more), value, terms);
    decompose(mul(around, x), value, terms);
    return true;
  }
  return false;
}

/// k·((p + x div y) mod z)·y·F + k·(x mod y)·F = k·((p·y + x) mod y·z)·F, where the m-th term has
/// the remainder x mod y; and, without p, the same of (x mod y·z) div y, where the remainder's x
/// may lack multiples of y.
bool ScalarPool::joinRemainders(size_t m, Scalar remainder, int64_t* value, ScalarTerms* terms) {
  const Scalar x = remainder->args[0];
  const Scalar y = remainder->args[1];
  const Scalar around = makeProduct((*terms)[m].second, otherFactors((*terms)[m].first, remainder));
  const Scalar scale = mul(around, y);
  const Scalar quotient = div(x, y);
  for (size_t n = 0; n < terms->size(); ++n) {
    if (n == m) {
      continue;
    }
    const auto [term, coefficient] = (*terms)[n];
    for (Scalar outer : factorsOf(term)) {
      const Scalar more = outer->op == ScalarOp::Mod && isPart(quotient, outer->args[0])
                              ? sub(outer->args[0], quotient)
                              : nullptr;
      const bool is_remainder = more != nullptr && more->lo >= 0 && x->lo >= 0;
      const bool is_quotient = outer->op == ScalarOp::Div && outer->args[1] == y &&
                               outer->args[0]->op == ScalarOp::Mod &&
                               mod(outer->args[0]->args[0], y) == remainder &&
                               exactQuotient(outer->args[0]->args[1], y) != nullptr;
      if ((!is_remainder && !is_quotient) ||
          makeProduct(coefficient, otherFactors(term, outer)) != scale) {
        continue;
      }
      erase(*terms, std::max(m, n));
      erase(*terms, std::min(m, n));
      const Scalar joined =
          is_quotient ? outer->args[0] : mod(add(mul(more, y), x), mul(y, outer->args[1]));
      decompose(mul(around, joined), value, terms);
      return true;
    }
  }
  return false;
}

/// Applies `rule` to the first remainder of the terms that it takes.
bool ScalarPool::joinFirst(JoinTerms rule, int64_t* value, ScalarTerms* terms) {
  for (size_t m = 0; m < terms->size(); ++m) {
    for (Scalar factor : factorsOf((*terms)[m].first)) {
      if (factor->op == ScalarOp::Mod && (this->*rule)(m, factor, value, terms)) {
        return true;
      }
    }
  }
  return false;
}

Scalar ScalarPool::makeSum(int64_t value, ScalarTerms terms) {
  collect(terms);
  while (joinFirst(&ScalarPool::joinQuotient, &value, &terms) ||
         joinFirst(&ScalarPool::joinRemainders, &value, &terms)) {
    collect(terms);
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
  ScalarTerms terms;
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

}  // namespace nvfuser::kir
