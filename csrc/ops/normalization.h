/// Statistics and normalisations, composed from pointwise operations, reductions and broadcasts.
///
/// Everything is computed in Float or wider: reduced precision and integers are cast first, and
/// results stay there. Deviations are taken from the mean in a second pass over the data (Σ(x −
/// mean)²), which is exact enough everywhere and cheap where the data stays on chip; only
/// `variance_mean` uses Welford's single pass.
#pragma once

#include <vector>

#include <ir/interface_nodes.h>

namespace nvfuser {

struct VarMeanResult {
  TensorView* var = nullptr;
  TensorView* mean = nullptr;
};

struct ForwardNormResult {
  TensorView* output = nullptr;
  TensorView* mean = nullptr;
  TensorView* invstd = nullptr;
};

/// An entry is null where the mask did not ask for it (or there is no such operand).
struct BackwardNormResult {
  TensorView* grad_input = nullptr;
  TensorView* grad_weight = nullptr;
  TensorView* grad_bias = nullptr;
};

struct ForwardRMSNormResult {
  TensorView* output = nullptr;
  TensorView* invstd = nullptr;
};

struct BackwardRMSNormResult {
  TensorView* grad_input = nullptr;
  TensorView* grad_weight = nullptr;
};

// ---- statistics (moments.cpp) -------------------------------------------------------------------

/// No `dims`: all. `keepdim` leaves reduced axes with extent 1.
TensorView* mean(TensorView* x, const std::vector<int64_t>& dims, bool keepdim);
/// Σ|x − mean|² / max(n − correction, 0); `unbiased` is a correction of 1. Of complex numbers, a
/// real one.
TensorView* variance(TensorView* x, const std::vector<int64_t>& dims, bool unbiased, bool keepdim);
TensorView* variance(TensorView* x, const std::vector<int64_t>& dims, int64_t correction,
                     bool keepdim);
/// Both in one pass. Reduced precision is an error: cast first.
VarMeanResult variance_mean(TensorView* x, const std::vector<int64_t>& dims, int64_t correction,
                            bool keepdim);
TensorView* standard_deviation(TensorView* x, const std::vector<int64_t>& dims, bool unbiased,
                               bool keepdim);

// ---- softmax (softmax.cpp) ----------------------------------------------------------------------

TensorView* softmax(TensorView* x, int64_t dim);
TensorView* log_softmax(TensorView* x, int64_t dim);
/// Gradients with regard to x, from that of the result and the result `y` itself.
TensorView* softmax_backward(TensorView* dy, TensorView* y, int64_t dim);
TensorView* log_softmax_backward(TensorView* dy, TensorView* y, int64_t dim);

// ---- over the innermost axes (layer_norm.cpp) ---------------------------------------------------

/// (x − mean) · invstd · weight + bias over the last axes, as many as `norm_shape` has; entries
/// that are no −1 must be their sizes. `weight` and `bias` have the normalised axes and may be
/// null. `mean` and `invstd` = 1/√(var + eps) keep the normalised axes with extent 1.
ForwardNormResult layer_norm(TensorView* x, const std::vector<int64_t>& norm_shape,
                             TensorView* weight, TensorView* bias, Val* eps);
ForwardNormResult layer_norm(TensorView* x, int64_t kNormShapeNumDims, TensorView* weight,
                             TensorView* bias, Val* eps);
/// x · invstd · weight with invstd = 1/√(mean(x²) + eps).
ForwardRMSNormResult rms_norm(TensorView* x, const std::vector<int64_t>& norm_shape,
                              TensorView* weight, Val* eps);
ForwardRMSNormResult rms_norm(TensorView* x, int64_t kNormShapeNumDims, TensorView* weight,
                              Val* eps);
/// `output_mask`: which gradients (input, weight, bias) are wanted.
BackwardNormResult layer_norm_backward(TensorView* dy, TensorView* x,
                                       const std::vector<int64_t>& norm_shape, TensorView* mean,
                                       TensorView* rstd, TensorView* weight, TensorView* bias,
                                       const std::vector<bool>& output_mask);
/// `output_mask`: (input, weight).
BackwardRMSNormResult rms_norm_backward(TensorView* dy, TensorView* x,
                                        const std::vector<int64_t>& norm_shape, TensorView* rstd,
                                        TensorView* weight, const std::vector<bool>& output_mask);
/// The same from the root mean square itself, 1/rstd.
BackwardRMSNormResult thunder_rms_norm_backward(TensorView* dy, TensorView* x,
                                                const std::vector<int64_t>& norm_shape,
                                                TensorView* rms, TensorView* weight,
                                                const std::vector<bool>& output_mask);

// ---- over channels (batch_norm.cpp) -------------------------------------------------------------

/// x is [N, C, …], or [N, …, C] for `channels_last`; statistics are taken over all axes but C.
/// `weight`, `bias`, `running_mean`, `running_var` have axis C and may be null (the running ones
/// together). Training: statistics are those of x, and running ones, which must be inputs of the
/// fusion (or casts of such), are updated in place: running·(1 − momentum) + new·momentum, with the
/// unbiased variance. Otherwise the running statistics are used, and `mean` and `invstd` of the
/// result are empty tensors.
ForwardNormResult batch_norm(TensorView* x, TensorView* weight, TensorView* bias,
                             TensorView* running_mean, TensorView* running_var, bool kTraining,
                             Val* momentum, Val* eps, bool channels_last = false);
BackwardNormResult batch_norm_backward(TensorView* x, TensorView* dy, TensorView* weight,
                                       TensorView* running_mean, TensorView* running_var,
                                       TensorView* save_mean, TensorView* save_invstd,
                                       bool kTraining, Val* eps,
                                       const std::vector<bool>& output_mask,
                                       bool channels_last = false);
/// The same with statistics for each element of N; running ones take in their mean over N. `mean`
/// and `invstd` of the result are [N, C].
ForwardNormResult instance_norm(TensorView* x, TensorView* weight, TensorView* bias,
                                TensorView* running_mean, TensorView* running_var,
                                bool kUseInputStats, Val* momentum, Val* eps,
                                bool channels_last = false);
BackwardNormResult instance_norm_backward(TensorView* x, TensorView* dy, TensorView* weight,
                                          TensorView* running_mean, TensorView* running_var,
                                          TensorView* save_mean, TensorView* save_invstd,
                                          bool kTraining, Val* eps,
                                          const std::vector<bool>& output_mask,
                                          bool channels_last = false);

}  // namespace nvfuser
