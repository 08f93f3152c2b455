/// Circular buffers: the loads of a loop run `prefetch` iterations ahead, into `stages` copies of
/// the buffer.
///
///   for k { load T1;  use T1 }     →     for p < prefetch { load T1 of iteration p;  commit }
///                                        for k { wait;  barrier;
///                                                load T1 of iteration k + prefetch;  commit
///                                                use stage k mod stages of T1 }
///
/// One barrier an iteration serves both directions: what others loaded is there, and the stage that
/// is loaded next has been read by all. Groups are committed whether or not anything is left to
/// load, so that the number of open groups stays the same. Bulk loads have no groups but an
/// mbarrier for each stage, which is waited for as often as it is loaded.
///
/// Registers have no indices at run time, so the loop is unrolled by the stages:
///
///   for o { for u < stages { if (o·stages + u < extent) iteration o·stages + u } }
///
/// Where bulk stores read a stage, they must have done so before it is loaded again: iteration k
/// waits for those of iteration k + prefetch − stages, before the barrier.
#include <algorithm>
#include <set>

#include <device_lower/kernel_builder.h>
#include <ir/axis_map.h>

namespace nvfuser {

using kir::Scalar;

namespace {

void collectLeaves(const LoopNode& node, std::vector<const Leaf*>* leaves) {
  if (node.leaf) {
    leaves->push_back(node.leaf.get());
  }
  for (const LoopNode& child : node.children) {
    collectLeaves(child, leaves);
  }
}

std::vector<const Leaf*> leavesOf(const LoopNode& node) {
  std::vector<const Leaf*> leaves;
  collectLeaves(node, &leaves);
  return leaves;
}

}  // namespace

/// What of a loop runs ahead.
struct KernelBuilder::CircularLoop {
  const LoopClass* loop = nullptr;
  std::vector<const Leaf*> leaves;
  std::set<const TensorView*> loaded;      ///< buffers, and what is computed for them alone
  std::vector<const TensorView*> buffers;  ///< in order of their statements
  const TensorView* first = nullptr;       ///< one of them
  std::set<const LoopNode*> loads;         ///< children that load, with their barriers and waits
  std::vector<const TensorView*> bulk;     ///< buffers that bulk copies load
  bool pieces = false;                     ///< some are loaded by asynchronous copies of threads
  bool in_registers = false;
  bool stored = false;         ///< some are read by bulk stores
  bool stored_pieces = false;  ///< and written by threads

  int64_t prefetch() const { return first->circularBufferOptions().prefetch; }
  int64_t stages() const { return first->circularBufferOptions().stage; }
};

bool KernelBuilder::runsAhead(const TensorView* tv, const LoopClass& loop) const {
  return allocations_.of(tv).stages > 1 &&
         &loops_.of(tv, static_cast<int>(tv->getComputeAtPosition()) - 1) == &loop;
}

bool KernelBuilder::isCircular(const LoopNode& node) const {
  if (options_.target == LowerTarget::Cpu) {
    return false;
  }
  const std::vector<const Leaf*> leaves = leavesOf(node);
  return std::any_of(leaves.begin(), leaves.end(),
                     [&](const Leaf* leaf) { return runsAhead(leaf->out, *node.loop); });
}

void KernelBuilder::findBuffers(CircularLoop& circular) const {
  // Readers come first, so that what is computed for loads alone is known.
  for (auto leaf = circular.leaves.rbegin(); leaf != circular.leaves.rend(); ++leaf) {
    const TensorView* tv = (*leaf)->out;
    const bool buffered = runsAhead(tv, *circular.loop);
    const std::vector<TensorView*> consumers = consumersOf(tv);
    const bool feeds = !consumers.empty() &&
                       std::all_of(consumers.begin(), consumers.end(),
                                   [&](TensorView* c) { return circular.loaded.count(c) != 0; });
    if (buffered && feeds) {
      userError("lower: ", tv, " and the circular buffer that it is loaded into run ahead of the ",
                "same loop; make only one of them circular");
    }
    if (buffered || feeds) {
      circular.loaded.insert(tv);
    }
    if (!buffered) {
      continue;
    }
    const TensorView* first = circular.first;
    if (first != nullptr && first->circularBufferOptions() != tv->circularBufferOptions()) {
      userError("lower: ", first, " and ", tv,
                " run ahead of the same loop with different numbers of stages; use the same");
    }
    circular.first = tv;
    circular.buffers.insert(circular.buffers.begin(), tv);
  }
}

void KernelBuilder::findLoads(const LoopNode& node, CircularLoop& circular) const {
  // Barriers and waits go with the statement behind them; the last ones stay in the loop.
  bool load_follows = false;
  for (auto child = node.children.rbegin(); child != node.children.rend(); ++child) {
    const std::vector<const Leaf*> inside = leavesOf(*child);
    if (!inside.empty()) {
      load_follows = std::all_of(inside.begin(), inside.end(), [&](const Leaf* leaf) {
        return circular.loaded.count(leaf->out) != 0;
      });
    }
    if (load_follows) {
      circular.loads.insert(&*child);
    }
  }
  for (const Leaf* leaf : circular.leaves) {
    const TensorView* tv = leaf->out;
    if (circular.loaded.count(tv) == 0) {
      continue;
    }
    circular.pieces |= isAsyncCopy(leaf->expr);
    if (allocations_.of(tv).stages == 1) {
      continue;
    }
    const bool by_bulk = asyncKindOf(leaf->expr, options_.target) == kir::AsyncKind::BulkLoad;
    circular.in_registers |= allocations_.of(tv).buffer->memory == MemoryType::Local;
    if (by_bulk) {
      circular.bulk.push_back(tv);
    }
    if (isBulkStored(tv, options_.target)) {
      circular.stored = true;
      circular.stored_pieces |= !by_bulk;
    }
  }
}

void KernelBuilder::loadOf(LoopNode& node, const CircularLoop& circular, Scalar iteration,
                           Scalar at, kir::Block& out) {
  const LoopClass& loop = *circular.loop;
  indexer_.shift(&loop, iteration);
  kir::Block body;
  declare(node, body);
  // What only the other statements compute is declared with these, once.
  std::erase_if(body, [&](const kir::Stmt& statement) {
    return circular.loaded.count(std::get<kir::Declare>(statement.node).buffer->tv) == 0;
  });
  for (LoopNode& child : node.children) {
    if (circular.loads.count(&child) != 0) {
      this->node(child, body);
    }
  }
  for (const TensorView* tv : circular.bulk) {
    commit(kir::AsyncKind::BulkLoad, tv, body);
  }
  indexer_.shift(&loop, at);
  guarded(pool_.less(iteration, loop.extent), std::move(body), out);
  if (circular.pieces) {
    commit(kir::AsyncKind::Pieces, nullptr, out);
  }
}

kir::Block KernelBuilder::iterationOf(LoopNode& node, const CircularLoop& circular, Scalar at) {
  const LoopClass& loop = *circular.loop;
  indexer_.shift(&loop, at);
  kir::Block body;
  if (circular.pieces) {
    wait(kir::AsyncKind::Pieces, circular.prefetch() - 1, nullptr, body);
  }
  for (const TensorView* tv : circular.bulk) {
    wait(kir::AsyncKind::BulkLoad, 0, tv, body);
  }
  if (circular.stored) {
    wait(kir::AsyncKind::BulkStore, circular.stages() - circular.prefetch() - 1, nullptr, body);
  }
  if (circular.stored_pieces) {
    body.push_back({kir::FenceAsyncProxy{}});
  }
  if (node.circular_barrier) {
    body.push_back(
        {kir::Sync{kir::SyncKind::BlockBarrier, nullptr,
                   text("T", circular.first->name(), " is loaded, and its next stage is free")}});
  }
  loadOf(node, circular, pool_.add(at, pool_.constant(circular.prefetch())), at, body);
  declare(node, body);
  for (LoopNode& child : node.children) {
    if (circular.loads.count(&child) == 0) {
      this->node(child, body);
    }
  }
  if (circular.stored) {
    commit(kir::AsyncKind::BulkStore, nullptr, body);
  }
  indexer_.shift(&loop, nullptr);
  return body;
}

void KernelBuilder::circularLoop(LoopNode& node, kir::Block& out) {
  const LoopClass& loop = *node.loop;
  if (loop.parallel != ParallelType::Serial && loop.parallel != ParallelType::Unroll) {
    userError("lower: a circular buffer needs a serial loop to run ahead of, but the loop over ",
              loop.promoted, " is bound to ", parallelTypeName(loop.parallel));
  }
  CircularLoop circular;
  circular.loop = &loop;
  circular.leaves = leavesOf(node);
  findBuffers(circular);
  const TensorView* first = circular.first;
  if (specialisation(first, options_) != nullptr) {
    if (circular.loaded.size() > circular.buffers.size()) {
      userError("lower: what is computed for ", first,
                " alone would have to be computed by threads ",
                "that only load; compute it outside of the loop, or use Pipelined");
    }
    specialisedLoop(node, circular.buffers, out);
    return;
  }
  findLoads(node, circular);
  kir::For ahead;
  ahead.extent = pool_.constant(circular.prefetch());
  ahead.var = pool_.symbol(text("p", loop.id), ahead.extent);
  ahead.kind = kir::LoopKind::Unrolled;
  ahead.comment = text("the first loads of T", first->name());
  ahead.body = std::make_shared<kir::Block>();
  loadOf(node, circular, ahead.var, nullptr, *ahead.body);
  out.push_back({std::move(ahead)});

  const bool in_registers = circular.in_registers;
  const int64_t stages = circular.stages();
  kir::For statement;
  statement.extent =
      in_registers ? pool_.ceilDiv(loop.extent, pool_.constant(stages)) : loop.extent;
  statement.var = in_registers || loop.index->isConstant()
                      ? pool_.symbol(text(in_registers ? "o" : "k", loop.id), statement.extent)
                      : loop.index;
  statement.comment = text("T", first->name(), " ", loop.promoted, ", loads run ",
                           circular.prefetch(), " ahead in ", stages, " stages");
  statement.body = std::make_shared<kir::Block>();
  if (!in_registers) {
    *statement.body = iterationOf(node, circular, statement.var);
    out.push_back({std::move(statement)});
    return;
  }
  kir::For each;
  each.extent = pool_.constant(stages);
  each.var = pool_.symbol(text("stage", loop.id), each.extent);  // ("u8" is a type)
  each.kind = kir::LoopKind::Unrolled;
  each.comment = "one of each stage";
  each.body = std::make_shared<kir::Block>();
  const Scalar at = pool_.add(pool_.mul(statement.var, stages), each.var);
  guarded(pool_.less(at, loop.extent), iterationOf(node, circular, at), *each.body);
  statement.body->push_back({std::move(each)});
  out.push_back({std::move(statement)});
}

}  // namespace nvfuser
