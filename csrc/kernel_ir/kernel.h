/// The kernel IR: one kernel as buffers, loops, predicates, data movement and synchronisation. What
/// the code generators print and nothing more is decided after it. It refers to the Fusion IR only
/// for names in comments.
///
///   for T3.i1 in 0..4 unrolled            For
///     if (i < i0 * i1)                    If
///       T2 = add(T1[i], 2.0)              Compute
///       T3[i] = add(T0[i], T2)
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include <ir/internal_nodes.h>
#include <kernel_ir/scalar.h>

namespace nvfuser::kir {

// ---- data

enum class BufferRole : uint8_t {
  Input,         ///< tensor of the caller, read
  Output,        ///< tensor of the caller, written
  Intermediate,  ///< of the kernel: registers, shared memory, or a global workspace
};

/// Memory of one tensor (or of a reduction's workspace).
struct Buffer {
  int id = 0;
  std::string name;  ///< "T3"
  DataType dtype;
  MemoryType memory = MemoryType::Local;
  BufferRole role = BufferRole::Intermediate;
  const TensorView* tv = nullptr;
  Scalar elements = nullptr;       ///< of an Intermediate
  int64_t alignment = 0;           ///< bytes; 0: that of the element
  Scalar shared_offset = nullptr;  ///< bytes from the start of dynamic shared memory
  bool zeroed = false;             ///< workspace that is zero before the launch and after it
  /// Zeroed words of a grid barrier, which adds 2^31 to each in all (grid_sync.cuh): 0 or 2^31
  /// before the launch and after it.
  bool barrier = false;
  bool read = false;  ///< which accesses occur (for const and __restrict__)
  bool written = false;
  bool by_value = false;  ///< one element of the host's memory: the parameter is its value
  /// Shared memory that is used in a way that ordinary accesses of another buffer at the same place
  /// would break: bulk copies, mbarriers.
  bool keeps_place = false;
};

/// Elements [index, index + width) of a buffer.
struct Ref {
  const Buffer* buffer = nullptr;
  Scalar index = nullptr;
  int64_t width = 1;
};

/// A scalar input or host-evaluated scalar expression; a parameter of the kernel.
struct ParamRef {
  std::string name;
  DataType dtype;
};

/// A constant of a dtype.
struct Literal {
  PolymorphicValue value;
  DataType dtype;
};

/// An index used as a value (iota), converted to a dtype.
struct IndexValue {
  Scalar index;
  DataType dtype;
};

using Operand = std::variant<Ref, ParamRef, Literal, IndexValue>;

/// Which pointwise operation.
using PointwiseType = std::variant<UnaryOpType, BinaryOpType, TernaryOpType>;

// ---- statements

struct Stmt;
using Block = std::vector<Stmt>;

enum class LoopKind : uint8_t {
  Serial,
  Unrolled,
  Simd,  ///< innermost; iterations may run in any order, several at once (the CPU's vectors)
};

struct For {
  Scalar var = nullptr;  ///< a Symbol
  Scalar extent = nullptr;
  LoopKind kind = LoopKind::Serial;
  bool descending = false;  ///< from the last iteration to the first
  std::string comment;
  std::shared_ptr<Block> body;
};

struct If {
  Scalar condition = nullptr;
  std::shared_ptr<Block> then_body;
  std::shared_ptr<Block> else_body;  ///< may be null
};

/// Declares a register buffer here.
struct Declare {
  const Buffer* buffer = nullptr;
};

/// An index read from memory (gather, select by tensor), converted to the index type.
struct LoadIndex {
  Scalar var = nullptr;
  Ref src;
  /// Place in Kernel::index_reads, where the kernel is to hold it to its axis: one that lies
  /// outside counts as the last, and is reported. Negative: the device itself sees wild accesses.
  int range = -1;
};

/// A named index, computed once here.
struct Let {
  Scalar var = nullptr;
  Scalar value = nullptr;
};

/// dst = op(operands), computed in `compute` and stored as the buffer's dtype. Width 1.
struct Compute {
  PointwiseType op;
  Ref dst;
  std::vector<Operand> operands;
  DataType compute;
  /// Of a Float: how many of its digits results show, 8 of BFloat16, 11 of Half
  /// (device_lower/rounded_results.h); 0: all.
  int digits_shown = 0;
  bool shares_divisor = false;  ///< of a Float division (device_lower/shared_divisors.h)
};

/// dst = src (converted if the dtypes differ).
struct Assign {
  Ref dst;
  Operand src;
  CacheOp cache_op = CacheOp::Unspecified;
};

/// dst[0..width) = src[0..width): one vector access on each side that is in global or shared
/// memory.
struct CopyVector {
  Ref dst;
  Ref src;
  CacheOp cache_op = CacheOp::Unspecified;
};

/// Global → shared without registers (cp.async); elements past `valid` bytes are filled with zero.
/// Ordered by AsyncCommit / AsyncWait.
struct CopyAsync {
  Ref dst;
  Ref src;
  Scalar condition = nullptr;  ///< null: always; otherwise zero-filled where it does not hold
};

/// The threads of a block that carry out a statement together.
enum class Role : uint8_t {
  All,        ///< of the block
  Loading,    ///< the last ones, which only load (WarpRoles)
  Computing,  ///< all others
};

/// The symbol that is true in threads that compute, where others load.
inline constexpr std::string_view kComputes = "computes";

/// A tensor as the copy engine sees it that copies boxes of it; the host makes one for each launch.
struct TensorMap {
  struct Axis {
    Scalar extent = nullptr;
    Scalar stride = nullptr;  ///< elements
    int64_t box = 1;          ///< elements of a box along the axis
  };
  std::string name;  ///< "T0_map"
  const Buffer* buffer = nullptr;
  std::vector<Axis> axes;  ///< innermost first
  /// How 16 bytes are placed in shared memory: 0: in order; 32, 64, 128: those of a line of so many
  /// bytes change places, by its number among eight.
  int64_t swizzle = 0;
};

/// A box between global and shared memory by the copy engine, for all threads of `role`. Elements
/// outside of the tensor are loaded as zeros and not stored. A load is counted by `barrier`; a
/// store has none.
struct BoxCopy {
  Ref shared;
  const TensorMap* map = nullptr;
  std::vector<Scalar> at;  ///< of its first element, innermost axis first
  Ref barrier;
  Role role = Role::All;
  bool isLoad() const { return barrier.buffer != nullptr; }
};

/// `count` neighbours between global and shared memory by the copy engine (cp.async.bulk), for the
/// whole block; none if count <= 0. A load is counted by `barrier`; a store has none.
struct BulkCopy {
  Ref dst;
  Ref src;
  Scalar count = nullptr;
  Ref barrier;
  Role role = Role::All;
};

/// The kinds of asynchronous copies, by what waits for them.
enum class AsyncKind : uint8_t {
  Pieces,     ///< cp.async: each thread for the groups that it committed itself
  BulkLoad,   ///< all threads at an mbarrier
  BulkStore,  ///< the thread that issued them for its groups: the source may be written again
};

/// Closes a group of copies (of bulk loads: a phase of `barrier`).
struct AsyncCommit {
  AsyncKind kind = AsyncKind::Pieces;
  Ref barrier = {};
  Role role = Role::All;
};
/// Waits until at most `pending` of this thread's committed groups are unfinished; or for the phase
/// of a bulk load's `barrier` that the bits of the register `phases` tell, one for each barrier.
struct AsyncWait {
  int64_t pending = 0;
  AsyncKind kind = AsyncKind::Pieces;
  Ref barrier = {};
  Ref phases = {};
};

/// One thread makes the mbarriers of a buffer ready. A block barrier must follow.
struct MBarrierInit {
  const Buffer* barriers = nullptr;
  int64_t arrivals = 1;  ///< that end a phase
};

/// Each thread that computes has read a stage, which may be loaded again.
struct MBarrierArrive {
  Ref barrier;
};

/// From here on a thread has so many registers: fewer than before, or more.
struct SetRegisters {
  int64_t count = 0;
  bool more = false;
};

/// Of kernels that start before the one in front of them has ended: what it wrote is there from
/// here on; or the kernel behind this one may start.
struct GridDependency {
  enum class Kind : uint8_t { Wait, Launch } kind = Kind::Wait;
};

/// What this thread wrote to shared memory can be read by bulk copies behind the next barrier.
struct FenceAsyncProxy {};

/// dst = condition ? src : otherwise, where src is read only if the condition holds.
struct Guarded {
  Ref dst;
  Scalar condition = nullptr;
  Operand src;
  Operand otherwise;
};

/// How partial results combine: one operation, Welford's triple (avg, M2, n), or the pair (greatest
/// x, Σ exp(x − greatest)).
struct Monoid {
  enum class Kind : uint8_t { Op, Welford, OnlineSoftmax } kind = Kind::Op;
  BinaryOpType op = BinaryOpType::Add;
  std::vector<DataType> dtypes;  ///< of the state's parts
  std::vector<Literal> identity;
};

/// state = combine(state, value): one serial step.
struct Combine {
  Monoid monoid;
  std::vector<Ref> state;
  std::vector<Operand> value;
};

/// dst = combine(dst, value) in memory that other threads may combine with, too, at any time and in
/// any order: atomically. Without `op`, dst = value: of several values, one stays. The elements of
/// a vector are combined one by one, in no order.
struct CombineAt {
  std::optional<BinaryOpType> op;
  Ref dst;
  Operand value;
};

/// Combines the states of all threads along the thread dimensions marked (x, y, z), in thread
/// order; every thread of the block gets the result. `workspace` is shared memory.
struct BlockReduce {
  Monoid monoid;
  std::vector<Ref> state;
  bool dims[3] = {false, false, false};
  const Buffer* workspace = nullptr;
  Role role = Role::All;
};

/// Along the thread dimensions marked, in thread order (`backward`: from the last thread on):
/// `state` becomes what stands in front of the thread's own, after `total`; `total` takes in all of
/// them. `workspace` is shared memory.
struct BlockScan {
  Monoid monoid;
  std::vector<Ref> state;
  std::vector<Ref> total;
  bool dims[3] = {false, false, false};
  bool backward = false;
  const Buffer* workspace = nullptr;
  Role role = Role::All;
};

/// How a block knows that the others of its cluster have started, and have done with the workspace.
enum class ClusterMeeting : uint8_t {
  Meets,    ///< they meet in the reduction
  Arrived,  ///< each waits for those that have yet to do their ClusterArrive
  Met,      ///< they met in an earlier reduction, of another workspace
};

/// Combines the states of all blocks of the cluster, in order of rank; every thread of each block
/// gets the result. `threads`: the thread dimensions that are reduced in the block before.
/// `workspace` is shared memory.
struct ClusterReduce {
  Monoid monoid;
  std::vector<Ref> state;
  bool threads[3] = {false, false, false};
  const Buffer* workspace = nullptr;
  ClusterMeeting before = ClusterMeeting::Meets;
};

/// Combines the states of all blocks along the grid dimensions marked, through `workspace`
/// (partials) and `tickets` (zero before and after). Without `all`, only the block that comes last
/// has the result, and defines `last` as true; with it (cooperative launch) every block has it.
struct GridReduce {
  Monoid monoid;
  std::vector<Ref> state;
  bool dims[3] = {false, false, false};
  const Buffer* workspace = nullptr;
  const Buffer* tickets = nullptr;
  bool all = false;
  Scalar last = nullptr;  ///< a Symbol; unless `all`
};

enum class SyncKind : uint8_t { WarpBarrier, BlockBarrier, GridBarrier, ClusterArrive };
struct Sync {
  SyncKind kind = SyncKind::BlockBarrier;
  const Buffer* tickets = nullptr;  ///< of a grid barrier
  std::string comment;
  Role role = Role::All;
};

/// dst = random number of element `element` (row-major logical index), drawn with key seed at
/// (offset + draw).
struct Random {
  RNGOpType type = RNGOpType::Uniform;
  Ref dst;
  Scalar element = nullptr;  ///< or, where neighbours share a block of the generator, instead:
  Scalar block = nullptr;
  Scalar word = nullptr;  ///< of the block
  Operand seed;
  Operand offset;
  int64_t draw = 0;
  std::vector<Operand> parameters;
};

/// Asks the caches of the CPU for the line of an element, to read or to write it, which need not
/// exist.
struct Fetch {
  Ref at;
  bool to_write = false;
};

struct Stmt {
  std::variant<For, If, Declare, LoadIndex, Let, Compute, Assign, CopyVector, CopyAsync, BulkCopy,
               BoxCopy, AsyncCommit, AsyncWait, MBarrierInit, MBarrierArrive, SetRegisters,
               GridDependency, FenceAsyncProxy, Guarded, Combine, CombineAt, BlockReduce, BlockScan,
               ClusterReduce, GridReduce, Sync, Random, Fetch>
      node;
};

// ---- the kernel

/// Where a parameter's value comes from at launch.
enum class ParamKind : uint8_t {
  TensorArg,  ///< address of an input or output, or of a workspace
  MapArg,     ///< a tensor map, by value
  IndexArg,   ///< an extent, stride or integer that indices use: `symbol`
  ScalarArg,  ///< any other scalar: evaluated on the host from `val`
};

struct Param {
  ParamKind kind = ParamKind::TensorArg;
  std::string name;
  DataType dtype;
  const Buffer* buffer = nullptr;  ///< of a TensorArg
  const TensorMap* map = nullptr;  ///< of a MapArg
  Scalar symbol = nullptr;         ///< of an IndexArg
  const Val* val = nullptr;        ///< scalar of the fusion whose value it is (null for strides)
};

/// Origin of a symbol that stands for a size or stride of a tensor argument.
struct SymbolSource {
  enum class Kind : uint8_t { Extent, Stride, Value } kind = Kind::Value;
  const TensorView* tv = nullptr;  ///< of Extent and Stride
  int64_t axis = -1;         ///< position in the logical (Extent) or allocation (Stride) domain
  const Val* val = nullptr;  ///< the fusion's scalar (null for strides)
};

/// Something that must hold for the arguments of a launch; checked on the host.
struct LaunchCheck {
  enum class Kind : uint8_t {
    Divisible,  ///< value % divisor == 0
    Aligned,    ///< the address of `buffer` is a multiple of divisor bytes
    NotEmpty,   ///< value > 0; if not, loops would leave out what does not depend on it
    InRange,    ///< 0 <= value < extent, the index at which `reads` reads
  } kind = Kind::Divisible;
  Scalar value = nullptr;
  const Buffer* buffer = nullptr;
  int64_t divisor = 1;
  std::string reason;           ///< "T4 is read in vectors of 4 elements"
  Scalar extent = nullptr;      ///< of InRange
  const Expr* reads = nullptr;  ///< of InRange
};

class Kernel {
 public:
  Kernel() : pool(std::make_shared<ScalarPool>()) {}

  std::shared_ptr<ScalarPool> pool;
  std::string name;
  std::vector<std::unique_ptr<Buffer>> buffers;
  std::vector<Param> params;
  std::unordered_map<Scalar, SymbolSource> sources;
  std::vector<std::unique_ptr<TensorMap>> tensor_maps;
  Block body;

  Scalar grid[3] = {nullptr, nullptr, nullptr};  ///< x, y, z; one where null
  Scalar block[3] = {nullptr, nullptr, nullptr};
  Scalar cluster[3] = {nullptr, nullptr, nullptr};
  Scalar shared_bytes = nullptr;
  bool cooperative = false;
  /// Whether it may start before the kernel in front of it has ended (GridDependency).
  bool dependent = false;
  /// How many threads of a block have which role, if they have different ones. Those that load are
  /// the last ones in linear order.
  struct WarpRoles {
    int64_t computing[3] = {1, 1, 1};  ///< along x, y, z
    int64_t loading = 0;
    int on = 0;  ///< the dimension that has more threads for them
    int64_t firstLoading() const { return computing[0] * computing[1] * computing[2]; }
  };
  std::optional<WarpRoles> roles;
  /// Threads that a block never has more of, where its extents are no constants; 0: unknown.
  int64_t most_threads = 0;
  /// Blocks that a multiprocessor must have registers for at once, if `most_threads` says how many
  /// threads they have; 0: any number. (A barrier of the grid needs all blocks resident.)
  int64_t least_blocks = 0;
  std::vector<LaunchCheck> checks;
  DataType index_type = DataType::Int;
  /// Operations that read at indices from memory which the kernel holds to [0, extent).
  struct IndexRead {
    const Expr* expr = nullptr;
    Scalar extent = nullptr;  ///< not zero: `checks` see to that
  };
  std::vector<IndexRead> index_reads;
  /// Two words, zero before the launch; of an index that lay outside: the place in `index_reads`,
  /// from 1, and the index. Null where there are no such reads.
  const Buffer* index_report = nullptr;
  /// Null unless each access to global memory is checked: three words, zero before the launch, that
  /// tell of an access outside (the place of its buffer in `params`, from 1, the first element, how
  /// many), then for each of `params` that is a TensorArg its first element and its last one + 1.
  const Buffer* bounds = nullptr;
  static constexpr int64_t kBoundsReport = 3;  ///< words before those of `params`
  std::vector<std::string> header;  ///< comment lines: the fusion, the schedule, the launch

  Buffer* addBuffer(Buffer buffer);
  std::string toString() const;
};

/// Visits every statement, parents before children.
void forEach(const Block& block, const std::function<void(const Stmt&)>& visit);
void forEach(Block& block, const std::function<void(Stmt&)>& visit);

std::string toString(const Operand& operand);
std::string toString(const Ref& ref);
std::string_view pointwiseName(const PointwiseType& op);

}  // namespace nvfuser::kir
