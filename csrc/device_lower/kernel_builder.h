/// Turns the loop tree into statements of the kernel IR: loops, predicates, indexed operations.
///
/// One class over several files, by what a file knows about:
///   kernel_builder.cpp    loops, declarations, predicates around statements
///   build_pointwise.cpp   operations that compute each element by itself
///   build_indirect.cpp    select, index_select, gather, and what a scatter writes
///   build_unswitch.cpp    one condition around a loop in place of one for each element
///   build_reduction.cpp   reductions and Welford: where a sum starts, is added to, and ends
///   build_accumulators.cpp   where the state of a sum is kept
///   build_scan.cpp        scans
///   build_thread_reduction.cpp   a reduction's end across the threads of a block, a cluster, the
///                         grid
///   build_circular.cpp    loops whose loads run ahead
///   build_async.cpp       copies beside the threads: cp.async, bulk copies
///   build_box.cpp         bulk copies along several axes
///   build_roles.cpp       threads that load, and those that compute
///   build_vector.cpp      vector accesses and what they need of strides and addresses
#pragma once

#include <span>
#include <unordered_set>

#include <device_lower/async_copy.h>
#include <device_lower/predicates.h>
#include <ir/composite_nodes.h>

namespace nvfuser {

/// The axis that a loop is over.
std::string loopComment(const LoopClass& loop, const IdGraph& exact);

class KernelBuilder {
 public:
  KernelBuilder(const Fusion& fusion, const IdGraph& exact, LoopModel& loops, Symbols& symbols,
                Allocations& allocations, const LowerOptions& options, kir::Kernel& kernel);

  /// Fills kernel.body, kernel.checks and the parameters' scalars.
  void build(LoopNode& root);
  /// Scalars of the fusion that statements use as operands, in order of first use.
  const std::vector<const Val*>& scalarOperands() const { return scalar_operands_; }

 private:
  using Replaced = std::unordered_map<const LoopClass*, kir::Scalar>;
  /// The most reductions that threads carry out together.
  static constexpr int64_t kMaxGroup = 16;

  // kernel_builder.cpp
  void node(LoopNode& node, kir::Block& out);
  void children(LoopNode& node, kir::Block& out);
  void loop(LoopNode& node, kir::Block& out);
  /// Whether threads take part together in something inside: a barrier, a wait, a bulk copy, a
  /// reduction across them.
  bool exchangesData(const LoopNode& node) const;
  /// On the CPU: whether the iterations of an innermost loop may run in any order.
  bool isSimd(const LoopNode& node) const;
  void leaf(Leaf& leaf, kir::Block& out);
  void guarded(kir::Scalar condition, kir::Block body, kir::Block& out);
  void declare(const LoopNode& scope, kir::Block& out);
  kir::Operand operand(const Val* val, const Expr* expr, const TensorView* out,
                       const Places& places);
  kir::Operand scalarOperand(const Val* val);
  /// At each launch the axes of other tensors must have an element, around which a statement is
  /// computed that does not depend on them.
  void requireIterations(const Leaf& leaf);
  void requireElements(const IterDomain* axis, const TensorView* tv);
  kir::Ref markRead(kir::Ref ref);
  kir::Ref markWritten(kir::Ref ref);

  // build_unswitch.cpp
  void unswitch(LoopNode& node, kir::Block& out);
  struct AskedInside;
  /// Adds what the statements in `node` ask for, inside of these loops.
  void collectAsked(LoopNode& node, std::vector<const LoopClass*> inside, AskedInside& asked);
  void collectAsked(Leaf& leaf, const std::vector<const LoopClass*>& inside, AskedInside& asked);
  /// The loop; `proven`: all bounds inside hold.
  void unrolledLoop(LoopNode& node, bool proven, kir::Block& out);

  // build_pointwise.cpp
  void pointwise(Leaf& leaf, const Places& places, const kir::Ref& dst, kir::Block& out);
  /// An operation of `ops/table/` on all of the expression's inputs.
  void compute(kir::PointwiseType type, const Leaf& leaf, const Places& places, const kir::Ref& dst,
               kir::Block& out);
  void pad(const PadOp* op, const Places& places, const kir::Ref& dst, kir::Block& out);
  /// Index of each axis of what a slice or a pad reads.
  AxisIndex windowAxes(const Expr* window, const Places& places);
  /// An index that has to be in [0, extent).
  struct Bound {
    kir::Scalar index;
    kir::Scalar extent;
  };
  /// Between which a pad reads its input (beyond them it has its value), or a window a row at an
  /// index.
  std::vector<Bound> windowBounds(const Expr* window, const Places& places);
  kir::Scalar insideWindow(const std::vector<Bound>& bounds);
  void cat(const CatOp* op, const Places& places, const kir::Ref& dst, kir::Block& out);
  void iota(const IotaOp* op, const Places& places, const kir::Ref& dst, kir::Block& out);
  void eye(const EyeOp* op, const Places& places, const kir::Ref& dst, kir::Block& out);
  void random(const RNGOp* op, const Places& places, const kir::Ref& dst, kir::Block& out);
  void complexPart(const ViewAsScalar* op, const Places& places, const kir::Ref& dst,
                   kir::Block& out);
  /// Index of an axis where its value counts: 0 in all iterations of loops over one element.
  kir::Scalar elementIndex(const IterDomain* id, const Places& places) const;
  const kir::Buffer* temporary(DataType dtype, kir::Block& out);

  // build_indirect.cpp
  /// At each launch a scalar index must lie in [0, extent).
  void requireInRange(kir::Scalar index, kir::Scalar extent, const Expr* expr);
  /// The place of an operation in Kernel::index_reads.
  int indexRange(kir::Scalar extent, const Expr* expr);
  void indirect(const Expr* expr, const Places& places, const kir::Ref& dst, kir::Block& out);
  /// The index that `expr` reads `axis` at where it is counted (counted_index.h) and the axis has
  /// it; null: it is loaded.
  kir::Scalar knownIndex(const Expr* expr, const IterDomain* axis, const Places& places);
  /// Loads the index that `expr` reads or writes `axis` at, where its result is.
  kir::Scalar loadIndex(const Expr* expr, const IterDomain* axis, const Places& places,
                        kir::Block& out);
  void writeAt(const WriteAtOp* op, const Places& places, kir::Block& out);
  /// Whether iterations of the loop may write to one place, and so keep their order.
  static bool writesInOrder(const Leaf& leaf, const LoopClass& loop);

  // build_reduction.cpp
  void reduction(Leaf& leaf, const Places& places, kir::Block& out);
  /// Where the part of the state that becomes `tv` is started and added to.
  kir::Scalar sumsInside(const Leaf& leaf, const TensorView* tv, const Places& places) const;
  kir::Monoid monoidOf(const Expr* expr) const;
  /// True where the statement takes the element: in one of the iterations that share a state.
  kir::Scalar takesOnce(const Leaf& leaf, bool accumulates) const;
  /// `group`: the loop whose iterations are reduced together, or null.
  void finishReduction(Leaf& leaf, const LoopClass* group, kir::Block& out);
  /// True in one iteration of the loops over a broadcast axis behind the reduction's first one, but
  /// for `group`: they are one element, whose sum the first of their accumulators holds.
  kir::Scalar atFirstOfBroadcasts(const Leaf& leaf, const LoopClass* group) const;
  /// The same of a part of a broadcast axis that is merged into such a loop: where the sum is taken
  /// in the loops of what it reads, which may lack the part, the accumulators beside the first are
  /// empty.
  kir::Scalar atFirstOfParts(const Leaf& leaf, const Places& places) const;
  /// The same, where the state is combined across threads in place: once.
  kir::Scalar finishesOnce(const Leaf& leaf, const LoopClass* group) const;
  bool isGroup(const LoopNode& node) const;
  /// Whether threads or blocks each hold a part of the sum.
  bool isSpreadReduction(const TensorView* tv) const;

  // build_accumulators.cpp
  /// The loop over an axis of `tv` around the statement: its parts have loops of their own.
  static const LoopClass* loopOf(const Leaf& leaf, const TensorView* tv, int position);
  /// Whether the memory of a reduction's result adds up itself, not registers.
  bool isSummedInMemory(const TensorView* tv) const;
  void makeAccumulators(const Expr* expr);
  std::vector<kir::Ref> state(Leaf& leaf, const Places& places);
  /// The most states that a tensor may have.
  static constexpr int64_t kMaxAccumulators = 1024;
  /// Positions of the loops behind the first one that a tensor reduces or scans along, which are
  /// none of these: each of their iterations has a state of its own.
  static std::vector<int> loopsBehindFolded(const TensorView* tv, const LoopModel& loops);
  kir::Scalar statesOf(const TensorView* tv) const;
  /// Registers for these, declared in front of those loops.
  const kir::Buffer* declareState(const TensorView* tv, const std::string& name, DataType dtype);
  /// The place of the iteration of loops behind the first folded one in an accumulator of `tv`.
  kir::Scalar placeOfState(const Leaf& leaf, const TensorView* tv, const Places& places) const;

  // build_scan.cpp
  void makeCarries(const ScanOp* op);
  /// What the iteration of the loops around a statement has combined so far; with `total`, of all
  /// threads.
  kir::Ref carry(const Leaf& leaf, const Places& places, bool total) const;
  void scan(Leaf& leaf, const Places& places, kir::Block& out);
  void stepOfScan(Leaf& leaf, const Places& places, kir::Block& out);
  bool joinsBlockScan(const kir::BlockScan& scan, kir::Scalar bytes, kir::Block& out) const;
  void exchangeOfScan(const Leaf& leaf, const Places& places, kir::Block& out);

  // build_thread_reduction.cpp
  /// A buffer of that name; the one there is for another copy of the statement.
  kir::Buffer* workspace(const std::string& name, MemoryType memory, kir::Scalar elements,
                         bool zeroed);
  /// Threads of a block.
  kir::Scalar threadsOfBlock() const;
  /// Whether warps of a block exchange what they have in shared memory, rather than the lanes of
  /// each alone.
  kir::Scalar sharedAmongWarps(const bool (&dims)[3]) const;
  /// Adds the reduction, which needs `bytes` of workspace, to one before it in `out`, where nothing
  /// in between depends on it: one exchange for both.
  bool joinsBlockReduce(const kir::BlockReduce& reduce, kir::Scalar bytes, kir::Block& out) const;
  struct SpreadState;
  void findDimensions(SpreadState& state) const;
  /// True where it joined a reduction before it.
  bool combineInBlock(const SpreadState& state, kir::Block& out);
  void combineInCluster(const SpreadState& state, kir::Block& out);
  kir::Scalar combineInGrid(const SpreadState& state, kir::Block& out);
  /// Null, or the symbol that is true in the only block that has the result.
  kir::Scalar combineAcrossThreads(Leaf& leaf, const kir::Monoid& monoid,
                                   const std::vector<kir::Ref>& parts, bool in_loop,
                                   kir::Block& out);

  // build_circular.cpp
  struct CircularLoop;
  bool isCircular(const LoopNode& node) const;
  /// Whether a tensor is a circular buffer whose loads run ahead of the loop.
  bool runsAhead(const TensorView* tv, const LoopClass& loop) const;
  void findBuffers(CircularLoop& circular) const;
  void findLoads(const LoopNode& node, CircularLoop& circular) const;
  /// The loads of an iteration, from the one where the loop is at `at`.
  void loadOf(LoopNode& node, const CircularLoop& circular, kir::Scalar iteration, kir::Scalar at,
              kir::Block& out);
  kir::Block iterationOf(LoopNode& node, const CircularLoop& circular, kir::Scalar at);
  void circularLoop(LoopNode& node, kir::Block& out);

  // build_roles.cpp
  void findRoles(const Fusion& fusion);
  void countThreads(const WarpSpecialized& special);
  bool isSpecialLoad(const TensorView* tv) const;
  bool hasSpecialLoads(const LoopNode& node) const;
  /// Whether threads of the role that is built have a part in what is in `node`.
  bool isForRole(const LoopNode& node) const;
  void buildRoles(LoopNode& root);
  void specialisedLoop(LoopNode& node, const std::vector<const TensorView*>& loads,
                       kir::Block& out);

  // build_async.cpp
  bool isAsyncCopy(const Expr* expr) const;  ///< by cp.async
  kir::Stmt asyncCopy(const LoadStoreOp* copy, const kir::Ref& dst, const kir::Ref& src) const;
  /// `no_box`: why it is none, for messages.
  void stretchCopy(const Leaf& leaf, const LoopClass* bulk, const std::string& no_box,
                   kir::Block& out);
  void initialiseBarriers(kir::Block& out);
  /// The mbarrier of the stage that is worked on.
  kir::Ref barrierOf(const TensorView* tv) const;
  /// Closes what was copied; waits until at most `pending` groups are open.
  void commit(kir::AsyncKind kind, const TensorView* tv, kir::Block& out) const;
  void wait(kir::AsyncKind kind, int64_t pending, const TensorView* tv, kir::Block& out) const;

  // build_box.cpp
  struct BoxAxis;
  /// The copy below loops over axes bound to Bulk.
  void bulkCopies(const LoopNode& node, kir::Block& out);
  /// The copy as one box over `loops`; if it is none, why, and nothing is done.
  std::string boxCopy(const Leaf& leaf, std::span<const LoopClass* const> loops, kir::Block& out);
  std::string findBoxAxes(const TensorView* tensor, const AxisIndex& known,
                          std::span<const LoopClass* const> loops, std::vector<BoxAxis>* axes);
  std::string findLayout(const std::vector<BoxAxis>& axes, kir::Ref* shared, int64_t* swizzle);
  bool isSwizzled(const std::vector<BoxAxis>& axes, kir::Scalar inside, int64_t bytes,
                  int64_t swizzle) const;
  const kir::TensorMap* tensorMap(const kir::Buffer* buffer, const std::vector<BoxAxis>& axes,
                                  int64_t swizzle);

  // build_vector.cpp
  bool isVectorized(const Leaf& leaf, const LoopClass** loop) const;
  void vectorCopy(Leaf& leaf, const LoopClass* vector, kir::Block& out);
  /// Whether whole vectors may be read, or combined, at one index (and not: elements at many).
  static bool isAtIndex(const Expr* expr);
  /// `first`: where the vector begins.
  void vectorAtIndex(const Leaf& leaf, const LoopClass* vector, const Places& first,
                     kir::Block& out);
  /// The access itself; what it needs of strides and addresses becomes a check at launch.
  kir::CopyVector vectorStatement(const Leaf& leaf, const LoopClass* vector);
  /// Where a pad's vector lies.
  struct VectorWindow {
    kir::Scalar inside;   ///< all elements are the input's
    kir::Scalar outside;  ///< none is, and the result is in registers
    bool may_straddle;    ///< neither may be
  };
  VectorWindow windowOfVector(const Leaf& leaf, const LoopClass* vector);
  /// That all elements exist. `partial` becomes true where a vector may be cut by an extent.
  kir::Scalar wholeVectorInside(const Leaf& leaf, const LoopClass* vector, bool* partial);
  /// At each launch `value` has to be a multiple of `width`, unless that is proven.
  void requireDivisible(kir::Scalar value, int64_t width, const TensorView* tv);
  kir::Ref vectorRef(const kir::Ref& at, const kir::Ref& first, const LoopClass* vector,
                     int64_t width, const TensorView* tv);

  const IdGraph& exact_;
  LoopModel& loops_;
  Symbols& symbols_;
  Allocations& allocations_;
  const LowerOptions& options_;
  kir::Kernel& kernel_;
  kir::ScalarPool& pool_;
  Indexer indexer_;
  Predicates predicates_;
  std::unordered_map<const TensorView*, int> digits_shown_;    ///< rounded_results.h
  std::unordered_set<const TensorView*> quotients_by_shared_;  ///< shared_divisors.h
  /// Register buffers by the innermost loop around their declaration (null: the kernel).
  std::unordered_map<const LoopClass*, std::vector<const kir::Buffer*>> declared_in_;
  std::unordered_map<const Expr*, int64_t> draw_of_;
  /// Of reductions into memory, one for each output; null where the memory itself accumulates.
  std::unordered_map<const TensorView*, const kir::Buffer*> accumulators_;
  /// Of scans: what a thread has combined so far, and what all of them have, where they share an
  /// axis.
  struct Carry {
    kir::Monoid monoid;
    const kir::Buffer* own = nullptr;
    const kir::Buffer* total = nullptr;
  };
  std::unordered_map<const TensorView*, Carry> carries_;
  std::vector<const Val*> scalar_operands_;
  std::unordered_set<const IterDomain*> with_elements_;  ///< axes of which elements are required
  /// Of a reduction over blocks, what is true in the only block that has the result.
  std::unordered_map<const Expr*, kir::Scalar> last_of_;
  /// What threads of their own load, and the role whose statements are built now.
  std::vector<const TensorView*> special_loads_;
  kir::Role role_ = kir::Role::All;
  /// Set inside the fast copy of an unswitched loop: bounds hold already.
  bool bounds_proven_ = false;
  int temporaries_ = 0;
  int loaded_indices_ = 0;
};

}  // namespace nvfuser
