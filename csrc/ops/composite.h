/// Activations, dropout and other formulas composed from pointwise operations. Values are
/// PyTorch's.
#pragma once

#include <ir/interface_nodes.h>

namespace nvfuser {

struct ForwardDropoutResult {
  TensorView* output = nullptr;
  TensorView* mask = nullptr;
};

struct LstmResult {
  TensorView* cell = nullptr;
  TensorView* hidden = nullptr;
};

/// Each element is zeroed with probability `prob`, the others are scaled by 1/(1 − prob). `mask` is
/// true for those kept.
ForwardDropoutResult dropout(TensorView* x, Val* prob);
/// The general form: an element is **kept** with probability `prob`, and then multiplied by
/// `scale`.
ForwardDropoutResult dropout(TensorView* x, Val* prob, Val* scale);
TensorView* dropout_backward(TensorView* dy, TensorView* mask, Val* scale);

/// The elements on and above a diagonal of the last two axes (`offset` 0: the main one, 1: the one
/// above), zero below.
TensorView* triu(TensorView* tv, Val* offset);

/// x where it is above zero, else x·negative_slope.
TensorView* leaky_relu(TensorView* x, Val* negative_slope);
/// log(1 + exp(beta·x)) / beta; x itself where beta·x > threshold.
TensorView* softplus(TensorView* x, Val* beta, Val* threshold);

/// x·Φ(x) with the error function.
TensorView* gelu(TensorView* x);
TensorView* gelu_backward(TensorView* dy, TensorView* x);
/// The approximation x/2·(1 + tanh(√(2/π)·(x + 0.044715·x³))).
TensorView* tanh_gelu(TensorView* x);
TensorView* tanh_gelu_backward(TensorView* dy, TensorView* x);
/// From the result of tanh: dy·(1 − tanh_x²).
TensorView* tanh_backward(TensorView* dy, TensorView* tanh_x);

/// One step of an LSTM from its four gates before their activation:
/// cell = σ(forget_x)·prev_cell + σ(in_x)·tanh(cell_x), hidden = σ(out_x)·tanh(cell).
LstmResult lstm(TensorView* prev_cell, TensorView* in_x, TensorView* forget_x, TensorView* cell_x,
                TensorView* out_x);

/// a · b as PyTorch's matmul: operands of one axis are vectors, axes before the last two are
/// batches and broadcast. Of a library, between kernels; sums of Half and BFloat16 are Float.
TensorView* matmul(TensorView* tv_a, TensorView* tv_b);
/// input · weightᵀ (+ bias), weight [out, in] or [in], bias one axis less.
TensorView* linear(TensorView* input, TensorView* weight, TensorView* bias);
TensorView* linear(TensorView* input, TensorView* weight);

/// Rows of `weight` by an index of any shape. With `max_norm`, rows whose norm (`norm_type`, 2
/// unless given) is above it are scaled down to it; `weight` itself stays. The others matter to
/// gradients alone.
TensorView* embedding_fwd(TensorView* input, TensorView* weight, Val* padding_idx = nullptr,
                          Val* max_norm = nullptr, Val* norm_type = nullptr,
                          Val* scale_grad_by_freq = nullptr, Val* sparse = nullptr);

/// A complex tensor as reals, with a last axis of extent 2 for real and imaginary part.
TensorView* view_as_real(TensorView* x);

}  // namespace nvfuser
