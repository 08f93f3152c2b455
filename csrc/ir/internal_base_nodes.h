/// Axes and domains. An `IterDomain` is one axis; a `TensorDomain` holds a tensor's lists of axes:
/// root (as the operation makes it; only where it differs) → logical (the shape) → allocation
/// (memory order; logical unless set) and loop (the schedule). Transforms (`Split`, `Merge`,
/// `Resize`, `Swizzle`) connect the lists.
#pragma once

#include <initializer_list>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include <ir/base_nodes.h>

namespace nvfuser {

class IterDomain;

/// What an axis is.
struct AxisFields {
  Val* start = nullptr;
  Val* extent = nullptr;
  Val* expanded_extent = nullptr;  ///< of a broadcast axis: the extent that it pretends to have
  Val* stop_offset = nullptr;
  ParallelType parallel_type = ParallelType::Serial;
  IterType iter_type = IterType::Iteration;
  bool is_rfactor = false;  ///< an operation made it by a transform
  bool is_padded = false;
  std::optional<int64_t> padded_to{};
  bool is_clustered = false;

  static constexpr auto fields() {
    return std::tuple{Field{"start", &AxisFields::start},
                      Field{"extent", &AxisFields::extent},
                      Field{"expanded_extent", &AxisFields::expanded_extent},
                      Field{"stop_offset", &AxisFields::stop_offset},
                      Field{"parallel_type", &AxisFields::parallel_type},
                      Field{"iter_type", &AxisFields::iter_type},
                      Field{"rfactor", &AxisFields::is_rfactor},
                      Field{"padded", &AxisFields::is_padded},
                      Field{"padded_to", &AxisFields::padded_to},
                      Field{"clustered", &AxisFields::is_clustered}};
  }
};

/// Collects the properties of an axis: `IterDomainBuilder(start,
/// extent).iter_type(IterType::Reduction).build()`.
class IterDomainBuilder {
 public:
  IterDomainBuilder(Val* start, Val* extent) : fields_{.start = start, .extent = extent} {}
  explicit IterDomainBuilder(AxisFields fields) : fields_(fields) {}
  explicit IterDomainBuilder(const IterDomain* id);

  IterDomainBuilder& start(Val* v) { return fields_.start = v, *this; }
  IterDomainBuilder& extent(Val* v) { return fields_.extent = v, *this; }
  IterDomainBuilder& expanded_extent(Val* v) { return fields_.expanded_extent = v, *this; }
  IterDomainBuilder& stop_offset(Val* v) { return fields_.stop_offset = v, *this; }
  IterDomainBuilder& parallel_type(ParallelType t) { return fields_.parallel_type = t, *this; }
  IterDomainBuilder& iter_type(IterType t) { return fields_.iter_type = t, *this; }
  IterDomainBuilder& is_rfactor_domain(bool b) { return fields_.is_rfactor = b, *this; }
  IterDomainBuilder& is_padded_dimension(bool b) { return fields_.is_padded = b, *this; }
  IterDomainBuilder& padded_to_size(std::optional<int64_t> n) {
    return fields_.padded_to = n, *this;
  }
  /// Serial, unpadded: what a fresh axis has.
  IterDomainBuilder& resetSchedulingParams();
  IterDomainBuilder& resetRfactor() { return is_rfactor_domain(false); }
  IterDomain* build() const;

 private:
  AxisFields fields_;
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
  IterDomain(IrBuilderPasskey passkey, AxisFields fields);
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

  const AxisFields& fields() const { return fields_; }
  IterType getIterType() const { return fields_.iter_type; }
  bool isReduction() const { return fields_.iter_type == IterType::Reduction; }
  bool isIteration() const { return fields_.iter_type == IterType::Iteration; }
  bool isBroadcast() const { return fields_.iter_type == IterType::Broadcast; }
  bool isSymbolic() const { return fields_.iter_type == IterType::Symbolic; }
  bool isGatherScatter() const { return fields_.iter_type == IterType::GatherScatter; }
  bool isStride() const { return fields_.iter_type == IterType::Stride; }
  bool isVectorComponent() const { return fields_.iter_type == IterType::VectorComponent; }
  bool isRFactorProduct() const { return fields_.is_rfactor; }
  bool isBulk() const { return fields_.parallel_type == ParallelType::Bulk; }

  /// Binds the axis. Throws `UserError` where the binding contradicts the kind of axis.
  void parallelize(ParallelType type);
  ParallelType getParallelType() const { return fields_.parallel_type; }
  bool isParallelized() const { return fields_.parallel_type != ParallelType::Serial; }
  bool isThread() const { return isParallelTypeThread(fields_.parallel_type); }
  bool isThreadDim() const { return isParallelTypeThreadDim(fields_.parallel_type); }
  bool isBlockDim() const { return isParallelTypeBlockDim(fields_.parallel_type); }
  /// The launch rounds this TIDx axis up to whole warps, or to `to_size`: several warps, or a part
  /// of one that others share with it.
  void padToMultipleOfWarp(std::optional<int64_t> to_size = std::nullopt);
  bool hasPaddingToMultipleOfWarp() const { return fields_.is_padded; }
  std::optional<int64_t> getMaybeSizeAfterPadding() const { return fields_.padded_to; }
  /// Blocks along this BIDx/y/z axis form one cluster.
  void setClusteredBlocks(bool clustered = true) { fields_.is_clustered = clustered; }
  bool isClusteredBlockDim() const { return fields_.is_clustered; }

  Val* start() const { return fields_.start; }
  Val* stopOffset() const { return fields_.stop_offset; }
  Val* extent() const { return fields_.extent; }
  bool hasExpandedExtent() const { return fields_.expanded_extent != nullptr; }
  Val* expandedExtent() const { return fields_.expanded_extent; }
  Val* getMaybeExpandedExtent() const {
    return fields_.expanded_extent ? fields_.expanded_extent : fields_.extent;
  }

  bool sameAs(const Statement* other) const override;
  std::string toString(int indent_size = 0) const override;
  std::string toInlineString(int indent_size = 0) const override;

 private:
  friend class Fusion;  // settles kinds
  AxisFields fields_;
};

using Contiguity = std::vector<std::optional<bool>>;

/// A tensor's lists of axes.
struct DomainFields {
  std::vector<IterDomain*> root;
  std::vector<IterDomain*> logical;
  std::vector<IterDomain*> allocation;
  std::vector<IterDomain*> loop;
  std::vector<IterDomain*> initial_loop;
  std::vector<IterDomain*> additional_ids;
  Contiguity contiguity;

  static constexpr auto fields() {
    return std::tuple{Field{"root domain", &DomainFields::root},
                      Field{"logical domain", &DomainFields::logical},
                      Field{"allocation domain", &DomainFields::allocation},
                      Field{"loop domain", &DomainFields::loop},
                      Field{"initial loop domain", &DomainFields::initial_loop},
                      Field{"stand-ins", &DomainFields::additional_ids},
                      Field{"contiguity", &DomainFields::contiguity}};
  }
};

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
  /// The fields as they are.
  TensorDomain(IrBuilderPasskey passkey, DomainFields fields);
  static bool classof(const Statement* s) {
    return s->isVal() && s->asVal()->vtype() == ValType::TensorDomain;
  }

  const DomainFields& fields() const { return fields_; }
  const std::vector<IterDomain*>& root() const { return fields_.root; }
  const std::vector<IterDomain*>& maybeRoot() const {
    return fields_.root.empty() ? fields_.logical : fields_.root;
  }
  const std::vector<IterDomain*>& logical() const { return fields_.logical; }
  const std::vector<IterDomain*>& allocation() const { return fields_.allocation; }
  const std::vector<IterDomain*>& maybeAllocation() const {
    return fields_.allocation.empty() ? fields_.logical : fields_.allocation;
  }
  const std::vector<IterDomain*>& loop() const { return fields_.loop; }
  const std::vector<IterDomain*>& initialLoop() const { return fields_.initial_loop; }
  /// Extent-1 axes that come from nowhere: they stand in the loop domain where a neighbour has an
  /// axis this tensor lacks. Whoever adds one says what it stands for:
  /// Fusion::registerExactMapping(added, the neighbour's axis).
  const std::vector<IterDomain*>& additionalIDs() const { return fields_.additional_ids; }
  /// Every axis of the domain, each once: root, logical, allocation, loop and all between them.
  std::vector<IterDomain*> allIDs() const;
  /// Every transform between the axes, producers first.
  std::vector<Expr*> allExprs() const;

  bool hasRoot() const { return !fields_.root.empty(); }
  bool hasAllocation() const { return !fields_.allocation.empty(); }
  const Contiguity& contiguity() const { return fields_.contiguity; }
  void setContiguity(Contiguity contiguity);
  void setLoopDomain(std::vector<IterDomain*> loop);
  void setAllocationDomain(std::vector<IterDomain*> allocation, Contiguity contiguity);
  void addAdditionalId(IterDomain* id) { fields_.additional_ids.push_back(id); }

  int64_t nDims() const { return static_cast<int64_t>(fields_.loop.size()); }
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
  DomainFields fields_;
};

/// `axis` counted from the front; negative counts from the end. Throws `UserError` outside [−n, n).
int64_t wrapDim(int64_t axis, int64_t n, std::string_view what);
/// The same for one of the `n` axes of `tensor`, which the message names.
int64_t wrapDim(int64_t axis, int64_t n, std::string_view what, std::string_view tensor);

}  // namespace nvfuser
