/// Sums and products: terms are collected, factors sorted, and what division took apart is put
/// together again, so that equal values are one node.
#include <algorithm>

#include <kernel_ir/scalar_arithmetic.h>

namespace nvfuser::kir {

void ScalarPool::decompose(Scalar a, int64_t* constant,
                           std::vector<std::pair<Scalar, int64_t>>* terms) {
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
    // (4·n + 8)·k is 4·((n + 2)·k), whoever multiplied what first.
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
  // k·((x div y) mod z)·y·F + k·(x mod y)·F = k·(x mod y·z)·F, and the same of
  // (x mod y·z) div y.
  auto joinRemainders = [&]() -> bool {
    for (size_t m = 0; m < terms.size(); ++m) {
      for (Scalar inner : factorsOf(terms[m].first)) {
        if (inner->op != ScalarOp::Mod) {
          continue;
        }
        std::vector<Scalar> rest = factorsOf(terms[m].first);
        removeFactor(&rest, inner);
        Scalar x = inner->args[0];
        Scalar y = inner->args[1];
        Scalar around = makeProduct(terms[m].second, rest);
        Scalar scale = mul(around, y);
        Scalar quotient = div(x, y);
        for (size_t n = 0; n < terms.size(); ++n) {
          for (Scalar outer : factorsOf(terms[n].first)) {
            const bool is_remainder = outer->op == ScalarOp::Mod && outer->args[0] == quotient;
            const bool is_quotient = outer->op == ScalarOp::Div && outer->args[1] == y &&
                                     outer->args[0]->op == ScalarOp::Mod &&
                                     outer->args[0]->args[0] == x &&
                                     exactQuotient(outer->args[0]->args[1], y) != nullptr;
            if (n == m || (!is_remainder && !is_quotient)) {
              continue;
            }
            std::vector<Scalar> others = factorsOf(terms[n].first);
            removeFactor(&others, outer);
            if (makeProduct(terms[n].second, others) != scale) {
              continue;
            }
            terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(std::max(m, n)));
            terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(std::min(m, n)));
            const Scalar joined = is_quotient ? outer->args[0] : mod(x, mul(y, outer->args[1]));
            decompose(mul(around, joined), &value, &terms);
            return true;
          }
        }
      }
    }
    return false;
  };
  while (recombine() || joinRemainders()) {
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

}  // namespace nvfuser::kir
