/// Reductions across threads: of a block, a cluster, the grid.
///
/// Neighbours that do not depend on each other share an exchange:
///
///   T18 = add over threadIdx.x of T18        (T18, T22) = add over threadIdx.x of (T18, T22)
///   T19 = T18 / n                        →   T19 = T18 / n
///   T22 = add over threadIdx.x of T22
#include <algorithm>

#include <device_lower/kernel_builder.h>
#include <ir/axis_map.h>
#include <kernel_ir/accesses.h>

namespace nvfuser {

using kir::Scalar;

namespace {

/// Whether a statement, and each one that it guards, computes elements and waits for no thread.
bool onlyComputes(const kir::Stmt& stmt) {
  if (auto* branch = std::get_if<kir::If>(&stmt.node)) {
    return branch->else_body == nullptr &&
           std::all_of(branch->then_body->begin(), branch->then_body->end(), onlyComputes);
  }
  return std::holds_alternative<kir::Compute>(stmt.node) ||
         std::holds_alternative<kir::Assign>(stmt.node) ||
         std::holds_alternative<kir::Declare>(stmt.node) ||
         std::holds_alternative<kir::Combine>(stmt.node);
}

}  // namespace

kir::Buffer* KernelBuilder::workspace(const std::string& name, MemoryType memory, Scalar elements,
                                      bool zeroed) {
  kir::Buffer buffer;
  buffer.name = name;
  for (const auto& made : kernel_.buffers) {
    if (made->name == buffer.name) {
      return made.get();
    }
  }
  buffer.dtype = zeroed ? DataType(DataType::UInt32) : DataType(DataType::Byte);
  buffer.memory = memory;
  buffer.elements = elements;
  buffer.alignment = 16;
  buffer.zeroed = zeroed;
  buffer.read = buffer.written = true;
  return kernel_.addBuffer(std::move(buffer));
}

Scalar KernelBuilder::threadsOfBlock() const {
  Scalar threads = pool_.one();
  for (ParallelType type : {ParallelType::TIDx, ParallelType::TIDy, ParallelType::TIDz}) {
    if (loops_.dimension(type) != nullptr) {
      threads = pool_.mul(threads, loops_.dimension(type));
    }
  }
  return threads;
}

Scalar KernelBuilder::sharedAmongWarps(const bool (&dims)[3]) const {
  const ParallelType types[] = {ParallelType::TIDx, ParallelType::TIDy, ParallelType::TIDz};
  Scalar lanes = loops_.dimension(types[0]);
  if (!dims[0] || lanes == nullptr || !lanes->isConstant(kWarpSize)) {
    return pool_.one();
  }
  Scalar warps = pool_.one();
  for (int d = 1; d < 3; ++d) {
    Scalar extent = loops_.dimension(types[d]);
    if (dims[d] && extent != nullptr) {
      warps = pool_.mul(warps, extent);
    }
  }
  return pool_.less(pool_.one(), warps);
}

bool KernelBuilder::joinsBlockReduce(const kir::BlockReduce& reduce, Scalar bytes,
                                     kir::Block& out) const {
  auto touches = [&](const kir::Stmt& stmt) {
    const std::vector<const kir::Buffer*> buffers = kir::buffersOf(stmt);
    return std::any_of(reduce.state.begin(), reduce.state.end(), [&](const kir::Ref& part) {
      auto* declare = std::get_if<kir::Declare>(&stmt.node);
      return std::find(buffers.begin(), buffers.end(), part.buffer) != buffers.end() ||
             (declare != nullptr && declare->buffer == part.buffer);
    });
  };
  for (auto stmt = out.rbegin(); stmt != out.rend(); ++stmt) {
    if (auto* before = std::get_if<kir::BlockReduce>(&stmt->node)) {
      const bool alike = std::equal(std::begin(reduce.dims), std::end(reduce.dims), before->dims) &&
                         reduce.monoid.kind == kir::Monoid::Kind::Op &&
                         before->monoid.kind == kir::Monoid::Kind::Op &&
                         before->monoid.op == reduce.monoid.op &&
                         before->monoid.dtypes[0] == reduce.monoid.dtypes[0];
      if (!alike || touches(*stmt) ||
          before->state.size() + reduce.state.size() > static_cast<size_t>(kMaxGroup)) {
        return false;
      }
      auto append = [](auto& to, const auto& from) {
        to.insert(to.end(), from.begin(), from.end());
      };
      append(before->state, reduce.state);
      append(before->monoid.dtypes, reduce.monoid.dtypes);
      append(before->monoid.identity, reduce.monoid.identity);
      auto* workspace = const_cast<kir::Buffer*>(before->workspace);
      workspace->elements = pool_.add(workspace->elements, bytes);
      return true;
    }
    if (!onlyComputes(*stmt) || touches(*stmt)) {
      return false;
    }
  }
  return false;
}

namespace {

constexpr ParallelType kTid[] = {ParallelType::TIDx, ParallelType::TIDy, ParallelType::TIDz};
constexpr ParallelType kBid[] = {ParallelType::BIDx, ParallelType::BIDy, ParallelType::BIDz};

/// The parts of a state lie side by side, each aligned to the widest; Welford's count is a real.
int64_t bytesOfState(const kir::Monoid& monoid) {
  const bool is_welford = monoid.kind == kir::Monoid::Kind::Welford;
  int64_t widest = is_welford ? dataTypeSizeByte(DataType::Float) : 0;
  for (DataType dtype : monoid.dtypes) {
    const bool counts = is_welford && isIntegralType(dtype);
    widest = std::max(widest, counts ? 0 : dataTypeSizeByte(dtype));
  }
  return widest * static_cast<int64_t>(monoid.dtypes.size());
}

}  // namespace

/// A state of which each thread has a part, and the dimensions along which they do.
struct KernelBuilder::SpreadState {
  const Leaf& leaf;
  const kir::Monoid& monoid;
  const std::vector<kir::Ref>& parts;
  bool in_loop = false;
  int64_t bytes = 0;
  bool block_dims[3] = {false, false, false};
  bool grid_dims[3] = {false, false, false};
  bool cluster_dims[3] = {false, false, false};

  static bool any(const bool (&dims)[3]) { return dims[0] || dims[1] || dims[2]; }
  std::string named(std::string_view what) const { return text(what, leaf.out->name()); }
};

void KernelBuilder::findDimensions(SpreadState& state) const {
  const TensorView* tv = state.leaf.out;
  const auto& axes = tv->getLoopDomain();
  for (size_t i = 0; i < axes.size(); ++i) {
    const ParallelType type = loops_.of(tv, static_cast<int>(i)).parallel;
    if (!axes[i]->isReduction() || !isParallelTypeThread(type) || !loops_.isUsed(type)) {
      continue;
    }
    for (int d = 0; d < 3; ++d) {
      state.block_dims[d] |= type == kTid[d];
      const bool clustered = type == kBid[d] && loops_.cluster(type) != nullptr;
      state.cluster_dims[d] |= clustered;
      state.grid_dims[d] |= type == kBid[d] && !clustered;
    }
  }
}

bool KernelBuilder::combineInBlock(const SpreadState& state, kir::Block& out) {
  kir::BlockReduce statement;
  statement.monoid = state.monoid;
  statement.state = state.parts;
  std::copy(std::begin(state.block_dims), std::end(state.block_dims), std::begin(statement.dims));
  const Scalar threads = threadsOfBlock();
  const int64_t state_bytes = state.bytes;
  Scalar bytes = pool_.mul(threads, state_bytes);
  const bool is_last = !SpreadState::any(state.cluster_dims) && !SpreadState::any(state.grid_dims);
  if (is_last && joinsBlockReduce(statement, bytes, out)) {
    return true;
  }
  if (state.in_loop) {
    guarded(sharedAmongWarps(statement.dims),
            {{kir::Sync{kir::SyncKind::BlockBarrier, nullptr,
                        "the last iteration is done with the workspace"}}},
            out);
  }
  statement.workspace = workspace(state.named("block_work"), MemoryType::Shared, bytes, false);
  out.push_back({std::move(statement)});
  return false;
}

void KernelBuilder::combineInCluster(const SpreadState& state, kir::Block& out) {
  for (int d = 0; d < 3; ++d) {
    if (loops_.cluster(kBid[d]) != nullptr && !state.cluster_dims[d]) {
      userError("lower: ", state.leaf.out,
                " is reduced over a cluster of blocks that also extends "
                "along ",
                parallelTypeName(kBid[d]), "; a cluster is reduced as a whole");
    }
  }
  if (options_.compute_capability < 90) {
    userError("lower: ", state.leaf.out,
              " is reduced over a cluster of blocks, which needs compute "
              "capability 9.0; this device has ",
              options_.compute_capability / 10, ".", options_.compute_capability % 10);
  }
  kir::ClusterReduce statement;
  statement.monoid = state.monoid;
  statement.state = state.parts;
  std::copy(std::begin(state.block_dims), std::end(state.block_dims),
            std::begin(statement.threads));
  Scalar states = pool_.one();
  for (int d = 0; d < 3; ++d) {
    if (!state.block_dims[d] && loops_.dimension(kTid[d]) != nullptr) {
      states = pool_.mul(states, loops_.dimension(kTid[d]));
    }
    if (loops_.cluster(kBid[d]) != nullptr) {
      states = pool_.mul(states, loops_.cluster(kBid[d]));
    }
  }
  kir::Buffer* const slots = workspace(state.named("cluster_work"), MemoryType::Shared,
                                       pool_.mul(states, state.bytes), false);
  slots->keeps_place = true;  // others of the cluster write to it
  statement.workspace = slots;
  out.push_back({std::move(statement)});
}

Scalar KernelBuilder::combineInGrid(const SpreadState& state, kir::Block& out) {
  Scalar blocks = pool_.one();
  Scalar segments = pool_.one();
  for (int d = 0; d < 3; ++d) {
    Scalar extent = loops_.dimension(kBid[d]);
    if (extent == nullptr) {
      continue;
    }
    blocks = pool_.mul(blocks, extent);
    if (!state.grid_dims[d]) {
      segments = pool_.mul(segments, extent);
    }
  }
  const Expr* expr = state.leaf.expr;
  kir::GridReduce statement;
  statement.monoid = state.monoid;
  statement.state = state.parts;
  std::copy(std::begin(state.grid_dims), std::end(state.grid_dims), std::begin(statement.dims));
  statement.workspace =
      workspace(state.named("grid_work"), MemoryType::Global,
                pool_.mul(pool_.mul(blocks, threadsOfBlock()), state.bytes), false);
  kir::Buffer* tickets = workspace(state.named("tickets"), MemoryType::Global, segments, true);
  statement.tickets = tickets;
  // What is read again is needed in all blocks, or in the CPU's last task alone; the barrier
  // behind a reduction in a loop is all blocks', too.
  statement.all = state.in_loop;
  for (const TensorView* output : tensorOutputs(expr)) {
    statement.all |= !consumersOf(output).empty() && !loops_.isCpu();
  }
  tickets->barrier = statement.all;  // blocks that all get the result meet at a barrier
  check(!statement.all || !loops_.isCpu(), "tasks of the CPU do not wait for each other");
  if (statement.all) {
    kernel_.cooperative = true;
  } else {
    statement.last = pool_.symbol(text("last", state.leaf.out->name()), nullptr, 0, 1);
    last_of_[expr] = statement.last;
  }
  Scalar last = statement.last;
  out.push_back({std::move(statement)});
  if (state.in_loop) {
    out.push_back({kir::Sync{kir::SyncKind::GridBarrier, nullptr,
                             "the next iteration reuses the workspace"}});
  }
  return last;
}

Scalar KernelBuilder::combineAcrossThreads(Leaf& leaf, const kir::Monoid& monoid,
                                           const std::vector<kir::Ref>& parts, bool in_loop,
                                           kir::Block& out) {
  SpreadState state{leaf, monoid, parts, in_loop, bytesOfState(monoid)};
  findDimensions(state);
  if (SpreadState::any(state.block_dims) && combineInBlock(state, out)) {
    return nullptr;
  }
  if (SpreadState::any(state.cluster_dims)) {
    combineInCluster(state, out);
  }
  return SpreadState::any(state.grid_dims) ? combineInGrid(state, out) : nullptr;
}

}  // namespace nvfuser
