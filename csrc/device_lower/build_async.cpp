/// Copies that run beside the computing threads.
///
/// cp.async: each thread asks for pieces of 4, 8 or 16 bytes, and waits for its own.
///
/// Bulk: the whole axis is one statement that all threads of the block meet; one of them asks for
/// the copy. Tails are exact, because the number of elements is clamped:
///
///   T1[k·64 + v] = T0[k·64 + v]  v bound to Bulk    →    T1[k·64] = bulk T0[k·64] : min(64, i0 −
///   k·64)
#include <algorithm>
#include <set>

#include <device_lower/kernel_builder.h>

namespace nvfuser {

using kir::Scalar;

bool KernelBuilder::isAsyncCopy(const Expr* expr) const {
  return asyncKindOf(expr, options_.target) == kir::AsyncKind::Pieces;
}

kir::Stmt KernelBuilder::asyncCopy(const LoadStoreOp* copy, const kir::Ref& dst,
                                   const kir::Ref& src) const {
  const auto* out = copy->out()->as<TensorView>();
  const int64_t bytes = dst.width * dataTypeSizeByte(dst.buffer->dtype);
  if (src.buffer->memory != MemoryType::Global || dst.buffer->memory != MemoryType::Shared) {
    userError("lower: ", out, " is copied by cp.async, which moves from global to shared memory; ",
              "set its memory type to Shared and copy an input of the kernel");
  }
  if (bytes != 4 && bytes != 8 && bytes != 16) {
    userError("lower: ", out, " is copied by cp.async in pieces of ", bytes,
              " bytes; it moves 4, 8 or 16 bytes at a time, so vectorize its innermost axis by ",
              16 / dataTypeSizeByte(dst.buffer->dtype));
  }
  return {kir::CopyAsync{dst, src, nullptr}};
}

void KernelBuilder::stretchCopy(const Leaf& leaf, const LoopClass* bulk, const std::string& no_box,
                                kir::Block& out) {
  auto* copy = leaf.expr->as<LoadStoreOp>();
  auto* in = copy->in()->as<TensorView>();
  const TensorView* tv = leaf.out;
  const Places places = indexer_.around(leaf);
  auto split = [&](Scalar index, int64_t* coefficient, Scalar* first) {
    *coefficient = 0;
    *first = index;
    return !kir::ScalarPool::contains(index, bulk->index) ||
           pool_.splitLinear(index, bulk->index, coefficient, first);
  };
  auto refuse = [&](const TensorView* of, Scalar index) {
    userError("lower: T", of->name(), " cannot be copied in bulk along the axis of T", tv->name(),
              " that is bound to Bulk: its elements are not neighbours there (index ",
              index->toString(), ")\n  note: ", of,
              no_box.empty() ? std::string() : text("\n  note: it is no box, as ", no_box),
              "\n  help: bind an axis whose memory is contiguous, or make the tensor contiguous");
  };
  auto firstOf = [&](kir::Ref ref, const TensorView* of) {
    int64_t coefficient = 0;
    const Scalar index = ref.index;
    const bool linear = split(index, &coefficient, &ref.index);
    if (!linear || (coefficient != 1 && !bulk->extent->isConstant(1))) {
      refuse(of, index);
    }
    return ref;
  };
  kir::BulkCopy statement;
  statement.src = firstOf(
      markRead(indexer_.read(in, tv, places, indexer_.producerAxes(copy, in, tv, places))), in);
  statement.dst = firstOf(markWritten(indexer_.write(tv, places)), tv);
  statement.count = bulk->extent;
  const bool load = asyncKindOf(copy, options_.target) == kir::AsyncKind::BulkLoad;
  const MemoryType memory = load ? MemoryType::Shared : MemoryType::Global;
  Scalar condition = predicates_.writesOnce(tv, leaf, memory, places, true);
  std::set<Scalar> limits;
  for (const auto& bound : predicates_.bounds(leaf, places)) {
    int64_t coefficient = 0;
    Scalar first = nullptr;
    if (!split(bound.index, &coefficient, &first) || coefficient > 1 || coefficient < 0) {
      refuse(tv, bound.index);
    }
    if (coefficient == 0) {
      condition = pool_.logicalAnd(condition, pool_.less(first, bound.extent));
    } else if (!pool_.provesLess(bound.index, bound.extent)) {
      const Scalar limit = pool_.sub(bound.extent, first);
      if (limits.insert(limit).second) {
        statement.count = pool_.min(statement.count, limit);
      }
    }
  }
  if (load) {
    statement.barrier = barrierOf(tv);
  }
  guarded(condition, {{std::move(statement)}}, out);
}

// ---- barriers and waits -------------------------------------------------------------------------

void KernelBuilder::initialiseBarriers(kir::Block& out) {
  const bool threads = std::any_of(
      std::begin(kParallelTypeThreads), std::end(kParallelTypeThreads),
      [&](ParallelType type) { return isParallelTypeThreadDim(type) && loops_.isUsed(type); });
  bool any = false;
  for (const auto& buffer : kernel_.buffers) {
    if (buffer->tv == nullptr) {
      continue;
    }
    const Allocation& allocation = allocations_.of(buffer->tv);
    if (allocation.buffer != buffer.get() || allocation.barriers == nullptr) {
      continue;
    }
    out.push_back({kir::Declare{allocation.phases}});
    out.push_back({kir::Assign{{allocation.phases, pool_.zero()},
                               kir::Literal{PolymorphicValue(0), allocation.phases->dtype}}});
    out.push_back({kir::MBarrierInit{allocation.barriers}});
    if (isSpecialLoad(buffer->tv)) {
      // The first phase that is waited for is the one before the first: each stage is free.
      out.push_back({kir::Declare{allocation.free_phases}});
      out.push_back(
          {kir::Assign{{allocation.free_phases, pool_.zero()},
                       kir::Literal{PolymorphicValue(int64_t{0xffffffff}), DataType::UInt32}}});
      out.push_back({kir::MBarrierInit{allocation.free, kernel_.roles->firstLoading()}});
    }
    any = true;
  }
  if (any && threads) {
    out.push_back(
        {kir::Sync{kir::SyncKind::BlockBarrier, nullptr, "the barriers of bulk loads are ready"}});
  }
}

kir::Ref KernelBuilder::barrierOf(const TensorView* tv) const {
  return {allocations_.of(tv).barriers, indexer_.stage(tv)};
}

void KernelBuilder::commit(kir::AsyncKind kind, const TensorView* tv, kir::Block& out) const {
  out.push_back(
      {kir::AsyncCommit{kind, kind == kir::AsyncKind::BulkLoad ? barrierOf(tv) : kir::Ref()}});
}

void KernelBuilder::wait(kir::AsyncKind kind, int64_t pending, const TensorView* tv,
                         kir::Block& out) const {
  kir::AsyncWait statement{pending, kind};
  if (kind == kir::AsyncKind::BulkLoad) {
    statement.barrier = barrierOf(tv);
    statement.phases = {allocations_.of(tv).phases, pool_.zero()};
  }
  out.push_back({std::move(statement)});
}

}  // namespace nvfuser
