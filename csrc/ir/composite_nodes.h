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
  static constexpr std::string_view kName = "matmul";
  MatmulOp(IrBuilderPasskey passkey, Val* out, Val* a, Val* b);
};

/// out[…, n] = Σ in[…, k] · weight[n, k] (+ bias[n]). Inputs: in, weight and, where there is one,
/// bias. A weight of one axis gives no axis n.
class LinearOp final : public ExprOf<LinearOp, ExprKind::LinearOp> {
 public:
  using ExprOf::ExprOf;
  static constexpr std::string_view kName = "linear";
  LinearOp(IrBuilderPasskey passkey, Val* out, Val* in, Val* weight, Val* bias = nullptr);
  bool hasBias() const { return inputs().size() > 2; }
};

struct ScanOpFields {
  BinaryOpType type{};
  int64_t dim = -1;
  bool backward = false;
  static constexpr auto fields() {
    return std::tuple{Field{"type", &ScanOpFields::type, FieldPlace::InName},
                      Field{"dim", &ScanOpFields::dim}, Field{"backward", &ScanOpFields::backward}};
  }
};

/// out[i] = init ∘ in[0] ∘ … ∘ in[i] along an axis; backward, init ∘ in[n - 1] ∘ … ∘ in[i]. Inputs:
/// the tensor and, where given, init. A library has it, and so have kernels (ir/scan_loops.h).
class ScanOp final : public ExprOf<ScanOp, ExprKind::ScanOp, ScanOpFields> {
 public:
  using ExprOf::ExprOf;
  static constexpr std::string_view kName = "scan_";
  ScanOp(IrBuilderPasskey passkey, BinaryOpType type, Val* out, Val* in, int64_t dim,
         Val* init = nullptr, bool backward = false);
  BinaryOpType scanType() const { return fields().type; }
  int64_t dim() const { return fields().dim; }
  /// From the last element to the first.
  bool isBackward() const { return fields().backward; }
  Val* init() const { return inputs().size() > 1 ? input(1) : nullptr; }
};

struct ArgsortOpFields {
  int64_t dim = -1;
  bool descending = false;
  bool stable = false;
  static constexpr auto fields() {
    return std::tuple{Field{"dim", &ArgsortOpFields::dim},
                      Field{"descending", &ArgsortOpFields::descending},
                      Field{"stable", &ArgsortOpFields::stable}};
  }
};

/// Positions (Int) that would sort `in` along an axis. NaN counts as the greatest number. Equal
/// elements keep their order.
class ArgsortOp final : public ExprOf<ArgsortOp, ExprKind::ArgsortOp, ArgsortOpFields> {
 public:
  using ExprOf::ExprOf;
  static constexpr std::string_view kName = "argsort";
  ArgsortOp(IrBuilderPasskey passkey, Val* out, Val* in, int64_t dim, bool descending, bool stable);
  int64_t dim() const { return fields().dim; }
  bool isDescending() const { return fields().descending; }
  bool isStable() const { return fields().stable; }
};

struct TopKOpFields {
  int64_t dim = -1;
  bool largest = false;
  bool sorted = false;
  static constexpr auto fields() {
    return std::tuple{Field{"dim", &TopKOpFields::dim}, Field{"largest", &TopKOpFields::largest},
                      Field{"sorted", &TopKOpFields::sorted}};
  }
};

/// The k largest (or smallest) elements along an axis and their positions (Int), sorted; of equal
/// ones the first. Inputs: the tensor, k. Outputs: values, indices.
class TopKOp final : public ExprOf<TopKOp, ExprKind::TopKOp, TopKOpFields> {
 public:
  using ExprOf::ExprOf;
  static constexpr std::string_view kName = "topk";
  TopKOp(IrBuilderPasskey passkey, Val* out_values, Val* out_indices, Val* in, Val* k, int64_t dim,
         bool largest, bool sorted);
  int64_t dim() const { return fields().dim; }
  bool isLargest() const { return fields().largest; }
  bool isSorted() const { return fields().sorted; }
};

struct SdpaFwdOpFields {
  bool bias = false;
  bool mask = false;
  bool scale = false;
  static constexpr auto fields() {
    return std::tuple{Field{"bias", &SdpaFwdOpFields::bias}, Field{"mask", &SdpaFwdOpFields::mask},
                      Field{"scale", &SdpaFwdOpFields::scale}};
  }
};

/// Attention: output = softmax(scale · query · keyᵀ + bias) · value over the last two axes, heads
/// and batches before them; logsumexp (Float) of the softmax's rows. `mask` (Bool) is false where a
/// key is left out; causal: row i sees the keys j <= i. With dropout, probabilities are zeroed
/// with probability `dropout_p` by Philox, whose state is the third output {seed, offset}; its
/// offset once more is the fourth.
///
/// Inputs: query, key, value, dropout_p, is_causal, then those given of bias, mask, scale (else
/// 1/sqrt of the query's last extent).
class SdpaFwdOp final : public ExprOf<SdpaFwdOp, ExprKind::SdpaFwdOp, SdpaFwdOpFields> {
 public:
  using ExprOf::ExprOf;
  static constexpr std::string_view kName = "sdpfa_fwd";
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
  static constexpr std::string_view kName = "sdpfa_bwd";
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

struct ScaledMmaOpFields {
  bool alpha = false;
  bool bias = false;
  bool beta = false;
  static constexpr auto fields() {
    return std::tuple{Field{"alpha", &ScaledMmaOpFields::alpha},
                      Field{"bias", &ScaledMmaOpFields::bias},
                      Field{"beta", &ScaledMmaOpFields::beta}};
  }
};

/// out [M, N] = a [M, K] · b [K, N] with scales: one number, or one for each row of a ([M] or
/// [M, 1]) and each column of b ([N] or [1, N]). Inputs: a, b, scale1, scale2, then those given of
/// alpha, bias [N], beta.
class ScaledMmaOp final : public ExprOf<ScaledMmaOp, ExprKind::ScaledMmaOp, ScaledMmaOpFields> {
 public:
  using ExprOf::ExprOf;
  static constexpr std::string_view kName = "scaled_mm";
  ScaledMmaOp(IrBuilderPasskey passkey, Val* out, Val* a, Val* b, Val* scale1, Val* scale2,
              Val* alpha, Val* bias, Val* beta);
  ScaledProductPlaces places() const;
  /// As of `SdpaFwdOp`, without batches: M rows, N columns, K summed over, G groups, 1 one element.
  std::string_view axesOfInput(size_t i) const;
  std::string_view axesOfOutput(size_t) const { return "MN"; }
};

struct GroupedMmaOpFields {
  bool scale1 = false;
  bool scale2 = false;
  bool alpha = false;
  bool bias = false;
  bool beta = false;
  static constexpr auto fields() {
    return std::tuple{
        Field{"scale1", &GroupedMmaOpFields::scale1}, Field{"scale2", &GroupedMmaOpFields::scale2},
        Field{"alpha", &GroupedMmaOpFields::alpha}, Field{"bias", &GroupedMmaOpFields::bias},
        Field{"beta", &GroupedMmaOpFields::beta}};
  }
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
class GroupedMmaOp final : public ExprOf<GroupedMmaOp, ExprKind::GroupedMmaOp, GroupedMmaOpFields> {
 public:
  using ExprOf::ExprOf;
  static constexpr std::string_view kName = "grouped_mm";
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

struct CommunicationOpFields {
  CommunicationType type{};
  ParallelType along = ParallelType::Serial;
  DeviceMesh mesh{};
  std::optional<BinaryOpType> reduction{};
  static constexpr auto fields() {
    return std::tuple{Field{"type", &CommunicationOpFields::type, FieldPlace::InName},
                      Field{"along", &CommunicationOpFields::along},
                      Field{"mesh", &CommunicationOpFields::mesh},
                      Field{"reduction", &CommunicationOpFields::reduction}};
  }
};

/// Data of other devices: teams are the devices of `mesh()` that differ along one of its axes. It
/// may take several tensors at once, each with a result of its own. Not before another
/// communication has ended, whose result is the last operand.
class CommunicationOp final
    : public ExprOf<CommunicationOp, ExprKind::CommunicationOp, CommunicationOpFields> {
 public:
  using ExprOf::ExprOf;
  static constexpr std::string_view kName = "";
  CommunicationOp(IrBuilderPasskey passkey, CommunicationType type, std::vector<Val*> outs,
                  std::vector<Val*> ins, BinaryOpType reduction, ParallelType along,
                  const DeviceMesh& mesh, Val* after = nullptr);
  CommunicationType type() const { return fields().type; }
  /// The first operands; the others are waited for alone.
  size_t count() const { return outputs().size(); }
  Val* after() const { return inputs().size() > count() ? inputs().back() : nullptr; }
  /// How what devices have is combined; Add where nothing is.
  BinaryOpType reduction() const { return fields().reduction.value_or(BinaryOpType::Add); }
  ParallelType along() const { return fields().along; }
  const DeviceMesh& mesh() const { return fields().mesh; }
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
