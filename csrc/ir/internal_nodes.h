/// The expressions: how tensors (and scalars) come from others, and how axes come from axes. What
/// one holds besides its operands is its struct of fields; the comment of a class says what the
/// operands are.
#pragma once

#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include <ir/base_nodes.h>
#include <ir/interface_nodes.h>
#include <ir/op_types.h>

namespace nvfuser {

// ---- pointwise

struct UnaryOpFields {
  UnaryOpType type{};
  static constexpr auto fields() {
    return std::tuple{Field{"type", &UnaryOpFields::type, FieldPlace::InName}};
  }
};

/// out = op(in), element by element.
class UnaryOp final : public ExprOf<UnaryOp, ExprKind::UnaryOp, UnaryOpFields> {
 public:
  using ExprOf::ExprOf;
  static constexpr std::string_view kName = "";
  UnaryOp(IrBuilderPasskey passkey, UnaryOpType type, Val* out, Val* in);
  Val* out() const { return output(0); }
  Val* in() const { return input(0); }
  UnaryOpType getUnaryOpType() const { return fields().type; }
};

struct BinaryOpFields {
  BinaryOpType type{};
  static constexpr auto fields() {
    return std::tuple{Field{"type", &BinaryOpFields::type, FieldPlace::InName}};
  }
};

/// out = op(lhs, rhs); either side may be a scalar.
class BinaryOp final : public ExprOf<BinaryOp, ExprKind::BinaryOp, BinaryOpFields> {
 public:
  using ExprOf::ExprOf;
  static constexpr std::string_view kName = "";
  BinaryOp(IrBuilderPasskey passkey, BinaryOpType type, Val* out, Val* lhs, Val* rhs);
  Val* out() const { return output(0); }
  Val* lhs() const { return input(0); }
  Val* rhs() const { return input(1); }
  BinaryOpType getBinaryOpType() const { return fields().type; }
};

struct TernaryOpFields {
  TernaryOpType type{};
  static constexpr auto fields() {
    return std::tuple{Field{"type", &TernaryOpFields::type, FieldPlace::InName}};
  }
};

class TernaryOp final : public ExprOf<TernaryOp, ExprKind::TernaryOp, TernaryOpFields> {
 public:
  using ExprOf::ExprOf;
  static constexpr std::string_view kName = "";
  TernaryOp(IrBuilderPasskey passkey, TernaryOpType type, Val* out, Val* in1, Val* in2, Val* in3);
  Val* out() const { return output(0); }
  Val* in1() const { return input(0); }
  Val* in2() const { return input(1); }
  Val* in3() const { return input(2); }
  TernaryOpType getTernaryOpType() const { return fields().type; }
};

struct LoadStoreOpFields {
  LoadStoreOpType type{};
  CacheOp cache = CacheOp::Unspecified;
  static constexpr auto fields() {
    return std::tuple{Field{"type", &LoadStoreOpFields::type, FieldPlace::InName},
                      Field{"cache", &LoadStoreOpFields::cache}};
  }
};

/// A copy: set, permute (the output has a root domain in the input's order), and the caches that
/// scheduling inserts.
class LoadStoreOp final : public ExprOf<LoadStoreOp, ExprKind::LoadStoreOp, LoadStoreOpFields> {
 public:
  using ExprOf::ExprOf;
  static constexpr std::string_view kName = "";
  LoadStoreOp(IrBuilderPasskey passkey, LoadStoreOpType type, Val* out, Val* in,
              CacheOp cache_op = CacheOp::Unspecified);
  Val* out() const { return output(0); }
  Val* in() const { return input(0); }
  LoadStoreOpType opType() const { return fields().type; }
  CacheOp cacheOp() const { return fields().cache; }
};

// ---- shape

struct BroadcastOpFields {
  std::vector<bool> flags{};
  static constexpr auto fields() { return std::tuple{Field{"flags", &BroadcastOpFields::flags}}; }
};

/// Adds extent-1 axes. Flags: for each output axis, whether it is new.
class BroadcastOp final : public ExprOf<BroadcastOp, ExprKind::BroadcastOp, BroadcastOpFields> {
 public:
  using ExprOf::ExprOf;
  static constexpr std::string_view kName = "broadcast";
  BroadcastOp(IrBuilderPasskey passkey, Val* out, Val* in, const std::vector<bool>& is_broadcast);
  Val* out() const { return output(0); }
  Val* in() const { return input(0); }
  bool isBroadcastDim(size_t i) const { return flags().at(i); }
  const std::vector<bool>& flags() const { return fields().flags; }
};

struct SqueezeOpFields {
  std::vector<bool> flags{};
  static constexpr auto fields() { return std::tuple{Field{"flags", &SqueezeOpFields::flags}}; }
};

/// Drops extent-1 axes. Flags: for each input axis, whether it goes.
class SqueezeOp final : public ExprOf<SqueezeOp, ExprKind::SqueezeOp, SqueezeOpFields> {
 public:
  using ExprOf::ExprOf;
  static constexpr std::string_view kName = "squeeze";
  SqueezeOp(IrBuilderPasskey passkey, Val* out, Val* in, const std::vector<bool>& is_squeeze);
  Val* out() const { return output(0); }
  Val* in() const { return input(0); }
  bool isSqueezeDim(size_t i) const { return flags().at(i); }
  const std::vector<bool>& flags() const { return fields().flags; }
};

/// Gives broadcast axes an expanded extent. Inputs: the tensor, then the extents.
class ExpandOp final : public ExprOf<ExpandOp, ExprKind::ExpandOp> {
 public:
  using ExprOf::ExprOf;
  static constexpr std::string_view kName = "expand";
  ExpandOp(IrBuilderPasskey passkey, Val* out, Val* in, const std::vector<Val*>& extents);
  Val* out() const { return output(0); }
  Val* in() const { return input(0); }
};

/// Makes expanded or broadcast axes real: out[..., i, ...] = in[..., 0, ...] for axes that are
/// broadcast in the input and iterated in the output; other axes are mapped one to one.
class RepeatOp final : public ExprOf<RepeatOp, ExprKind::RepeatOp> {
 public:
  using ExprOf::ExprOf;
  static constexpr std::string_view kName = "repeat";
  RepeatOp(IrBuilderPasskey passkey, Val* out, Val* in);
  Val* out() const { return output(0); }
  Val* in() const { return input(0); }
};

/// Same elements in row-major order, another shape: splits and merges between the output's root and
/// logical domain.
class ReshapeOp final : public ExprOf<ReshapeOp, ExprKind::ReshapeOp> {
 public:
  using ExprOf::ExprOf;
  static constexpr std::string_view kName = "reshape";
  ReshapeOp(IrBuilderPasskey passkey, Val* out, Val* in);
  Val* out() const { return output(0); }
  Val* in() const { return input(0); }
};

/// out[i] = in[start + i·step] for 0 ≤ i < (stop - start) / step, which leaves no remainder.
/// Inputs: the tensor, then start, stop, step of each axis; steps are constants, and may be
/// negative. A Resize stands between root and logical domain where an axis is cut.
class SliceOp final : public ExprOf<SliceOp, ExprKind::SliceOp> {
 public:
  using ExprOf::ExprOf;
  static constexpr std::string_view kName = "slice";
  SliceOp(IrBuilderPasskey passkey, Val* out, Val* in, const std::vector<Val*>& ranges);
  Val* out() const { return output(0); }
  Val* in() const { return input(0); }
  Val* start(size_t axis) const { return input(1 + 3 * axis); }
  Val* stop(size_t axis) const { return input(2 + 3 * axis); }
  Val* step(size_t axis) const { return input(3 + 3 * axis); }
};

/// `in` inside, `value` around it. Inputs: the tensor, the value, then left and right width of each
/// axis.
class PadOp final : public ExprOf<PadOp, ExprKind::PadOp> {
 public:
  using ExprOf::ExprOf;
  static constexpr std::string_view kName = "pad";
  PadOp(IrBuilderPasskey passkey, Val* out, Val* in, Val* value, const std::vector<Val*>& widths);
  Val* out() const { return output(0); }
  Val* in() const { return input(0); }
  Val* value() const { return input(1); }
  Val* leftWidth(size_t axis) const { return input(2 + 2 * axis); }
  Val* rightWidth(size_t axis) const { return input(3 + 2 * axis); }
};

struct CatOpFields {
  int64_t dim = -1;
  static constexpr auto fields() { return std::tuple{Field{"dim", &CatOpFields::dim}}; }
};

/// A concatenation of so many parts shares a kernel with no other: of the parts of all of them,
/// each element would be looked for in each (preseg_passes/narrow_joins.h).
inline constexpr int kWideJoin = 8;

/// Joins tensors that are already padded to the output's shape: each element comes from the one
/// input whose own range holds it. Inputs: the padded tensors.
class CatOp final : public ExprOf<CatOp, ExprKind::CatOp, CatOpFields> {
 public:
  using ExprOf::ExprOf;
  static constexpr std::string_view kName = "cat";
  CatOp(IrBuilderPasskey passkey, Val* out, const std::vector<Val*>& inputs, int64_t axis);
  Val* out() const { return output(0); }
  int64_t concatenatedDim() const { return fields().dim; }
};

/// Reads a complex tensor as pairs of reals: the output has one more axis, of extent 2
/// (VectorComponent).
class ViewAsScalar final : public ExprOf<ViewAsScalar, ExprKind::ViewAsScalar> {
 public:
  using ExprOf::ExprOf;
  static constexpr std::string_view kName = "view_as_scalar";
  ViewAsScalar(IrBuilderPasskey passkey, Val* out, Val* in);
  Val* out() const { return output(0); }
  Val* in() const { return input(0); }
};

// ---- reductions

struct ReductionOpFields {
  BinaryOpType type{};
  Val* init = nullptr;
  bool allreduce = false;
  static constexpr auto fields() {
    return std::tuple{Field{"type", &ReductionOpFields::type, FieldPlace::InName},
                      Field{"init", &ReductionOpFields::init},
                      Field{"allreduce", &ReductionOpFields::allreduce}};
  }
};

/// out = combination of `in` over out's reduction axes, starting from `init`, a scalar. Allreduce:
/// all threads need the result.
class ReductionOp final : public ExprOf<ReductionOp, ExprKind::ReductionOp, ReductionOpFields> {
 public:
  using ExprOf::ExprOf;
  static constexpr std::string_view kName = "reduction_";
  ReductionOp(IrBuilderPasskey passkey, BinaryOpType type, Val* init, Val* out, Val* in,
              bool is_allreduce = false);
  Val* out() const { return output(0); }
  Val* in() const { return input(0); }
  BinaryOpType getReductionOpType() const { return fields().type; }
  Val* init() const { return fields().init; }
  bool isAllreduce() const { return fields().allreduce; }
};

/// Whether it adds up along an axis.
bool isSum(const Expr* expr);

/// Mean, sum of squared deviations and count in one pass. Inputs: (avg, var, n) of what is
/// combined; for plain data (x, 0, 1), where the latter two are scalars. Outputs: avg, var_sum, n;
/// (NaN, 0, 0) where no numbers are combined. Operands with n == 0 are none, whatever their avg is.
class WelfordOp final : public ExprOf<WelfordOp, ExprKind::WelfordOp> {
 public:
  using ExprOf::ExprOf;
  static constexpr std::string_view kName = "welford";
  WelfordOp(IrBuilderPasskey passkey, Val* out_avg, Val* out_var, Val* out_n, Val* in_avg,
            Val* in_var, Val* in_n);
  Val* outAvg() const { return output(0); }
  Val* outVar() const { return output(1); }
  Val* outN() const { return output(2); }
  Val* inAvg() const { return input(0); }
  Val* inVar() const { return input(1); }
  Val* inN() const { return input(2); }
};

/// The greatest x, m, and Σ exp(x − m), in one pass (Milakov, Gimelshein: Online normalizer
/// calculation for softmax, 2018). Inputs: (m, sum) of what is combined; for plain data (x, 1),
/// where the latter is a scalar. Outputs: m, sum.
///
/// Of nothing but −∞, m is the dtype's lowest number and the sum 0; beside +∞ the sum is of any
/// value, but a NaN makes both NaN. Who writes this operation puts right what is left.
class OnlineSoftmaxOp final : public ExprOf<OnlineSoftmaxOp, ExprKind::OnlineSoftmaxOp> {
 public:
  using ExprOf::ExprOf;
  static constexpr std::string_view kName = "online_softmax";
  OnlineSoftmaxOp(IrBuilderPasskey passkey, Val* out_max, Val* out_sum, Val* in_max, Val* in_sum);
  Val* outMax() const { return output(0); }
  Val* outSum() const { return output(1); }
  Val* inMax() const { return input(0); }
  Val* inSum() const { return input(1); }
};

/// Whether results have reduction axes.
inline bool isReduction(const Expr* expr) {
  return expr->isOneOf<ReductionOp, WelfordOp, OnlineSoftmaxOp>();
}

// ---- made from nothing

/// Every element is `fill`. Inputs: the value.
class FullOp final : public ExprOf<FullOp, ExprKind::FullOp> {
 public:
  using ExprOf::ExprOf;
  static constexpr std::string_view kName = "full";
  FullOp(IrBuilderPasskey passkey, Val* out, Val* fill);
  Val* out() const { return output(0); }
  Val* getFillValue() const { return input(0); }
};

/// out[i] = start + i·step.
class IotaOp final : public ExprOf<IotaOp, ExprKind::IotaOp> {
 public:
  using ExprOf::ExprOf;
  static constexpr std::string_view kName = "iota";
  IotaOp(IrBuilderPasskey passkey, Val* out, Val* length, Val* start, Val* step);
  Val* out() const { return output(0); }
  Val* length() const { return input(0); }
  Val* start() const { return input(1); }
  Val* step() const { return input(2); }
};

/// out[i, j] = (i == j).
class EyeOp final : public ExprOf<EyeOp, ExprKind::EyeOp> {
 public:
  using ExprOf::ExprOf;
  static constexpr std::string_view kName = "eye";
  EyeOp(IrBuilderPasskey passkey, Val* out);
  Val* out() const { return output(0); }
};

struct RNGOpFields {
  RNGOpType type{};
  static constexpr auto fields() {
    return std::tuple{Field{"type", &RNGOpFields::type, FieldPlace::InName}};
  }
};

/// Random numbers; see docs/random.md for the exact function of (seed, offset, k, element). Inputs:
/// the parameters (low, high or mean, std; none otherwise), then seed and offset where given.
class RNGOp final : public ExprOf<RNGOp, ExprKind::RNGOp, RNGOpFields> {
 public:
  using ExprOf::ExprOf;
  static constexpr std::string_view kName = "";
  RNGOp(IrBuilderPasskey passkey, RNGOpType type, Val* out, const std::vector<Val*>& parameters,
        Val* philox_seed = nullptr, Val* philox_offset = nullptr);
  Val* out() const { return output(0); }
  RNGOpType getRNGOpType() const { return fields().type; }
  int64_t numParameters() const {
    const bool has_none =
        getRNGOpType() == RNGOpType::Uniform || getRNGOpType() == RNGOpType::NormalStandard;
    return has_none ? 0 : 2;
  }
  Val* parameter(size_t i) const { return input(i); }
  /// Whether seed and offset are operands rather than the executor's.
  bool isDeterministic() const { return static_cast<int64_t>(inputs().size()) > numParameters(); }
  Val* seed() const {
    return isDeterministic() ? input(static_cast<size_t>(numParameters())) : nullptr;
  }
  Val* offset() const {
    return isDeterministic() ? input(static_cast<size_t>(numParameters()) + 1) : nullptr;
  }
};

// ---- indirect access

struct SelectOpFields {
  int64_t dim = -1;
  static constexpr auto fields() { return std::tuple{Field{"dim", &SelectOpFields::dim}}; }
};

/// out = in[..., index, ...]: one axis is fixed by a scalar.
class SelectOp final : public ExprOf<SelectOp, ExprKind::SelectOp, SelectOpFields> {
 public:
  using ExprOf::ExprOf;
  static constexpr std::string_view kName = "select";
  SelectOp(IrBuilderPasskey passkey, Val* out, Val* in, int64_t dim, Val* index);
  int64_t dim() const { return fields().dim; }
};

struct IndexSelectOpFields {
  int64_t dim = -1;
  static constexpr auto fields() { return std::tuple{Field{"dim", &IndexSelectOpFields::dim}}; }
};

/// out[..., i, ...] = in[..., index[i], ...].
class IndexSelectOp final
    : public ExprOf<IndexSelectOp, ExprKind::IndexSelectOp, IndexSelectOpFields> {
 public:
  using ExprOf::ExprOf;
  static constexpr std::string_view kName = "index_select";
  IndexSelectOp(IrBuilderPasskey passkey, Val* out, Val* in, int64_t dim, Val* index);
  int64_t dim() const { return fields().dim; }
};

struct GatherOpFields {
  int64_t dim = -1;
  bool exact = false;
  static constexpr auto fields() {
    return std::tuple{Field{"dim", &GatherOpFields::dim}, Field{"exact", &GatherOpFields::exact}};
  }
};

/// out[i, j] = in[index[i, j], j] for dim 0. Exact: so are all other axes (takeAlongAxis).
class GatherOp final : public ExprOf<GatherOp, ExprKind::GatherOp, GatherOpFields> {
 public:
  using ExprOf::ExprOf;
  static constexpr std::string_view kName = "gather";
  GatherOp(IrBuilderPasskey passkey, Val* out, Val* in, int64_t dim, Val* index, bool exact_sizes);
  int64_t dim() const { return fields().dim; }
  bool exactSizes() const { return fields().exact; }
};

struct ScatterOpFields {
  int64_t dim = -1;
  std::optional<BinaryOpType> accumulate{};
  static constexpr auto fields() {
    return std::tuple{Field{"dim", &ScatterOpFields::dim},
                      Field{"accumulate", &ScatterOpFields::accumulate}};
  }
};

/// out = self, with out[index[i, j], j] = src[i, j] for dim 0; or, accumulating, combined with it
/// in the order of index's elements.
class ScatterOp final : public ExprOf<ScatterOp, ExprKind::ScatterOp, ScatterOpFields> {
 public:
  using ExprOf::ExprOf;
  static constexpr std::string_view kName = "scatter";
  ScatterOp(IrBuilderPasskey passkey, Val* out, Val* self, int64_t dim, Val* index, Val* src,
            std::optional<BinaryOpType> accumulate_op = std::nullopt);
  int64_t dim() const { return fields().dim; }
  std::optional<BinaryOpType> accumulateOp() const { return fields().accumulate; }
};

/// What a scatter is within a kernel. Schedules make it (scheduler/scatter/); no definition has it.
///
///   T1[i0, i2] = self                    the target, in memory
///   T2[i1, i2] = write(T1, index, src)   for each element of src: T1[index[i1], i2] = src[i1, i2],
///                                        or combined with it, in order. T2 has no memory.
///   T3[i0, i2] = written(T1, T2)         the target with all of them: the same memory
class WriteAtOp final : public ExprOf<WriteAtOp, ExprKind::WriteAtOp, ScatterOpFields> {
 public:
  using ExprOf::ExprOf;
  static constexpr std::string_view kName = "write_at";
  WriteAtOp(IrBuilderPasskey passkey, Val* out, Val* target, int64_t dim, Val* index, Val* src,
            std::optional<BinaryOpType> accumulate_op);
  int64_t dim() const { return fields().dim; }
  std::optional<BinaryOpType> accumulateOp() const { return fields().accumulate; }
};

class WrittenOp final : public ExprOf<WrittenOp, ExprKind::WrittenOp> {
 public:
  using ExprOf::ExprOf;
  static constexpr std::string_view kName = "written";
  WrittenOp(IrBuilderPasskey passkey, Val* out, Val* target, Val* write);
};

/// The axis of the first operand that an operation of these kinds reads, or writes, by index.
int64_t indexedAxis(const Expr* expr);

// ---- transforms of axes

struct SplitFields {
  Val* factor = nullptr;
  bool outer = false;  ///< the factor is the extent of the outer axis
  static constexpr auto fields() {
    return std::tuple{Field{"factor", &SplitFields::factor}, Field{"outer", &SplitFields::outer}};
  }
};

/// in = outer·factor + inner. Where the factor does not divide the extent, the last outer step is
/// partial.
class Split final : public ExprOf<Split, ExprKind::Split, SplitFields> {
 public:
  using ExprOf::ExprOf;
  static constexpr std::string_view kName = "Split";
  Split(IrBuilderPasskey passkey, IterDomain* outer, IterDomain* inner, IterDomain* in, Val* factor,
        bool inner_split);
  IterDomain* outer() const { return output(0)->as<IterDomain>(); }
  IterDomain* inner() const { return output(1)->as<IterDomain>(); }
  IterDomain* in() const { return input(0)->as<IterDomain>(); }
  Val* factor() const { return fields().factor; }
  /// Whether `factor` is the extent of the inner axis (else of the outer one).
  bool innerSplit() const { return !fields().outer; }
};

/// out = outer·|inner| + inner.
class Merge final : public ExprOf<Merge, ExprKind::Merge> {
 public:
  using ExprOf::ExprOf;
  static constexpr std::string_view kName = "Merge";
  Merge(IrBuilderPasskey passkey, IterDomain* out, IterDomain* outer, IterDomain* inner);
  IterDomain* out() const { return output(0)->as<IterDomain>(); }
  IterDomain* outer() const { return input(0)->as<IterDomain>(); }
  IterDomain* inner() const { return input(1)->as<IterDomain>(); }
};

struct SwizzleFields {
  SwizzleType type = SwizzleType::NoSwizzle;
  SwizzleMode mode = SwizzleMode::NoSwizzle;
  static constexpr auto fields() {
    return std::tuple{Field{"type", &SwizzleFields::type}, Field{"mode", &SwizzleFields::mode}};
  }
};

/// A bijection of two axes: XOR gives (x, y ^ x), CyclicShift (x, (y + x) mod |y|).
class Swizzle final : public ExprOf<Swizzle, ExprKind::Swizzle, SwizzleFields> {
 public:
  using ExprOf::ExprOf;
  static constexpr std::string_view kName = "Swizzle";
  Swizzle(IrBuilderPasskey passkey, IterDomain* out_x, IterDomain* out_y, IterDomain* in_x,
          IterDomain* in_y, SwizzleType type, SwizzleMode mode);
  IterDomain* outX() const { return output(0)->as<IterDomain>(); }
  IterDomain* outY() const { return output(1)->as<IterDomain>(); }
  IterDomain* inX() const { return input(0)->as<IterDomain>(); }
  IterDomain* inY() const { return input(1)->as<IterDomain>(); }
  SwizzleType swizzleType() const { return fields().type; }
  SwizzleMode swizzleMode() const { return fields().mode; }
};

struct Swizzle1DFields {
  ParallelType along = ParallelType::Serial;
  static constexpr auto fields() { return std::tuple{Field{"along", &Swizzle1DFields::along}}; }
};

/// A rotation of one axis by a parallel index.
class Swizzle1D final : public ExprOf<Swizzle1D, ExprKind::Swizzle1D, Swizzle1DFields> {
 public:
  using ExprOf::ExprOf;
  static constexpr std::string_view kName = "Swizzle1D";
  Swizzle1D(IrBuilderPasskey passkey, IterDomain* out, IterDomain* in, ParallelType type);
  IterDomain* out() const { return output(0)->as<IterDomain>(); }
  IterDomain* in() const { return input(0)->as<IterDomain>(); }
  ParallelType parallelType() const { return fields().along; }
};

struct ResizeFields {
  Val* left = nullptr;
  Val* right = nullptr;
  int64_t step = 1;
  static constexpr auto fields() {
    return std::tuple{Field{"left", &ResizeFields::left}, Field{"right", &ResizeFields::right},
                      Field{"step", &ResizeFields::step}};
  }
};

/// in = out·step - left, |out| = (|in| + left + right) / step, which leaves no remainder. Widths
/// may be negative, and so may the step: a row of n that is turned has left 1 - n, right -1 - n,
/// step -1.
class Resize final : public ExprOf<Resize, ExprKind::Resize, ResizeFields> {
 public:
  using ExprOf::ExprOf;
  static constexpr std::string_view kName = "Resize";
  Resize(IrBuilderPasskey passkey, IterDomain* out, IterDomain* in, Val* left, Val* right,
         int64_t step = 1);
  IterDomain* out() const { return output(0)->as<IterDomain>(); }
  IterDomain* in() const { return input(0)->as<IterDomain>(); }
  Val* leftExpand() const { return fields().left; }
  Val* rightExpand() const { return fields().right; }
  int64_t step() const { return fields().step; }
};

}  // namespace nvfuser
