/// Kinds of expressions that a library has: no part of a generated kernel but for scans
/// (external_ops.h).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ir/internal_nodes.h>

namespace nvfuser {

/// out = a · b with the shapes of PyTorch's matmul: operands of one axis are vectors, axes before
/// the last two are batches and broadcast.
class MatmulOp final : public ExprOf<MatmulOp, ExprKind::MatmulOp> {
 public:
  using ExprOf::ExprOf;
  MatmulOp(IrBuilderPasskey passkey, Val* out, Val* a, Val* b);
};

/// out[…, n] = Σ in[…, k] · weight[n, k] (+ bias[n]). Inputs: in, weight and, where there is one,
/// bias. A weight of one axis gives no axis n.
class LinearOp final : public ExprOf<LinearOp, ExprKind::LinearOp> {
 public:
  using ExprOf::ExprOf;
  LinearOp(IrBuilderPasskey passkey, Val* out, Val* in, Val* weight, Val* bias = nullptr);
  bool hasBias() const { return inputs().size() > 2; }
};

/// out[i] = init ∘ in[0] ∘ … ∘ in[i] along an axis; backward, init ∘ in[n - 1] ∘ … ∘ in[i]. Inputs:
/// the tensor and, where given, init. A library has it, and so have kernels (ir/scan_loops.h).
class ScanOp final : public ExprOf<ScanOp, ExprKind::ScanOp> {
 public:
  using ExprOf::ExprOf;
  ScanOp(IrBuilderPasskey passkey, BinaryOpType type, Val* out, Val* in, int64_t dim,
         Val* init = nullptr, bool backward = false);
  BinaryOpType scanType() const { return attribute<BinaryOpType>(0); }
  int64_t dim() const { return attribute<int64_t>(1); }
  /// From the last element to the first.
  bool isBackward() const { return attribute<bool>(2); }
  Val* init() const { return inputs().size() > 1 ? input(1) : nullptr; }
};

/// Positions (Int) that would sort `in` along an axis. NaN counts as the greatest number. Equal
/// elements keep their order.
class ArgsortOp final : public ExprOf<ArgsortOp, ExprKind::ArgsortOp> {
 public:
  using ExprOf::ExprOf;
  ArgsortOp(IrBuilderPasskey passkey, Val* out, Val* in, int64_t dim, bool descending, bool stable);
  int64_t dim() const { return attribute<int64_t>(0); }
  bool isDescending() const { return attribute<bool>(1); }
};

/// The k largest (or smallest) elements along an axis and their positions (Int), sorted; of equal
/// ones the first. Inputs: the tensor, k. Outputs: values, indices.
class TopKOp final : public ExprOf<TopKOp, ExprKind::TopKOp> {
 public:
  using ExprOf::ExprOf;
  TopKOp(IrBuilderPasskey passkey, Val* out_values, Val* out_indices, Val* in, Val* k, int64_t dim,
         bool largest, bool sorted);
  int64_t dim() const { return attribute<int64_t>(0); }
  bool isLargest() const { return attribute<bool>(1); }
};

/// Attention: output = softmax(scale · query · keyᵀ + bias) · value over the last two axes, heads
/// and batches before them; logsumexp (Float) of the softmax's rows. `mask` (Bool) is false where a
/// key is left out; causal: row i sees the keys j <= i. With dropout, probabilities are zeroed
/// with probability `dropout_p` by Philox, whose state is the third output {seed, offset}; its
/// offset once more is the fourth.
///
/// Inputs: query, key, value, dropout_p, is_causal, then those given of bias, mask, scale (else
/// 1/sqrt of the query's last extent).
class SdpaFwdOp final : public ExprOf<SdpaFwdOp, ExprKind::SdpaFwdOp> {
 public:
  using ExprOf::ExprOf;
  SdpaFwdOp(IrBuilderPasskey passkey, const std::vector<Val*>& outputs, Val* query, Val* key,
            Val* value, Val* bias, Val* mask, Val* dropout_p, Val* is_causal, Val* scale);
  Val* dropoutP() const { return input(kDropoutP); }
  /// Places among the inputs; none where not given.
  std::optional<size_t> biasPlace() const { return placeOf(0); }
  std::optional<size_t> maskPlace() const { return placeOf(1); }
  std::optional<size_t> scalePlace() const { return placeOf(2); }
  /// Whether numbers of the executor's generator may be used.
  bool draws() const;
  /// A letter for each of a tensor's last axes: L queries, S keys, E and V numbers of one query and
  /// of one value. Batches and heads come before; a tensor that has none of all these is "-".
  std::string_view axesOfInput(size_t i) const;
  std::string_view axesOfOutput(size_t i) const;

  static constexpr size_t kDropoutP = 3, kIsCausal = 4;

 private:
  std::optional<size_t> placeOf(size_t optional) const;
};

/// Gradients of attention without bias and mask, for query, key and value. Inputs: grad_output,
/// query, key, value, output, logsumexp, dropout_p, is_causal, philox_seed, philox_offset, and the
/// scale where given.
class SdpaBwdOp final : public ExprOf<SdpaBwdOp, ExprKind::SdpaBwdOp> {
 public:
  using ExprOf::ExprOf;
  SdpaBwdOp(IrBuilderPasskey passkey, const std::vector<Val*>& grads, Val* grad_output, Val* query,
            Val* key, Val* value, Val* output, Val* logsumexp, Val* dropout_p, Val* is_causal,
            Val* philox_seed, Val* philox_offset, Val* scale);
  bool hasScale() const { return inputs().size() > kScale; }
  /// As of `SdpaFwdOp`.
  std::string_view axesOfInput(size_t i) const;
  std::string_view axesOfOutput(size_t i) const;

  static constexpr size_t kLogSumExp = 5, kDropoutP = 6, kIsCausal = 7, kSeed = 8, kOffset = 9,
                          kScale = 10;
};

/// What products with scales have besides their two matrices: out = alpha · (scale1 · a) · (scale2
/// · b) + beta · bias, summed in Float. Places among the inputs; none where not given.
struct ScaledProductPlaces {
  std::optional<size_t> scale1, scale2, alpha, bias, beta;
};

/// out [M, N] = a [M, K] · b [K, N] with scales: one number, or one for each row of a ([M] or
/// [M, 1]) and each column of b ([N] or [1, N]). Inputs: a, b, scale1, scale2, then those given of
/// alpha, bias [N], beta.
class ScaledMmaOp final : public ExprOf<ScaledMmaOp, ExprKind::ScaledMmaOp> {
 public:
  using ExprOf::ExprOf;
  ScaledMmaOp(IrBuilderPasskey passkey, Val* out, Val* a, Val* b, Val* scale1, Val* scale2,
              Val* alpha, Val* bias, Val* beta);
  ScaledProductPlaces places() const;
  /// As of `SdpaFwdOp`, without batches: M rows, N columns, K summed over, G groups, 1 one element.
  std::string_view axesOfInput(size_t i) const;
  std::string_view axesOfOutput(size_t) const { return "MN"; }
};

/// Products of groups of rows, of columns, or of what is summed over; `offsets` [G] says where each
/// group ends:
///
///   a [M, K]     b [G, K, N]   rows of a are grouped               out [M, N]
///   a [G, M, K]  b [K, N]      columns of b are grouped            out [M, N]
///   a [M, K]     b [K, N]      what is summed over is grouped      out [G, M, N]
///
/// Rows and columns behind the last group are zero. Scales as of `ScaledMmaOp`, with an axis G
/// before where their matrix or the result has one; alpha and beta may have one number for each
/// group, the bias one row. Inputs: a, b, offsets, then those given of scale1, scale2, alpha, bias,
/// beta.
class GroupedMmaOp final : public ExprOf<GroupedMmaOp, ExprKind::GroupedMmaOp> {
 public:
  using ExprOf::ExprOf;
  GroupedMmaOp(IrBuilderPasskey passkey, Val* out, Val* a, Val* b, Val* offsets, Val* scale1,
               Val* scale2, Val* alpha, Val* bias, Val* beta);
  ScaledProductPlaces places() const;
  std::string_view axesOfInput(size_t i) const;
  std::string_view axesOfOutput(size_t i) const;
};

/// How the devices of a team exchange data. Each has a tensor of the same sizes; D: how many they
/// are.
enum class CommunicationType : uint8_t {
  Allgather,      ///< in […] → out [D, …]: out[d] is what device d has
  Allreduce,      ///< in […] → out […]: what all have, combined
  ReduceScatter,  ///< in [D, …] → out […]: what all have at in[own place], combined
  Alltoall,       ///< in [D, …] → out [D, …]: out[d] is what device d has at in[own place]
};
std::string_view communicationName(CommunicationType type);

/// Data of other devices: teams are the devices of `mesh()` that differ along one of its axes. An
/// Allreduce may take several tensors at once, each with a result of its own. Not before another
/// communication has ended, whose result is the last operand.
class CommunicationOp final : public ExprOf<CommunicationOp, ExprKind::CommunicationOp> {
 public:
  using ExprOf::ExprOf;
  CommunicationOp(IrBuilderPasskey passkey, CommunicationType type, std::vector<Val*> outs,
                  std::vector<Val*> ins, BinaryOpType reduction, ParallelType along,
                  const DeviceMesh& mesh, Val* after = nullptr);
  CommunicationType type() const { return attribute<CommunicationType>(0); }
  /// The first operands; the others are waited for alone.
  size_t count() const { return outputs().size(); }
  Val* after() const { return inputs().size() > count() ? inputs().back() : nullptr; }
  /// How what devices have is combined; Add where nothing is.
  BinaryOpType reduction() const { return attribute<BinaryOpType>(1); }
  ParallelType along() const { return attribute<ParallelType>(2); }
  DeviceMesh mesh() const {
    return DeviceMesh(attribute<std::vector<int64_t>>(3), attribute<std::vector<int64_t>>(4));
  }
};

/// Names of an operand's axes, where an operation tells which of them are equally long: those of
/// attention and of products with scales. Batches are named "0", "1", …; the axis of a scale
/// for all elements that are summed over is "one".
struct AxisNames {
  std::vector<std::string> names;  ///< for each axis, in order
  bool stretches;                  ///< axes of one element go with any length
};
/// None where operand `i` has no such axes.
std::optional<AxisNames> axisNames(const Expr* expr, size_t i);

/// Whether the results of an operation have axes of their own each, so that equal places mean
/// nothing. Elsewhere results have one shape (Welford) or that but for one axis.
inline bool resultsDifferInAxes(const Expr* expr) {
  return expr->isOneOf<SdpaFwdOp, SdpaBwdOp, CommunicationOp>();
}

/// Whether an operation draws from the executor's generator of random numbers.
bool drawsFromGenerator(const Expr* expr);

}  // namespace nvfuser
