// Operations of a library on a real GPU: products of matrices by cuBLASLt, sorting by kernels of
// ours, what is left by way of the host. Without a GPU every case says so and checks nothing.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>

#include <fusion.h>
#include <ir/builder.h>
#include <ops/all_ops.h>
#include <runtime/fusion_executor_cache.h>
#include <runtime/validation.h>

using namespace nvfuser;

namespace {

Device* gpu() {
  std::string why;
  Device* device = cudaDevice(0, &why);
  if (device == nullptr) {
    MESSAGE("no GPU: ", why);
  }
  return device;
}

using Tensors = std::vector<TensorView*>;

/// Runs twice, compares with the reference, and returns the report.
std::string run(const std::vector<Tensor>& tensors,
                const std::function<TensorView*(const Tensors&)>& define) {
  auto fusion = std::make_unique<Fusion>();
  KernelArgumentHolder arguments;
  {
    FusionGuard guard(fusion.get());
    Tensors inputs;
    for (const Tensor& tensor : tensors) {
      inputs.push_back(makeSymbolicTensor(tensor.dim(), tensor.dtype()));
      fusion->addInput(inputs.back());
      arguments.push(tensor);
    }
    fusion->addOutput(define(inputs));
  }
  FusionExecutorCache cache(std::move(fusion));
  for (int time = 0; time < 2; ++time) {
    const KernelArgumentHolder results = cache.runFusionWithInputs(arguments);
    try {
      testValidate(cache.fusion(), results, arguments, __LINE__, __FILE__);
    } catch (const std::exception& error) {
      FAIL_CHECK(error.what());
    }
  }
  return cache.report();
}

bool hasCublasLt(const std::string& report) {
  return report.find("run by cuBLASLt") != std::string::npos;
}

}  // namespace

TEST_CASE("products by cuBLASLt") {
  Device* device = gpu();
  if (device == nullptr) {
    return;
  }
  auto product = [](const Tensors& t) { return matmul(t[0], t[1]); };
  for (PrimDataType dtype : {DataType::Half, DataType::BFloat16, DataType::Float, DataType::Double,
                             DataType::ComplexFloat, DataType::ComplexDouble}) {
    CAPTURE(DataType(dtype));
    auto draw = [&](std::vector<int64_t> sizes, uint64_t seed) {
      return Tensor::randn(std::move(sizes), dtype, seed, *device);
    };
    CHECK(hasCublasLt(run({draw({70, 33}, 1), draw({33, 129}, 2)}, product)));
    CHECK(hasCublasLt(run({draw({33, 70}, 1).transpose(0, 1), draw({33, 129}, 2)}, product)));
    CHECK(hasCublasLt(run({draw({70, 33}, 1), draw({129, 33}, 2).transpose(0, 1)}, product)));
    CHECK(hasCublasLt(run({draw({70, 40}, 1).slice(1, 3, 36), draw({33, 129}, 2)}, product)));
    CHECK(hasCublasLt(run({draw({3, 4, 17, 9}, 1), draw({4, 9, 5}, 2)}, product)));
    CHECK(hasCublasLt(run({draw({9}, 1), draw({4, 9, 5}, 2)}, product)));
    CHECK(hasCublasLt(run({draw({4, 17, 9}, 1), draw({9}, 2)}, product)));
    CHECK(hasCublasLt(run({draw({2, 17, 9}, 1), draw({9, 5}, 2)}, product)));
    run({draw({5, 0}, 1), draw({0, 3}, 2)}, product);
    run({draw({0, 5}, 1), draw({5, 3}, 2)}, product);
    auto plain = [](const Tensors& t) { return linear(t[0], t[1]); };
    CHECK(hasCublasLt(run({draw({2, 17, 64}, 1), draw({48, 64}, 2)}, plain)));
    auto with_bias = [](const Tensors& t) { return linear(t[0], t[1], t[2]); };
    CHECK(hasCublasLt(run({draw({2, 17, 64}, 1), draw({48, 64}, 2), draw({48}, 3)}, with_bias)));
    // A bias that begins where nothing is aligned, and a long sum, which the library cuts.
    CHECK(hasCublasLt(
        run({draw({33, 64}, 1), draw({48, 64}, 2), draw({49}, 3).slice(0, 1, 49)}, with_bias)));
    CHECK(hasCublasLt(run({draw({16, 36864}, 1), draw({8, 36864}, 2), draw({8}, 3)}, with_bias)));
  }
}

TEST_CASE("cuBLASLt ends products with a bias, relu and tanh gelu") {
  Device* device = gpu();
  if (device == nullptr) {
    return;
  }
  for (PrimDataType dtype : {DataType::Half, DataType::BFloat16, DataType::Float}) {
    CAPTURE(DataType(dtype));
    const DataType of = dtype;
    auto draw = [&](std::vector<int64_t> sizes, uint64_t seed) {
      return Tensor::randn(std::move(sizes), dtype, seed, *device);
    };
    auto rounded = [of](TensorView* tv) { return tv->dtype() == of ? tv : castOp(of, tv); };
    const Tensor x = draw({70, 64}, 1), w = draw({48, 64}, 2), b = draw({48}, 3);
    const std::string with_relu =
        run({x, w, b}, [&](const Tensors& t) { return rounded(relu(linear(t[0], t[1], t[2]))); });
    CAPTURE(with_relu);
    CHECK(with_relu.find("linear + relu, run by cuBLASLt") != std::string::npos);
    const std::string with_gelu = run(
        {x, w, b}, [&](const Tensors& t) { return rounded(tanh_gelu(linear(t[0], t[1], t[2]))); });
    CAPTURE(with_gelu);
    // Rounded to Half and BFloat16 before, the product is one call and the rest a kernel.
    const bool joins = of == DataType::Float;
    CHECK(with_gelu.find(joins ? "linear + tanh_gelu, run by cuBLASLt"
                               : "linear, run by cuBLASLt") != std::string::npos);
    const std::string with_bias = run(
        {x, w, b}, [&](const Tensors& t) { return rounded(relu(add(linear(t[0], t[1]), t[2]))); });
    CAPTURE(with_bias);
    CHECK(with_bias.find(joins ? "linear + bias + relu, run by cuBLASLt"
                               : "linear, run by cuBLASLt") != std::string::npos);
  }
}

TEST_CASE("other operations of a library") {
  Device* device = gpu();
  if (device == nullptr) {
    return;
  }
  const Tensor x = Tensor::randn({37, 65}, DataType::BFloat16, 1, *device);
  run({x}, [](const Tensors& t) { return cumsum(t[0], 1); });
  run({x}, [](const Tensors& t) { return argsort(t[0], 0); });
  run({x}, [](const Tensors& t) { return topk(t[0], IrBuilder::create<Val>(int64_t{5})).values; });
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < 37; ++i) {
    rows.push_back(i * 7 % 11);
  }
  const Tensor index = Tensor::fromHost(rows, {37}, *device);
  run({Tensor::randn({11}, DataType::Float, 1, *device), index,
       Tensor::randn({37}, DataType::Float, 2, *device)},
      [](const Tensors& t) { return scatter(t[0], 0, t[1], t[2], BinaryOpType::Add); });
  run({index, Tensor::randn({11, 64}, DataType::Float, 2, *device)},
      [](const Tensors& t) { return embedding_fwd(t[0], t[1]); });
}

TEST_CASE("sorting stays on the device") {
  Device* device = gpu();
  if (device == nullptr) {
    return;
  }
  for (const PrimDataType dtype : {DataType::Float, DataType::BFloat16, DataType::Double}) {
    for (const std::vector<int64_t>& sizes : std::vector<std::vector<int64_t>>{
             {8, 256}, {1024, 1024}, {1024, 4096}, {4096, 8192}, {1, 1 << 20}}) {
      const Tensor x = Tensor::randn(sizes, dtype, 1, *device);
      for (const bool is_topk : {true, false}) {
        const auto define = [&](const Tensors& t) {
          return is_topk ? topk(t[0], IrBuilder::create<Val>(int64_t{8})).indices
                         : argsort(t[0], 1);
        };
        if (x.numel() <= 1 << 20) {
          CHECK(run({x}, define).find("kernels of this compiler") != std::string::npos);
        }
        auto fusion = std::make_unique<Fusion>();
        {
          FusionGuard guard(fusion.get());
          TensorView* in = makeContigTensor(2, dtype);
          fusion->addInput(in);
          fusion->addOutput(define({in}));
        }
        FusionExecutorCache cache(std::move(fusion));
        cache.runFusionWithInputs({x});
        std::vector<double> ms = device->timeEach([&] { cache.runFusionWithInputs({x}); }, 15, {});
        std::nth_element(ms.begin(), ms.begin() + 7, ms.end());
        const std::string name = is_topk ? "topk, 8 of " : "argsort ";
        MESSAGE(name, x.toString(), ": ", ms[7] * 1e3, " us");
      }
    }
  }
}

TEST_CASE("gelu of a linear is one call and one kernel, as fast as the product") {
  Device* device = gpu();
  if (device == nullptr) {
    return;
  }
  auto fusion = std::make_unique<Fusion>();
  {
    FusionGuard guard(fusion.get());
    Tensors t;
    for (int64_t rank : {2, 2, 1}) {
      t.push_back(makeContigTensor(rank, DataType::BFloat16));
      fusion->addInput(t.back());
    }
    fusion->addOutput(castOp(DataType::BFloat16, gelu(linear(t[0], t[1], t[2]))));
  }
  FusionExecutorCache cache(std::move(fusion));
  const KernelArgumentHolder arguments{Tensor::randn({4096, 4096}, DataType::BFloat16, 1, *device),
                                       Tensor::randn({4096, 4096}, DataType::BFloat16, 2, *device),
                                       Tensor::randn({4096}, DataType::BFloat16, 3, *device)};
  double best = 1e9;
  for (int time = 0; time < 10; ++time) {
    const auto begin = std::chrono::steady_clock::now();
    cache.runFusionWithInputs(arguments);
    device->synchronize(nullptr);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    best = std::min(best, took.count());
  }
  CHECK(cache.numExternalCalls() == 1);
  CHECK(cache.numKernels() == 1);
  MESSAGE("4096 cubed in bf16, with gelu: ", best * 1e3, " ms, ", 2e-12 * 4096 * 4096 * 4096 / best,
          " Tflop/s\n", cache.report());
}
