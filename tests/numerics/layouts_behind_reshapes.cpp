// Kernels go through their inputs as these lie in memory, also where a reshape lies between an
// input and what the loops are over.
#include "automatic.h"
#include <ir/internal_nodes.h>

using namespace nvfuser;
using namespace nvfuser::automatic;

namespace {

Val* real(double value) { return IrBuilder::create<Val>(value); }

TensorView* channelsLast(Fusion& fusion, DataType dtype) {
  TensorView* tv = makeContigTensor(4, dtype);
  const auto& axes = tv->getLogicalDomain();
  tv->setAllocationDomain({axes[0], axes[2], axes[3], axes[1]}, true);
  fusion.addInput(tv);
  return tv;
}

Input images(int64_t n, int64_t c, int64_t h, int64_t w, DataType dtype) {
  return {{n, c, h, w}, dtype, {c * h * w, 1, w * c, c}};
}

/// Of the last call: what schedulers decided, and the kernels' text.
void checkOnCuda(const Define& define, const std::vector<Input>& inputs, std::string_view decided) {
  for (Device* device : testDevices()) {
    if (device->kind() == DeviceKind::Cpu) {
      continue;
    }
    Program program(define, *device);
    program.run(inputs);
    const std::string report = program.cache().report();
    CAPTURE(report);
    CHECK(report.find(decided) != std::string::npos);
  }
}

}  // namespace

TEST_CASE("layouts behind reshapes: sums over pixels whose channels lie innermost") {
  // The gradient of an activation between a convolution and a product of matrices, with its bias'.
  const auto define = [](Fusion& fusion) {
    TensorView* x = wide(channelsLast(fusion, DataType::BFloat16));
    TensorView* grad = wide(input(fusion, 3, DataType::BFloat16));
    TensorView* pixels = permute(flatten(x, 2, 3), {0, 2, 1});
    TensorView* result = mul(grad, tanh(pixels));
    output(fusion, result, DataType::BFloat16);
    output(fusion, sum(permute(result, {0, 2, 1}), {0, 2}), DataType::BFloat16);
  };
  const auto of = [](int64_t n, int64_t c, int64_t h, int64_t w) {
    return std::vector<Input>{images(n, c, h, w, DataType::BFloat16),
                              {{n, h * w, c}, DataType::BFloat16}};
  };
  check(define, {of(4, 64, 14, 14), of(2, 24, 7, 9), of(1, 3, 5, 5)}, "reduction");
  checkOnCuda(define, of(4, 64, 14, 14), "scheduler reduction: outer");
}

TEST_CASE("layouts behind reshapes: norms of images whose channels lie innermost") {
  const auto define = [](Fusion& fusion) {
    TensorView* x = wide(channelsLast(fusion, DataType::BFloat16));
    TensorView* rows = layer_norm(flatten(x, 1, 3), 1, nullptr, nullptr, real(1e-5)).output;
    output(fusion, rows, DataType::BFloat16);
  };
  check(define,
        {{images(4, 64, 6, 5, DataType::BFloat16)}, {images(2, 24, 7, 9, DataType::BFloat16)}});
}

TEST_CASE("layouts behind reshapes: joins of heads, with the sums of their columns") {
  // Gradients of queries, keys and values, as one, and the gradient of their bias.
  const auto define = [](Fusion& fusion) {
    std::vector<TensorView*> parts;
    for (int i = 0; i < 3; ++i) {
      TensorView* tv = makeContigConcreteTensor({4, 2, 37, 16}, DataType::BFloat16);
      const auto& axes = tv->getLogicalDomain();
      tv->setAllocationDomain({axes[0], axes[2], axes[1], axes[3]}, true);
      fusion.addInput(tv);
      parts.push_back(broadcast(tv, {true, false, false, false, false}));
    }
    TensorView* joined = permute(cat(parts, 0), {1, 3, 0, 2, 4});
    fusion.addOutput(set(joined));
    TensorView* rows = flatten(flatten(joined, 2, 4), 0, 1);
    output(fusion, sum(wide(rows), {0}), DataType::BFloat16);
  };
  const Input heads{{4, 2, 37, 16}, DataType::BFloat16, {37 * 32, 16, 32, 1}};
  check(define, {{heads, heads, heads}}, "reduction");
  checkOnCuda(define, {heads, heads, heads}, "inputs by [8, 8, 8], outputs by [8, 8]");
}

TEST_CASE("layouts behind reshapes: vectors end where any axis on the way ends") {
  // Columns of the sum are rows of six, cut from input rows of 24: both are multiples of four.
  const auto define = [](Fusion& fusion) {
    TensorView* x = makeContigConcreteTensor({8, 24});
    fusion.addInput(x);
    const auto at = [](int64_t i) { return IrBuilder::create<Val>(i); };
    TensorView* parts = permute(reshape(x, {at(8), at(4), at(6)}), {1, 0, 2});
    fusion.addOutput(sum(exp(flatten(parts, 1, 2)), {0}));
  };
  check(define, {{{{8, 24}}}}, "reduction");
}

TEST_CASE("layouts behind reshapes: parts of channels that lie innermost") {
  const auto define = [](Fusion& fusion) {
    TensorView* x = channelsLast(fusion, DataType::BFloat16);
    const auto at = [](int64_t i) { return IrBuilder::create<Val>(i); };
    TensorView* part = slice(exp(wide(x)), {{}, {at(8), at(24)}, {}, {}}, true);
    TensorView* out = castOp(DataType::BFloat16, part);
    const auto& axes = out->getLogicalDomain();
    out->setAllocationDomain({axes[0], axes[2], axes[3], axes[1]}, true);
    fusion.addOutput(out);
  };
  check(define,
        {{images(3, 40, 6, 7, DataType::BFloat16)}, {images(1, 24, 1, 5, DataType::BFloat16)}},
        "pointwise");
  checkOnCuda(define, {images(3, 40, 6, 7, DataType::BFloat16)}, "order [0, 2, 3, 1]");
}

TEST_CASE("layouts behind reshapes: what lies between two kernels") {
  // The sums are those of another kernel, which stores what it squares as the input lies.
  const auto define = [](Fusion& fusion) {
    TensorView* x = wide(channelsLast(fusion, DataType::Float));
    TensorView* y = mul(x, x);
    TensorView* sums = sum(y, {0, 2, 3});
    fusion.addOutput(sums);
    fusion.addOutput(
        sum(exp(flatten(sub(y, broadcast(sums, {true, false, true, true})), 2, 3)), {2}));
  };
  check(define, {{images(3, 40, 6, 7, DataType::Float)}, {images(2, 7, 1, 5, DataType::Float)}}, "",
        0);
}

TEST_CASE("layouts behind reshapes: a normalised tensor meets a turned one in merged axes") {
  // Vectors of the merged axis go beyond the end of one that it was merged of, where they wrap
  // around to another element than is there: in turns that are left out.
  const auto shuffled = [](const std::vector<int64_t>& sizes, const std::vector<int64_t>& axes,
                           bool flips) {
    return [=](Fusion& fusion) {
      const int64_t b = sizes[0], g = sizes[1], k = sizes[2], l = sizes[3];
      const std::vector<int64_t> merged{b, g * k, l};
      TensorView* x = makeContigConcreteTensor({b, g, k, l});
      TensorView* y =
          flips ? makeContigConcreteTensor({b, g, k, l}) : makeContigConcreteTensor({b, k, g, l});
      fusion.addInput(x);
      fusion.addInput(y);
      TensorView* centred = sub(x, max(x, axes, true));
      TensorView* turned = flips ? flip(y, {1}) : transpose(y, 1, 2);
      TensorView* a = reshape(centred, {b, g, k, l}, merged);
      TensorView* c = reshape(turned, {b, g, k, l}, merged);
      fusion.addOutput(add(mul(a, c), c));
    };
  };
  const std::vector<std::vector<int64_t>> all{{2, 2, 13, 12}, {2, 3, 9, 33}, {3, 7, 9, 3},
                                              {2, 4, 4, 7},   {3, 3, 3, 25}, {1, 5, 9, 12}};
  for (const std::vector<int64_t>& sizes : all) {
    for (const std::vector<int64_t>& axes : {std::vector<int64_t>{1}, {2}, {1, 2}, {2, 3}}) {
      for (const bool flips : {false, true}) {
        const int64_t b = sizes[0], g = sizes[1], k = sizes[2], l = sizes[3];
        for (Device* device : testDevices()) {
          CAPTURE(device->properties().name);
          Program program(shuffled(sizes, axes, flips), *device);
          program.run(
              {{{b, g, k, l}},
               {flips ? std::vector<int64_t>{b, g, k, l} : std::vector<int64_t>{b, k, g, l}}});
        }
      }
    }
  }
}
