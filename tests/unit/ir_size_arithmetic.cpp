// Sizes computed from sizes: one form for what is equal, and the value that the plain form has.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <random>

#include <evaluator/expression_evaluator.h>
#include <ir/builder.h>
#include <ir/size_arithmetic.h>
#include <ir/spelling.h>

using namespace nvfuser;
using Sizes = SizeArithmetic;

namespace {

struct Draft {
  Fusion fusion;
  FusionGuard guard{&fusion};
  Val* n = IrBuilder::create<Val>(DataType::Index);
  Val* m = IrBuilder::create<Val>(DataType::Index);

  Val* tail(Val* x, int64_t begin) { return Sizes::notNegative(Sizes::sum(x, -begin)); }
  std::string show(Val* x) {
    std::string text = x->toInlineString();
    std::erase(text, ' ');
    return text;
  }
};

}  // namespace

TEST_CASE("sizes: sums and differences") {
  Draft d;
  CHECK(Sizes::difference(d.n, d.n)->isZeroInt());
  CHECK(Sizes::sum(Sizes::difference(d.n, d.m), d.m) == d.n);
  CHECK(d.show(Sizes::sum(Sizes::sum(d.n, -1), -1)) == "(i0-2)");
  CHECK(Sizes::sum(Sizes::sum(d.n, 5), -5) == d.n);
  CHECK(Sizes::sum(d.n, d.m)->sameAs(IrBuilder::addExpr(d.n, d.m)));
  CHECK(d.show(Sizes::difference(d.fusion.oneVal(), d.n)) == "(1-i0)");
  CHECK(d.show(Sizes::difference(d.fusion.zeroVal(), d.n)) == "(neg(i0))");
}

TEST_CASE("sizes: slices of slices") {
  Draft d;
  Val* x = d.n;
  for (int i = 0; i < 1000; ++i) {
    x = d.tail(x, 1);
  }
  CHECK(d.show(x) == "(max((i0-1000),0))");
  Val* front = d.n;
  for (int64_t i = 1000; i > 5; --i) {
    front = Sizes::atMost(i, front);
  }
  CHECK(d.show(front) == "(min(6,i0))");
  CHECK(d.show(d.tail(front, 2)) == "(min(4,(max((i0-2),0))))");
  CHECK(d.tail(front, 6)->isZeroInt());
}

TEST_CASE("sizes: parts that are joined are the whole") {
  Draft d;
  CHECK(Sizes::sum(Sizes::atMost(3, d.n), d.tail(d.n, 3)) == d.n);
  CHECK(Sizes::sum(d.tail(d.n, 3), Sizes::atMost(3, d.n)) == d.n);
  Val* middle = Sizes::atMost(2, d.tail(d.n, 3));
  CHECK(Sizes::sum(Sizes::atMost(3, d.n), middle)->sameAs(Sizes::atMost(5, d.n)));
  CHECK(Sizes::difference(d.n, d.tail(d.n, 3))->sameAs(Sizes::atMost(3, d.n)));
  CHECK(Sizes::difference(d.n, Sizes::atMost(3, d.n))->sameAs(d.tail(d.n, 3)));
  CHECK(Sizes::difference(Sizes::atMost(5, d.n), Sizes::atMost(3, d.n))->sameAs(middle));
  CHECK(Sizes::difference(d.tail(d.n, 3), d.tail(d.n, 5))->sameAs(middle));
}

TEST_CASE("sizes: what was padded first is cut first") {
  Draft d;
  Val* padded = Sizes::sum(d.n, 3);
  CHECK(d.show(d.tail(padded, 1)) == "(i0+2)");
  CHECK(d.tail(padded, 5)->sameAs(d.tail(d.n, 2)));
  CHECK(d.show(Sizes::atMost(2, padded)) == "2");
  CHECK(d.show(Sizes::atMost(7, padded)) == "((min(4,i0))+3)");
}

TEST_CASE("sizes: a scalar that may be negative is not taken for an extent") {
  Draft d;
  Val* any = IrBuilder::create<Val>(DataType::Int);
  CHECK_FALSE(Sizes::notNegative(any)->sameAs(Sizes::sum(any, int64_t{0})));
  CHECK_FALSE(
      Sizes::sum(Sizes::atMost(3, any), d.tail(any, 3))->sameAs(Sizes::sum(any, int64_t{0})));
  CHECK_FALSE(d.tail(Sizes::notNegative(Sizes::sum(d.n, any)), 1)->isZeroInt());
}

TEST_CASE("sizes: random formulas keep their value") {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    Draft d;
    Val* any = IrBuilder::create<Val>(DataType::Int);
    // Each formula beside its plain form.
    std::vector<std::pair<Val*, Val*>> made{{d.n, d.n}, {d.m, d.m}, {any, any}};
    auto one = [&] { return made[random() % made.size()]; };
    using Plain = IrBuilder;
    auto constant = [&](int64_t value) {
      return IrBuilder::create<Val>(PolymorphicValue(value), DataType(DataType::Index));
    };
    for (int step = 0; step < 12; ++step) {
      auto [a, plain_a] = one();
      auto [b, plain_b] = one();
      const auto k = static_cast<int64_t>(random() % 7);
      switch (random() % 6) {
        case 0:
          made.emplace_back(Sizes::sum(a, b), Plain::addExpr(plain_a, plain_b));
          break;
        case 1:
          made.emplace_back(Sizes::difference(a, b), Plain::subExpr(plain_a, plain_b));
          break;
        case 2:
          made.emplace_back(Sizes::notNegative(a), Plain::maxExpr(plain_a, constant(0)));
          break;
        case 3:
          made.emplace_back(Sizes::atMost(k - 1, a), Plain::minExpr(constant(k - 1), plain_a));
          break;
        default:
          made.emplace_back(d.tail(a, k),
                            Plain::maxExpr(Plain::subExpr(plain_a, constant(k)), constant(0)));
      }
    }
    for (int64_t n = 0; n < 12; ++n) {
      ExpressionEvaluator values;
      values.bind(d.n, n);
      values.bind(d.m, static_cast<int64_t>(random() % 9));
      values.bind(any, static_cast<int64_t>(random() % 9) - 4);
      for (const auto& [formula, plain] : made) {
        INFO(formula->toInlineString(), " of ", plain->toInlineString(), ", round ", round);
        CHECK(values.evaluate(formula) == values.evaluate(plain));
      }
    }
  }
}
