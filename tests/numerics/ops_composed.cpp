/// Values of composites, computed by the reference interpreter, against formulas written out here.
#include <numerics/ops_composed.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include <ops/alias.h>
#include <ops/arith.h>
#include <ops/composite.h>

namespace nvfuser {
namespace {

TEST_CASE("activations and their gradients") {
  using Function = std::function<double(double)>;
  struct Case {
    std::string name;
    std::function<TensorView*(TensorView*)> build;
    Function value;
  };
  const double root = std::sqrt(2 / std::numbers::pi);
  const Case cases[] = {
      {"gelu", [](TensorView* x) { return gelu(x); },
       [](double x) { return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2)); }},
      {"tanh_gelu", [](TensorView* x) { return tanh_gelu(x); },
       [&](double x) { return 0.5 * x * (1 + std::tanh(root * (x + 0.044715 * x * x * x))); }},
      {"leaky_relu", [](TensorView* x) { return leaky_relu(x, Program::real(0.1)); },
       [](double x) { return x > 0 ? x : 0.1 * x; }},
      {"softplus",
       [](TensorView* x) { return softplus(x, Program::real(2.0), Program::real(3.0)); },
       [](double x) { return 2 * x > 3 ? x : std::log1p(std::exp(2 * x)) / 2; }},
  };
  for (const Case& c : cases) {
    CAPTURE(c.name);
    Program p;
    Values want;
    for (int64_t i = 0; i < 20; ++i) {
      want.push_back(c.value(wave(i)));
    }
    checkClose(p.values(c.build(p.input({20}, wave))), want);
  }
  auto dy = [](int64_t) { return 1.0; };
  Program p;
  TensorView* x = p.input({20}, wave);
  TensorView* one = p.input({20}, dy);
  checkClose(p.values(gelu_backward(one, x)),
             numericGradient({20}, [](Program&, TensorView* v) { return gelu(v); }, dy), 1e-7);
  checkClose(p.values(tanh_gelu_backward(one, x)),
             numericGradient({20}, [](Program&, TensorView* v) { return tanh_gelu(v); }, dy), 1e-7);
  checkClose(p.values(tanh_backward(one, tanh(x))),
             numericGradient({20}, [](Program&, TensorView* v) { return tanh(v); }, dy), 1e-7);
}

TEST_CASE("dropout keeps and scales") {
  Program p;
  TensorView* x = p.input({1000}, [](int64_t) { return 2.0; });
  ForwardDropoutResult r = dropout(x, p.real(0.25));
  const Values mask = p.values(r.mask);
  const Values y = p.values(r.output);
  double kept = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    CHECK(y[i] == doctest::Approx(mask[i] * 2.0 / 0.75));
    kept += mask[i];
  }
  CHECK(kept > 690);
  CHECK(kept < 810);
  for (double v : p.values(dropout(x, p.real(1.0)).output)) {
    CHECK(v == 0.0);
  }
  for (double v : p.values(dropout(x, p.real(0.0)).output)) {
    CHECK(v == 2.0);
  }
}

TEST_CASE("triu, lstm and view_as_real") {
  Program p;
  TensorView* x = p.input({2, 3}, [](int64_t i) { return static_cast<double>(i + 1); });
  checkClose(p.values(triu(x, p.num(0))), {1, 2, 3, 0, 5, 6});
  checkClose(p.values(triu(x, p.num(1))), {0, 2, 3, 0, 0, 6});
  checkClose(p.values(triu(x, p.scalar(-1))), {1, 2, 3, 4, 5, 6});
  auto sigma = [](double v) { return 1 / (1 + std::exp(-v)); };
  TensorView* v = p.input({1}, wave);
  LstmResult r = lstm(v, v, v, v, v);
  const double cell = sigma(wave(0)) * wave(0) + sigma(wave(0)) * std::tanh(wave(0));
  checkClose(p.values(r.cell), {cell});
  checkClose(p.values(r.hidden), {sigma(wave(0)) * std::tanh(cell)});
  TensorView* pairs = view_as_real(complex(x, neg(x)));
  checkClose(p.values(pairs), {1, -1, 2, -2, 3, -3, 4, -4, 5, -5, 6, -6});
}

}  // namespace
}  // namespace nvfuser
