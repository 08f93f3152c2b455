// The automatic scheduler of reductions.
#include "automatic.h"

using namespace nvfuser;
using automatic::check;
using automatic::Input;

namespace {

using Reduce = std::function<TensorView*(TensorView*, const std::vector<int64_t>&)>;

automatic::Define reduceOver(int64_t rank, std::vector<int64_t> axes, DataType dtype,
                             const Reduce& reduce) {
  return [=](Fusion& fusion) {
    TensorView* x = makeContigTensor(rank, dtype);
    fusion.addInput(x);
    TensorView* result = reduce(x, axes);
    fusion.addOutput(result->dtype() == dtype ? result : castOp(dtype, result));
  };
}

TensorView* sumOf(TensorView* x, const std::vector<int64_t>& axes) {
  return sum(isReducedPrecisionFloat(x->dtype()) ? castOp(DataType::Float, x) : x, axes);
}

std::vector<std::vector<Input>> inDtype(const std::vector<std::vector<int64_t>>& sizes,
                                        DataType dtype) {
  std::vector<std::vector<Input>> runs;
  for (const auto& one : sizes) {
    runs.push_back({{one, dtype}});
  }
  return runs;
}

}  // namespace

TEST_CASE("scheduler reduction: inner sums of all dtypes") {
  for (DataType dtype : {DataType::Float, DataType::BFloat16, DataType::Half, DataType::Double,
                         DataType::ComplexFloat, DataType::Int, DataType::Int32}) {
    CAPTURE(dtype);
    check(
        reduceOver(2, {1}, dtype, sumOf),
        inDtype({{16, 768}, {1, 1}, {5, 31}, {3, 4098}, {1, 5121}, {7, 1}, {0, 5}, {5, 0}}, dtype),
        "");
  }
}

TEST_CASE("scheduler reduction: few long rows") {
  check(reduceOver(2, {1}, DataType::Float, sumOf),
        inDtype({{1, 16384}, {2, 8192}}, DataType::Float), "reduction");
}

TEST_CASE("scheduler reduction: outer sums of all dtypes") {
  for (DataType dtype : {DataType::Float, DataType::BFloat16, DataType::Double, DataType::Int}) {
    CAPTURE(dtype);
    check(reduceOver(2, {0}, dtype, sumOf),
          inDtype({{768, 16}, {31, 31}, {64, 256}, {4098, 3}, {2, 5121}, {1, 7}, {5, 0}, {0, 5}},
                  dtype),
          "");
  }
}

TEST_CASE("scheduler reduction: middle, three-dimensional and full reductions") {
  for (DataType dtype : {DataType::Float, DataType::BFloat16}) {
    CAPTURE(dtype);
    const std::vector<std::vector<int64_t>> sizes{
        {4, 8, 64}, {3, 5, 7}, {16, 2, 31}, {1, 1, 1}, {2, 300, 9}};
    for (const std::vector<int64_t>& axes :
         std::vector<std::vector<int64_t>>{{1}, {0, 2}, {0, 1, 2}, {0, 1}, {1, 2}, {0}, {2}}) {
      CAPTURE(axes.size());
      CAPTURE(axes[0]);
      check(reduceOver(3, axes, dtype, sumOf), inDtype(sizes, dtype));
    }
  }
}

TEST_CASE("scheduler reduction: groups of channels that lie innermost") {
  // Threads of a block share the pixels, then its blocks; their number is odd, large, one or none.
  const auto statistics = [](Fusion& fusion) {
    TensorView* x = makeContigTensor(4);  // pictures, pixels, groups, channels of a group
    fusion.addInput(x);
    auto [variance, mean] = variance_mean(x, {1, 3}, 0, false);
    fusion.addOutput(variance);
    fusion.addOutput(mean);
    fusion.addOutput(sum(mul(x, x), {1, 3}));
  };
  std::vector<std::vector<Input>> runs;
  for (const std::vector<int64_t>& sizes : std::vector<std::vector<int64_t>>{{2, 1024, 4, 16},
                                                                             {1, 333, 3, 8},
                                                                             {3, 64, 1, 4},
                                                                             {2, 1, 8, 16},
                                                                             {2, 77, 5, 3},
                                                                             {1, 0, 2, 4}}) {
    runs.push_back({{sizes}});
  }
  check(statistics, runs, "");
}

TEST_CASE("scheduler reduction: sums of neighbours that are parts of one input") {
  for (const std::vector<int64_t>& axes : std::vector<std::vector<int64_t>>{{1}, {0}, {0, 1}}) {
    for (int64_t along : {0, 1}) {
      CAPTURE(axes.size());
      CAPTURE(along);
      check(
          [&](Fusion& fusion) {
            TensorView* x = makeContigTensor(2);
            fusion.addInput(x);
            const auto part = [&](int64_t first) {
              std::vector<Slice> slices(2);
              Val* size = x->axis(static_cast<int>(along))->extent();
              slices[static_cast<size_t>(along)] =
                  Slice{IrBuilder::create<Val>(first),
                        sub(size, IrBuilder::create<Val>(int64_t{1} - first)), nullptr};
              return slice(x, slices);
            };
            TensorView* differences = sub(part(1), part(0));
            fusion.addOutput(sum(mul(differences, differences), axes));
          },
          {{{{33, 260}}}, {{{512, 64}}}, {{{2, 2}}}, {{{1, 5}}}}, "reduction");
    }
  }
}

TEST_CASE("scheduler reduction: products of rows of a table, and of places of an input") {
  // Rows lie in memory along what is reduced: threads go along them, not from row to row.
  const std::vector<int64_t> ids{3, 0, 199, 7};
  for (Device* device : testDevices()) {
    CAPTURE(device->properties().name);
    auto fusion = std::make_unique<Fusion>();
    FusionGuard guard(fusion.get());
    TensorView* table = makeContigTensor(2);
    TensorView* index = makeContigTensor(1, DataType::Int);
    TensorView* steps = makeContigConcreteTensor({-1, 3, 64});
    for (TensorView* tv : {table, index, steps}) {
      fusion->addInput(tv);
    }
    const auto place = [](int64_t i) { return IrBuilder::create<Val>(i, DataType::Index); };
    TensorView* rows = mul(indexSelect(table, 0, index), select(steps, 1, place(2)));
    fusion->addOutput(sum(mul(rows, select(steps, 1, place(0))), {1}));
    KernelArgumentHolder arguments;
    arguments.push(Tensor::randn({200, 64}, DataType::Float, 1, *device));
    std::vector<int64_t> many(256);
    for (size_t i = 0; i < many.size(); ++i) {
      many[i] = (ids[i % ids.size()] + static_cast<int64_t>(i)) % 200;
    }
    arguments.push(Tensor::fromHost(many, {256}, *device));
    arguments.push(Tensor::randn({256, 3, 64}, DataType::Float, 2, *device));
    FusionExecutorCache cache(std::move(fusion));
    const KernelArgumentHolder outputs = cache.runFusionWithInputs(arguments);
    testValidate(cache.fusion(), outputs, arguments, __LINE__, __FILE__);
    const std::string report = cache.report();
    CAPTURE(report);
    CHECK(cache.numKernels() == 1);
    CHECK(report.find("reduction: inner") != std::string::npos);
  }
}

TEST_CASE("scheduler reduction: other operations") {
  const std::vector<Reduce> operations{
      [](TensorView* x, const std::vector<int64_t>& axes) { return max(x, axes); },
      [](TensorView* x, const std::vector<int64_t>& axes) { return min(x, axes); },
      [](TensorView* x, const std::vector<int64_t>& axes) { return prod(x, axes); },
      [](TensorView* x, const std::vector<int64_t>& axes) { return mean(x, axes, false); },
      [](TensorView* x, const std::vector<int64_t>& axes) {
        return variance_mean(x, axes, 1, false).var;
      },
  };
  for (size_t i = 0; i < operations.size(); ++i) {
    CAPTURE(i);
    for (const std::vector<int64_t>& axes : std::vector<std::vector<int64_t>>{{1}, {0}, {0, 1}}) {
      CAPTURE(axes[0]);
      check(reduceOver(2, axes, DataType::Float, operations[i]),
            inDtype({{5, 96}, {33, 31}, {2, 1030}}, DataType::Float), "reduction");
    }
  }
}

TEST_CASE("scheduler reduction: what is computed before and behind, and full outputs") {
  auto define = [](int64_t axis) {
    return [=](Fusion& fusion) {
      TensorView* x = makeContigTensor(2, DataType::BFloat16);
      TensorView* y = makeContigTensor(2, DataType::BFloat16);
      TensorView* w = makeContigTensor(1, DataType::Float);
      for (TensorView* in : {x, y, w}) {
        fusion.addInput(in);
      }
      TensorView* product = mul(relu(castOp(DataType::Float, x)), castOp(DataType::Float, y));
      TensorView* scaled = mul(product, broadcast(w, {true, false}));
      fusion.addOutput(castOp(DataType::BFloat16, scaled));
      TensorView* total = sum(scaled, {axis});
      fusion.addOutput(exp(mul(total, IrBuilder::create<Val>(0.01))));
      fusion.addOutput(max(product, {axis}));
    };
  };
  auto inputs = [](int64_t rows, int64_t columns) {
    return std::vector<Input>{{{rows, columns}, DataType::BFloat16},
                              {{rows, columns}, DataType::BFloat16},
                              {{columns}, DataType::Float}};
  };
  for (int64_t axis : {0, 1}) {
    check(define(axis), {inputs(16, 256), inputs(3, 1030), inputs(200, 7), inputs(1, 4096)},
          "reduction");
  }
}

TEST_CASE("scheduler reduction: indices have 64 bits in memory") {
  check(
      [](Fusion& fusion) {
        TensorView* x = makeContigTensor(2, DataType::Int32);
        fusion.addInput(x);
        TensorView* indices = castOp(DataType::Index, x);
        fusion.addOutput(indices);
        fusion.addOutput(min(indices, {1}));
      },
      inDtype({{16, 768}, {3, 4098}, {1, 1}}, DataType::Int32), "reduction");
}

TEST_CASE("scheduler reduction: strided and expanded inputs") {
  auto define = [](Fusion& fusion) {
    TensorView* x = makeSymbolicTensor(2);
    fusion.addInput(x);
    fusion.addOutput(sum(x, {1}));
  };
  check(define,
        {{{{40, 60}, DataType::Float, {64, 1}}},
         {{{40, 60}, DataType::Float, {1, 40}}},
         {{{40, 60}, DataType::Float, {200, 3}}},
         {{{8, 60}, DataType::Float, {1, 8}}}},
        "reduction");
}

TEST_CASE("scheduler reduction: axes that a reshape merges in another order than memory has them") {
  const auto turned = [](Fusion& fusion) {
    return permute(automatic::input(fusion, 3, DataType::Float), {1, 0, 2});
  };
  const std::vector<std::vector<Input>> runs{{{{7, 5, 130}}}, {{{1, 40, 64}}}, {{{33, 2, 3}}}};
  check([&](Fusion& fusion) { fusion.addOutput(exp(flatten(sum(turned(fusion), {2})))); }, runs,
        "reduction");
  check([&](Fusion& fusion) { fusion.addOutput(sum(exp(flatten(turned(fusion))), {0})); }, runs,
        "reduction");
  check([&](Fusion& fusion) { fusion.addOutput(softmax(flatten(turned(fusion)), 0)); }, runs,
        "inner persistent");
}

TEST_CASE("scheduler reduction: elements that only indices tell apart") {
  // Windows of 9 along an axis: y[i, j] = max over k of x[i, j + k].
  const auto windows = [](int64_t width) {
    return [=](Fusion& fusion) {
      TensorView* x = makeContigConcreteTensor({3, width + 8}, DataType::Float);
      fusion.addInput(x);
      TensorView* place = add(broadcast(iota(IrBuilder::create<Val>(width)), {false, true}),
                              broadcast(iota(IrBuilder::create<Val>(int64_t{9})), {true, false}));
      TensorView* taps = takeAlongAxis(broadcast(x, {false, false, true}),
                                       broadcast(place, {true, false, false}), 1);
      fusion.addOutput(max(taps, {2}));
      fusion.addOutput(sum(taps, {2}));
    };
  };
  for (const int64_t width : {int64_t{1}, int64_t{40}, int64_t{1000}}) {
    CAPTURE(width);
    check(windows(width), {{{{3, width + 8}}}}, "reduction");
  }
}
