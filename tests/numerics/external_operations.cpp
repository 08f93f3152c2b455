// Operations of a library through FusionExecutorCache, on the CPU and on emulated CUDA, against the
// reference: products of matrices, scans, sorting, scatter, rows of tables.
#include <doctest/doctest.h>

#include <external/providers.h>
#include <numerics/automatic.h>

using namespace nvfuser;

namespace {

using automatic::Input;
using Sizes = std::vector<int64_t>;

constexpr PrimDataType kProductDtypes[] = {
    DataType::Float,        DataType::Double,        DataType::BFloat16, DataType::Half,
    DataType::ComplexFloat, DataType::ComplexDouble, DataType::Int,      DataType::Int32,
    DataType::Char,         DataType::Byte};

/// Symbolic sizes, 1 for broadcast axes; strides of the caller's.
TensorView* input(const Input& of) {
  Sizes shape;
  for (int64_t size : of.sizes) {
    shape.push_back(size == 1 ? 1 : -1);
  }
  TensorView* tv =
      TensorViewBuilder().shape(shape).dtype(of.dtype).contiguity(of.strides.empty()).build();
  FusionGuard::getCurFusion()->addInput(tv);
  return tv;
}

struct Counts {
  size_t calls = 1;
  size_t kernels = 0;
};

using Define = std::function<std::vector<TensorView*>(const std::vector<TensorView*>&)>;

Val* number(int64_t value) { return IrBuilder::create<Val>(value); }

/// Defines on inputs of these forms, runs on both devices, compares with the reference.
void checkApart(const std::vector<Input>& inputs, const Define& define, Counts on_cpu,
                Counts on_gpu) {
  std::string sizes;
  for (const Input& one : inputs) {
    sizes += text("[", join(one.sizes, ", "), "] ", one.dtype, " ");
  }
  CAPTURE(sizes);
  for (Device* device : testDevices()) {
    CAPTURE(device->properties().name);
    auto fusion = std::make_unique<Fusion>();
    {
      FusionGuard guard(fusion.get());
      std::vector<TensorView*> tensors;
      for (const Input& one : inputs) {
        tensors.push_back(input(one));
      }
      for (TensorView* output : define(tensors)) {
        fusion->addOutput(output);
      }
    }
    FusionExecutorCache cache(std::move(fusion));
    const KernelArgumentHolder arguments = automatic::makeInputs(inputs, *device);
    for (int run = 0; run < 2; ++run) {
      try {
        const KernelArgumentHolder results = cache.runFusionWithInputs(arguments);
        testValidate(cache.fusion(), results, arguments, __LINE__, __FILE__, sizes);
      } catch (const std::exception& error) {
        FAIL_CHECK(error.what());
      }
    }
    CAPTURE(cache.report());
    const Counts counts = device->kind() == DeviceKind::Cpu ? on_cpu : on_gpu;
    CHECK(cache.numExternalCalls() == counts.calls);
    CHECK(cache.numKernels() == counts.kernels);
  }
}

void check(const std::vector<Input>& inputs, const Define& define, Counts counts = {}) {
  checkApart(inputs, define, counts, counts);
}

void checkMatmul(Input a, Input b, DataType dtype) {
  a.dtype = b.dtype = dtype;
  check({a, b}, [](const auto& t) { return std::vector{matmul(t[0], t[1])}; });
}

}  // namespace

TEST_CASE("matmul of all dtypes") {
  for (PrimDataType dtype : kProductDtypes) {
    checkMatmul({{7, 13}}, {{13, 5}}, dtype);
    checkMatmul({{2, 1, 3, 4}}, {{5, 4, 2}}, dtype);
  }
}

TEST_CASE("matmul of all shapes") {
  const std::pair<Input, Input> shapes[] = {
      {{{5}}, {{5}}},
      {{{5}}, {{5, 3}}},
      {{{4, 5}}, {{5}}},
      {{{2, 3, 5}}, {{5}}},
      {{{5}}, {{2, 5, 3}}},
      {{{2, 3, 5}}, {{5, 4}}},
      {{{3, 5}}, {{2, 5, 4}}},
      {{{3, 1, 4, 5}}, {{1, 2, 5, 6}}},
      {{{1, 5}}, {{5, 1}}},
      {{{131, 300}}, {{300, 259}}},  // several tiles, depth cut
      {{{97, 257}}, {{257, 1}}},
      {{{1, 600}}, {{600, 300}}},
      {{{0, 5}}, {{5, 3}}},
      {{{4, 0}}, {{0, 3}}},  // sums of nothing
      {{{4, 5}}, {{5, 0}}},
      {{{0, 4, 5}}, {{5, 3}}},
      // transposed, every second, repeated
      {{{13, 7}, DataType::Float, {1, 13}}, {{7, 5}}},
      {{{13, 7}}, {{7, 5}, DataType::Float, {1, 7}}},
      {{{13, 7}, DataType::Float, {20, 2}}, {{7, 5}, DataType::Float, {15, 3}}},
      {{{3, 4, 6}, DataType::Float, {6, 18, 1}}, {{3, 6, 2}, DataType::Float, {2, 6, 1}}},
  };
  for (const auto& [a, b] : shapes) {
    checkMatmul(a, b, DataType::Float);
    checkMatmul(a, b, DataType::BFloat16);
  }
}

TEST_CASE("linear with and without bias") {
  for (PrimDataType dtype : kProductDtypes) {
    check({{{7, 13}, dtype}, {{5, 13}, dtype}, {{5}, dtype}},
          [](const auto& t) { return std::vector{linear(t[0], t[1], t[2])}; });
    check({{{2, 45}, dtype}, {{19, 45}, dtype}, {{19}, dtype}},
          [](const auto& t) { return std::vector{linear(t[0], t[1], t[2])}; });
  }
  const std::pair<Sizes, Sizes> shapes[] = {
      {{13}, {5, 13}},       {{13}, {13}},         {{2, 3, 13}, {13}},
      {{2, 3, 13}, {5, 13}}, {{3, 70}, {300, 70}}, {{1, 333}, {37, 333}},
      {{6, 2, 40}, {9, 40}}, {{0, 13}, {5, 13}},   {{3, 0}, {5, 0}}};
  for (const auto& [x, w] : shapes) {
    check({{x}, {w}}, [](const auto& t) { return std::vector{linear(t[0], t[1])}; });
    const Sizes bias = w.size() == 2 ? Sizes{w[0]} : Sizes{};
    check({{x}, {w}, {bias}}, [](const auto& t) { return std::vector{linear(t[0], t[1], t[2])}; });
  }
}

TEST_CASE("neighbours of a product are fused around it") {
  check({{{9, 33}}, {{20, 33}}, {{20}}},
        [](const auto& t) { return std::vector{gelu(linear(t[0], t[1], t[2]))}; }, {1, 1});
  check({{{9, 33}}, {{33, 40}}, {{9, 40}}, {{40}}, {{40}}},
        [](const auto& t) {
          TensorView* sums = add(matmul(t[0], t[1]), t[2]);
          return std::vector{layer_norm(sums, 1, t[3], t[4], IrBuilder::create<Val>(1e-5)).output};
        },
        {1, 1});
  check({{{9, 33}, DataType::BFloat16}, {{20, 33}, DataType::BFloat16}},
        [](const auto& t) {
          TensorView* x = castOp(DataType::BFloat16, relu(castOp(DataType::Float, t[0])));
          return std::vector{castOp(DataType::BFloat16, gelu(linear(x, t[1])))};
        },
        {1, 2});
  // Two products, one after the other.
  check({{{9, 33}}, {{20, 33}}, {{7, 20}}},
        [](const auto& t) { return std::vector{linear(gelu(linear(t[0], t[1])), t[2])}; }, {2, 1});
}

TEST_CASE("a report names who ran a call") {
  auto fusion = std::make_unique<Fusion>();
  {
    FusionGuard guard(fusion.get());
    TensorView* a = input({{4, 5}});
    fusion->addOutput(gelu(matmul(a, input({{5, 6}}))));
  }
  FusionExecutorCache cache(std::move(fusion));
  const KernelArgumentHolder arguments = automatic::makeInputs({{{4, 5}}, {{5, 6}}}, cpuDevice());
  cache.runFusionWithInputs(arguments);
  CAPTURE(cache.report());
  CHECK(cache.report().find("matmul, run by portable code") != std::string::npos);

  int asked = 0;
  const int64_t declines = external::registerProvider(
      "matmul", DeviceKind::Cpu, "one that declines", [&](const external::Call&) {
        ++asked;
        return false;
      });
  const int64_t takes = external::registerProvider(
      "matmul", DeviceKind::Cpu, "zeros", [&](const external::Call& call) {
        const TensorRef& out = call.outputs[0];
        std::fill_n(static_cast<float*>(out.data), out.numel(), 0.0f);
        return call.input(0).sizes == Sizes{4, 5};
      });
  KernelArgumentHolder results = cache.runFusionWithInputs(arguments);
  CHECK(cache.report().find("run by zeros") != std::string::npos);
  CHECK(asked == 0);  // the last one registered comes first
  CHECK(results[0].tensor().toHost<float>() == std::vector<float>(24, 0.0f));
  external::unregisterProvider(takes);
  results = cache.runFusionWithInputs(arguments);
  CHECK(asked == 1);
  testValidate(cache.fusion(), results, arguments, __LINE__, __FILE__);
  external::unregisterProvider(declines);
  CHECK_THROWS_AS(external::unregisterProvider(declines), UserError);
}

TEST_CASE("scans of narrow and of complex numbers: a library's on the CPU, kernels on a GPU") {
  for (PrimDataType dtype :
       {DataType::ComplexFloat, DataType::ComplexDouble, DataType::Char, DataType::Byte,
        DataType::Short, DataType::UInt32, DataType::UInt64, DataType::Float8_e5m2}) {
    const Counts kernels{0, 1};
    for (int64_t dim : {0, 1, -1}) {
      for (bool backward : {false, true}) {
        checkApart(
            {{{5, 7, 3}, dtype}},
            [&](const auto& t) {
              return std::vector{scan(t[0], dim, BinaryOpType::Add, nullptr, backward)};
            },
            {}, kernels);
      }
    }
    checkApart(
        {{{40}, dtype}}, [&](const auto& t) { return std::vector{cumprod(t[0], 0)}; }, {},
        isComplexType(dtype) ? Counts{} : kernels);
    if (!isComplexType(dtype)) {
      checkApart(
          {{{3, 40}, dtype}},
          [&](const auto& t) { return std::vector{scan(t[0], 1, BinaryOpType::Max, number(3))}; },
          {}, dtype == DataType::UInt64 ? Counts{} : kernels);
    }
  }
}

TEST_CASE("sums at an index in half precision and of narrow numbers are kernels on a GPU") {
  for (PrimDataType dtype : {DataType::Half, DataType::BFloat16, DataType::Char, DataType::Short,
                             DataType::Byte, DataType::UInt32, DataType::ComplexFloat}) {
    for (int64_t dim : {0, 1}) {
      for (Device* device : testDevices()) {
        CAPTURE(text(device->properties().name, ", ", DataType(dtype), ", dim ", dim));
        auto fusion = std::make_unique<Fusion>();
        {
          FusionGuard guard(fusion.get());
          TensorView* self = makeContigConcreteTensor({8, 6}, dtype);
          TensorView* index = makeContigConcreteTensor({8, 6}, DataType::Int);
          TensorView* source = makeContigConcreteTensor({8, 6}, dtype);
          for (TensorView* in : {self, index, source}) {
            fusion->addInput(in);
          }
          fusion->addOutput(scatter(self, dim, index, source, BinaryOpType::Add));
          if (!isComplexType(dtype)) {
            fusion->addOutput(scatter(self, dim, index, number(2)));
          }
        }
        FusionExecutorCache cache(std::move(fusion));
        std::vector<int64_t> places;
        for (int64_t i = 0; i < 48; ++i) {
          places.push_back(i * i % 5);
        }
        const KernelArgumentHolder arguments{Tensor::randn({8, 6}, dtype, 1, *device),
                                             Tensor::fromHost(places, {8, 6}, *device),
                                             Tensor::randn({8, 6}, dtype, 2, *device)};
        const KernelArgumentHolder results = cache.runFusionWithInputs(arguments);
        testValidate(cache.fusion(), results, arguments, __LINE__, __FILE__);
        CAPTURE(cache.report());
        if (device->kind() != DeviceKind::Cpu) {
          CHECK(cache.numExternalCalls() == 0);
          CHECK(cache.report().find("portable code on the host") == std::string::npos);
        }
      }
    }
  }
}

TEST_CASE(
    "on a GPU sorting, scatters to a part of the axes, scaled products and attention go to "
    "kernels") {
  for (Device* device : testDevices()) {
    if (device->kind() == DeviceKind::Cpu) {
      continue;
    }
    CAPTURE(device->properties().name);
    auto fusion = std::make_unique<Fusion>();
    {
      FusionGuard guard(fusion.get());
      TensorView* x = input({{8, 8}, DataType::Float});
      TensorView* index = input({{3, 5}, DataType::Int});
      TensorView* one = full({}, IrBuilder::create<Val>(1.0), DataType::Float);
      TensorView* heads = broadcast(x, {true, true, false, false});
      fusion->addOutput(argsort(x, 1));
      fusion->addOutput(scatter(x, 0, index, x, BinaryOpType::Max));
      fusion->addOutput(scaled_mm(x, x, one, one).tv);
      fusion->addOutput(
          sdpfa_fwd(heads, heads, heads, nullptr, nullptr, nullptr, nullptr, nullptr).output);
    }
    FusionExecutorCache cache(std::move(fusion));
    const KernelArgumentHolder arguments{
        Tensor::randn({8, 8}, DataType::Float, 1, *device),
        Tensor::fromHost(std::vector<int64_t>{0, 1, 2, 3, 4, 0, 0, 1, 1, 2, 7, 6, 5, 4, 3}, {3, 5},
                         *device)};
    const KernelArgumentHolder results = cache.runFusionWithInputs(arguments);
    testValidate(cache.fusion(), results, arguments, __LINE__, __FILE__);
    const std::string report = cache.report();
    CAPTURE(report);
    CHECK(cache.numExternalCalls() == 4);
    CHECK(report.find("portable code on the host") == std::string::npos);
  }
}

TEST_CASE("sorting along every axis") {
  for (PrimDataType dtype : {DataType::Float, DataType::Double, DataType::BFloat16, DataType::Half,
                             DataType::Int, DataType::Byte, DataType::Bool}) {
    for (bool descending : {false, true}) {
      check({{{6, 17}, dtype}},
            [&](const auto& t) { return std::vector{argsort(t[0], -1, descending)}; });
      check({{{6, 17}, dtype}}, [&](const auto& t) {
        const TopKResult top = topk(t[0], IrBuilder::create<Val>(int64_t{4}), 1, descending);
        return std::vector{top.values, top.indices};
      });
    }
  }
  for (PrimDataType dtype :
       {DataType::Char, DataType::Half}) {  // few of many, equal ones among them
    for (bool largest : {false, true}) {
      check({{{5, 300}, dtype}}, [&](const auto& t) {
        const TopKResult top = topk(t[0], IrBuilder::create<Val>(int64_t{7}), 1, largest);
        return std::vector{top.values, top.indices};
      });
    }
  }
  check({{{6, 17}}}, [&](const auto& t) { return std::vector{argsort(t[0], 0)}; });
  check({{{6, 0}}}, [&](const auto& t) { return std::vector{argsort(t[0], 1)}; });
  check({{{}}}, [&](const auto& t) { return std::vector{argsort(t[0], 0)}; });
  check({{{6, 17}}}, [&](const auto& t) {
    return std::vector{topk(t[0], IrBuilder::create<Val>(int64_t{0}), 0).values};
  });
  check({{{6, 17}}}, [&](const auto& t) {
    return std::vector{topk(t[0], IrBuilder::create<Val>(int64_t{1}), 0).indices};
  });
}

TEST_CASE("sorting rows that no block of a GPU holds") {
  const auto sorted = [](Sizes sizes, PrimDataType dtype, int64_t dim, bool descending) {
    check({{std::move(sizes), dtype}},
          [&](const auto& t) { return std::vector{argsort(t[0], dim, descending)}; });
  };
  const auto first = [](Sizes sizes, PrimDataType dtype, int64_t count, bool largest) {
    check({{std::move(sizes), dtype}}, [&](const auto& t) {
      const TopKResult top = topk(t[0], IrBuilder::create<Val>(count), 1, largest);
      return std::vector{top.values, top.indices};
    });
  };
  for (PrimDataType dtype : {DataType::Float, DataType::Double, DataType::BFloat16, DataType::Int32,
                             DataType::Char, DataType::Bool}) {
    CAPTURE(dtype);
    for (bool descending : {false, true}) {
      sorted({2, 2049}, dtype, 1, descending);  // by digits
      first({2, 2049}, dtype, 5, descending);   // by a look at a tile
      first({1, 4500}, dtype, 1000, descending);
    }
  }
  sorted({4097, 2}, DataType::Float, 0, false);
  sorted({3, 700}, DataType::Half, 1, true);       // by blocks
  first({1, 3000}, DataType::Float, 2000, true);   // by digits
  first({1, 20000}, DataType::Float, 1000, true);  // two rounds of tiles
}

TEST_CASE("NaN is the greatest number of a sort, and -0 is 0") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (Device* device : testDevices()) {
    CAPTURE(device->properties().name);
    for (const size_t length : {size_t{8}, size_t{2100}}) {  // the rest: zeros that come last
      auto fusion = std::make_unique<Fusion>();
      {
        FusionGuard guard(fusion.get());
        TensorView* x = input({{static_cast<int64_t>(length)}});
        fusion->addOutput(argsort(x, 0));
        fusion->addOutput(argsort(x, 0, true));
        fusion->addOutput(topk(x, IrBuilder::create<Val>(int64_t{4})).indices);
      }
      FusionExecutorCache cache(std::move(fusion));
      std::vector<float> values(length, 1.f);
      const float begin[] = {2, nan, -1, 2, -nan, -3, 0.f, -0.f};
      std::copy(std::begin(begin), std::end(begin), values.begin());
      const KernelArgumentHolder results = cache.runFusionWithInputs(
          {Tensor::fromHost(values, {static_cast<int64_t>(length)}, *device)});
      auto up = results[0].tensor().toHost<int64_t>();
      auto down = results[1].tensor().toHost<int64_t>();
      std::erase_if(up, [](int64_t at) { return at >= 8; });
      std::erase_if(down, [](int64_t at) { return at >= 8; });
      CHECK(up == Sizes{5, 2, 6, 7, 0, 3, 1, 4});
      CHECK(down == Sizes{1, 4, 0, 3, 6, 7, 2, 5});
      CHECK(results[2].tensor().toHost<int64_t>() == Sizes{1, 4, 0, 3});
      CHECK(cache.report().find(device == &cpuDevice()
                                    ? "portable code"
                                    : "kernels of this compiler") != std::string::npos);
    }
  }
}

TEST_CASE("scatter, also accumulating, gives the same bits each time") {
  for (PrimDataType dtype : {DataType::Float, DataType::Double, DataType::BFloat16, DataType::Half,
                             DataType::ComplexFloat, DataType::Int, DataType::Int32}) {
    using enum BinaryOpType;
    for (std::optional<BinaryOpType> type :
         {std::optional<BinaryOpType>(), std::optional(Add), std::optional(Mul), std::optional(Max),
          std::optional(Min)}) {
      if (isComplexType(dtype) && (type == Max || type == Min)) {
        continue;
      }
      for (int64_t dim : {0, 1}) {
        std::vector<Tensor> before;
        for (Device* device : testDevices()) {
          auto fusion = std::make_unique<Fusion>();
          {
            FusionGuard guard(fusion.get());
            TensorView* self = input({{8, 9}, dtype});
            TensorView* index = input({{5, 6}, DataType::Int});
            TensorView* source = input({{7, 6}, dtype});
            fusion->addOutput(scatter(self, dim, index, source, type));
          }
          FusionExecutorCache cache(std::move(fusion));
          std::vector<int64_t> places;
          for (int64_t i = 0; i < 30; ++i) {
            // Accumulated ones meet; others do not.
            places.push_back(type ? i * i % 4 : (dim == 0 ? i / 6 : i % 6));
          }
          const KernelArgumentHolder arguments{Tensor::randn({8, 9}, dtype, 1, *device),
                                               Tensor::fromHost(places, {5, 6}, *device),
                                               Tensor::randn({7, 6}, dtype, 2, *device)};
          const KernelArgumentHolder results = cache.runFusionWithInputs(arguments);
          testValidate(cache.fusion(), results, arguments, __LINE__, __FILE__);
          // A GPU's threads add real and imaginary parts.
          const bool is_apart =
              device->kind() != DeviceKind::Cpu && isComplexType(dtype) && type == Add;
          CHECK(cache.numExternalCalls() == (is_apart ? 2 : 1));
        }
      }
    }
  }
}

TEST_CASE("the gradient of a table sums rows in their order") {
  for (PrimDataType dtype : {DataType::Float, DataType::Double, DataType::BFloat16, DataType::Half,
                             DataType::ComplexFloat, DataType::Int}) {
    for (const Sizes& row : {Sizes{6}, Sizes{}, Sizes{2, 3}, Sizes{0}}) {
      for (int64_t count : {0, 2, 40}) {
        for (Device* device : testDevices()) {
          auto sizes = [&](int64_t rows) {
            Sizes all = row;
            all.insert(all.begin(), rows);
            return all;
          };
          auto fusion = std::make_unique<Fusion>();
          {
            FusionGuard guard(fusion.get());
            TensorView* table = input({sizes(10), dtype});
            TensorView* index = input({{count}, DataType::Int});
            TensorView* value = input({sizes(count), dtype});
            fusion->addOutput(indexPutAccumulate(table, index, value));
          }
          FusionExecutorCache cache(std::move(fusion));
          Sizes rows;
          for (int64_t i = 0; i < count; ++i) {
            rows.push_back(i * i % 7);
          }
          const KernelArgumentHolder arguments{Tensor::randn(sizes(10), dtype, 1, *device),
                                               Tensor::fromHost(rows, {count}, *device),
                                               Tensor::randn(sizes(count), dtype, 2, *device)};
          const KernelArgumentHolder results = cache.runFusionWithInputs(arguments);
          CAPTURE(cache.report());
          testValidate(cache.fusion(), results, arguments, __LINE__, __FILE__);
          // The index is stretched by a view; a GPU's threads add halves in Float.
          const bool is_widened = device->kind() != DeviceKind::Cpu &&
                                  (isComplexType(dtype) || dataTypeSizeByte(dtype) == 2);
          CHECK((is_widened || cache.numKernels() == 0));
        }
      }
    }
  }
}

TEST_CASE("rows of a table are an indexed read that is fused") {
  for (PrimDataType dtype : {DataType::Float, DataType::BFloat16}) {
    for (const Sizes& shape : {Sizes{7}, Sizes{2, 3}, Sizes{2, 3, 4}, Sizes{}, Sizes{0, 3}}) {
      for (bool limited : {false, true}) {
        for (Device* device : testDevices()) {
          auto fusion = std::make_unique<Fusion>();
          {
            FusionGuard guard(fusion.get());
            TensorView* index = input({shape, DataType::Int});
            TensorView* table = input({{10, 6}, dtype});
            Val* most = limited ? IrBuilder::create<Val>(1.5) : nullptr;
            fusion->addOutput(embedding_fwd(index, table, nullptr, most));
          }
          FusionExecutorCache cache(std::move(fusion));
          int64_t count = 1;
          for (int64_t size : shape) {
            count *= size;
          }
          std::vector<int64_t> rows;
          for (int64_t i = 0; i < count; ++i) {
            rows.push_back(i * 7 % 10);
          }
          const KernelArgumentHolder arguments{Tensor::fromHost(rows, shape, *device),
                                               Tensor::randn({10, 6}, dtype, 1, *device)};
          const KernelArgumentHolder results = cache.runFusionWithInputs(arguments);
          CAPTURE(cache.report());
          testValidate(cache.fusion(), results, arguments, __LINE__, __FILE__);
          CHECK(cache.numExternalCalls() == 0);
          CHECK(cache.report().find("interpreted") == std::string::npos);
        }
      }
    }
  }
}
