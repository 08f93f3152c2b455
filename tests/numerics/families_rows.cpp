// Families that reduce: sums, normalisations, softmax, losses.
#include "families.h"

namespace nvfuser::families {

namespace {

using Inputs = std::vector<Input>;

Val* eps() { return number(1e-5); }

auto matrices(size_t count) {
  return [=](int64_t batch, int64_t hidden, DataType dtype) {
    return Inputs(count, Input{{batch, hidden}, dtype});
  };
}

/// `count` matrices, then one value a row (Float) `statistics` times, then `weights` rows.
auto ofNorm(size_t count, size_t statistics, size_t weights) {
  return [=](int64_t batch, int64_t hidden, DataType dtype) {
    Inputs inputs(count, Input{{batch, hidden}, dtype});
    inputs.resize(count + statistics, Input{{batch, 1}, DataType::Float});
    inputs.resize(count + statistics + weights, Input{{hidden}, dtype});
    return inputs;
  };
}

TensorView* ofRows(Fusion& fusion) {
  TensorView* tv = makeContigConcreteTensor({-1, 1}, DataType::Float);
  fusion.addInput(tv);
  return tv;
}

void sumOver(Fusion& fusion, DataType dtype, const std::vector<int64_t>& axes) {
  output(fusion, sum(wide(fusion, 2, dtype), axes), dtype);
}

void softmaxOver(Fusion& fusion, DataType dtype, int64_t axis) {
  output(fusion, softmax(wide(fusion, 2, dtype), axis), dtype);
}

void softmaxGradient(Fusion& fusion, DataType dtype, int64_t axis) {
  TensorView* dy = wide(fusion, 2, dtype);
  output(fusion, softmax_backward(dy, wide(fusion, 2, dtype), axis), dtype);
}

void layerNorm(Fusion& fusion, DataType dtype) {
  TensorView* x = given(fusion, 2, dtype);
  TensorView* w = given(fusion, 1, dtype);
  TensorView* b = given(fusion, 1, dtype);
  const auto result = layer_norm(x, 1, w, b, eps());
  output(fusion, result.output, dtype);
  fusion.addOutput(result.mean);
  fusion.addOutput(result.invstd);
}

void layerNormGradients(Fusion& fusion, DataType dtype) {
  TensorView* dy = given(fusion, 2, dtype);
  TensorView* x = given(fusion, 2, dtype);
  TensorView* mean = ofRows(fusion);
  TensorView* rstd = ofRows(fusion);
  TensorView* w = given(fusion, 1, dtype);
  TensorView* b = given(fusion, 1, dtype);
  const auto result =
      layer_norm_backward(dy, x, std::vector<int64_t>{-1}, mean, rstd, w, b, {true, true, true});
  output(fusion, result.grad_input, dtype);
  output(fusion, result.grad_weight, dtype);
  output(fusion, result.grad_bias, dtype);
}

void rmsNorm(Fusion& fusion, DataType dtype) {
  TensorView* x = given(fusion, 2, dtype);
  const auto result = rms_norm(x, 1, given(fusion, 1, dtype), eps());
  output(fusion, result.output, dtype);
  fusion.addOutput(result.invstd);
}

void rmsNormGradients(Fusion& fusion, DataType dtype) {
  TensorView* dy = given(fusion, 2, dtype);
  TensorView* x = given(fusion, 2, dtype);
  TensorView* rstd = ofRows(fusion);
  TensorView* w = given(fusion, 1, dtype);
  const auto result = rms_norm_backward(dy, x, std::vector<int64_t>{-1}, rstd, w, {true, true});
  output(fusion, result.grad_input, dtype);
  output(fusion, result.grad_weight, dtype);
}

void residualRmsNorm(Fusion& fusion, DataType dtype) {
  TensorView* x = wide(fusion, 2, dtype);
  TensorView* total = add(x, wide(fusion, 2, dtype));
  output(fusion, total, dtype);
  output(fusion, rms_norm(total, 1, given(fusion, 1, dtype), eps()).output, dtype);
}

/// x + dropout(y), normalised; the sum and the mask are kept for the gradients.
void dropoutNorm(Fusion& fusion, DataType dtype, bool rms) {
  TensorView* x = wide(fusion, 2, dtype);
  const ForwardDropoutResult dropped = dropout(wide(fusion, 2, dtype), number(0.2));
  TensorView* total = add(x, dropped.output);
  TensorView* w = given(fusion, 1, dtype);
  output(fusion, total, dtype);
  fusion.addOutput(dropped.mask);
  if (rms) {
    output(fusion, rms_norm(total, 1, w, eps()).output, dtype);
  } else {
    output(fusion, layer_norm(total, 1, w, given(fusion, 1, dtype), eps()).output, dtype);
  }
}

void dropoutLayerNormGradient(Fusion& fusion, DataType dtype) {
  TensorView* dy = given(fusion, 2, dtype);
  TensorView* total = given(fusion, 2, dtype);
  TensorView* mean = ofRows(fusion);
  TensorView* rstd = ofRows(fusion);
  TensorView* w = given(fusion, 1, dtype);
  TensorView* b = given(fusion, 1, dtype);
  TensorView* kept = given(fusion, 2, DataType::Bool);
  const auto result = layer_norm_backward(dy, total, std::vector<int64_t>{-1}, mean, rstd, w, b,
                                          {true, false, false});
  output(fusion, result.grad_input, dtype);
  output(fusion, dropout_backward(castOp(DataType::Float, result.grad_input), kept, number(1.25)),
         dtype);
}

/// [N, C, L] with few channels, or [N, L, C].
constexpr int64_t kChannels = 3;

Inputs ofChannels(int64_t batch, int64_t hidden, DataType dtype, bool last) {
  const int64_t inner = std::max<int64_t>(hidden / kChannels, 1);
  return {{last ? std::vector<int64_t>{batch, inner, kChannels}
                : std::vector<int64_t>{batch, kChannels, inner},
           dtype},
          {{kChannels}, DataType::Float},
          {{kChannels}, DataType::Float}};
}

void channelNorm(Fusion& fusion, DataType dtype, bool last, bool per_sample) {
  TensorView* x = given(fusion, 3, dtype);
  TensorView* w = given(fusion, 1, DataType::Float);
  TensorView* b = given(fusion, 1, DataType::Float);
  const auto norm = per_sample ? instance_norm : batch_norm;
  const auto result = norm(x, w, b, nullptr, nullptr, true, number(0.1), eps(), last);
  output(fusion, result.output, dtype);
  fusion.addOutput(result.mean);
  fusion.addOutput(result.invstd);
}

/// Groups of two channels, each with its statistics.
void groupNorm(Fusion& fusion, DataType dtype, bool last) {
  TensorView* x = wide(fusion, 4, dtype);  // [N, G, 2, L] or [N, L, G, 2]
  TensorView* w = wide(fusion, 2, dtype);
  TensorView* b = wide(fusion, 2, dtype);
  const std::vector<int64_t> axes = last ? std::vector<int64_t>{1, 3} : std::vector<int64_t>{2, 3};
  const std::vector<bool> flags = last ? std::vector<bool>{true, true, false, false}
                                       : std::vector<bool>{true, false, false, true};
  const VarMeanResult moments{variance(x, axes, false, true), mean(x, axes, true)};
  TensorView* normed = mul(sub(x, moments.mean), rsqrt(add(moments.var, eps())));
  output(fusion, add(mul(normed, broadcast(w, flags)), broadcast(b, flags)), dtype);
}

Inputs ofGroups(int64_t batch, int64_t hidden, DataType dtype, bool last) {
  const int64_t inner = std::max<int64_t>(hidden / 6, 1);
  return {
      {last ? std::vector<int64_t>{batch, inner, 3, 2} : std::vector<int64_t>{batch, 3, 2, inner},
       dtype},
      {{3, 2}, dtype},
      {{3, 2}, dtype}};
}

/// softmax(scale·x + mask), then dropout.
void attentionSoftmax(Fusion& fusion, DataType dtype) {
  TensorView* scores = wide(fusion, 3, dtype);  // [heads, queries, keys]
  TensorView* mask = given(fusion, 2, DataType::Bool);
  TensorView* seen = where(behind(mask, 1), mul(scores, number(0.125)), number(-1e30));
  const ForwardDropoutResult dropped = dropout(softmax(seen, 2), number(0.1));
  output(fusion, dropped.output, dtype);
  fusion.addOutput(dropped.mask);
}

TensorView* labelsOf(Fusion& fusion) { return given(fusion, 1, DataType::Int); }

/// −log softmax(x)[label] of each row, averaged.
void crossEntropy(Fusion& fusion, DataType dtype) {
  TensorView* x = wide(fusion, 2, dtype);
  TensorView* label = broadcast(labelsOf(fusion), {false, true});
  TensorView* top = max(x, {1});
  TensorView* total = sum(exp(sub(x, broadcast(top, {false, true}))), {1});
  TensorView* picked = squeeze(takeAlongAxis(x, label, 1), {1});
  TensorView* loss = sub(add(log(total), top), picked);
  fusion.addOutput(loss);
  fusion.addOutput(add(log(total), top));
}

/// (softmax(x) − 1 at the label)·dloss of each row, from the saved log of the sum.
void crossEntropyGradient(Fusion& fusion, DataType dtype) {
  TensorView* x = wide(fusion, 2, dtype);
  TensorView* label = broadcast(labelsOf(fusion), {false, true});
  TensorView* log_total = broadcast(given(fusion, 1, DataType::Float), {false, true});
  TensorView* dloss = broadcast(given(fusion, 1, DataType::Float), {false, true});
  TensorView* place =
      behind(iota(x->getLogicalDomain()[1]->extent(), whole(0), whole(1), DataType::Int), 1);
  TensorView* hit = where(eq(place, label), number(1.0), number(0.0));
  output(fusion, mul(sub(exp(sub(x, log_total)), hit), dloss), dtype);
}

}  // namespace

std::vector<Family> rows() {
  using enum PrimDataType;
  return {
      {"sum of rows", 1, 1, [](Fusion& f, DataType t) { sumOver(f, t, {1}); }, matrices(1)},
      {"sum of columns", 1, 1, [](Fusion& f, DataType t) { sumOver(f, t, {0}); }, matrices(1)},
      {"sum of all", 1, 1, [](Fusion& f, DataType t) { sumOver(f, t, {0, 1}); }, matrices(1)},
      {"sum of rows with an end", 1, 1,
       [](Fusion& f, DataType t) {
         TensorView* x = wide(f, 2, t);
         output(f, tanh(add(sum(mul(x, x), {1}), wide(f, 1, t))), t);
       },
       [](int64_t batch, int64_t hidden, DataType t) {
         return Inputs{{{batch, hidden}, t}, {{batch}, t}};
       }},
      {"softmax of rows", 1, 1, [](Fusion& f, DataType t) { softmaxOver(f, t, 1); }, matrices(1)},
      {"softmax of rows, gradient", 1, 1, [](Fusion& f, DataType t) { softmaxGradient(f, t, 1); },
       matrices(2)},
      {"softmax of columns", 1, 1, [](Fusion& f, DataType t) { softmaxOver(f, t, 0); },
       matrices(1)},
      {"softmax of columns, gradient", 1, 1,
       [](Fusion& f, DataType t) { softmaxGradient(f, t, 0); }, matrices(2)},
      {"log softmax of rows", 1, 1,
       [](Fusion& f, DataType t) { output(f, log_softmax(wide(f, 2, t), 1), t); }, matrices(1)},
      {"layer norm", 1, 1, layerNorm, ofNorm(1, 0, 2)},
      {"layer norm, gradients", 2, 1, layerNormGradients, ofNorm(2, 2, 2)},
      {"RMS norm", 1, 1, rmsNorm, ofNorm(1, 0, 1)},
      {"RMS norm, gradients", 2, 1, rmsNormGradients, ofNorm(2, 1, 1)},
      {"residual and RMS norm", 1, 1, residualRmsNorm, ofNorm(2, 0, 1)},
      {"dropout and layer norm", 1, 1, [](Fusion& f, DataType t) { dropoutNorm(f, t, false); },
       ofNorm(2, 0, 2)},
      {"dropout and RMS norm", 1, 1, [](Fusion& f, DataType t) { dropoutNorm(f, t, true); },
       ofNorm(2, 0, 1)},
      {"dropout and layer norm, gradient", 1, 1, dropoutLayerNormGradient,
       [](int64_t batch, int64_t hidden, DataType t) {
         Inputs inputs = ofNorm(2, 2, 2)(batch, hidden, t);
         inputs.push_back({{batch, hidden}, DataType::Bool});
         return inputs;
       }},
      {"batch norm, channels first", 1, 1,
       [](Fusion& f, DataType t) { channelNorm(f, t, false, false); },
       [](int64_t b, int64_t h, DataType t) { return ofChannels(b, h, t, false); }},
      {"batch norm, channels last", 1, 1,
       [](Fusion& f, DataType t) { channelNorm(f, t, true, false); },
       [](int64_t b, int64_t h, DataType t) { return ofChannels(b, h, t, true); }},
      {"instance norm, channels first", 1, 1,
       [](Fusion& f, DataType t) { channelNorm(f, t, false, true); },
       [](int64_t b, int64_t h, DataType t) { return ofChannels(b, h, t, false); }},
      {"instance norm, channels last", 1, 1,
       [](Fusion& f, DataType t) { channelNorm(f, t, true, true); },
       [](int64_t b, int64_t h, DataType t) { return ofChannels(b, h, t, true); }},
      {"group norm, channels first", 1, 1, [](Fusion& f, DataType t) { groupNorm(f, t, false); },
       [](int64_t b, int64_t h, DataType t) { return ofGroups(b, h, t, false); }},
      {"group norm, channels last", 1, 1, [](Fusion& f, DataType t) { groupNorm(f, t, true); },
       [](int64_t b, int64_t h, DataType t) { return ofGroups(b, h, t, true); }},
      {"attention softmax", 1, 1, attentionSoftmax,
       [](int64_t batch, int64_t hidden, DataType t) {
         const int64_t heads = batch % 2 == 0 ? 2 : 1;
         return Inputs{{{heads, batch / heads, hidden}, t}, {{batch / heads, hidden}, Bool}};
       }},
      {"cross entropy", 1, 1, crossEntropy,
       [](int64_t batch, int64_t hidden, DataType t) {
         return Inputs{{{batch, hidden}, t}, {{batch}, Int}};
       }},
      {"cross entropy, gradient", 1, 1, crossEntropyGradient,
       [](int64_t batch, int64_t hidden, DataType t) {
         return Inputs{{{batch, hidden}, t}, {{batch}, Int}, {{batch}, Float}, {{batch}, Float}};
       }},
  };
}

}  // namespace nvfuser::families
