// Every rule of the simplifier and every proof is held against plain evaluation.
#include <doctest/doctest.h>

#include <map>
#include <random>
#include <vector>

#include <kernel_ir/scalar.h>

using namespace nvfuser;
using kir::Scalar;
using kir::ScalarPool;

namespace {

using Values = std::map<Scalar, int64_t>;

/// An expression twice: as the pool simplified it, and as a function that does what was asked.
struct Twin {
  Scalar scalar;
  std::function<int64_t(const Values&)> plain;
};

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {
    for (const char* name : {"n", "m"}) {
      sizes_.push_back(pool.symbol(name, nullptr, 1));
    }
    for (int i = 0; i < 3; ++i) {
      bounds_.push_back(number(0, 1) == 0 ? pool.constant(number(1, 9))
                                          : sizes_[static_cast<size_t>(number(0, 1))]);
      loops_.push_back(pool.symbol("k" + std::to_string(i), bounds_.back()));
    }
  }

  ScalarPool pool;

  int64_t number(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }

  /// Values within all bounds.
  Values draw() {
    Values values;
    for (Scalar size : sizes_) {
      values[size] = number(1, 12);
    }
    for (size_t i = 0; i < loops_.size(); ++i) {
      const int64_t bound = bounds_[i]->isConstant() ? bounds_[i]->value : values.at(bounds_[i]);
      values[loops_[i]] = number(0, bound - 1);
    }
    return values;
  }

  Twin expression(int depth) {
    if (depth == 0) {
      return leaf();
    }
    Twin a = expression(depth - 1);
    Twin b = number(0, 2) == 0 ? expression(depth - 1) : leaf();
    auto f = a.plain;
    auto g = b.plain;
    switch (number(0, 9)) {
      case 0:
      case 1:
        return {pool.add(a.scalar, b.scalar), [=](const Values& v) { return f(v) + g(v); }};
      case 2:
        return {pool.sub(a.scalar, b.scalar), [=](const Values& v) { return f(v) - g(v); }};
      case 3:
        return {pool.mul(a.scalar, b.scalar), [=](const Values& v) { return f(v) * g(v); }};
      case 4:
        return {pool.min(a.scalar, b.scalar),
                [=](const Values& v) { return std::min(f(v), g(v)); }};
      case 5:
        return {pool.max(a.scalar, b.scalar),
                [=](const Values& v) { return std::max(f(v), g(v)); }};
      default:
        break;
    }
    // Division takes what is not negative by what is positive.
    if (a.scalar->lo < 0) {
      return a;
    }
    const Twin d = divisor();
    auto h = d.plain;
    switch (number(0, 2)) {
      case 0:
        return {pool.div(a.scalar, d.scalar), [=](const Values& v) { return f(v) / h(v); }};
      case 1:
        return {pool.mod(a.scalar, d.scalar), [=](const Values& v) { return f(v) % h(v); }};
      default:
        return {pool.ceilDiv(a.scalar, d.scalar),
                [=](const Values& v) { return (f(v) + h(v) - 1) / h(v); }};
    }
  }

  Twin leaf() {
    switch (number(0, 3)) {
      case 0: {
        const int64_t value = number(0, 8);
        return {pool.constant(value), [=](const Values&) { return value; }};
      }
      case 1:
        return of(sizes_[static_cast<size_t>(number(0, 1))]);
      default:
        return of(loops_[static_cast<size_t>(number(0, 2))]);
    }
  }

  Twin divisor() {
    if (number(0, 2) == 0) {
      return of(sizes_[static_cast<size_t>(number(0, 1))]);
    }
    const int64_t value = number(1, 6);
    return {pool.constant(value), [=](const Values&) { return value; }};
  }

  const std::vector<Scalar>& loops() const { return loops_; }

 private:
  static Twin of(Scalar symbol) {
    return {symbol, [=](const Values& v) { return v.at(symbol); }};
  }
  std::mt19937_64 random_;
  std::vector<Scalar> sizes_;
  std::vector<Scalar> bounds_;
  std::vector<Scalar> loops_;
};

int64_t valueOf(Scalar a, const Values& values) {
  return kir::evaluate(a, [&](Scalar symbol) { return values.at(symbol); });
}

constexpr uint64_t kSeeds = 3000;
constexpr int kDraws = 12;

}  // namespace

TEST_CASE("scalar: simplified expressions have the value of the original") {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    Generator random(seed);
    const Twin twin = random.expression(static_cast<int>(random.number(1, 4)));
    for (int i = 0; i < kDraws; ++i) {
      const Values values = random.draw();
      const int64_t expected = twin.plain(values);
      const int64_t got = valueOf(twin.scalar, values);
      if (got != expected || got < twin.scalar->lo || got > twin.scalar->hi) {
        FAIL("seed ", seed, ": ", twin.scalar->toString(), " is ", got, ", expected ", expected,
             ", interval [", twin.scalar->lo, ", ", twin.scalar->hi, "]");
      }
    }
  }
}

TEST_CASE("scalar: comparisons and logic have the value of the original") {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    Generator random(seed);
    ScalarPool& pool = random.pool;
    const Twin a = random.expression(2);
    const Twin b = random.expression(2);
    const Twin c = random.expression(1);
    const Scalar less = pool.less(a.scalar, b.scalar);
    const Scalar equal = pool.equal(b.scalar, c.scalar);
    const Scalar both = pool.logicalAnd(less, pool.logicalNot(equal));
    const Scalar either = pool.logicalOr(less, equal);
    const Scalar chosen = pool.select(less, a.scalar, c.scalar);
    for (int i = 0; i < kDraws; ++i) {
      const Values values = random.draw();
      const bool is_less = a.plain(values) < b.plain(values);
      const bool is_equal = b.plain(values) == c.plain(values);
      CAPTURE(seed);
      REQUIRE(valueOf(less, values) == (is_less ? 1 : 0));
      REQUIRE(valueOf(equal, values) == (is_equal ? 1 : 0));
      REQUIRE(valueOf(both, values) == (is_less && !is_equal ? 1 : 0));
      REQUIRE(valueOf(either, values) == (is_less || is_equal ? 1 : 0));
      REQUIRE(valueOf(chosen, values) == (is_less ? a.plain(values) : c.plain(values)));
    }
  }
}

TEST_CASE("scalar: indices of an axis without elements are 0, and nothing divides by its extent") {
  ScalarPool pool;
  const Scalar none = pool.constant(0);
  Generator random(1);
  for (Scalar a : {pool.constant(7), pool.constant(0), pool.constant(-3)}) {
    CHECK(pool.div(a, none)->isConstant(0));
    CHECK(pool.mod(a, none)->isConstant(0));
    CHECK(pool.ceilDiv(a, none)->isConstant(0));
  }
  const Scalar zero = random.pool.constant(0);
  const Scalar index = random.pool.add(random.loops()[0], random.pool.constant(5));
  CHECK(random.pool.div(index, zero)->isConstant(0));
  CHECK(random.pool.mod(index, zero)->isConstant(0));
}

TEST_CASE("scalar: what is proven holds") {
  int proven_less = 0;
  int proven_divisible = 0;
  int bounded = 0;
  int quotients = 0;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    Generator random(seed);
    ScalarPool& pool = random.pool;
    const Twin a = random.expression(3);
    const Twin b = random.expression(1);
    const Twin d = random.divisor();
    const bool less = pool.provesLess(a.scalar, b.scalar);
    const bool divisible = pool.provesDivisible(a.scalar, d.scalar);
    const Scalar bound = pool.upperBound(a.scalar);
    const Scalar quotient = pool.exactQuotient(a.scalar, d.scalar);
    proven_less += less;
    proven_divisible += divisible;
    bounded += bound != nullptr;
    quotients += quotient != nullptr;
    for (int i = 0; i < kDraws; ++i) {
      const Values values = random.draw();
      const int64_t value = a.plain(values);
      CAPTURE(seed);
      CAPTURE(a.scalar->toString());
      CAPTURE(d.scalar->toString());
      REQUIRE((!less || value < b.plain(values)));
      REQUIRE((!divisible || value % d.plain(values) == 0));
      REQUIRE((bound == nullptr || value < valueOf(bound, values)));
      REQUIRE((quotient == nullptr || valueOf(quotient, values) * d.plain(values) == value));
    }
  }
  // The proofs are worth something.
  CHECK(proven_less > 50);
  CHECK(proven_divisible > 200);
  CHECK(bounded > 500);
  CHECK(quotients > 200);
}

TEST_CASE("scalar: substitution and linear parts") {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    Generator random(seed);
    ScalarPool& pool = random.pool;
    const Twin a = random.expression(3);
    const Scalar k = random.loops()[0];
    const Scalar at_zero = pool.substitute(a.scalar, {{k, pool.zero()}});
    CHECK_FALSE(ScalarPool::contains(at_zero, k));
    int64_t coefficient = 0;
    Scalar rest = nullptr;
    const bool linear = pool.splitLinear(a.scalar, k, &coefficient, &rest);
    int64_t constant = 0;
    std::vector<std::pair<Scalar, int64_t>> terms;
    pool.decompose(a.scalar, &constant, &terms);
    for (int i = 0; i < kDraws; ++i) {
      Values values = random.draw();
      const int64_t value = a.plain(values);
      int64_t sum = constant;
      for (const auto& [term, c] : terms) {
        sum += c * valueOf(term, values);
      }
      REQUIRE(sum == value);
      if (linear) {
        REQUIRE(coefficient * values.at(k) + valueOf(rest, values) == value);
      }
      values[k] = 0;
      REQUIRE(valueOf(at_zero, values) == a.plain(values));
    }
  }
}

TEST_CASE("scalar: the elements of a vector share a condition where the extent is a multiple") {
  ScalarPool pool;
  Scalar n = pool.symbol("n");
  Scalar x = pool.symbol("x");
  Scalar v = pool.symbol("v", pool.constant(8));
  Scalar first = pool.mul(x, 8);
  Scalar element = pool.add(first, v);
  CHECK(pool.less(element, n) != pool.less(first, n));
  pool.assumeDivisible(n, 16);
  CHECK(pool.less(element, n) == pool.less(first, n));
  // Not where the elements may lie in two vectors, or the extent is no multiple.
  Scalar shifted = pool.add(element, pool.one());
  CHECK(pool.less(shifted, n) != pool.less(first, n));
  CHECK(pool.less(pool.add(pool.mul(x, 4), v), n)->toString() == "x * 4 + v < n");
  Scalar less = pool.less(element, pool.add(n, pool.one()));
  CHECK(less->args[0] == element);
  CHECK(pool.max(x, pool.max(n, pool.max(x, v))) == pool.max(n, pool.max(x, v)));
}

TEST_CASE("scalar: equal expressions are one node, and the text is short") {
  ScalarPool pool;
  const Scalar n = pool.symbol("n", nullptr, 1);
  const Scalar t = pool.symbol("t", pool.constant(128));
  const Scalar o = pool.symbol("o", pool.ceilDiv(n, pool.constant(128)));
  const Scalar index = pool.add(pool.mul(o, 128), t);
  CHECK(index == pool.add(t, pool.mul(pool.constant(128), o)));
  CHECK(pool.div(index, pool.constant(128)) == o);
  CHECK(pool.mod(index, pool.constant(128)) == t);
  CHECK(pool.sub(index, index) == pool.zero());
  CHECK(pool.less(t, pool.constant(128))->isConstant(1));
  CHECK_FALSE(pool.provesLess(index, n));
  CHECK(pool.symbol("n") == n);
  CHECK(pool.add(pool.mul(o, 128), t)->toString() == "t + o * 128");
  const Scalar rows = pool.symbol("rows", nullptr, 1);
  const Scalar row = pool.symbol("row", nullptr, 1);
  const Scalar rest = pool.mod(index, row);
  const Scalar next = pool.mod(pool.div(index, row), rows);
  CHECK(pool.add(rest, pool.mul(row, next)) == pool.mod(index, pool.mul(row, rows)));
  // So it is where whole multiples of the divisor left the quotient.
  const Scalar place = pool.add(pool.mul(o, 8192), t);
  const Scalar three = pool.constant(3);
  const Scalar point = pool.mod(pool.div(place, three), pool.constant(127));
  CHECK(pool.add(pool.mul(point, 3), pool.mod(place, three)) ==
        pool.mod(place, pool.constant(381)));
  // The elements of a vector of 2 have one quotient by any even number.
  const Scalar pair = pool.add(pool.mul(o, 2), pool.symbol("second", pool.constant(2)));
  CHECK(pool.div(pair, pool.mul(n, 6)) == pool.div(o, pool.mul(n, 3)));
  CHECK(pool.div(pair, pool.constant(6)) == pool.div(o, three));
  // So it is where a size is a sum, multiplied out: (n + 5)·row and 129·n + 645.
  const Scalar padded = pool.add(n, pool.constant(5));
  const Scalar outer = pool.mul(pool.div(index, padded), pool.mul(padded, 129));
  CHECK(pool.add(outer, pool.mul(pool.mod(index, padded), 129)) == pool.mul(index, 129));
  pool.assumeDivisible(n, 128);
  CHECK(pool.provesDivisible(n, pool.constant(64)));
  CHECK_FALSE(pool.provesDivisible(n, pool.constant(3)));
  // A multiple of 128 and of 64 is no multiple of their product.
  pool.assumeDivisible(n, 64);
  CHECK_FALSE(pool.provesDivisible(n, pool.constant(256)));
  CHECK(pool.provesDivisible(pool.mul(n, n), pool.constant(256)));
}

TEST_CASE("scalar: what several divisions took apart is put together again") {
  ScalarPool pool;
  // Rows of 63 in rows of 630, gone through in steps of 512: each remainder loses other multiples.
  const Scalar block = pool.symbol("block", nullptr);
  const Scalar thread = pool.symbol("thread", pool.constant(512));
  const Scalar x = pool.add(pool.mul(block, 512), thread);
  const Scalar row = pool.constant(630);
  const Scalar part = pool.constant(63);
  const Scalar in_row = pool.mod(x, row);
  const Scalar joined =
      pool.add(pool.mul(pool.div(x, row), row),
               pool.add(pool.mul(pool.div(in_row, part), part), pool.mod(in_row, part)));
  CHECK(joined == x);
  // By 15, then by a size that a call knows: rows of 15·n, whose multiples the remainder has lost.
  const Scalar n = pool.symbol("n", nullptr, 1);
  const Scalar place = pool.add(pool.mul(thread, 16), pool.symbol("element", pool.constant(16)));
  const Scalar rows = pool.mul(n, 15);
  const Scalar whole = pool.add(pool.mul(pool.mul(block, 64), rows), place);
  const Scalar quotient = pool.div(pool.div(whole, pool.constant(15)), n);
  CHECK(pool.add(pool.mul(quotient, rows), pool.mod(whole, rows)) == whole);
}

TEST_CASE("scalar: values lie within the ranges of their expressions") {
  ScalarPool pool;
  const Scalar a = pool.symbol("a", nullptr, -7, 9);
  const Scalar b = pool.symbol("b", nullptr, 1, 6);
  const Scalar c = pool.symbol("c", nullptr, 0, 5);
  const Scalar wide = pool.add(pool.mul(c, 3), pool.mul(b, 2));
  const Scalar falls = pool.sub(pool.mul(b, 4), pool.mul(c, 3));
  const Scalar is_small = pool.less(c, pool.constant(3));
  const Scalar expressions[] = {
      pool.div(c, b),
      pool.div(a, b),
      pool.div(wide, pool.constant(4)),
      pool.div(falls, b),
      pool.mod(c, b),
      pool.mod(a, b),
      pool.mod(wide, b),
      pool.mod(falls, b),
      pool.ceilDiv(wide, b),
      pool.min(a, c),
      pool.max(a, c),
      pool.min(wide, falls),
      pool.max(wide, falls),
      pool.bitXor(c, b),
      pool.bitXor(c, pool.constant(9)),
      pool.bitXor(wide, c),
      pool.mul(a, b),
      pool.mul(falls, c),
      pool.sub(a, wide),
      pool.sub(wide, pool.mul(a, 5)),
      pool.select(is_small, a, wide),
      pool.select(is_small, wide, a),
      is_small,
      pool.equal(a, c),
  };
  for (Scalar expression : expressions) {
    CAPTURE(expression->toString());
    int64_t outside = 0;
    for (int64_t x = -7; x <= 9; ++x) {
      for (int64_t y = 1; y <= 6; ++y) {
        for (int64_t z = 0; z <= 5; ++z) {
          const int64_t value = kir::evaluate(expression, [&](Scalar symbol) {
            return symbol == a ? x : symbol == b ? y : z;
          });
          outside += value < expression->lo || value > expression->hi;
        }
      }
    }
    CHECK(outside == 0);
  }
}

TEST_CASE("scalar: what cancels is gone, and parts below zero are not divided one by one") {
  ScalarPool pool;
  const Scalar x = pool.symbol("x", nullptr, 0, 100);
  const Scalar y = pool.symbol("y", nullptr, 0, 100);
  CHECK(pool.sub(pool.add(x, y), y) == x);
  CHECK(pool.sub(pool.add(pool.mul(x, 3), y), pool.add(y, pool.mul(x, 3))) == pool.zero());
  // (8 x - y) / 8 is x - 1 where y is 1 to 8, not x.
  const Scalar quotient =
      pool.div(pool.max(pool.sub(pool.mul(x, 8), y), pool.zero()), pool.constant(8));
  const Scalar plain =
      pool.div(pool.add(pool.mul(x, 8), pool.sub(pool.constant(100), y)), pool.constant(8));
  for (int64_t a = 0; a <= 40; ++a) {
    for (int64_t b = 0; b <= 40; ++b) {
      const auto valueOf = [&](Scalar symbol) { return symbol == x ? a : b; };
      CHECK(kir::evaluate(quotient, valueOf) == std::max<int64_t>(a * 8 - b, 0) / 8);
      CHECK(kir::evaluate(plain, valueOf) == (a * 8 + 100 - b) / 8);
    }
  }
}
