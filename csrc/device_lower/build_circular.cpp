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

bool KernelBuilder::isCircular(const LoopNode& node) const {
  if (options_.target == LowerTarget::Cpu) {
    return false;
  }
  const std::vector<const Leaf*> leaves = leavesOf(node);
  return std::any_of(leaves.begin(), leaves.end(), [&](const Leaf* leaf) {
    const int64_t position = leaf->out->getComputeAtPosition();
    return allocations_.of(leaf->out).stages > 1 &&
           &loops_.of(leaf->out, static_cast<int>(position) - 1) == node.loop;
  });
}

void KernelBuilder::circularLoop(LoopNode& node, kir::Block& out) {
  const LoopClass& loop = *node.loop;
  if (loop.parallel != ParallelType::Serial && loop.parallel != ParallelType::Unroll) {
    userError("lower: a circular buffer needs a serial loop to run ahead of, but the loop over ",
              loop.promoted, " is bound to ", parallelTypeName(loop.parallel));
  }
  // Loads, and what is computed for them alone.
  std::set<const TensorView*> loaded;
  const TensorView* first = nullptr;
  std::vector<const Leaf*> leaves = leavesOf(node);
  for (auto leaf = leaves.rbegin(); leaf != leaves.rend(); ++leaf) {
    const TensorView* tv = (*leaf)->out;
    const int64_t position = tv->getComputeAtPosition();
    const bool buffered =
        allocations_.of(tv).stages > 1 && &loops_.of(tv, static_cast<int>(position) - 1) == &loop;
    const std::vector<TensorView*> consumers = consumersOf(tv);
    const bool feeds =
        !consumers.empty() && std::all_of(consumers.begin(), consumers.end(),
                                          [&](TensorView* c) { return loaded.count(c) != 0; });
    if (buffered && feeds) {
      userError("lower: ", tv, " and the circular buffer that it is loaded into run ahead of the ",
                "same loop; make only one of them circular");
    }
    if (buffered || feeds) {
      loaded.insert(tv);
    }
    if (!buffered) {
      continue;
    }
    if (first != nullptr && first->circularBufferOptions() != tv->circularBufferOptions()) {
      userError("lower: ", first, " and ", tv,
                " run ahead of the same loop with different numbers of stages; use the same");
    }
    first = tv;
  }
  std::vector<const TensorView*> buffers;
  for (const Leaf* leaf : leaves) {
    const int64_t position = leaf->out->getComputeAtPosition();
    if (allocations_.of(leaf->out).stages > 1 &&
        &loops_.of(leaf->out, static_cast<int>(position) - 1) == &loop) {
      buffers.push_back(leaf->out);
    }
  }
  if (specialisation(first, options_) != nullptr) {
    if (loaded.size() > buffers.size()) {
      userError("lower: what is computed for ", first,
                " alone would have to be computed by threads ",
                "that only load; compute it outside of the loop, or use Pipelined");
    }
    specialisedLoop(node, buffers, out);
    return;
  }
  // Barriers and waits go with the statement behind them; the last ones stay in the loop.
  std::set<const LoopNode*> loads;
  bool load_follows = false;
  for (auto child = node.children.rbegin(); child != node.children.rend(); ++child) {
    const std::vector<const Leaf*> inside = leavesOf(*child);
    if (!inside.empty()) {
      load_follows = std::all_of(inside.begin(), inside.end(),
                                 [&](const Leaf* leaf) { return loaded.count(leaf->out) != 0; });
    }
    if (load_follows) {
      loads.insert(&*child);
    }
  }
  const int64_t prefetch = first->circularBufferOptions().prefetch;
  const int64_t stages = first->circularBufferOptions().stage;
  const bool pieces = std::any_of(leaves.begin(), leaves.end(), [&](const Leaf* leaf) {
    return loaded.count(leaf->out) != 0 && isAsyncCopy(leaf->expr);
  });
  std::vector<const TensorView*> bulk;
  bool in_registers = false;
  bool stored = false;         // by bulk stores
  bool stored_pieces = false;  // and written by threads
  for (const Leaf* leaf : leaves) {
    const TensorView* tv = leaf->out;
    const bool by_bulk = asyncKindOf(leaf->expr, options_.target) == kir::AsyncKind::BulkLoad;
    if (allocations_.of(tv).stages == 1 || loaded.count(tv) == 0) {
      continue;
    }
    in_registers |= allocations_.of(tv).buffer->memory == MemoryType::Local;
    if (by_bulk) {
      bulk.push_back(tv);
    }
    if (isBulkStored(tv, options_.target)) {
      stored = true;
      stored_pieces |= !by_bulk;
    }
  }
  Scalar at = nullptr;  // of the loop around a load
  auto load = [&](Scalar iteration, kir::Block& into) {
    indexer_.shift(&loop, iteration);
    kir::Block body;
    declare(node, body);
    for (LoopNode& child : node.children) {
      if (loads.count(&child) != 0) {
        this->node(child, body);
      }
    }
    for (const TensorView* tv : bulk) {
      commit(kir::AsyncKind::BulkLoad, tv, body);
    }
    indexer_.shift(&loop, at);
    guarded(pool_.less(iteration, loop.extent), std::move(body), into);
    if (pieces) {
      commit(kir::AsyncKind::Pieces, nullptr, into);
    }
  };
  kir::For ahead;
  ahead.extent = pool_.constant(prefetch);
  ahead.var = pool_.symbol(text("p", loop.id), ahead.extent);
  ahead.kind = kir::LoopKind::Unrolled;
  ahead.comment = text("the first loads of T", first->name());
  ahead.body = std::make_shared<kir::Block>();
  load(ahead.var, *ahead.body);
  out.push_back({std::move(ahead)});

  kir::For statement;
  statement.extent =
      in_registers ? pool_.ceilDiv(loop.extent, pool_.constant(stages)) : loop.extent;
  statement.var = in_registers || loop.index->isConstant()
                      ? pool_.symbol(text(in_registers ? "o" : "k", loop.id), statement.extent)
                      : loop.index;
  statement.comment = text("T", first->name(), " ", loop.promoted, ", loads run ", prefetch,
                           " ahead in ", first->circularBufferOptions().stage, " stages");
  statement.body = std::make_shared<kir::Block>();
  kir::For each;
  each.extent = pool_.constant(stages);
  each.var = pool_.symbol(text("stage", loop.id), each.extent);  // ("u8" is a type)
  each.kind = kir::LoopKind::Unrolled;
  each.comment = "one of each stage";
  each.body = std::make_shared<kir::Block>();
  at = in_registers ? pool_.add(pool_.mul(statement.var, stages), each.var) : statement.var;
  indexer_.shift(&loop, at);
  kir::Block body;
  if (pieces) {
    wait(kir::AsyncKind::Pieces, prefetch - 1, nullptr, body);
  }
  for (const TensorView* tv : bulk) {
    wait(kir::AsyncKind::BulkLoad, 0, tv, body);
  }
  if (stored) {
    wait(kir::AsyncKind::BulkStore, stages - prefetch - 1, nullptr, body);
  }
  if (stored_pieces) {
    body.push_back({kir::FenceAsyncProxy{}});
  }
  if (node.circular_barrier) {
    body.push_back({kir::Sync{kir::SyncKind::BlockBarrier, nullptr,
                              text("T", first->name(), " is loaded, and its next stage is free")}});
  }
  load(pool_.add(at, pool_.constant(prefetch)), body);
  declare(node, body);
  for (LoopNode& child : node.children) {
    if (loads.count(&child) == 0) {
      this->node(child, body);
    }
  }
  if (stored) {
    commit(kir::AsyncKind::BulkStore, nullptr, body);
  }
  indexer_.shift(&loop, nullptr);
  if (in_registers) {
    guarded(pool_.less(at, loop.extent), std::move(body), *each.body);
    statement.body->push_back({std::move(each)});
  } else {
    *statement.body = std::move(body);
  }
  out.push_back({std::move(statement)});
}

}  // namespace nvfuser
