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

struct SdpaFwdResult {
  TensorView* output = nullptr;
  TensorView* logsumexp = nullptr;      ///< Float
  TensorView* philox_seed = nullptr;    ///< UInt64 [2]: seed and offset of the dropout
  TensorView* philox_offset = nullptr;  ///< UInt64 []: the offset again
};

struct SdpaBwdResult {
  TensorView* grad_query = nullptr;
  TensorView* grad_key = nullptr;
  TensorView* grad_value = nullptr;
};

/// A tensor with its scales; both are null, as results with scales are refused.
struct ScaledTensorView {
  TensorView* tv = nullptr;
  TensorView* block_scaling_factor = nullptr;
  TensorView* global_scaling_factor = nullptr;
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
/// input · weightᵀ (+ bias), weight [out, in] or [in], bias one axis less, of out numbers or of
/// one.
TensorView* linear(TensorView* input, TensorView* weight, TensorView* bias);
TensorView* linear(TensorView* input, TensorView* weight);

/// alpha · (scale1 · mat1) · (scale2 · mat2) + beta · bias of [M, K] and [K, N], usually of Float8,
/// summed in Float. Scales are Float: one number, or one for each row of mat1 ([M], [M, 1]) and
/// each column of mat2 ([N], [1, N]). `dtype` of the result: BFloat16 for Float8, else the
/// operands', unless given. Scales of blocks and results that have scales are refused.
ScaledTensorView scaled_mm(TensorView* mat1, TensorView* mat2, TensorView* scale1,
                           TensorView* scale2, TensorView* alpha = nullptr,
                           TensorView* bias = nullptr, TensorView* beta = nullptr,
                           DataType dtype = DataType::Null, int64_t output_block_scale_size = 0,
                           DataType output_block_scale_dtype = DataType::Null,
                           bool output_gamma = false);
/// Products of groups (`GroupedMmaOp`), with scales as of scaled_mm where given.
ScaledTensorView grouped_mm(TensorView* mat1, TensorView* mat2, TensorView* offsets,
                            TensorView* scale1 = nullptr, TensorView* scale2 = nullptr,
                            TensorView* alpha = nullptr, TensorView* bias = nullptr,
                            TensorView* beta = nullptr, DataType dtype = DataType::Null,
                            int64_t out_block_scale_size = 0,
                            DataType block_scaling_factor_dtype = DataType::Null,
                            bool out_gamma = false);
/// Always a `UserError`: the format is Blackwell's alone.
TensorView* cutlass_nvfp4_grouped_mm(TensorView* mat1, TensorView* mat2, TensorView* scale1,
                                     TensorView* scale2, TensorView* alpha,
                                     TensorView* problem_sizes, TensorView* expert_offsets,
                                     TensorView* sf_offsets, DataType dtype = DataType::BFloat16);

/// softmax(scale · query · keyᵀ + bias) · value, with axes [batches…, heads, queries, numbers],
/// four or more, of Half, BFloat16 or Float. `bias` (the query's dtype or Float) and `mask` (Bool,
/// false where a key is left out) are broadcast to [batches…, heads, queries, keys]. Causal: query
/// i sees keys j <= i. Null: no bias, no mask, dropout_p 0, not causal, scale 1/sqrt of the query's
/// last extent. A query that sees no key gives zeros, and -inf as its log-sum-exp.
SdpaFwdResult sdpfa_fwd(TensorView* query, TensorView* key, TensorView* value, TensorView* bias,
                        TensorView* mask, Val* dropout_p, Val* is_causal, Val* scale);
/// The gradients of `sdpfa_fwd` without bias and mask, from its operands and results.
SdpaBwdResult sdpfa_bwd(TensorView* grad_output, TensorView* query, TensorView* key,
                        TensorView* value, TensorView* output, TensorView* logsumexp,
                        Val* dropout_p, Val* is_causal, TensorView* philox_seed,
                        TensorView* philox_offset, Val* scale);

/// Rows of `weight` by an index of any shape. With `max_norm`, rows whose norm (`norm_type`, 2
/// unless given) is above it are scaled down to it; `weight` itself stays. The others matter to
/// gradients alone.
TensorView* embedding_fwd(TensorView* input, TensorView* weight, Val* padding_idx = nullptr,
                          Val* max_norm = nullptr, Val* norm_type = nullptr,
                          Val* scale_grad_by_freq = nullptr, Val* sparse = nullptr);

/// A complex tensor as reals, with a last axis of extent 2 for real and imaginary part.
TensorView* view_as_real(TensorView* x);

}  // namespace nvfuser
