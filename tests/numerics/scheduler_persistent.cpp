// The automatic schedulers of normalisations: each is one kernel where its row fits the chip.
#include <cmath>
#include <random>
#include <set>

#include "automatic.h"

using namespace nvfuser;
using automatic::check;
using automatic::Define;
using automatic::input;
using automatic::Input;
using automatic::output;
using automatic::Program;

namespace {

Define softmaxOver(int64_t axis, DataType dtype, bool logarithm = false) {
  return [=](Fusion& fusion) {
    TensorView* x = input(fusion, 2, dtype);
    output(fusion, logarithm ? log_softmax(x, axis) : softmax(x, axis), dtype);
  };
}

Define softmaxGradient(int64_t axis, DataType dtype, bool logarithm) {
  return [=](Fusion& fusion) {
    TensorView* dy = input(fusion, 2, dtype);
    TensorView* y = input(fusion, 2, dtype);
    output(fusion, logarithm ? log_softmax_backward(dy, y, axis) : softmax_backward(dy, y, axis),
           dtype);
  };
}

Val* eps() { return IrBuilder::create<Val>(1e-5); }

Define layerNorm(DataType dtype, bool affine) {
  return [=](Fusion& fusion) {
    TensorView* x = input(fusion, 2, dtype);
    TensorView* w = affine ? input(fusion, 1, dtype) : nullptr;
    TensorView* b = affine ? input(fusion, 1, dtype) : nullptr;
    auto result = layer_norm(x, 1, w, b, eps());
    output(fusion, result.output, dtype);
    fusion.addOutput(result.mean);
    fusion.addOutput(result.invstd);
  };
}

Define rmsNorm(DataType dtype) {
  return [=](Fusion& fusion) {
    TensorView* x = input(fusion, 2, dtype);
    TensorView* w = input(fusion, 1, dtype);
    auto result = rms_norm(x, 1, w, eps());
    output(fusion, result.output, dtype);
    fusion.addOutput(result.invstd);
  };
}

const std::vector<std::vector<int64_t>> kRows{{1, 1},    {16, 31},  {1, 768},  {5, 768}, {3, 4096},
                                              {2, 4098}, {1, 5121}, {33, 100}, {0, 8}};

std::vector<std::vector<Input>> rows(DataType dtype, int weights, int others = 0) {
  std::vector<std::vector<Input>> runs;
  for (const auto& sizes : kRows) {
    std::vector<Input> inputs{{sizes, dtype}};
    for (int i = 0; i < others; ++i) {
      inputs.push_back({sizes, dtype});
    }
    for (int i = 0; i < weights; ++i) {
      inputs.push_back({{sizes[1]}, dtype});
    }
    runs.push_back(inputs);
  }
  return runs;
}

const std::vector<DataType> kDtypes{DataType::Float, DataType::BFloat16, DataType::Half,
                                    DataType::Double};

}  // namespace

TEST_CASE("scheduler persistent: softmax of rows") {
  for (DataType dtype : kDtypes) {
    CAPTURE(dtype);
    check(softmaxOver(1, dtype), rows(dtype, 0), "inner persistent");
    check(softmaxOver(1, dtype, true), rows(dtype, 0), "inner persistent");
  }
}

TEST_CASE("scheduler persistent: gradients of softmax of rows") {
  for (DataType dtype : {DataType::Float, DataType::BFloat16}) {
    CAPTURE(dtype);
    check(softmaxGradient(1, dtype, false), rows(dtype, 0, 1), "inner persistent");
    check(softmaxGradient(1, dtype, true), rows(dtype, 0, 1), "inner persistent");
  }
}

TEST_CASE("scheduler persistent: layer norm and RMS norm") {
  for (DataType dtype : kDtypes) {
    CAPTURE(dtype);
    check(layerNorm(dtype, false), rows(dtype, 0), "inner persistent");
    check(layerNorm(dtype, true), rows(dtype, 2), "inner persistent");
    check(rmsNorm(dtype), rows(dtype, 1), "inner persistent");
  }
}

TEST_CASE("scheduler persistent: columns") {
  const std::vector<std::vector<int64_t>> sizes{{1, 1},   {31, 16},  {768, 5}, {100, 64},
                                                {16, 33}, {4098, 2}, {8, 512}, {8, 0}};
  for (DataType dtype : kDtypes) {
    CAPTURE(dtype);
    std::vector<std::vector<Input>> runs;
    std::vector<std::vector<Input>> pairs;
    for (const auto& one : sizes) {
      runs.push_back({{one, dtype}});
      pairs.push_back({{one, dtype}, {one, dtype}});
    }
    check(softmaxOver(0, dtype), runs);
    check(softmaxGradient(0, dtype, false), pairs);
  }
}

namespace {

Define batchNorm(DataType dtype, bool channels_last, bool per_sample) {
  return [=](Fusion& fusion) {
    TensorView* x = input(fusion, 4, dtype);
    TensorView* w = input(fusion, 1, DataType::Float);
    TensorView* b = input(fusion, 1, DataType::Float);
    auto norm = per_sample ? instance_norm : batch_norm;
    auto result =
        norm(x, w, b, nullptr, nullptr, true, IrBuilder::create<Val>(0.1), eps(), channels_last);
    output(fusion, result.output, dtype);
    fusion.addOutput(result.mean);
    fusion.addOutput(result.invstd);
  };
}

Define batchNormGradient(DataType dtype, bool channels_last, bool per_sample) {
  return [=](Fusion& fusion) {
    TensorView* x = input(fusion, 4, dtype);
    TensorView* dy = input(fusion, 4, dtype);
    TensorView* w = input(fusion, 1, DataType::Float);
    const int64_t rank = per_sample ? 2 : 1;
    TensorView* mean = input(fusion, rank, DataType::Float);
    TensorView* invstd = input(fusion, rank, DataType::Float);
    auto norm = per_sample ? instance_norm_backward : batch_norm_backward;
    // Instance norm's other gradients are summed over more axes: not one kernel.
    auto result = norm(x, dy, w, nullptr, nullptr, mean, invstd, true, eps(),
                       {true, !per_sample, !per_sample}, channels_last);
    output(fusion, result.grad_input, dtype);
    if (!per_sample) {
      fusion.addOutput(result.grad_weight);
      fusion.addOutput(result.grad_bias);
    }
  };
}

}  // namespace

TEST_CASE("scheduler persistent: batch and instance norm") {
  for (DataType dtype : {DataType::Float, DataType::BFloat16}) {
    CAPTURE(dtype);
    for (bool channels_last : {false, true}) {
      CAPTURE(channels_last);
      std::vector<std::vector<Input>> forward;
      for (const std::vector<int64_t>& sizes : std::vector<std::vector<int64_t>>{
               {2, 4, 8, 8}, {3, 5, 7, 3}, {1, 1, 1, 1}, {4, 16, 4, 16}, {8, 3, 16, 16}}) {
        const int64_t channels = channels_last ? sizes[3] : sizes[1];
        forward.push_back({{sizes, dtype}, {{channels}}, {{channels}}});
      }
      check(batchNorm(dtype, channels_last, false), forward);
      check(batchNorm(dtype, channels_last, true), forward);
      std::vector<std::vector<Input>> batch;
      std::vector<std::vector<Input>> instance;
      for (const auto& inputs : forward) {
        const Input& x = inputs[0];
        const int64_t channels = inputs[1].sizes[0];
        batch.push_back({x, x, {{channels}}, {{channels}}, {{channels}}});
        instance.push_back(
            {x, x, {{channels}}, {{x.sizes[0], channels}}, {{x.sizes[0], channels}}});
      }
      check(batchNormGradient(dtype, channels_last, false), batch);
      check(batchNormGradient(dtype, channels_last, true), instance);
    }
  }
}

TEST_CASE("scheduler persistent: one kernel serves many shapes") {
  constexpr uint64_t kSeed = 20;
  CAPTURE(kSeed);
  Program program(softmaxOver(1, DataType::BFloat16), emulatedDevice());
  Program wide(layerNorm(DataType::BFloat16, true), emulatedDevice());
  std::mt19937_64 random(kSeed);
  auto logUniform = [&](double most) {
    std::uniform_real_distribution<double> exponent(0, std::log(most));
    return static_cast<int64_t>(std::exp(exponent(random)));
  };
  for (int i = 0; i < 200; ++i) {
    const int64_t length = logUniform(32768.99);
    const int64_t count = logUniform(4096.99);
    for (Program* one : {&program, &wide}) {
      std::vector<Input> inputs{{{count, length}, DataType::BFloat16}};
      if (one == &wide) {
        inputs.push_back({{length}, DataType::BFloat16});
        inputs.push_back({{length}, DataType::BFloat16});
      }
      KernelArgumentHolder shapes;
      for (const Input& input : inputs) {
        shapes.push(Tensor::meta(
            input.sizes,
            input.sizes.size() == 2 ? std::vector<int64_t>{length, 1} : std::vector<int64_t>{1},
            input.dtype));
      }
      one->cache().prepare(shapes, {}, &emulatedDevice());
      CHECK(one->cache().numKernels() == 1);
    }
  }
  CHECK(program.cache().numKernelsMade() <= 24);
  CHECK(wide.cache().numKernelsMade() <= 24);
}

TEST_CASE("scheduler persistent: rows beyond the registers of a block") {
  const auto parameters = [](int64_t row, std::string_view wanted) {
    Program program(softmaxOver(1, DataType::Float), emulatedDevice());
    program.run({{{2, row}}});
    CHECK(program.kernels() == 1);
    const std::string report = program.cache().report();
    CAPTURE(report);
    CHECK(report.find(wanted) != std::string::npos);
  };
  parameters(40000, "cluster 8");            // in the registers of a cluster
  parameters(40001, "computed again from");  // odd: read again from memory
  check(softmaxOver(0, DataType::Float), {{{{20000, 2}}}}, "outer persistent");
}

TEST_CASE("scheduler persistent: a residual, dropout and a norm, and what comes with them") {
  auto define = [](Fusion& fusion) {
    TensorView* x = input(fusion, 2, DataType::BFloat16);
    TensorView* residual = input(fusion, 2, DataType::BFloat16);
    TensorView* w = input(fusion, 1, DataType::BFloat16);
    TensorView* sum = add(castOp(DataType::Float, x), castOp(DataType::Float, residual));
    output(fusion, sum, DataType::BFloat16);
    auto result = rms_norm(sum, 1, w, eps());
    output(fusion, result.output, DataType::BFloat16);
    fusion.addOutput(max(abs(result.output), {1}));  // as a quantisation needs
  };
  std::vector<std::vector<Input>> runs;
  for (const auto& sizes : kRows) {
    runs.push_back({{sizes, DataType::BFloat16},
                    {sizes, DataType::BFloat16},
                    {{sizes[1]}, DataType::BFloat16}});
  }
  check(define, runs, "inner persistent");
}

TEST_CASE("scheduler persistent: rows in other shapes behind a norm") {
  const auto normed = [](TensorView* x, const std::vector<int64_t>& axes) {
    const VarMeanResult moments = variance_mean(x, axes, 0, true);
    return mul(sub(x, moments.mean), rsqrt(add(moments.var, eps())));
  };
  const auto reshaped = [&](const std::vector<int64_t>& sizes, const std::vector<int64_t>& to,
                            const std::vector<int64_t>& axes, DataType dtype) {
    check(
        [&, dtype](Fusion& fusion) {
          TensorView* x = makeContigConcreteTensor(sizes, dtype);
          fusion.addInput(x);
          TensorView* y = reshape(normed(castOp(DataType::Float, x), axes), sizes, to);
          output(fusion, mul(y, IrBuilder::create<Val>(2.0)), dtype);
        },
        {{{sizes, dtype}}}, "inner persistent");
  };
  for (const DataType dtype : {DataType::Float, DataType::BFloat16}) {
    CAPTURE(dtype);
    reshaped({6, 96}, {2, 3, 96}, {1}, dtype);               // rows in two axes
    reshaped({6, 96}, {6, 4, 24}, {1}, dtype);               // a row in heads
    reshaped({6, 90}, {6, 2, 3, 15}, {1}, dtype);            // in three axes
    reshaped({2, 3, 96}, {6, 96}, {2}, dtype);               // rows as one axis
    reshaped({5, 33}, {165}, {1}, dtype);                    // all as one
    reshaped({2, 3, 4, 50}, {2, 12, 5, 10}, {2, 3}, dtype);  // groups of channels as channels
    reshaped({4, 70}, {10, 28}, {1}, dtype);                 // parts of several rows
  }
}

TEST_CASE("scheduler persistent: a norm by groups, with weights and what follows it") {
  // [images, channels, height, width], channels in groups; weights of channels behind the norm.
  const auto define = [](DataType dtype, const std::vector<int64_t>& sizes, int64_t groups) {
    return [=](Fusion& fusion) {
      TensorView* x = makeContigConcreteTensor(sizes, dtype);
      fusion.addInput(x);
      TensorView* w = input(fusion, 1, dtype);
      TensorView* b = input(fusion, 1, dtype);
      const std::vector<int64_t> grouped{sizes[0], groups, sizes[1] / groups, sizes[2] * sizes[3]};
      TensorView* parts = reshape(castOp(DataType::Float, x), sizes, grouped);
      const VarMeanResult moments = variance_mean(parts, {2, 3}, 0, true);
      TensorView* y = mul(sub(parts, moments.mean), rsqrt(add(moments.var, eps())));
      const std::vector<bool> channels{true, false, true, true};
      y = add(mul(reshape(y, grouped, sizes), broadcast(w, channels)), broadcast(b, channels));
      output(fusion, mul(y, sigmoid(y)), dtype);
    };
  };
  for (const DataType dtype : {DataType::Float, DataType::BFloat16}) {
    CAPTURE(dtype);
    for (const std::vector<int64_t>& sizes :
         std::vector<std::vector<int64_t>>{{2, 12, 5, 6}, {1, 8, 16, 16}, {3, 6, 7, 9}}) {
      check(define(dtype, sizes, 2), {{{sizes, dtype}, {{sizes[1]}, dtype}, {{sizes[1]}, dtype}}},
            "inner persistent");
    }
  }
}
