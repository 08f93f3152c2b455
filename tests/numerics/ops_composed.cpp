/// Values of shape operations, normalisations and composites, computed by the reference
/// interpreter, against formulas written out here.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <list>
#include <numbers>
#include <numeric>

#include <evaluator/interpreter.h>
#include <ir/builder.h>
#include <ops/alias.h>
#include <ops/arith.h>
#include <ops/composite.h>
#include <ops/indexing.h>
#include <ops/normalization.h>

namespace nvfuser {
namespace {

using Values = std::vector<double>;
using Sizes = std::vector<int64_t>;

/// Defines operations on inputs with values, and runs them.
class Program {
 public:
  /// An input of the declared shape (−1: symbolic) with `sizes`; element i has value `value(i)`.
  TensorView* input(const Sizes& declared, const Sizes& sizes,
                    const std::function<double(int64_t)>& value,
                    DataType dtype = DataType::Double) {
    TensorView* tv = makeContigConcreteTensor(declared, dtype);
    fusion_.addInput(tv);
    HostTensor& data = tensors_.emplace_back(dtype, sizes);
    for (int64_t i = 0; i < data.numel(); ++i) {
      data.setDouble(i, value(i));
    }
    inputs_.emplace_back(data.ref());
    return tv;
  }
  TensorView* input(const Sizes& sizes, const std::function<double(int64_t)>& value,
                    DataType dtype = DataType::Double) {
    return input(sizes, sizes, value, dtype);
  }
  TensorView* counting(const Sizes& declared, const Sizes& sizes) {
    return input(declared, sizes, [](int64_t i) { return static_cast<double>(i); });
  }
  TensorView* counting(const Sizes& sizes) { return counting(sizes, sizes); }
  Val* scalar(int64_t value) {
    Val* v = IrBuilder::create<Val>(DataType::Int);
    fusion_.addInput(v);
    inputs_.emplace_back(PolymorphicValue(value));
    return v;
  }
  static Val* num(int64_t value) { return IrBuilder::create<Val>(PolymorphicValue(value)); }
  static Val* real(double value) { return IrBuilder::create<Val>(PolymorphicValue(value)); }

  HostTensor run(TensorView* tv) {
    if (tv->isFusionInput()) {
      tv = set(tv);
    }
    fusion_.addOutput(tv);
    return interpret(fusion_, inputs_).back();
  }
  Values values(TensorView* tv) {
    HostTensor out = run(tv);
    Values result;
    for (int64_t i = 0; i < out.numel(); ++i) {
      result.push_back(out.getDouble(i));
    }
    return result;
  }
  Fusion& fusion() { return fusion_; }
  const std::vector<InterpreterInput>& inputs() const { return inputs_; }

 private:
  Fusion fusion_;
  FusionGuard guard_{&fusion_};
  std::list<HostTensor> tensors_;
  std::vector<InterpreterInput> inputs_;
};

void checkClose(const Values& got, const Values& want, double tolerance = 1e-12) {
  REQUIRE(got.size() == want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    if (std::isnan(want[i])) {
      CHECK(std::isnan(got[i]));
    } else {
      CHECK(got[i] == doctest::Approx(want[i]).epsilon(tolerance).scale(1.0));
    }
  }
}

Values countTo(int64_t n) {
  Values v(static_cast<size_t>(n));
  std::iota(v.begin(), v.end(), 0.0);
  return v;
}

/// Some value between −2 and 2 for each position.
double wave(int64_t i) { return 2.0 * std::sin(1.7 * static_cast<double>(i) + 0.3); }

// ---- shapes

TEST_CASE("reshape keeps row-major order, however it is declared") {
  struct Case {
    Sizes declared, sizes, to;
  };
  const Case cases[] = {
      {{4, 6}, {4, 6}, {2, 12}},
      {{2, 3}, {2, 3}, {3, 2}},
      {{8, 3, 5}, {8, 3, 5}, {2, 4, 15}},
      {{1, 6, 1}, {1, 6, 1}, {3, 1, 2}},
      {{6, 10, 15}, {6, 10, 15}, {4, 9, 25}},
      {{-1, 6}, {4, 6}, {4, 2, 3}},
      {{-1, -1}, {4, 6}, {2, 12}},
  };
  for (const Case& c : cases) {
    Program p;
    HostTensor y = p.run(reshape(p.counting(c.declared, c.sizes), c.sizes, c.to));
    CHECK(y.sizes() == c.to);
    for (int64_t i = 0; i < y.numel(); ++i) {
      CHECK(y.getInt(i) == i);
    }
  }
}

TEST_CASE("reshape by scalars") {
  Program p;
  TensorView* x = p.counting({-1, -1, 6}, {4, 5, 6});
  Val* ten = p.scalar(10);
  const std::vector<std::pair<std::vector<Val*>, Sizes>> cases = {
      {{p.num(-1), p.num(6)}, {20, 6}},
      {{ten, p.num(-1)}, {10, 12}},
      {{p.num(-1), ten}, {12, 10}},
      {{p.num(2), p.num(-1), p.num(3)}, {2, 20, 3}},
      {{size(x, 0), p.num(-1)}, {4, 30}},
      {{size(x, 1), size(x, 0), p.num(2), p.num(3)}, {5, 4, 2, 3}},
      {{mul(size(x, 0), size(x, 1)), p.num(1), p.num(6)}, {20, 1, 6}},
  };
  for (const auto& [to, sizes] : cases) {
    HostTensor y = p.run(reshape(x, to));
    CHECK(y.sizes() == sizes);
    for (int64_t i = 0; i < y.numel(); ++i) {
      CHECK(y.getInt(i) == i);
    }
  }
}

TEST_CASE("reshape of an expanded tensor repeats its elements") {
  Program p;
  TensorView* x = expand(p.counting({1, 3}), {p.num(2), p.num(-1)});
  checkClose(p.values(reshape(x, {p.num(6)})), {0, 1, 2, 0, 1, 2});
}

TEST_CASE("permute, broadcast, expand and repeat") {
  Program p;
  TensorView* x = p.counting({2, 3});
  checkClose(p.values(permute(x, {1, 0})), {0, 3, 1, 4, 2, 5});
  checkClose(p.values(repeat(x, {2, 1})), {0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5});
  checkClose(p.values(repeat(x, {1, 2})), {0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5});
  checkClose(p.values(repeat(p.counting({1, 2}), {3, 1})), {0, 1, 0, 1, 0, 1});
  checkClose(p.values(add(expand(unsqueeze(x, 0), {p.num(2), p.num(2), p.num(3)}),
                          broadcast(p.counting({3}), {true, true, false}))),
             {0, 2, 4, 3, 5, 7, 0, 2, 4, 3, 5, 7});
}

TEST_CASE("slice follows Python for every pair of bounds") {
  const int64_t n = 5;
  for (int64_t start = -7; start <= 7; ++start) {
    for (int64_t stop = -7; stop <= 7; ++stop) {
      auto bound = [n](int64_t b) { return std::clamp<int64_t>(b < 0 ? b + n : b, 0, n); };
      Values want;
      for (int64_t i = bound(start); i < bound(stop); ++i) {
        want.push_back(static_cast<double>(i));
      }
      CAPTURE(start);
      CAPTURE(stop);
      Program constant;
      checkClose(constant.values(slice(constant.counting({n}), Sizes{start}, Sizes{stop})), want);
      Program symbolic;
      Slice range{symbolic.scalar(start), symbolic.scalar(stop), nullptr};
      checkClose(symbolic.values(slice(symbolic.counting({-1}, {n}), {range})), want);
    }
  }
}

TEST_CASE("chunks of symbolic and constant sizes") {
  Program p;
  Values all;
  for (TensorView* piece : chunk(p.counting({-1}, {7}), 3, 0)) {
    Values part = p.values(piece);
    CHECK(part.size() <= 3);
    all.insert(all.end(), part.begin(), part.end());
  }
  checkClose(all, countTo(7));
}

TEST_CASE("pad and cat") {
  Program p;
  TensorView* x = p.counting({2, 2});
  checkClose(p.values(pad(x, {p.num(1), p.num(0), p.num(0), p.num(1)}, p.real(9))),
             {9, 0, 1, 9, 2, 3, 9, 9, 9});
  checkClose(p.values(pad(x, {p.num(-1), p.num(1)})), {1, 0, 3, 0});
  checkClose(p.values(pad(p.counting({2, 1}), {p.num(1), p.num(1)})), {0, 0, 0, 0, 1, 0});
  TensorView* y = p.counting({-1, 2}, {1, 2});
  checkClose(p.values(cat({x, y, x}, 0)), {0, 1, 2, 3, 0, 1, 0, 1, 2, 3});
  checkClose(p.values(cat({x, p.counting({2, 1}), p.counting({2, 0})}, 1)), {0, 1, 0, 2, 3, 1});
}

TEST_CASE("indexed reads and writes") {
  Program p;
  TensorView* x = p.counting({3, 4});
  auto indices = [&](const Sizes& sizes, const std::vector<int64_t>& at) {
    return p.input(
        sizes, [at](int64_t i) { return static_cast<double>(at[static_cast<size_t>(i)]); },
        DataType::Int);
  };
  checkClose(p.values(select(x, 0, p.num(-1))), {8, 9, 10, 11});
  checkClose(p.values(select(x, 1, p.scalar(-3))), {1, 5, 9});
  checkClose(p.values(indexSelect(x, 0, indices({2}, {2, 0}))), {8, 9, 10, 11, 0, 1, 2, 3});
  checkClose(p.values(indexSelect(x, 1, indices({}, {3}))), {3, 7, 11});
  checkClose(p.values(gather(x, 0, indices({1, 3}, {2, 0, 1}))), {8, 1, 6});
  checkClose(p.values(gather(x, 1, indices({2, 1}, {3, 0}))), {3, 4});
  checkClose(p.values(takeAlongAxis(x, indices({1, 2}, {1, 3}), 1)), {1, 3, 5, 7, 9, 11});
  checkClose(p.values(scatter(x, 1, indices({2, 1}, {1, 3}), p.real(-1))),
             {0, -1, 2, 3, 4, 5, 6, -1, 8, 9, 10, 11});
}

// ---- statistics and normalisations

double meanOf(const Values& v) {
  return std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
}
double varianceOf(const Values& v, double correction) {
  double total = 0;
  for (double x : v) {
    total += (x - meanOf(v)) * (x - meanOf(v));
  }
  return total / std::max(static_cast<double>(v.size()) - correction, 0.0);
}

TEST_CASE("moments") {
  Program p;
  TensorView* x = p.input({2, 3}, wave);
  const Values row0{wave(0), wave(1), wave(2)};
  const Values row1{wave(3), wave(4), wave(5)};
  checkClose(p.values(mean(x, {1}, false)), {meanOf(row0), meanOf(row1)});
  checkClose(p.values(variance(x, {1}, true, false)), {varianceOf(row0, 1), varianceOf(row1, 1)});
  checkClose(p.values(variance_mean(x, {-1}, 1, false).var),
             {varianceOf(row0, 1), varianceOf(row1, 1)});
  checkClose(p.values(variance_mean(x, {-1}, 1, true).mean), {meanOf(row0), meanOf(row1)});
  checkClose(p.values(standard_deviation(x, {1}, false, true)),
             {std::sqrt(varianceOf(row0, 0)), std::sqrt(varianceOf(row1, 0))});
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  checkClose(p.values(variance(p.input({1}, wave), {0}, true, false)), {kNaN});
  checkClose(p.values(mean(p.input({0}, wave), {0}, false)), {kNaN});
  checkClose(p.values(variance_mean(p.input({}, wave), {}, 0, false).mean), {wave(0)});
  checkClose(p.values(mean(expand(p.input({1, 2}, wave), {p.num(5), p.num(-1)}), {0, 1}, false)),
             {(wave(0) + wave(1)) / 2});
}

TEST_CASE("softmax and its gradient") {
  Program p;
  TensorView* x = p.input({2, 3}, [](int64_t i) { return 900.0 + wave(i); });
  Values want;
  for (int64_t row : {0, 1}) {
    double total = 0;
    for (int64_t i = 0; i < 3; ++i) {
      total += std::exp(wave(3 * row + i));
    }
    for (int64_t i = 0; i < 3; ++i) {
      want.push_back(std::exp(wave(3 * row + i)) / total);
    }
  }
  checkClose(p.values(softmax(x, -1)), want);
  Values logs = want;
  for (double& v : logs) {
    v = std::log(v);
  }
  checkClose(p.values(log_softmax(x, 1)), logs, 1e-10);

  // dx_i = y_i·(dy_i − Σ_j y_j·dy_j), and for the logarithm dy_i − y_i·Σ_j dy_j.
  TensorView* dy = p.input({2, 3}, [](int64_t i) { return wave(i + 50); });
  Values grad;
  Values log_grad;
  for (size_t row : {0, 1}) {
    double dot = 0;
    double total = 0;
    for (size_t i = 3 * row; i < 3 * row + 3; ++i) {
      dot += want[i] * wave(static_cast<int64_t>(i) + 50);
      total += wave(static_cast<int64_t>(i) + 50);
    }
    for (size_t i = 3 * row; i < 3 * row + 3; ++i) {
      grad.push_back(want[i] * (wave(static_cast<int64_t>(i) + 50) - dot));
      log_grad.push_back(wave(static_cast<int64_t>(i) + 50) - want[i] * total);
    }
  }
  checkClose(p.values(softmax_backward(dy, softmax(x, 1), 1)), grad);
  checkClose(p.values(log_softmax_backward(dy, log_softmax(x, 1), 1)), log_grad, 1e-10);
  checkClose(p.values(softmax(p.input({}, wave), 0)), {1.0});
}

/// d(Σ dy·f(x))/dx by central differences; `f` builds the result from the perturbed input.
Values numericGradient(const Sizes& sizes,
                       const std::function<TensorView*(Program&, TensorView*)>& f,
                       const std::function<double(int64_t)>& dy, double h = 1e-5) {
  auto loss = [&](int64_t moved, double by) {
    Program p;
    TensorView* x = p.input(sizes, [&](int64_t i) { return wave(i) + (i == moved ? by : 0.0); });
    const Values y = p.values(f(p, x));
    double total = 0;
    for (size_t i = 0; i < y.size(); ++i) {
      total += dy(static_cast<int64_t>(i)) * y[i];
    }
    return total;
  };
  int64_t n = 1;
  for (int64_t size : sizes) {
    n *= size;
  }
  Values grad;
  for (int64_t i = 0; i < n; ++i) {
    grad.push_back((loss(i, h) - loss(i, -h)) / (2 * h));
  }
  return grad;
}

double slope(int64_t i) { return wave(3 * i + 11); }
double weightAt(int64_t i) { return 1.0 + 0.3 * wave(i + 7); }

TEST_CASE("layer_norm and rms_norm") {
  Program p;
  TensorView* x = p.input({2, 3}, wave);
  TensorView* w = p.input({3}, weightAt);
  TensorView* b = p.input({3}, slope);
  ForwardNormResult ln = layer_norm(x, 1, w, b, p.real(1e-3));
  ForwardRMSNormResult rms = rms_norm(x, 1, w, p.real(1e-3));
  Values want;
  Values want_rms;
  for (int64_t row : {0, 1}) {
    const Values v{wave(3 * row), wave(3 * row + 1), wave(3 * row + 2)};
    const double square = (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]) / 3;
    for (size_t i = 0; i < 3; ++i) {
      const auto at = static_cast<int64_t>(i);
      want.push_back((v[i] - meanOf(v)) / std::sqrt(varianceOf(v, 0) + 1e-3) * weightAt(at) +
                     slope(at));
      want_rms.push_back(v[i] / std::sqrt(square + 1e-3) * weightAt(at));
    }
  }
  checkClose(p.values(ln.output), want);
  checkClose(p.values(rms.output), want_rms);
}

TEST_CASE("gradients of layer_norm and rms_norm") {
  const Sizes sizes{2, 3};
  for (bool centred : {true, false}) {
    CAPTURE(centred);
    Program p;
    TensorView* x = p.input(sizes, wave);
    TensorView* dy = p.input(sizes, slope);
    TensorView* w = p.input({3}, weightAt);
    auto forward = [&](Program& q, TensorView* input) {
      TensorView* weight = q.input({3}, weightAt);
      return centred ? layer_norm(input, 1, weight, nullptr, q.real(1e-3)).output
                     : rms_norm(input, 1, weight, q.real(1e-3)).output;
    };
    const Values want = numericGradient(sizes, forward, slope);
    if (centred) {
      ForwardNormResult r = layer_norm(x, 1, w, w, p.real(1e-3));
      BackwardNormResult g =
          layer_norm_backward(dy, x, {3}, r.mean, r.invstd, w, w, {true, true, true});
      checkClose(p.values(g.grad_input), want, 1e-7);
      checkClose(p.values(g.grad_bias),
                 {slope(0) + slope(3), slope(1) + slope(4), slope(2) + slope(5)});
      const Values hat = p.values(layer_norm(x, 1, nullptr, nullptr, p.real(1e-3)).output);
      Values weight_grad;
      for (size_t i = 0; i < 3; ++i) {
        const auto at = static_cast<int64_t>(i);
        weight_grad.push_back(hat[i] * slope(at) + hat[i + 3] * slope(at + 3));
      }
      checkClose(p.values(g.grad_weight), weight_grad);
    } else {
      ForwardRMSNormResult r = rms_norm(x, 1, w, p.real(1e-3));
      checkClose(p.values(rms_norm_backward(dy, x, {3}, r.invstd, w, {true, true}).grad_input),
                 want, 1e-7);
      TensorView* root = reciprocal(r.invstd);
      checkClose(p.values(thunder_rms_norm_backward(dy, x, {3}, root, w, {true, true}).grad_input),
                 want, 1e-7);
    }
  }
}

TEST_CASE("batch_norm and instance_norm: output, running statistics, gradient") {
  const Sizes sizes{2, 3, 2};
  for (bool per_sample : {false, true}) {
    CAPTURE(per_sample);
    Program p;
    TensorView* x = p.input(sizes, wave);
    TensorView* dy = p.input(sizes, slope);
    TensorView* w = p.input({3}, weightAt);
    TensorView* running_mean = p.input({3}, slope);
    TensorView* running_var = p.input({3}, weightAt);
    auto norm = per_sample ? instance_norm : batch_norm;
    ForwardNormResult r =
        norm(x, w, nullptr, running_mean, running_var, true, p.real(0.1), p.real(1e-3), false);
    const std::vector<HostTensor> updated = interpret(p.fusion(), p.inputs());
    REQUIRE(updated.size() == 2);

    Values want(12);
    for (int64_t c = 0; c < 3; ++c) {
      auto at = [&](int64_t n, int64_t s) { return 6 * n + 2 * c + s; };
      Values means;
      Values variances;
      for (int64_t group = 0; group < (per_sample ? 2 : 1); ++group) {
        Values v;
        for (int64_t n = per_sample ? group : 0; n <= (per_sample ? group : 1); ++n) {
          for (int64_t s = 0; s < 2; ++s) {
            v.push_back(wave(at(n, s)));
          }
        }
        for (int64_t n = per_sample ? group : 0; n <= (per_sample ? group : 1); ++n) {
          for (int64_t s = 0; s < 2; ++s) {
            want[static_cast<size_t>(at(n, s))] =
                (wave(at(n, s)) - meanOf(v)) / std::sqrt(varianceOf(v, 0) + 1e-3) * weightAt(c);
          }
        }
        means.push_back(meanOf(v));
        variances.push_back(varianceOf(v, 1));
      }
      CHECK(updated[0].getDouble(c) == doctest::Approx(0.9 * slope(c) + 0.1 * meanOf(means)));
      CHECK(updated[1].getDouble(c) ==
            doctest::Approx(0.9 * weightAt(c) + 0.1 * meanOf(variances)));
    }
    checkClose(p.values(r.output), want);

    auto forward = [&](Program& q, TensorView* input) {
      return norm(input, q.input({3}, weightAt), nullptr, nullptr, nullptr, true, q.real(0.1),
                  q.real(1e-3), false)
          .output;
    };
    auto backward = per_sample ? instance_norm_backward : batch_norm_backward;
    BackwardNormResult g = backward(x, dy, w, nullptr, nullptr, r.mean, r.invstd, true,
                                    p.real(1e-3), {true, true, true}, false);
    checkClose(p.values(g.grad_input), numericGradient(sizes, forward, slope), 1e-7);
    const Values bias = p.values(g.grad_bias);
    for (int64_t c = 0; c < 3; ++c) {
      double total = 0;
      for (int64_t n : {0, 1}) {
        total += slope(6 * n + 2 * c) + slope(6 * n + 2 * c + 1);
      }
      CHECK(bias[static_cast<size_t>(c)] == doctest::Approx(total));
    }
  }
}

TEST_CASE("batch_norm outside training, channels last") {
  Program p;
  TensorView* x = p.input({2, 2, 3}, wave);
  TensorView* running_mean = p.input({3}, slope);
  TensorView* running_var = p.input({3}, weightAt);
  ForwardNormResult r = batch_norm(x, nullptr, nullptr, running_mean, running_var, false, nullptr,
                                   p.real(1e-3), true);
  Values want;
  for (int64_t i = 0; i < 12; ++i) {
    want.push_back((wave(i) - slope(i % 3)) / std::sqrt(weightAt(i % 3) + 1e-3));
  }
  checkClose(p.values(r.output), want);
}

// ---- composites

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
