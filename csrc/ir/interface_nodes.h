/// `TensorView`, the tensor that users define, schedule and read, and the builder of input tensors.
///
/// Scheduling members are declared here and defined in `scheduler/`, one primitive a file.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <variant>

#include <ir/device_mesh.h>
#include <ir/internal_base_nodes.h>

namespace nvfuser {

class MaxPosCalculator;

/// A circular buffer whose stages are filled by the computing threads themselves.
struct Pipelined {
  bool uses_mbarrier_for_war = false;
  explicit Pipelined(bool mbarrier = false) : uses_mbarrier_for_war(mbarrier) {}
  friend bool operator==(const Pipelined&, const Pipelined&) = default;
};
/// A circular buffer whose stages are filled by threads of their own: more of them along a
/// dimension of the block, which do nothing else. Of the registers that a thread may have, those
/// that load give some to those that compute: `num_registers` for either.
struct WarpSpecialized {
  ParallelType on = ParallelType::Serial;
  std::optional<std::pair<int64_t, int64_t>> num_registers;
  explicit WarpSpecialized(ParallelType dimension) : on(dimension) {}
  WarpSpecialized(ParallelType dimension, std::pair<int64_t, int64_t> registers)
      : on(dimension), num_registers(registers) {}
  friend bool operator==(const WarpSpecialized&, const WarpSpecialized&) = default;
};
using CircularBufferType = std::variant<Pipelined, WarpSpecialized>;

/// `stage` buffers; loads run `prefetch` iterations ahead.
struct CircularBufferOptions {
  CircularBufferType type = Pipelined(false);
  int64_t stage = 0;
  int64_t prefetch = 0;
  bool isEnable() const { return stage > 1; }
  friend bool operator==(const CircularBufferOptions&, const CircularBufferOptions&) = default;
};

/// What a tensor is besides its dtype.
struct TensorFields {
  TensorDomain* domain = nullptr;
  MemoryType memory_type = MemoryType::Local;
  int64_t compute_at_pos = 0;
  int64_t max_producer_pos = 0;
  bool promote_reuse = false;
  bool cpu_scalar = false;
  DeviceMesh mesh{};
  CircularBufferOptions circular_buffer{};

  static constexpr auto fields() {
    return std::tuple{Field{"domain", &TensorFields::domain},
                      Field{"memory", &TensorFields::memory_type},
                      Field{"ca_pos", &TensorFields::compute_at_pos},
                      Field{"produce_pos", &TensorFields::max_producer_pos},
                      Field{"promote reuse", &TensorFields::promote_reuse},
                      Field{"cpu scalar", &TensorFields::cpu_scalar},
                      Field{"mesh", &TensorFields::mesh},
                      Field{"circular buffer", &TensorFields::circular_buffer}};
  }
};

class TensorView : public Val {
 public:
  TensorView(IrBuilderPasskey passkey, TensorDomain* domain, DataType dtype,
             MemoryType memory_type = MemoryType::Local);
  TensorView(IrBuilderPasskey passkey, TensorFields fields, DataType dtype);
  static bool classof(const Statement* s) {
    return s->isVal() && s->asVal()->vtype() == ValType::TensorView;
  }

  const TensorFields& fields() const { return fields_; }

  // Domains.
  TensorDomain* domain() const { return fields_.domain; }
  const std::vector<IterDomain*>& getRootDomain() const { return fields_.domain->root(); }
  const std::vector<IterDomain*>& getMaybeRootDomain() const { return fields_.domain->maybeRoot(); }
  const std::vector<IterDomain*>& getLogicalDomain() const { return fields_.domain->logical(); }
  const std::vector<IterDomain*>& getAllocationDomain() const {
    return fields_.domain->allocation();
  }
  const std::vector<IterDomain*>& getMaybeAllocationDomain() const {
    return fields_.domain->maybeAllocation();
  }
  const std::vector<IterDomain*>& getLoopDomain() const { return fields_.domain->loop(); }
  const std::vector<IterDomain*>& getInitialLoopDomain() const {
    return fields_.domain->initialLoop();
  }
  void setLoopDomain(std::vector<IterDomain*> loop);
  void setAllocationDomain(std::vector<IterDomain*> allocation, Contiguity contiguity);
  void setAllocationDomain(std::vector<IterDomain*> allocation, bool contiguity);
  const Contiguity& getContiguity() const { return fields_.domain->contiguity(); }
  void setContiguity(Contiguity contiguity);
  void setContiguity(bool contiguity);

  /// The i-th axis of the loop domain; negative counts from the end.
  IterDomain* axis(int64_t i) const { return fields_.domain->axis(i); }
  int64_t nDims() const { return fields_.domain->nDims(); }
  bool isZeroDim() const { return nDims() == 0; }
  bool hasReduction() const { return fields_.domain->hasReduction(); }
  bool hasBroadcast() const { return fields_.domain->hasBroadcast(); }
  bool hasBlockReduction() const;
  bool hasGridReduction() const;
  bool hasRoot() const { return fields_.domain->hasRoot(); }
  bool hasAllocation() const { return fields_.domain->hasAllocation(); }

  // Transforms of the loop domain. Each returns this tensor.
  TensorView* split(int64_t axis, int64_t factor, bool inner_split = true);
  TensorView* split(int64_t axis, Val* factor, bool inner_split = true);
  TensorView* inner_split(int64_t axis, int64_t factor) { return split(axis, factor, true); }
  TensorView* outer_split(int64_t axis, int64_t factor) { return split(axis, factor, false); }
  TensorView* merge(int64_t axis_o, int64_t axis_i);
  TensorView* merge(int64_t axis) { return merge(axis, axis + 1); }
  TensorView* flatten(int64_t from = 0, int64_t to = -1);
  TensorView* reorder(const std::unordered_map<int64_t, int64_t>& old2new);
  TensorView* reorder(std::initializer_list<std::pair<const int64_t, int64_t>> old2new);
  TensorView* reorder(const std::vector<int64_t>& permutation);
  TensorView* reorder(std::initializer_list<int64_t> permutation);
  TensorView* swizzle(SwizzleType type, int64_t x, int64_t y);
  /// Of a tensor in shared memory whose two innermost loop axes, rows and columns, are a box: lays
  /// it out in memory as the copy engine swizzles it. A row has as many bytes as the swizzle.
  void swizzleTMABox(MmaInputSmemSwizzle swizzle);
  /// The same, and binds both axes to Bulk.
  void applyMmaSwizzleForTMALoad(MmaInputSmemSwizzle swizzle);
  TensorView* resize(int64_t axis, Val* left, Val* right,
                     std::optional<IterType> iter_type = std::nullopt);
  TensorView* broadcast(int64_t axis, int64_t extent = 1);
  TensorView* broadcast(int64_t axis, Val* extent);

  /// Reduces `axes` (positions in the loop domain) first, into a new tensor that this one then
  /// reads. Returns it.
  TensorView* rFactor(const std::vector<int64_t>& axes);
  /// The same for the outputs of one multi-output reduction (Welford), given together.
  std::vector<TensorView*> rFactor(const std::vector<int64_t>& axes,
                                   const std::vector<TensorView*>& tvs);

  // Caching.
  TensorView* cacheBefore(LoadStoreOpType type = LoadStoreOpType::Set);
  TensorView* cacheAfter(LoadStoreOpType type = LoadStoreOpType::Set,
                         CacheOp cache_op = CacheOp::Unspecified,
                         bool propagate_allocation_domain = true,
                         std::vector<Expr*> cached_uses = {});
  TensorView* cacheFork();

  // Inlining.
  TensorView* computeAt(TensorView* consumer, int64_t position,
                        ComputeAtMode mode = ComputeAtMode::Standard);
  void inlineAt(int64_t pos, bool best_effort = false, MaxPosCalculator* calc = nullptr);
  void clearComputePosition() { fields_.compute_at_pos = 0; }
  bool hasComputeAt() const { return fields_.compute_at_pos > 0; }
  /// Number of leading loop axes shared with every consumer.
  int64_t getComputeAtPosition() const { return fields_.compute_at_pos; }
  int64_t getMaxComputePosition() const { return fields_.compute_at_pos; }
  int64_t getComputePosition(const TensorView*) const { return fields_.compute_at_pos; }
  /// Largest number of leading loop axes shared with a producer.
  int64_t getMaxProducerPosition() const { return fields_.max_producer_pos; }
  int64_t getMaybeMaxProducerPosition() const { return fields_.max_producer_pos; }
  void updateMaxProducerPosition();

  // Memory.
  MemoryType getMemoryType() const { return fields_.memory_type; }
  void setMemoryType(MemoryType type);
  void promoteReuse(bool promote = true) { fields_.promote_reuse = promote; }
  bool shouldPromoteReuse() const { return fields_.promote_reuse; }
  void circularBuffer(int64_t number_of_stages, int64_t prefetch_distance = -1,
                      CircularBufferType type = Pipelined(false));
  bool isCircularBuffered() const { return fields_.circular_buffer.isEnable(); }
  const CircularBufferOptions& circularBufferOptions() const { return fields_.circular_buffer; }

  // Devices that have a part of it, or all of it each (multidevice/).
  void setDeviceMesh(DeviceMesh mesh) { fields_.mesh = std::move(mesh); }
  const DeviceMesh& getDeviceMesh() const { return fields_.mesh; }
  bool hasDeviceMesh() const { return !fields_.mesh.empty(); }

  void setCpuScalar(bool is_cpu_scalar) { fields_.cpu_scalar = is_cpu_scalar; }
  bool isCpuScalar() const { return fields_.cpu_scalar; }

  bool sameAs(const Statement* other) const override;
  /// "T3_l_float[iS4{i0}, rS5{i2}] ca_pos( 1 )".
  std::string toString(int indent_size = 0) const override;
  /// "T3".
  std::string toInlineString(int indent_size = 0) const override;

 private:
  friend class Fusion;
  friend class InlineState;
  friend class ReplaceDomain;
  TensorFields fields_;
};

/// The one door for primitives that replace a tensor's domain (rFactor, caching, replays).
class ReplaceDomain {
 public:
  static void set(TensorView* tv, TensorDomain* domain) { tv->fields_.domain = domain; }
};

/// The one door for primitives that move compute positions.
class InlineState {
 public:
  static void setComputeAt(TensorView* tv, int64_t pos) { tv->fields_.compute_at_pos = pos; }
  static void setMaxProducer(TensorView* tv, int64_t pos) { tv->fields_.max_producer_pos = pos; }
};

/// Describes a tensor and makes it:
/// `TensorViewBuilder().ndims(2).dtype(DataType::Half).contiguity(true).build()`.
class TensorViewBuilder {
 public:
  TensorViewBuilder& ndims(int64_t n);
  TensorViewBuilder& dtype(DataType dtype);
  TensorViewBuilder& contiguity(Contiguity contiguity);
  TensorViewBuilder& contiguity(bool contiguous);
  TensorViewBuilder& shape(std::vector<Val*> shape);
  /// −1: symbolic, 1: broadcast, otherwise a constant extent.
  TensorViewBuilder& shape(const std::vector<int64_t>& shape);
  TensorViewBuilder& expanded(std::vector<bool> expanded);
  /// stride_order[i]: position of logical axis i counted from the innermost (0 is fastest).
  TensorViewBuilder& strideOrder(std::vector<int64_t> stride_order);
  TensorView* build() const;

 private:
  int64_t ndims_ = -1;
  DataType dtype_ = DataType::Float;
  std::optional<std::variant<bool, Contiguity>> contiguity_;
  std::vector<Val*> shape_;
  std::vector<bool> expanded_;
  std::vector<int64_t> stride_order_;
};

/// All axes symbolic and contiguous.
TensorView* makeContigTensor(int64_t ndims, DataType dtype = DataType::Float);
/// All axes symbolic, any strides.
TensorView* makeSymbolicTensor(int64_t ndims, DataType dtype = DataType::Float);
/// −1: symbolic, 1: broadcast; any strides.
TensorView* makeSymbolicTensor(const std::vector<int64_t>& shape, DataType dtype = DataType::Float);
/// Constant extents (1: broadcast, −1: symbolic), any strides.
TensorView* makeConcreteTensor(const std::vector<int64_t>& shape, DataType dtype = DataType::Float);
/// Constant extents, contiguous.
TensorView* makeContigConcreteTensor(const std::vector<int64_t>& shape,
                                     DataType dtype = DataType::Float);

}  // namespace nvfuser
