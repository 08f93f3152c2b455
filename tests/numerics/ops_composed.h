/// Operations defined on inputs with values, and run by the reference interpreter.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <list>
#include <numeric>
#include <vector>

#include <evaluator/interpreter.h>
#include <ir/builder.h>
#include <ops/alias.h>

namespace nvfuser {

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

inline void checkClose(const Values& got, const Values& want, double tolerance = 1e-12) {
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

inline Values countTo(int64_t n) {
  Values v(static_cast<size_t>(n));
  std::iota(v.begin(), v.end(), 0.0);
  return v;
}

/// Some value between −2 and 2 for each position.
inline double wave(int64_t i) { return 2.0 * std::sin(1.7 * static_cast<double>(i) + 0.3); }

/// d(Σ dy·f(x))/dx by central differences; `f` builds the result from the perturbed input.
inline Values numericGradient(const Sizes& sizes,
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

}  // namespace nvfuser
