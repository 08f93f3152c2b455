/// Values of statistics and normalisations, computed by the reference interpreter, against formulas
/// written out here.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <numerics/ops_composed.h>
#include <ops/alias.h>
#include <ops/arith.h>
#include <ops/normalization.h>

namespace nvfuser {
namespace {

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

}  // namespace
}  // namespace nvfuser
