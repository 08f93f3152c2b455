// Products by kernels of ours on the emulated device, beside those on the host.
#include <doctest/doctest.h>

#include <external/product.h>
#include <runtime/device_products.h>
#include <runtime/tensor.h>

namespace nvfuser {
namespace {

using external::Product;

void run(Product product, Device& device) {
  if (device.kind() == DeviceKind::Cpu) {
    external::multiply(product, external::Machine{});
  } else {
    REQUIRE(multiplyOnDevice(product, device, {}));
  }
}

/// Row-major matrices of `batches`, B turned where `turned`.
Tensor multiplied(const std::vector<int64_t>& batches, int64_t m, int64_t n, int64_t k,
                  DataType dtype, bool turned, const std::function<void(Product&)>& change,
                  Device& device) {
  const auto sizes = [&](int64_t rows, int64_t columns) {
    std::vector<int64_t> all = batches;
    all.insert(all.end(), {rows, columns});
    return all;
  };
  const Tensor a = Tensor::randn(sizes(m, k), dtype, 1, device);
  const Tensor b = Tensor::randn(turned ? sizes(n, k) : sizes(k, n), dtype, 2, device);
  const Tensor c = Tensor::empty(sizes(m, n), dtype, device);
  Product p;
  p.m = m;
  p.n = n;
  p.k = k;
  p.a = a.data();
  p.b = b.data();
  p.c = c.data();
  p.dtype = p.dtype_a = p.dtype_b = dtype;
  p.a_row = k;
  p.a_column = 1;
  p.b_row = turned ? 1 : n;
  p.b_column = turned ? k : 1;
  p.c_row = n;
  p.c_column = 1;
  int64_t step = 1;
  for (size_t axis = batches.size(); axis-- > 0;) {
    p.batches.insert(p.batches.begin(), {batches[axis], step * m * k, step * k * n, step * m * n});
    step *= batches[axis];
  }
  change(p);
  run(p, device);
  return c;
}

void compare(
    const std::vector<int64_t>& batches, int64_t m, int64_t n, int64_t k, DataType dtype,
    bool turned, const std::function<void(Product&)>& change = [](Product&) {}) {
  const std::string what = text("[", join(batches, ", "), "] x ", m, " x ", n, " x ", k, " ", dtype,
                                turned ? ", turned" : "");
  CAPTURE(what);
  const HostTensor ours =
      multiplied(batches, m, n, k, dtype, turned, change, emulatedDevice()).toHostTensor();
  const HostTensor hosts =
      multiplied(batches, m, n, k, dtype, turned, change, cpuDevice()).toHostTensor();
  const double tolerance = dtype == DataType::BFloat16 ? 2e-2
                           : dtype == DataType::Half   ? 2e-3
                                                       : 1e-4;
  for (int64_t i = 0; i < ours.numel(); ++i) {
    if (isComplexType(dtype)) {
      REQUIRE(std::abs(ours.getComplex(i) - hosts.getComplex(i)) < tolerance);
    } else {
      REQUIRE(ours.getDouble(i) == doctest::Approx(hosts.getDouble(i)).epsilon(tolerance).scale(4));
    }
  }
}

TEST_CASE("products by a kernel: dtypes") {
  for (DataType dtype :
       {DataType(DataType::Float), DataType(DataType::Double), DataType(DataType::Half),
        DataType(DataType::BFloat16), DataType(DataType::Int), DataType(DataType::Int32),
        DataType(DataType::Char), DataType(DataType::Byte), DataType(DataType::ComplexFloat),
        DataType(DataType::ComplexDouble)}) {
    compare({}, 7, 5, 9, dtype, false);
    compare({2}, 3, 70, 17, dtype, true);
  }
}

TEST_CASE("products by a kernel: tiles, batches, nothing to sum") {
  compare({}, 65, 130, 33, DataType::Float, false);
  compare({}, 64, 64, 16, DataType::Float, true);
  compare({2, 3, 2, 2}, 2, 3, 4, DataType::Float, false);  // outer batches are launches
  compare({}, 3, 4, 0, DataType::Float, false);
  compare({}, 0, 4, 3, DataType::Float, false);
}

TEST_CASE("products by a kernel: biases and ends") {
  for (Device* device : {&cpuDevice(), &emulatedDevice()}) {
    CAPTURE(device->properties().name);
    const Tensor bias = Tensor::fromHost(std::vector<float>{1, -2, 3}, {3}, *device);
    const Tensor alpha = Tensor::fromHost(std::vector<float>{2}, {1}, *device);
    const auto of = [&](Epilogue end) {
      return multiplied(
                 {}, 2, 3, 0, DataType::Float, false,
                 [&](Product& p) {
                   p.bias = bias.data();
                   p.dtype_bias = DataType::Float;
                   p.bias_step = 1;
                   p.beta = static_cast<const float*>(alpha.data());
                   p.end = end;
                 },
                 *device)
          .toHost<float>();
    };
    CHECK(of(Epilogue::None) == std::vector<float>{2, -4, 6, 2, -4, 6});
    CHECK(of(Epilogue::Relu) == std::vector<float>{2, 0, 6, 2, 0, 6});
    CHECK(of(Epilogue::TanhGelu)[0] == doctest::Approx(1.9546).epsilon(1e-4));
  }
}

}  // namespace
}  // namespace nvfuser
