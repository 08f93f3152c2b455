/// Axes and domains. An `IterDomain` is one axis; a `TensorDomain` holds a tensor's lists of axes:
/// root (as the operation makes it; only where it differs) → logical (the shape) → allocation
/// (memory order; logical unless set) and loop (the schedule). Transforms (`Split`, `Merge`,
/// `Resize`, `Swizzle`) connect the lists.
#pragma once

#include <initializer_list>
#include <optional>
#include <utility>
#include <vector>

#include <ir/base_nodes.h>

namespace nvfuser {

class IterDomain;

/// Collects the properties of an axis: `IterDomainBuilder(start,
/// extent).iter_type(IterType::Reduction).build()`.
class IterDomainBuilder {
 public:
  IterDomainBuilder(Val* start, Val* extent) : start_(start), extent_(extent) {}
  explicit IterDomainBuilder(const IterDomain* id);

  IterDomainBuilder& start(Val* v) { return start_ = v, *this; }
  IterDomainBuilder& extent(Val* v) { return extent_ = v, *this; }
  IterDomainBuilder& expanded_extent(Val* v) { return expanded_extent_ = v, *this; }
  IterDomainBuilder& stop_offset(Val* v) { return stop_offset_ = v, *this; }
  IterDomainBuilder& parallel_type(ParallelType t) { return parallel_type_ = t, *this; }
  IterDomainBuilder& iter_type(IterType t) { return iter_type_ = t, *this; }
  IterDomainBuilder& is_rfactor_domain(bool b) { return is_rfactor_ = b, *this; }
  IterDomainBuilder& is_padded_dimension(bool b) { return is_padded_ = b, *this; }
  IterDomainBuilder& padded_to_size(std::optional<int64_t> n) { return padded_to_ = n, *this; }
  /// Serial, unpadded: what a fresh axis has.
  IterDomainBuilder& resetSchedulingParams();
  IterDomainBuilder& resetRfactor() { return is_rfactor_domain(false); }
  IterDomain* build() const;

 private:
  friend class IterDomain;
  Val* start_;
  Val* extent_;
  Val* expanded_extent_ = nullptr;
  Val* stop_offset_ = nullptr;
  ParallelType parallel_type_ = ParallelType::Serial;
  IterType iter_type_ = IterType::Iteration;
  bool is_rfactor_ = false;
  bool is_padded_ = false;
  std::optional<int64_t> padded_to_;
};

/// Whether a size is worked out from others: it is known when a call gives those (settling/).
bool isComputedExtent(const Val* extent);
/// The kind of an axis that an operation makes this long: Symbolic where the size is computed,
/// otherwise Iteration.
IterType iterTypeOf(const Val* extent);
/// The kind of two axes merged; none where they cannot be: one is reduced, the other is not.
std::optional<IterType> mergedIterType(IterType outer, IterType inner);

/// One axis: indices start ≤ i < extent. A broadcast axis has extent 1, and an expanded one also
/// the extent it pretends to have. One that an operation made, of a computed extent, is Symbolic
/// until the Fusion's axes are settled.
class IterDomain : public Val {
 public:
  IterDomain(IrBuilderPasskey passkey, const IterDomainBuilder& args);
  /// A copy with the same properties, for the cloner (values are mapped by it).
  IterDomain(IrBuilderPasskey passkey, const IterDomain* from, IrCloner* cloner);
  static bool classof(const Statement* s) {
    return s->isVal() && s->asVal()->vtype() == ValType::IterDomain;
  }

  /// i = outer·|inner| + inner. Here and below, an axis of `rfactor_domain` is an operation's,
  /// whose kind is `iterTypeOf` its extent; without, it is a schedule's, of the kind that it comes
  /// from.
  static IterDomain* merge(IterDomain* outer, IterDomain* inner,
                           std::optional<bool> rfactor_domain = std::nullopt,
                           std::optional<IterType> iter_type = std::nullopt);
  /// in = outer·factor + inner (inner_split) with |inner| = factor, or |outer| = factor otherwise.
  static std::pair<IterDomain*, IterDomain*> split(
      IterDomain* in, Val* factor, bool inner_split,
      std::optional<bool> rfactor_domain = std::nullopt,
      std::optional<IterType> outer_iter_type = std::nullopt,
      std::optional<IterType> inner_iter_type = std::nullopt);
  /// |out| = |in| + left + right, out index = in index + left.
  static IterDomain* resize(IterDomain* in, Val* left, Val* right, bool mark_as_rfactor = false,
                            std::optional<IterType> iter_type = std::nullopt);
  static std::pair<IterDomain*, IterDomain*> swizzle(SwizzleType type, IterDomain* x, IterDomain* y,
                                                     SwizzleMode mode = SwizzleMode::Data);
  /// Serial copies of axes, without their history.
  static std::vector<IterDomain*> clone(const std::vector<IterDomain*>& domains);
  IterDomain* cloneWithoutRFactor(bool map_with_original = false);

  IterType getIterType() const { return iter_type_; }
  bool isReduction() const { return iter_type_ == IterType::Reduction; }
  bool isIteration() const { return iter_type_ == IterType::Iteration; }
  bool isBroadcast() const { return iter_type_ == IterType::Broadcast; }
  bool isSymbolic() const { return iter_type_ == IterType::Symbolic; }
  bool isGatherScatter() const { return iter_type_ == IterType::GatherScatter; }
  bool isStride() const { return iter_type_ == IterType::Stride; }
  bool isVectorComponent() const { return iter_type_ == IterType::VectorComponent; }
  bool isRFactorProduct() const { return is_rfactor_; }
  bool isBulk() const { return parallel_type_ == ParallelType::Bulk; }

  /// Binds the axis. Throws `UserError` where the binding contradicts the kind of axis.
  void parallelize(ParallelType type);
  ParallelType getParallelType() const { return parallel_type_; }
  bool isParallelized() const { return parallel_type_ != ParallelType::Serial; }
  bool isThread() const { return isParallelTypeThread(parallel_type_); }
  bool isThreadDim() const { return isParallelTypeThreadDim(parallel_type_); }
  bool isBlockDim() const { return isParallelTypeBlockDim(parallel_type_); }
  /// The launch rounds this TIDx axis up to whole warps, or to `to_size`.
  void padToMultipleOfWarp(std::optional<int64_t> to_size = std::nullopt);
  bool hasPaddingToMultipleOfWarp() const { return is_padded_; }
  std::optional<int64_t> getMaybeSizeAfterPadding() const { return padded_to_; }
  /// Blocks along this BIDx/y/z axis form one cluster.
  void setClusteredBlocks(bool clustered = true) { is_clustered_ = clustered; }
  bool isClusteredBlockDim() const { return is_clustered_; }

  Val* start() const { return start_; }
  Val* stopOffset() const { return stop_offset_; }
  Val* extent() const { return extent_; }
  bool hasExpandedExtent() const { return expanded_extent_ != nullptr; }
  Val* expandedExtent() const { return expanded_extent_; }
  Val* getMaybeExpandedExtent() const { return expanded_extent_ ? expanded_extent_ : extent_; }

  bool sameAs(const Statement* other) const override;
  std::string toString(int indent_size = 0) const override;
  std::string toInlineString(int indent_size = 0) const override;

 private:
  friend class Fusion;  // settles kinds
  Val* start_;
  Val* extent_;
  Val* expanded_extent_;
  Val* stop_offset_;
  ParallelType parallel_type_;
  IterType iter_type_;
  bool is_rfactor_;
  bool is_padded_;
  std::optional<int64_t> padded_to_;
  bool is_clustered_ = false;
};

using Contiguity = std::vector<std::optional<bool>>;

/// The lists of axes of one tensor. Contiguity has an entry for each allocation axis: nullopt for
/// broadcast axes, otherwise whether the axis is contiguous with the next inner one that is no
/// broadcast.
class TensorDomain : public Val {
 public:
  TensorDomain(IrBuilderPasskey passkey, std::vector<IterDomain*> logical,
               Contiguity contiguity = {});
  TensorDomain(IrBuilderPasskey passkey, std::vector<IterDomain*> root,
               std::vector<IterDomain*> logical, std::vector<IterDomain*> loop,
               Contiguity contiguity = {});
  TensorDomain(IrBuilderPasskey passkey, std::vector<IterDomain*> root,
               std::vector<IterDomain*> logical, std::vector<IterDomain*> allocation,
               std::vector<IterDomain*> loop, Contiguity contiguity,
               std::vector<IterDomain*> additional_ids = {});
  TensorDomain(IrBuilderPasskey passkey, const TensorDomain* from, IrCloner* cloner);
  static bool classof(const Statement* s) {
    return s->isVal() && s->asVal()->vtype() == ValType::TensorDomain;
  }

  const std::vector<IterDomain*>& root() const { return root_; }
  const std::vector<IterDomain*>& maybeRoot() const { return root_.empty() ? logical_ : root_; }
  const std::vector<IterDomain*>& logical() const { return logical_; }
  const std::vector<IterDomain*>& allocation() const { return allocation_; }
  const std::vector<IterDomain*>& maybeAllocation() const {
    return allocation_.empty() ? logical_ : allocation_;
  }
  const std::vector<IterDomain*>& loop() const { return loop_; }
  const std::vector<IterDomain*>& initialLoop() const { return initial_loop_; }
  /// Extent-1 axes that come from nowhere: they stand in the loop domain where a neighbour has an
  /// axis this tensor lacks. Whoever adds one says what it stands for:
  /// Fusion::registerExactMapping(added, the neighbour's axis).
  const std::vector<IterDomain*>& additionalIDs() const { return additional_ids_; }
  /// Every axis of the domain, each once: root, logical, allocation, loop and all between them.
  std::vector<IterDomain*> allIDs() const;
  /// Every transform between the axes, producers first.
  std::vector<Expr*> allExprs() const;

  bool hasRoot() const { return !root_.empty(); }
  bool hasAllocation() const { return !allocation_.empty(); }
  const Contiguity& contiguity() const { return contiguity_; }
  void setContiguity(Contiguity contiguity);
  void setLoopDomain(std::vector<IterDomain*> loop);
  void setAllocationDomain(std::vector<IterDomain*> allocation, Contiguity contiguity);
  void addAdditionalId(IterDomain* id) { additional_ids_.push_back(id); }

  int64_t nDims() const { return static_cast<int64_t>(loop_.size()); }
  IterDomain* axis(int64_t i) const;
  bool hasReduction() const;
  bool hasBroadcast() const;

  static std::vector<IterDomain*> noReductions(const std::vector<IterDomain*>& ids);
  static std::vector<IterDomain*> noBroadcasts(const std::vector<IterDomain*>& ids);
  /// `fill` for each axis, nullopt for broadcasts.
  static Contiguity getContiguityFilledWith(const std::vector<IterDomain*>& allocation, bool fill);

  bool sameAs(const Statement* other) const override;
  std::string toString(int indent_size = 0) const override;
  std::string toInlineString(int indent_size = 0) const override { return toString(indent_size); }

 private:
  std::vector<IterDomain*> root_;
  std::vector<IterDomain*> logical_;
  std::vector<IterDomain*> allocation_;
  std::vector<IterDomain*> loop_;
  std::vector<IterDomain*> initial_loop_;
  std::vector<IterDomain*> additional_ids_;
  Contiguity contiguity_;
};

/// `axis` counted from the front; negative counts from the end. Throws `UserError` outside [−n, n).
int64_t wrapDim(int64_t axis, int64_t n, std::string_view what);
/// The same for one of the `n` axes of `tensor`, which the message names.
int64_t wrapDim(int64_t axis, int64_t n, std::string_view what, std::string_view tensor);

}  // namespace nvfuser
