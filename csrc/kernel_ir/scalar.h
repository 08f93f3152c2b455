/// Integer and boolean expressions of a kernel: indices, extents, predicates, launch dimensions.
///
/// Immutable and hash-consed in a `ScalarPool`: equal expressions are one node, so comparing is
/// comparing pointers. Every constructor simplifies, with the interval and the symbolic upper bound
/// of each operand as its only facts:
///
///   (o·128 + t) div 128 = o     where 0 ≤ t < 128         (m div b)·b + m mod b = m
///   (o·128 + t) mod 128 = t                               x mod b = x  where 0 ≤ x < b
///
/// Division and remainder are those of C for non-negative operands; divisors are positive (an axis
/// of extent 0 is never iterated). The property test evaluates random expressions before and after.
///
/// One class over several files, by what a file knows about:
///   scalar.cpp          the pool: equal nodes are one node
///   scalar_sum.cpp      sums and products
///   scalar_divide.cpp   quotients and remainders
///   scalar_logic.cpp    min, max, xor, comparisons, conditions
///   scalar_proofs.cpp   bounds and divisibility
///   scalar_walk.cpp     substitution, symbols, evaluation
///   scalar_print.cpp    text
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace nvfuser::kir {

struct ScalarNode;
using Scalar = const ScalarNode*;
using ScalarTerms = std::vector<std::pair<Scalar, int64_t>>;  ///< (term, coefficient)

enum class ScalarOp : uint8_t {
  Constant,
  Symbol,
  Sum,      ///< value + Σ coefficient·term
  Product,  ///< of factors, none constant
  Div,
  Mod,
  Min,
  Max,
  Xor,
  Less,  ///< args[0] < args[1]
  Equal,
  And,
  Or,
  Not,
  Select,  ///< args[0] ? args[1] : args[2]
};

struct ScalarNode {
  ScalarOp op;
  int id;                         ///< order of creation: deterministic
  int64_t value = 0;              ///< of a Constant; the constant part of a Sum
  ScalarTerms terms = {};         ///< of a Sum: (term, coefficient), by id
  std::vector<Scalar> args = {};  ///< factors (by id) or operands
  std::string name = {};          ///< of a Symbol
  Scalar bound = nullptr;         ///< of a Symbol: value < bound, where known
  int64_t lo = 0;                 ///< lo ≤ value ≤ hi
  int64_t hi = 0;

  bool isConstant() const { return op == ScalarOp::Constant; }
  bool isConstant(int64_t v) const { return isConstant() && value == v; }
  /// C++ text, with only the parentheses that it needs.
  std::string toString() const;
};

class ScalarPool {
 public:
  ScalarPool();
  ScalarPool(const ScalarPool&) = delete;
  ScalarPool& operator=(const ScalarPool&) = delete;

  Scalar constant(int64_t value);
  /// A named unknown with lo ≤ value ≤ hi and, if given, value < bound. One name, one symbol.
  Scalar symbol(const std::string& name, Scalar bound = nullptr, int64_t lo = 0,
                int64_t hi = INT64_MAX);
  Scalar zero() { return zero_; }
  Scalar one() { return one_; }
  Scalar trueValue() { return one_; }

  Scalar add(Scalar a, Scalar b);
  Scalar sub(Scalar a, Scalar b);
  Scalar mul(Scalar a, Scalar b);
  Scalar mul(Scalar a, int64_t factor);
  Scalar div(Scalar a, Scalar b);
  Scalar mod(Scalar a, Scalar b);
  Scalar ceilDiv(Scalar a, Scalar b);
  Scalar min(Scalar a, Scalar b);
  Scalar max(Scalar a, Scalar b);
  Scalar bitXor(Scalar a, Scalar b);
  Scalar less(Scalar a, Scalar b);
  Scalar lessEqual(Scalar a, Scalar b) { return less(a, add(b, one_)); }
  Scalar equal(Scalar a, Scalar b);
  Scalar logicalAnd(Scalar a, Scalar b);
  Scalar logicalOr(Scalar a, Scalar b);
  Scalar logicalNot(Scalar a);
  Scalar select(Scalar condition, Scalar a, Scalar b);
  /// The same value, where each divisor d that may be zero is max(d, 1).
  Scalar withoutZeroDivisors(Scalar a);

  // Proofs. False means "not proven".
  bool provesLess(Scalar a, Scalar b);
  bool provesNonNegative(Scalar a) const { return a->lo >= 0; }
  /// Whether `b` divides `a` for all values of the symbols (and the assumptions made).
  bool provesDivisible(Scalar a, Scalar b);
  /// a / b where every term of `a` has `b` as a factor; null otherwise.
  Scalar exactQuotient(Scalar a, Scalar b);
  /// An exclusive upper bound in terms of symbols' bounds; null where there is none.
  Scalar upperBound(Scalar a);
  /// From now on `a` is known to be a multiple of `divisor`.
  void assumeDivisible(Scalar a, int64_t divisor);
  /// From now on `less` leaves a comparison as it is even where its result is proven (to look for a
  /// wrong proof).
  void keepComparisons() { keep_comparisons_ = true; }

  /// The expression with symbols replaced (and simplified again).
  Scalar substitute(Scalar a, const std::unordered_map<Scalar, Scalar>& replacement);
  /// Coefficient of `symbol` if the expression is linear in it, and the rest; false otherwise.
  bool splitLinear(Scalar a, Scalar symbol, int64_t* coefficient, Scalar* rest);
  /// a = constant + Σ coefficient·term.
  void decompose(Scalar a, int64_t* constant, ScalarTerms* terms);
  /// a = coefficient·rest, with the largest coefficient that all terms of `a` have in common.
  std::pair<int64_t, Scalar> splitCoefficient(Scalar a);
  /// Constants k, with b = k·f and its f, that terms of `a` may be multiples of.
  std::vector<std::pair<int64_t, Scalar>> commonFactors(Scalar a, Scalar b);
  /// Whether `symbol` occurs anywhere in `a`.
  static bool contains(Scalar a, Scalar symbol);
  /// Symbols of an expression, in order of creation.
  static std::vector<Scalar> symbolsOf(Scalar a);

 private:
  /// Of nodes, by what makes them equal: not their interval nor their bound, which follow from it.
  struct Hash {
    size_t operator()(Scalar node) const;
  };
  struct Same {
    bool operator()(Scalar a, Scalar b) const;
  };

  Scalar intern(ScalarNode node);
  Scalar makeSum(int64_t constant, ScalarTerms terms);
  // Rules of sums (scalar_sum.cpp): whether the m-th term, one of whose factors is `remainder`, and
  // others have become one.
  using JoinTerms = bool (ScalarPool::*)(size_t m, Scalar remainder, int64_t* value,
                                         ScalarTerms* terms);
  bool joinQuotient(size_t m, Scalar remainder, int64_t* value, ScalarTerms* terms);
  bool joinRemainders(size_t m, Scalar remainder, int64_t* value, ScalarTerms* terms);
  bool joinFirst(JoinTerms rule, int64_t* value, ScalarTerms* terms);
  Scalar makeProduct(int64_t coefficient, std::vector<Scalar> factors);
  Scalar makeBinary(ScalarOp op, Scalar a, Scalar b);
  Scalar makeQuotient(Scalar a, Scalar b);
  Scalar withoutInnerQuotient(Scalar a, Scalar b);
  Scalar makeRemainder(Scalar a, Scalar b);
  /// Product of sums multiplied out, for proofs.
  Scalar expand(Scalar a);
  Scalar computeUpperBound(Scalar a);
  /// The largest constant that was assumed to divide `a` as a whole; 1 if none was.
  int64_t knownDivisor(Scalar a) const;
  /// The largest multiple of `divisor` that is at most `a`, where its terms tell; null otherwise.
  Scalar floorToMultiple(Scalar a, int64_t divisor);
  void splitByDivisor(Scalar a, Scalar b, Scalar* quotient, Scalar* remainder);

  std::deque<ScalarNode> nodes_;
  std::unordered_set<Scalar, Hash, Same> interned_;
  std::unordered_map<Scalar, int64_t> divisible_;  ///< what was assumed
  // For what is known to be divisible so far. Sums ask for quotients and quotients for sums:
  // without memory each level of a nest of them would double the work.
  std::unordered_map<Scalar, Scalar> upper_bounds_;
  std::unordered_map<uint64_t, Scalar> quotients_;  ///< by `pairOf`
  std::unordered_map<uint64_t, Scalar> remainders_;
  bool keep_comparisons_ = false;
  Scalar zero_;
  Scalar one_;
};

/// Value of an expression, given those of its symbols.
int64_t evaluate(Scalar a, const std::function<int64_t(Scalar)>& valueOf);

}  // namespace nvfuser::kir
