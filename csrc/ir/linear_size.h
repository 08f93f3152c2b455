/// A size as a linear form, c + Σ coefficient·term: what it is worth, without how it was written.
///
///   (n − 1) · 2 + m − 3      →      −5 + 2·n + 1·m
///
/// Terms are scalars that are no sum, difference, negation or multiple of others, or that stand too
/// deep to be looked into.
#pragma once

#include <optional>
#include <vector>

#include <ir/internal_nodes.h>

namespace nvfuser {

struct LinearSize {
  struct Term {
    Val* val;
    int64_t coefficient;
  };

  int64_t constant = 0;
  std::vector<Term> terms = {};  ///< in the order in which they were met

  static LinearSize read(Val* val);

  void add(Val* val, int64_t coefficient);
  void add(const LinearSize& other, int64_t factor);
  bool isConstant() const { return terms.empty(); }
  /// One term, as it is, and a constant.
  Val* onlyTerm() const {
    return terms.size() == 1 && terms[0].coefficient == 1 ? terms[0].val : nullptr;
  }
  /// Whether there are few terms, and constants far from overflow.
  bool isSmall() const;
  /// Whether it is known to be 0 or more; looks at a few operations.
  bool isNotNegative() const;
  friend bool operator==(const LinearSize& a, const LinearSize& b);
};

/// An integer that is known and far from overflow.
std::optional<int64_t> smallConstant(const Val* val);

/// The definition of a word (Index or Int) as such an operation of two words; else null.
const BinaryOp* wordOperation(const Val* val, BinaryOpType type);

}  // namespace nvfuser
