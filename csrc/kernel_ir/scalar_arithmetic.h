/// What the parts of `ScalarPool` share: bounds that saturate, and terms as lists of factors.
/// Internal to `scalar*.cpp`.
///
/// In bounds, INT64_MAX and INT64_MIN mean "no bound is known". Arithmetic on bounds never wraps: a
/// result that does not fit is the nearer of the two, and a sum with either is that one again.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include <kernel_ir/scalar.h>

namespace nvfuser::kir {

inline int64_t saturate(__int128 value) {
  if (value > INT64_MAX) {
    return INT64_MAX;
  }
  if (value < INT64_MIN) {
    return INT64_MIN;
  }
  return static_cast<int64_t>(value);
}

inline int64_t addSat(int64_t a, int64_t b) {
  if (a == INT64_MAX || b == INT64_MAX) {
    return INT64_MAX;
  }
  if (a == INT64_MIN || b == INT64_MIN) {
    return INT64_MIN;
  }
  return saturate(static_cast<__int128>(a) + b);
}

inline int64_t mulSat(int64_t a, int64_t b) { return saturate(static_cast<__int128>(a) * b); }

/// The order of operands that commute: that of creation.
inline bool byId(Scalar a, Scalar b) { return a->id < b->id; }

/// Factors of a term that is no sum (and has no coefficient): those of a product, else itself.
inline std::vector<Scalar> factorsOf(Scalar term) {
  return term->op == ScalarOp::Product ? term->args : std::vector<Scalar>{term};
}

/// Removes `factor` once; false, and nothing is changed, if it is not there.
inline bool removeFactor(std::vector<Scalar>* factors, Scalar factor) {
  auto found = std::find(factors->begin(), factors->end(), factor);
  if (found == factors->end()) {
    return false;
  }
  factors->erase(found);
  return true;
}

}  // namespace nvfuser::kir
