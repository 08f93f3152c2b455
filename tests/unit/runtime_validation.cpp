#include <doctest/doctest.h>

#include <cmath>

#include <ir/builder.h>
#include <ops/arith.h>
#include <ops/normalization.h>
#include <runtime/validation.h>

namespace nvfuser {
namespace {

struct Validation {
  Fusion fusion;
  FusionGuard guard{&fusion};

  TensorView* input(int64_t rank, DataType dtype = DataType::Float) {
    TensorView* tv = makeContigTensor(rank, dtype);
    fusion.addInput(tv);
    return tv;
  }
  std::string error(const KernelArgumentHolder& outputs, const KernelArgumentHolder& inputs) {
    try {
      testValidate(&fusion, outputs, inputs, 17, "some_test.cpp", "a message");
    } catch (const ValidationError& failure) {
      return failure.what();
    }
    return "";
  }
};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// The sum of each row in Float, element after element: what a naive kernel computes.
std::vector<float> rowSums(const std::vector<float>& x, size_t rows) {
  std::vector<float> sums(rows, 0.0f);
  for (size_t i = 0; i < x.size(); ++i) {
    sums[i / (x.size() / rows)] += x[i];
  }
  return sums;
}

TEST_CASE_FIXTURE(Validation, "right results pass, and one wrong element does not") {
  TensorView* x = input(2);
  fusion.addOutput(sum(x, {1}));
  for (int64_t length : {1, 7, 1000, 100000}) {
    Tensor data = Tensor::randn({3, length}, DataType::Float, 5);
    std::vector<float> sums = rowSums(data.toHost<float>(), 3);
    CHECK(error(Tensor::fromHost(sums, {3}), data).empty());
    // Leaving out one element of the row is seen.
    sums[1] -= data.toHost<float>()[static_cast<size_t>(length)];
    CHECK(contains(error(Tensor::fromHost(sums, {3}), data), "is wrong in 1 of 3 elements"));
  }
}

TEST_CASE_FIXTURE(Validation, "a single sum in Double that cancels: not flaky, not blind") {
  TensorView* x = input(1, DataType::Double);
  fusion.addOutput(sum(x, {0}));
  constexpr size_t kLength = 100000;
  std::vector<double> terms = Tensor::randn({kLength}, DataType::Double, 9).toHost<double>();
  long double total = 0;
  for (size_t i = 0; i + 1 < kLength; ++i) {
    total += terms[i];
  }
  terms[kLength - 1] = static_cast<double>(-total);
  Tensor data = Tensor::fromHost(terms, {kLength});
  auto sumOf = [&](size_t lanes) {  // in several orders
    std::vector<double> sums(lanes, 0);
    for (size_t i = 0; i < kLength; ++i) {
      sums[i % lanes] += terms[i];
    }
    double all = 0;
    for (double each : sums) {
      all += each;
    }
    return all;
  };
  for (size_t lanes : {1, 2, 16, 256}) {
    CHECK(error(Tensor::fromHost(std::vector<double>{sumOf(lanes)}, {}), data).empty());
  }
  // What a sum in Float would be off by, and much less.
  CHECK(!error(Tensor::fromHost(std::vector<double>{sumOf(1) + 1e-5}, {}), data).empty());
  CHECK(!error(Tensor::fromHost(std::vector<double>{sumOf(1) + 1e-9}, {}), data).empty());
}

TEST_CASE_FIXTURE(Validation, "a mean in Double that cancels, and what is computed from it") {
  TensorView* x = input(2, DataType::Double);
  TensorView* mean_of_row = mean(x, {1}, true);
  fusion.addOutput(exp(mul(mean_of_row, IrBuilder::create<Val>(100.0))));
  Tensor data = Tensor::randn({2, 5000}, DataType::Double, 4);
  std::vector<double> out;
  const auto terms = data.toHost<double>();
  for (size_t row = 0; row < 2; ++row) {
    double total = 0;
    for (size_t i = 0; i < 5000; ++i) {
      total += terms[row * 5000 + i];
    }
    out.push_back(std::exp(total / 5000 * 100));
  }
  CHECK(error(Tensor::fromHost(out, {2, 1}), data).empty());
  out[1] *= 1 + 1e-9;
  CHECK(contains(error(Tensor::fromHost(out, {2, 1}), data), "is wrong in 1 of 2 elements"));
}

TEST_CASE_FIXTURE(Validation, "the message names output, index, values and tolerance") {
  TensorView* x = input(2);
  fusion.addOutput(add(x, IrBuilder::create<Val>(1.0)));
  Tensor data = Tensor::arange(6, DataType::Float).view({2, 3});
  std::vector<float> out{1, 2, 3, 4, 5, 7};
  const std::string message = error(Tensor::fromHost(out, {2, 3}), data);
  CHECK(contains(message, "output 0, T"));
  CHECK(contains(message,
                 "is wrong in 1 of 6 elements; the worst is at [1, 2]: got 7.0, expected 6.0, "
                 "error 1, tolerance "));
  CHECK(contains(message, "validated at some_test.cpp:17: a message"));
  CHECK(contains(error(Tensor::fromHost(out, {3, 2}), data),
                 "has sizes [3, 2], but [2, 3] are expected"));
  CHECK(contains(error(Tensor::arange(6).view({2, 3}), data),
                 "has dtype int64_t, but float is expected"));
  CHECK(contains(error({}, data), "the fusion has 1 outputs, but 0 results were given"));
}

TEST_CASE_FIXTURE(Validation, "a few ulps are forgiven, more are not") {
  TensorView* x = input(1);
  fusion.addOutput(exp(x));
  Tensor data = Tensor::randn({1000}, DataType::Float, 3);
  std::vector<float> out = data.toHost<float>();
  for (float& each : out) {
    each = std::exp(each);
  }
  CHECK(error(Tensor::fromHost(out, {1000}), data).empty());
  out[500] *= 1.0f + 0x1p-22f;
  CHECK(error(Tensor::fromHost(out, {1000}), data).empty());
  out[500] *= 1.0f + 0x1p-16f;
  CHECK(contains(error(Tensor::fromHost(out, {1000}), data), "the worst is at [500]"));
}

TEST_CASE_FIXTURE(Validation, "integers and truth values are exact, NaN equals NaN") {
  TensorView* x = input(1);
  TensorView* n = input(1, DataType::Int);
  fusion.addOutput(isnan(x));
  fusion.addOutput(mul(n, n));
  fusion.addOutput(mul(x, x));
  const float nan = std::nanf("");
  Tensor data = Tensor::fromHost(std::vector<float>{1, nan, INFINITY}, {3});
  Tensor integers = Tensor::fromHost(std::vector<int64_t>{1, 2, int64_t{1} << 33}, {3});
  Tensor truth = Tensor::zeros({3}, DataType::Bool);
  truth.slice(0, 1, 2).fill(true);
  Tensor squares = Tensor::fromHost(std::vector<int64_t>{1, 4, 0}, {3});
  Tensor floats = Tensor::fromHost(std::vector<float>{1, nan, INFINITY}, {3});
  CHECK(error({truth, squares, floats}, {data, integers}).empty());
  Tensor off = Tensor::fromHost(std::vector<int64_t>{1, 5, 0}, {3});
  CHECK(
      contains(error({truth, off, floats}, {data, integers}), "expected 4, which has to be exact"));
  Tensor finite = Tensor::fromHost(std::vector<float>{1, 0, INFINITY}, {3});
  CHECK(contains(error({truth, squares, finite}, {data, integers}), "expected nan"));
}

TEST_CASE_FIXTURE(Validation, "overflow inside, where a kernel computes in Float") {
  TensorView* x = input(1);
  TensorView* y = exp(x);
  fusion.addOutput(div(y, y));
  Tensor data = Tensor::fromHost(std::vector<float>{1, 100}, {2});
  CHECK(error(Tensor::fromHost(std::vector<float>{1, std::nanf("")}, {2}), data).empty());
  CHECK(error(Tensor::fromHost(std::vector<float>{1, 1}, {2}), data).empty());
  CHECK(!error(Tensor::fromHost(std::vector<float>{1, 2}, {2}), data).empty());
}

TEST_CASE_FIXTURE(Validation, "softmax in half precision against the same in Float") {
  TensorView* x = input(2, DataType::Half);
  fusion.addOutput(castOp(DataType::Half, softmax(castOp(DataType::Float, x), 1)));
  Tensor data = Tensor::randn({4, 1000}, DataType::Half, 11);
  const auto values = data.toHost<float>();
  HostTensor out(DataType::Half, {4, 1000});
  for (size_t row = 0; row < 4; ++row) {
    float top = -INFINITY;
    float total = 0;
    for (size_t i = 0; i < 1000; ++i) {
      top = std::max(top, values[row * 1000 + i]);
    }
    for (size_t i = 0; i < 1000; ++i) {
      total += std::exp(values[row * 1000 + i] - top);
    }
    for (size_t i = 0; i < 1000; ++i) {
      out.setDouble(static_cast<int64_t>(row * 1000 + i),
                    static_cast<double>(std::exp(values[row * 1000 + i] - top) / total));
    }
  }
  CHECK(error(Tensor::fromHostTensor(out), data).empty());
  out.setDouble(5, out.getDouble(5) * 1.01);
  CHECK(contains(error(Tensor::fromHostTensor(out), data), "the worst is at [0, 5]"));
}

TEST_CASE_FIXTURE(Validation, "expected values from elsewhere") {
  TensorView* x = input(1);
  fusion.addOutput(neg(x));
  Tensor data = Tensor::arange(3, DataType::Float);
  Tensor right = Tensor::fromHost(std::vector<float>{0, -1, -2}, {3});
  testValidate(&fusion, right, data, right, __LINE__, __FILE__);
  CHECK_THROWS_AS(testValidate(&fusion, data, data, right, __LINE__, __FILE__), ValidationError);
}

}  // namespace
}  // namespace nvfuser
