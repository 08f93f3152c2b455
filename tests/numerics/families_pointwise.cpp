// Families that compute each element by itself.
#include "families.h"

namespace nvfuser::families {

namespace {

using Inputs = std::vector<Input>;

/// `full` tensors of all elements, then `rows` of one row each.
auto fullAndRows(size_t full, size_t rows) {
  return [=](int64_t batch, int64_t hidden, DataType dtype) {
    Inputs inputs(full, Input{{batch, hidden}, dtype});
    inputs.resize(full + rows, Input{{hidden}, dtype});
    return inputs;
  };
}

/// d silu(x)/dx = s·(1 + x·(1 − s)) with s = sigmoid(x).
TensorView* siluSlope(TensorView* x) {
  TensorView* s = sigmoid(x);
  return mul(s, add(number(1.0), mul(x, sub(number(1.0), s))));
}

void scaleBiasRelu(Fusion& fusion, DataType dtype) {
  TensorView* x = wide(fusion, 2, dtype);
  TensorView* scale = behind(wide(fusion, 1, dtype), 1);
  TensorView* bias = behind(wide(fusion, 1, dtype), 1);
  output(fusion, relu(add(mul(x, scale), bias)), dtype);
}

void scaleBiasReluGradient(Fusion& fusion, DataType dtype) {
  TensorView* dy = wide(fusion, 2, dtype);
  TensorView* x = wide(fusion, 2, dtype);
  TensorView* scale = behind(wide(fusion, 1, dtype), 1);
  TensorView* bias = behind(wide(fusion, 1, dtype), 1);
  TensorView* passes = gt(add(mul(x, scale), bias), number(0.0));
  output(fusion, mul(where(passes, dy, number(0.0)), scale), dtype);
}

void geluGradient(Fusion& fusion, DataType dtype, bool of_bias) {
  TensorView* dy = wide(fusion, 2, dtype);
  TensorView* x = wide(fusion, 2, dtype);
  TensorView* bias = wide(fusion, 1, dtype);
  TensorView* dx = tanh_gelu_backward(dy, add(x, behind(bias, 1)));
  output(fusion, dx, dtype);
  if (of_bias) {
    output(fusion, sum(dx, {0}), dtype);
  }
}

void activations(Fusion& fusion, DataType dtype) {
  TensorView* x = wide(fusion, 2, dtype);
  TensorView* dy = wide(fusion, 2, dtype);
  for (TensorView* y : {gelu(x), gelu_backward(dy, x), leaky_relu(x, number(0.1)),
                        softplus(x, number(1.0), number(20.0)), tanh_backward(dy, tanh(x))}) {
    output(fusion, y, dtype);
  }
}

void lstmStep(Fusion& fusion, DataType dtype) {
  std::vector<TensorView*> x;
  for (int i = 0; i < 5; ++i) {
    x.push_back(wide(fusion, 2, dtype));
  }
  const LstmResult result = lstm(x[0], x[1], x[2], x[3], x[4]);
  output(fusion, result.cell, dtype);
  output(fusion, result.hidden, dtype);
}

}  // namespace

std::vector<Family> pointwise() {
  return {
      {"multiply", 1, 1,
       [](Fusion& fusion, DataType dtype) {
         TensorView* x = wide(fusion, 2, dtype);
         output(fusion, mul(x, wide(fusion, 2, dtype)), dtype);
       },
       fullAndRows(2, 0)},
      {"bias and tanh gelu", 1, 1,
       [](Fusion& fusion, DataType dtype) {
         TensorView* x = wide(fusion, 2, dtype);
         output(fusion, tanh_gelu(add(x, behind(wide(fusion, 1, dtype), 1))), dtype);
       },
       fullAndRows(1, 1)},
      {"bias and tanh gelu, gradient", 1, 1,
       [](Fusion& fusion, DataType dtype) { geluGradient(fusion, dtype, false); },
       fullAndRows(2, 1)},
      {"bias and tanh gelu, gradients of both", 1, 1,
       [](Fusion& fusion, DataType dtype) { geluGradient(fusion, dtype, true); },
       fullAndRows(2, 1)},
      {"activations", 1, 1, activations, fullAndRows(2, 0)},
      {"lstm", 1, 1, lstmStep, fullAndRows(5, 0)},
      {"silu and multiply", 1, 1,
       [](Fusion& fusion, DataType dtype) {
         TensorView* x = wide(fusion, 2, dtype);
         output(fusion, mul(silu(x), wide(fusion, 2, dtype)), dtype);
       },
       fullAndRows(2, 0)},
      {"silu and multiply, gradients", 1, 1,
       [](Fusion& fusion, DataType dtype) {
         TensorView* dy = wide(fusion, 2, dtype);
         TensorView* x = wide(fusion, 2, dtype);
         TensorView* y = wide(fusion, 2, dtype);
         output(fusion, mul(mul(dy, y), siluSlope(x)), dtype);
         output(fusion, mul(dy, silu(x)), dtype);
       },
       fullAndRows(3, 0)},
      {"scale, bias and relu", 1, 1, scaleBiasRelu, fullAndRows(1, 2)},
      {"scale, bias and relu, gradient", 1, 1, scaleBiasReluGradient, fullAndRows(2, 2)},
      {"one value a column", 1, 1,
       [](Fusion& fusion, DataType dtype) {
         TensorView* x = wide(fusion, 2, dtype);
         output(fusion, add(x, behind(wide(fusion, 1, dtype), 1)), dtype);
       },
       fullAndRows(1, 1)},
      {"one value a row", 1, 1,
       [](Fusion& fusion, DataType dtype) {
         TensorView* x = wide(fusion, 2, dtype);
         output(fusion, add(x, broadcast(wide(fusion, 1, dtype), {false, true})), dtype);
       },
       [](int64_t batch, int64_t hidden, DataType dtype) {
         return Inputs{{{batch, hidden}, dtype}, {{batch}, dtype}};
       }},
      {"dropout, gradient", 1, 1,
       [](Fusion& fusion, DataType dtype) {
         TensorView* dy = wide(fusion, 2, dtype);
         TensorView* kept = given(fusion, 2, DataType::Bool);
         output(fusion, dropout_backward(dy, kept, number(1.25)), dtype);
       },
       [](int64_t batch, int64_t hidden, DataType dtype) {
         return Inputs{{{batch, hidden}, dtype}, {{batch, hidden}, DataType::Bool}};
       }},
      {"upper triangle", 1, 1,
       [](Fusion& fusion, DataType dtype) {
         output(fusion, triu(wide(fusion, 2, dtype), whole(0)), dtype);
       },
       fullAndRows(1, 0)},
  };
}

}  // namespace nvfuser::families
