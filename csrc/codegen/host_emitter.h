/// C++ for the host's compiler: a block is a task, and its threads have become loops.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>

#include <codegen/emitter.h>

namespace nvfuser::codegen {

class LaneCopies;

/// A loop whose iterations are the lanes of vectors.
struct LaneLoop {
  kir::Scalar var = nullptr;
  int64_t width = 0;  ///< lanes
  /// Of a loop over a piece (host_lanes_pieces.cpp) where that begins, and what it is a multiple
  /// of.
  kir::Scalar from = nullptr;
  int64_t grain = 1;
  std::string count;  ///< name of the number of lanes that count in this iteration
  /// The only condition of the body, under which everything in it stands; null: there is none. It
  /// becomes the end of the loop.
  const kir::If* branch = nullptr;
  /// Values of the indices that are named inside.
  std::unordered_map<kir::Scalar, kir::Scalar> lets;
  std::set<const kir::Buffer*> registers;  ///< a vector each
  std::set<const kir::Buffer*> filled;     ///< of them, those with one value in all lanes
  /// Integers that all iterations share, such as a row's index: one number each.
  std::set<const kir::Buffer*> scalars;
  std::vector<kir::Scalar> varying;  ///< indices from memory that differ from lane to lane
  bool varies(kir::Scalar index) const {
    return std::find(varying.begin(), varying.end(), index) != varying.end();
  }
  bool readsVarying(kir::Scalar index) const {
    return std::any_of(varying.begin(), varying.end(), [&](kir::Scalar loaded) {
      return kir::ScalarPool::contains(index, loaded);
    });
  }
  std::unordered_map<kir::Scalar, int> ranges;  ///< that indices from memory are held to
  /// Indices that are only compared with what all iterations share, of the first lane: no vectors.
  std::unordered_map<const kir::Buffer*, kir::Scalar> places;
  const kir::For* copied = nullptr;  ///< a loop around, whose iterations are written inside
  std::shared_ptr<const LaneCopies> copies = {};  ///< what the loop's body is then
  int64_t part = 0;                               ///< of the vectors that a sum is kept in
  /// Small arrays of the task that it goes through stay in registers (host_lanes_written_out.cpp).
  bool written_out = false;
  std::unordered_map<const kir::Buffer*, int64_t> reads;  ///< of each buffer in the loop
  /// Sums over the loop, with the name of their vectors.
  std::vector<std::pair<const kir::Combine*, std::string>> sums;
};

/// The iterations for which a condition holds: from `begin` (null: the first) to before `end`
/// (null: the last one), if `uniform` does, which is the same for all.
struct LaneRange {
  kir::Scalar begin;
  kir::Scalar end;
  kir::Scalar uniform;
};

/// Elements so far apart are read in whole vectors, of which one is made.
constexpr int64_t kMostStride = 4;

/// Whether vectors of it are those of cpu/simd_fp8.h.
inline bool isFp8(DataType dtype) {
  return dtype == DataType::Float8_e4m3fn || dtype == DataType::Float8_e5m2;
}

/// The only condition of a body, under which everything in it stands; null: there is none.
const kir::If* onlyBranch(const kir::Block& body);

class HostEmitter final : public Emitter {
 public:
  HostEmitter(const kir::Kernel& kernel, int64_t vector_bytes)
      : Emitter(kernel, Target::Host, DataType::Int), vector_bytes_(vector_bytes) {}

 private:
  using Emitter::emit;

  void function(TextWriter& out, const std::string& body) override;
  struct BlockParameters;
  /// The kernel's own, and the launch's indices that it uses.
  void addParameters(BlockParameters& block);
  void addLaunchIndices(BlockParameters& block);
  /// One block, as a function.
  void blockFunction(TextWriter& out, const std::string& name, const BlockParameters& block,
                     const std::string& body);
  void loopPragma(const kir::For& loop) override;
  void loopStart(const kir::For& loop) override;
  std::string addressText(const kir::Ref& ref) const override;
  int64_t alignmentOf(const kir::Buffer& buffer) const override;

  /// Whether to ask for a loop to be written out. Not around a loop whose length is known at the
  /// launch alone: copies of that take the compiler minutes, and save nothing that counts beside
  /// it.
  bool isWorthUnrolling(const kir::For& loop);

  /// Whether accesses to it are checked.
  bool isChecked(const kir::Buffer& buffer) const;
  /// Type of a parameter whose accesses are.
  std::string checkedType(const kir::Buffer& buffer);

  void emit(const kir::For& loop) override;
  void emit(const kir::CopyVector& copy) override;
  void emit(const kir::CopyAsync& copy) override;
  void emit(const kir::BulkCopy& copy) override;
  void emit(const kir::BoxCopy& copy) override;
  void emit(const kir::AsyncCommit& commit) override;
  void emit(const kir::AsyncWait& wait) override;
  void emit(const kir::MBarrierInit& init) override;
  void emit(const kir::MBarrierArrive& arrive) override;
  void emit(const kir::SetRegisters& set) override;
  void emit(const kir::GridDependency& dependency) override;
  void emit(const kir::FenceAsyncProxy& fence) override;
  void emit(const kir::Sync& sync) override;
  void emit(const kir::CombineAt& combine) override;
  void emit(const kir::BlockReduce& reduce) override;
  void emit(const kir::BlockScan& scan) override;
  void emit(const kir::ClusterReduce& reduce) override;
  void emit(const kir::GridReduce& reduce) override;

  // ---- host_masked_gathers.cpp: loops of which the host's compiler must not make vectors
  /// Whether, under a condition that no iteration changes, it reads at places that are not linear.
  bool gathersUnderOneCondition(const kir::For& loop);

  // ---- host_lanes_fit.cpp: which loops are written in vectors
  /// How the loop is written in vectors; none: element by element.
  std::optional<LaneLoop> lanesOf(const kir::For& loop);
  void findShared(const kir::For& loop, LaneLoop& lanes);
  /// Whether it reads or stores neighbours in memory, which is what a vector is for, or computes
  /// with elements near each other.
  bool touchesNeighbours(const kir::For& loop, const LaneLoop& lanes);
  /// The condition of an If, which has to hold for all iterations before the first that it does not
  /// hold for; none: that is not known.
  std::optional<LaneRange> prefixOf(kir::Scalar condition, const LaneLoop& lanes);
  /// Coefficient of the loop's variable in an index; none: it is not linear, or from memory.
  std::optional<int64_t> strideOf(const kir::Ref& ref, const LaneLoop& lanes);

  // ---- host_lanes_fit_statements.cpp: which statements can be
  class LaneFit;
  /// Whether all statements have a form on vectors. What they need is noted in `lanes`. `partial`:
  /// they stand under a condition that some of the lanes may not meet; `compared`: places that are
  /// no vectors (placesOnlyCompared).
  bool lanesFit(const kir::Block& block, bool partial, const std::set<const kir::Buffer*>& compared,
                LaneLoop& lanes);

  // ---- host_lanes.cpp: the loops
  void laneLoop(const kir::For& loop, LaneLoop& lanes);
  /// What of `runtime/cpu/` such a loop needs.
  void addLaneSnippets(const kir::For& loop);
  /// The iterations that its condition leaves, from the first one on.
  LaneRange lanesThatCount(const kir::For& loop, const LaneLoop& lanes);
  /// The end of a loop over `var`, under a name where it is more than a word.
  std::string laneEnd(const std::string& var, kir::Scalar end);
  /// The vectors that sums are kept in, before the loop; and what becomes of them behind it.
  void startLaneSums(const LaneLoop& lanes, int64_t parts);
  void finishLaneSums(const LaneLoop& lanes, int64_t parts);
  /// What is done for one vector of iterations.
  void laneIteration(const kir::For& loop, LaneLoop& lanes);
  void openLaneTurns(const kir::For& loop, const std::string& begin, const std::string& end,
                     const LaneLoop& lanes);
  /// Turns of as many vectors as sums have parts. Where the others begin.
  std::string laneTurnsOfParts(const kir::For& loop, const std::string& end, int64_t parts,
                               LaneLoop& lanes);
  /// Turns of one vector, all of whose lanes count.
  void wholeLaneTurns(const kir::For& loop, std::string begin, const std::string& end,
                      LaneLoop& lanes);
  /// The same, where those of the last one may not.
  void cutLaneTurns(const kir::For& loop, const std::string& begin, const std::string& end,
                    LaneLoop& lanes);

  // ---- host_lanes_statements.cpp: their statements
  void laneBlock(const kir::Block& block, LaneLoop& lanes);
  void laneStatement(const kir::Stmt& stmt, LaneLoop& lanes);
  void laneStatement(const kir::Declare& declare, LaneLoop& lanes);
  void laneStatement(const kir::Let& let, LaneLoop& lanes);
  void laneStatement(const kir::Assign& assign, LaneLoop& lanes);
  void laneStatement(const kir::Guarded& guarded, LaneLoop& lanes);
  void laneStatement(const kir::Combine& combine, LaneLoop& lanes);
  void laneStatement(const kir::Random& random, LaneLoop& lanes);
  void laneStatement(const kir::LoadIndex& load, LaneLoop& lanes);
  void laneStatement(const kir::Fetch& fetch, LaneLoop& lanes);
  void laneStatement(const kir::If& branch, LaneLoop& lanes);

  // ---- host_lanes_copies.cpp: short loops around them
  /// Emits the loop if its iterations are written out.
  bool copiesAroundLanes(const kir::For& loop);
  bool choosesAroundLanes(const kir::For& loop);
  bool placesInLanes(const kir::For& loop);
  void laneCopies(LaneLoop& lanes);
  /// Writes what `body` writes for each iteration, whose number the compiler knows.
  void forEachCopy(const kir::For& loop, const std::function<void(int64_t)>& body);

  // ---- host_lanes_unread.cpp: what a choice leaves unread
  /// For each statement the condition, in C++, without which nobody reads what it computes; "": it
  /// is read always, or costs less than a branch.
  std::vector<std::string> readUnder(const kir::Block& block, const LaneLoop& lanes) const;

  // ---- host_lane_functions.cpp: pointwise operations
  void laneStatement(const kir::Compute& compute, LaneLoop& lanes);
  /// Whether it is a call of a function that stands before the kernel's.
  bool isCalled(const kir::Compute& compute);
  std::string laneCall(const kir::Compute& compute, const LaneLoop& lanes,
                       const std::vector<std::string>& operands);
  /// A faster function, where its errors do not show; "": there is none.
  std::string_view fastLaneFunction(const kir::Compute& compute, const LaneLoop& lanes);
  /// The operation on vectors; where it has no text on them, on `element`s of the operands.
  std::string laneValue(const kir::Compute& compute, const LaneLoop& lanes,
                        const std::vector<std::string>& operands,
                        const std::function<std::string(size_t)>& element);

  // ---- host_lanes_values.cpp: their operands and results
  void laneStore(const kir::Ref& dst, const std::string& value, const LaneLoop& lanes,
                 bool streaming = false);
  std::string laneType(DataType dtype, const LaneLoop& lanes);
  /// An operand as a vector.
  std::string laneOperand(const kir::Operand& operand, DataType dtype, const LaneLoop& lanes);
  /// Memory a few elements apart, or the same few over and over; "": neither.
  std::string laneApart(const kir::Ref& ref, std::optional<int64_t> stride, const LaneLoop& lanes);
  /// Memory at indices from memory; "": there are others in its index, too.
  std::string laneIndexed(const kir::Ref& ref, const LaneLoop& lanes);
  std::string laneCast(const std::string& value, DataType from, DataType to, const LaneLoop& lanes);
  /// Whether a float that is cut to an integer has text on vectors; and that.
  bool isCutInVectors(DataType from, DataType to);
  std::string laneCut(const std::string& value, DataType from, DataType to, const LaneLoop& lanes);
  std::string laneFill(const std::string& element, DataType dtype, const LaneLoop& lanes);
  /// Names for the indices from memory of lane `e` that an element's text mentions.
  std::string laneIndices(const std::string& element, const LaneLoop& lanes);
  /// Lane `e` of an operand, as an element.
  std::string laneElement(const kir::Operand& operand, DataType dtype, const LaneLoop& lanes);
  /// Lane `e` of a vector that is called `name`.
  std::string laneOf(const std::string& name, DataType dtype);
  /// Vector of the elements that an expression of `e` gives.
  std::string laneEach(const std::string& element, DataType dtype, const LaneLoop& lanes);
  kir::Scalar atLane(kir::Scalar index, const LaneLoop& lanes);

  // ---- host_lanes_indices.cpp: indices as values
  /// The one term of an index that a lane changes, if it is the lane's place by a number: where it
  /// is in a period, or how many periods are before it. Null: it is of another kind.
  kir::Scalar placeAmid(kir::Scalar index, const LaneLoop& lanes);
  /// How far the lanes' places are from the first one's, in any iteration: "0, 1, 0, 1, 2, …". "":
  /// that is not known.
  std::string laneOffsets(kir::Scalar index, const LaneLoop& lanes);
  /// Vector of an index and those that follow, as `dtype`; "": they are taken lane by lane.
  std::string laneIndex(kir::Scalar index, DataType dtype, const LaneLoop& lanes);

  // ---- host_lanes_places.cpp: windows, and comparisons of the place
  /// None: the condition is not one of neighbouring iterations.
  std::optional<LaneRange> rangeOf(kir::Scalar condition, const LaneLoop& lanes);
  /// The one iteration for which a branch stores elements that all iterations share, as what is
  /// broadcast along the loop is; none: it is another branch.
  std::optional<LaneRange> storesOnce(const kir::If& branch, const LaneLoop& lanes);
  void laneStoresOnce(const kir::If& branch, const LaneRange& once, const LaneLoop& lanes);
  /// Memory read under a condition; "": it has to be taken lane by lane.
  std::string laneWindow(const kir::Guarded& guarded, const LaneLoop& lanes);
  /// One of two vectors, or parts of both; "": as above.
  std::string laneChoice(const kir::Guarded& guarded, const LaneLoop& lanes);
  /// Which of `places` is compared with what all iterations share; null: none.
  const kir::Buffer* comparedPlace(const kir::Compute& compute,
                                   const std::set<const kir::Buffer*>& places);
  std::set<const kir::Buffer*> placesOnlyCompared(const kir::For& loop);
  bool isPlace(const kir::Assign& assign, const LaneLoop& lanes);
  bool isPlaceCompared(const kir::Compute& compute, const LaneLoop& lanes);
  std::string lanePlace(const kir::Compute& compute, const LaneLoop& lanes);
  /// Where the parts end, but the last, that a loop joins, if these are whole vectors: a loop for
  /// each, in which the host's compiler knows what is read, and reads nothing else.
  std::vector<int64_t> partsByPlace(const kir::For& loop, const LaneLoop& lanes);

  // ---- host_lanes_written_out.cpp: arrays that stay in registers
  /// An array of the task that a few registers hold.
  bool isSmallArray(const kir::Buffer& buffer) const;
  /// Whether a loop goes through such an array, `lanes` elements an iteration, and is short.
  bool isWrittenOut(const kir::For& loop, int64_t lanes);
  /// Iterations of a loop of constant length, in vectors where it is one of vectors.
  int64_t iterationsOf(const kir::For& loop);
  /// Statements of a block as often as they run; many where that is not known.
  int64_t statementsOf(const kir::Block& block);
  /// How many lanes of a vector in memory are touched.
  std::string laneCount(const kir::Ref& ref, const LaneLoop& lanes) const;

  // ---- host_lanes_pieces.cpp: from step to step of quotients
  /// Emits the loop if its indices have such, and vectors fit between them.
  bool laneLoopInPieces(const kir::For& loop);
  /// Iterations from the first one that a loop's condition leaves.
  LaneRange limitOf(const kir::For& loop);

  // ---- host_lanes_fold.cpp: the lanes of a register combined
  /// Emits the loop if that is what it does.
  bool foldsLanes(const kir::For& loop);
  /// Whether vectors of partial results combine by one operation on all lanes.
  static bool combinesLanes(BinaryOpType op) {
    return op == BinaryOpType::Add || op == BinaryOpType::Mul || op == BinaryOpType::Max ||
           op == BinaryOpType::Min;
  }

  // ---- host_turn.cpp: tiles turned in registers
  /// Emits the loop if it turns a tile.
  bool turns(const kir::For& outer);

  int64_t vector_bytes_;        ///< of a register
  bool streams_ = false;        ///< some store goes past the caches
  std::set<std::string> runs_;  ///< tensors of random numbers that are drawn many at once
  int64_t functions_ = -1;      ///< of vectors in the kernel; not counted yet
  std::map<std::string, std::string> lane_functions_;  ///< names of those that are called, by text
  TextWriter lane_function_text_{0};
  std::set<std::string> lasts_;  ///< of reductions over blocks: whether this task is the last one
};

/// What a statement that computes one element writes; null: it is another one.
const kir::Ref* resultOf(const kir::Stmt& stmt);

}  // namespace nvfuser::codegen
