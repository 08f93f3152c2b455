// Whole programs cut by the real schedulers: results against the reference, and how many kernels
// each family takes at most.
#include <doctest/doctest.h>

#include <functional>
#include <random>

#include "current_fusion.h"
#include "devices.h"
#include <fusion.h>
#include <ir/builder.h>
#include <ops/all_ops.h>
#include <runtime/fusion_executor_cache.h>
#include <runtime/validation.h>

using namespace nvfuser;

namespace {

Val* number(double value) { return IrBuilder::create<Val>(value); }

struct Family {
  std::string name;
  size_t most_kernels;
  std::vector<std::vector<int64_t>> sizes;
  std::function<void()> define;
  DataType dtype = DataType::Float;
};

void check(const Family& family) {
  CAPTURE(family.name);
  for (Device* device : testDevices()) {
    CAPTURE(device->properties().name);
    auto fusion = std::make_unique<Fusion>();
    {
      FusionGuard guard(fusion.get());
      family.define();
    }
    FusionExecutorCache cache(std::move(fusion));
    KernelArgumentHolder arguments;
    uint64_t seed = 1;
    for (const std::vector<int64_t>& one : family.sizes) {
      arguments.push(Tensor::randn(one, family.dtype, seed++, *device));
    }
    const KernelArgumentHolder results = cache.runFusionWithInputs(arguments);
    CAPTURE(cache.report());
    testValidate(cache.fusion(), results, arguments, __LINE__, __FILE__, family.name);
    CHECK(cache.numKernels() <= family.most_kernels);
    CHECK(cache.report().find("interpreted") == std::string::npos);
  }
}

TEST_CASE("families run in few kernels") {
  const Family families[] = {
      {"softmax", 3, {{37, 61}}, [] { output(softmax(input({-1, -1}), 1)); }},
      {"softmax in bf16",
       3,
       {{37, 61}},
       [] {
         TensorView* x = castOp(DataType::Float, input({-1, -1}, DataType::BFloat16));
         output(castOp(DataType::BFloat16, softmax(x, 1)));
       },
       DataType::BFloat16},
      {"layer norm, then gelu",
       5,
       {{19, 83}, {83}, {83}},
       [] {
         TensorView* x = input({-1, -1});
         TensorView* weight = input({-1});
         TensorView* bias = input({-1});
         output(gelu(layer_norm(x, 1, weight, bias, number(1e-5)).output));
       }},
      {"two reductions of one input",
       2,
       {{23, 45}},
       [] {
         TensorView* x = input({-1, -1});
         output(sum(x, {1}));
         output(max(x, {1}));
       }},
      {"over rows and over columns",
       2,
       {{23, 45}},
       [] {
         TensorView* x = input({-1, -1});
         TensorView* y = mul(x, x);
         output(sum(y, {1}));
         output(sum(y, {0}));
       }},
      {"element-wise with several outputs",
       1,
       {{7, 130}, {130}},
       [] {
         TensorView* x = input({-1, -1});
         TensorView* b = broadcast(input({-1}), {true, false});
         TensorView* y = add(x, b);
         output(sin(y));
         output(mul(y, x));
       }},
      {"outputs of two shapes",
       2,
       {{7, 130}, {130}},
       [] {
         TensorView* x = input({-1, -1});
         TensorView* v = mul(input({-1}), number(3.0));
         output(v);
         output(add(x, broadcast(v, {true, false})));
       }},
      {"rotary embedding",
       1,
       {{9, 32}, {9, 32}, {9, 32}},
       [] {
         TensorView* x = input({9, 32});
         TensorView* cosines = input({9, 32});
         TensorView* sines = input({9, 32});
         TensorView* left = slice(x, {0, 0}, {9, 16});
         TensorView* right = slice(x, {0, 16}, {9, 32});
         TensorView* turned = cat({neg(right), left}, 1);
         output(add(mul(x, cosines), mul(turned, sines)));
       }},
      {"reshape between element-wise operations",
       2,
       {{12, 10}},
       [] {
         TensorView* x = sin(input({12, 10}));
         output(cos(reshape(x, {12, 10}, {12, 2, 5})));
       }},
      {"a tensor and its transpose",
       2,
       {{31, 31}},
       [] {
         TensorView* x = sin(input({31, 31}));
         output(add(x, transpose(x, 0, 1)));
       }},
      {"a sum, transposed",
       1,
       {{40, 70}, {40, 70}},
       [] { output(transpose(add(input({-1, -1}), input({-1, -1})), 0, 1)); }},
      {"gradients of RMS norm",
       2,  // one on a GPU
       {{30, 70}, {30, 70}, {30, 1}, {70}},
       [] {
         TensorView* dy = input({-1, -1});
         TensorView* x = input({-1, -1});
         TensorView* rstd = input({-1, 1});
         TensorView* weight = input({-1});
         auto result =
             rms_norm_backward(dy, x, std::vector<int64_t>{-1}, rstd, weight, {true, true});
         output(result.grad_input);
         output(result.grad_weight);
       }},
      {"mean, then variance, then both",
       4,
       {{16, 50}},
       [] {
         TensorView* x = input({-1, -1});
         VarMeanResult r = variance_mean(x, {1}, 0, true);
         output(div(sub(x, r.mean), sqrt(add(r.var, number(1e-5)))));
       }},
      {"sum of sums", 2, {{6, 7, 8}}, [] { output(sum(sum(input({-1, -1, -1}), {2}), {0})); }},
      {"empty rows", 3, {{0, 61}}, [] { output(softmax(input({-1, -1}), 1)); }},
      {"a scalar result",
       2,
       {{33, 3}},
       [] {
         TensorView* x = input({-1, -1});
         output(sqrt(sum(mul(x, x), {0, 1})));
       }},
  };
  for (const Family& family : families) {
    check(family);
  }
}

/// A program of `length` operations, drawn from `seed`: element-wise, reductions with their
/// broadcasts, transposes, casts.
void drawProgram(uint64_t seed, int length) {
  std::mt19937_64 random(seed);
  auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  std::vector<TensorView*> known{input({-1, -1}), input({-1, -1})};
  for (int i = 0; i < length; ++i) {
    TensorView* x = known[below(known.size())];
    TensorView* y = known[below(known.size())];
    TensorView* next = nullptr;
    switch (below(9)) {
      case 0:
        next = add(x, y);
        break;
      case 1:
        next = mul(sin(x), y);
        break;
      case 2:
        next = sub(x, broadcast(mean(x, {1}, false), {false, true}));
        break;
      case 3:
        next = add(x, broadcast(max(y, {0}), {true, false}));
        break;
      case 4:
        next = transpose(x, 0, 1);
        break;
      case 5:
        next = castOp(DataType::Float, castOp(DataType::BFloat16, x));
        break;
      case 6:
        next = where(gt(x, number(0.5)), x, y);
        break;
      case 7:
        next = tanh(x);
        break;
      default:
        next = add(broadcast(mean(x, {1}, false), {false, true}), y);
        break;
    }
    known.push_back(next);
    if (below(6) == 0) {
      output(next);
    }
  }
  output(known.back());
}

// Scores of each row and of each column at the diagonal, and what a gradient is made of: the scores
// turned, what is computed of them turned back, and beside it what was not.
TEST_CASE("a loss of rows and of columns stores none of the scores") {
  check({"scores of rows and of columns", 4, {{37, 37}}, [] {
           TensorView* scores = div(input({-1, -1}), number(0.07));
           TensorView* turned = permute(scores, {1, 0});
           TensorView* places = broadcast(iota(IrBuilder::create<Val>(int64_t{37})), {false, true});
           for (TensorView* of : {scores, turned}) {
             TensorView* shifted = sub(of, broadcast(max(of, {1}), {false, true}));
             TensorView* sums = log(sum(exp(shifted), {1}));
             TensorView* found = squeeze(takeAlongAxis(shifted, places, 1), {1});
             output(sum(sub(sums, found), {0}));
           }
         }});
  check({"their gradient", 2, {{37, 37}, {37, 1}, {1, 37}}, [] {
           TensorView* scores = input({-1, -1});
           TensorView* of_rows = input({-1, 1});
           TensorView* of_columns = input({1, -1});
           TensorView* turned = permute(scores, {1, 0});
           TensorView* back = permute(exp(sub(turned, permute(of_columns, {1, 0}))), {1, 0});
           output(add(back, exp(sub(scores, of_rows))));
         }});
}

TEST_CASE("mixed programs give the reference's results however they are cut") {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    check({text("seed ", seed), 64, {{13, 13}, {13, 13}}, [&] { drawProgram(seed, 16); }});
  }
}

}  // namespace
