/// Reductions: a monoid (identity, combine, state of one or three parts), emitted from the inside
/// out.
///
///   init      state = identity, in front of the reduction loops
///   update    state = combine(state, value), inside, only where the element exists
///   finish    across the threads bound to reduction axes, then across the blocks
///             (build_thread_reduction.cpp)
///
/// Where the state is kept, build_accumulators.cpp says.
#include <algorithm>
#include <limits>

#include <device_lower/kernel_builder.h>
#include <ir/axis_map.h>

namespace nvfuser {

using kir::Scalar;

kir::Monoid KernelBuilder::monoidOf(const Expr* expr) const {
  kir::Monoid monoid;
  if (expr->isA<WelfordOp>()) {
    monoid.kind = kir::Monoid::Kind::Welford;
    for (const Val* out : expr->outputs()) {
      const DataType dtype =
          out->dtype() == DataType::Index ? DataType(DataType::Int) : out->dtype();
      monoid.dtypes.push_back(dtype);
      monoid.identity.push_back({PolymorphicValue(0), dtype});
    }
    // No numbers have no mean.
    monoid.identity[0].value = PolymorphicValue(std::numeric_limits<double>::quiet_NaN());
    return monoid;
  }
  if (expr->isA<OnlineSoftmaxOp>()) {
    monoid.kind = kir::Monoid::Kind::OnlineSoftmax;
    const DataType dtype = expr->output(0)->dtype();
    const double lowest = dtype == DataType::Double ? std::numeric_limits<double>::lowest()
                                                    : double{std::numeric_limits<float>::lowest()};
    monoid.dtypes = {dtype, dtype};
    monoid.identity = {{PolymorphicValue(lowest), dtype}, {PolymorphicValue(0.0), dtype}};
    return monoid;
  }
  auto* op = expr->as<ReductionOp>();
  monoid.op = op->getReductionOpType();
  monoid.dtypes = {op->out()->dtype()};
  check(op->init()->isConst(), "the initial value of a reduction is a constant");
  monoid.identity = {{op->init()->value(), op->out()->dtype()}};
  return monoid;
}

Scalar KernelBuilder::sumsInside(const Leaf& leaf, const TensorView* tv,
                                 const Places& places) const {
  Leaf own = leaf;
  own.out = const_cast<TensorView*>(tv);
  Scalar condition = bounds_proven_ ? pool_.one() : predicates_.inBounds(own, places);
  const Allocation& allocation = allocations_.of(tv);
  if (isSummedInMemory(tv) && !allocation.per_task) {
    condition = pool_.logicalAnd(
        condition, predicates_.writesOnce(tv, own, allocation.buffer->memory, places));
  }
  return condition;
}

void KernelBuilder::reduction(Leaf& leaf, const Places& places, kir::Block& out) {
  const kir::Monoid monoid = monoidOf(leaf.expr);
  const std::vector<TensorView*> outputs = tensorOutputs(leaf.expr);
  const std::vector<kir::Ref> parts = state(leaf, places);
  const auto accumulator = accumulators_.find(leaf.out);
  const bool accumulates = accumulator != accumulators_.end() && accumulator->second != nullptr;
  switch (leaf.role) {
    case LeafRole::Init: {
      for (size_t i = 0; i < parts.size(); ++i) {
        // Registers also where no element exists, so that threads outside contribute nothing.
        const Scalar starts =
            isSummedInMemory(outputs[i]) ? sumsInside(leaf, outputs[i], places) : pool_.one();
        guarded(starts, {{kir::Assign{parts[i], monoid.identity[i]}}}, out);
      }
      break;
    }
    case LeafRole::Update: {
      std::vector<kir::Operand> value;
      for (const Val* in : leaf.expr->inputs()) {
        value.push_back(operand(in, leaf.expr, leaf.out, places));
      }
      Scalar condition = sumsInside(leaf, leaf.out, places);
      for (const TensorView* other : outputs) {
        if (sumsInside(leaf, other, places) != condition) {
          userError("lower: ", other, " and ", leaf.out,
                    " are sums of one reduction, but one is added up in memory, once for all tasks "
                    "of the CPU, and the other by each task for itself; setMemoryType() both "
                    "alike, or cacheBefore() the one in global memory");
        }
      }
      condition = pool_.logicalAnd(condition, takesOnce(leaf, accumulates));
      guarded(condition, {{kir::Combine{monoid, parts, std::move(value)}}}, out);
      break;
    }
    default:
      finishReduction(leaf, nullptr, out);
  }
}

Scalar KernelBuilder::takesOnce(const Leaf& leaf, bool accumulates) const {
  std::vector<const LoopClass*> separate;
  for (int position : loopsBehindFolded(leaf.out, loops_)) {
    const IterDomain* id = leaf.out->getLoopDomain()[static_cast<size_t>(position)];
    const LoopClass* loop = loopOf(leaf, leaf.out, position);
    // Memory has one sum for all indices of a broadcast axis, and so for the parts that it has in a
    // loop; registers have one for each turn.
    if (exact_.mapped(loop->promoted, id) && (!LoopModel::isRepeated(id) || accumulates)) {
      separate.push_back(loop);
    }
  }
  return predicates_.takesOnce(leaf, indexer_, separate);
}

bool KernelBuilder::isSpreadReduction(const TensorView* tv) const {
  return std::any_of(std::begin(kParallelTypeThreads), std::end(kParallelTypeThreads),
                     [&](ParallelType type) {
                       const IterDomain* id = loops_.boundAxis(tv, type);
                       return id != nullptr && id->isReduction() && loops_.isUsed(type);
                     });
}

bool KernelBuilder::isGroup(const LoopNode& node) const {
  const LoopClass& loop = *node.loop;
  if (loop.parallel != ParallelType::Group || options_.target == LowerTarget::Cpu ||
      node.children.size() != 1 || !node.children[0].leaf) {
    return false;
  }
  const Leaf& leaf = *node.children[0].leaf;
  if (leaf.role != LeafRole::Finish ||
      !leaf.expr->isOneOf<ReductionOp, WelfordOp, OnlineSoftmaxOp>()) {
    return false;
  }
  if (!loop.extent->isConstant() || loop.extent->value > kMaxGroup) {
    userError("lower: ", leaf.out, " reduces a group of ", loop.extent->toString(),
              " together; a group has a constant size of at most ", kMaxGroup);
  }
  return true;
}

void KernelBuilder::finishReduction(Leaf& leaf, const LoopClass* group, kir::Block& out) {
  const std::vector<TensorView*> outputs = tensorOutputs(leaf.expr);
  const int64_t count = group != nullptr ? group->extent->value : 1;
  auto forEachOfGroup = [&](const std::function<void()>& body) {
    for (int64_t i = 0; i < count; ++i) {
      indexer_.shift(group, group != nullptr ? pool_.constant(i) : nullptr);
      body();
    }
    indexer_.shift(group, nullptr);
  };
  const kir::Monoid one = monoidOf(leaf.expr);
  kir::Monoid monoid = one;
  monoid.dtypes.clear();
  monoid.identity.clear();
  std::vector<kir::Ref> parts;
  forEachOfGroup([&] {
    for (const kir::Ref& part : state(leaf, indexer_.around(leaf))) {
      parts.push_back(part);
    }
    monoid.dtypes.insert(monoid.dtypes.end(), one.dtypes.begin(), one.dtypes.end());
    monoid.identity.insert(monoid.identity.end(), one.identity.begin(), one.identity.end());
  });
  const bool in_loop = std::any_of(leaf.path.begin(), leaf.path.end(), [&](const LoopClass* loop) {
    return loop != group && !loop->isThread() && !loop->extent->isConstant(1);
  });
  Scalar last = nullptr;
  if (isSpreadReduction(leaf.out)) {
    Scalar once = finishesOnce(leaf, group);
    kir::Block repeated;
    last = combineAcrossThreads(leaf, monoid, parts, in_loop, once->isConstant() ? out : repeated);
    guarded(once, std::move(repeated), out);
  }

  forEachOfGroup([&] {
    const Places places = indexer_.around(leaf);
    const std::vector<kir::Ref> from = state(leaf, places);
    const Scalar has_result =
        pool_.logicalAnd(atFirstOfBroadcasts(leaf, nullptr), atFirstOfParts(leaf, places));
    for (size_t i = 0; i < from.size(); ++i) {
      auto accumulator = accumulators_.find(outputs[i]);
      if (accumulator == accumulators_.end() || accumulator->second == nullptr) {
        continue;
      }
      // Each result may be kept elsewhere: in registers, or in shared or global memory.
      Leaf stored = leaf;
      stored.out = outputs[i];
      // One block of each segment has the result, if not all; its place in the grid is not known.
      const Allocation& allocation = allocations_.of(outputs[i]);
      Scalar writes = pool_.one();
      const bool in_registers = allocation.buffer->memory == MemoryType::Local;
      if (!in_registers && !bounds_proven_) {
        writes = predicates_.inBounds(stored, places);
      }
      if (!in_registers && !allocation.per_task) {
        writes = pool_.logicalAnd(
            writes, predicates_.writesOnce(outputs[i], stored, allocation.buffer->memory, places,
                                           false, last != nullptr ? outputs[i] : nullptr));
      }
      kir::Block store{{kir::Assign{markWritten(indexer_.write(outputs[i], places)), from[i]}}};
      writes = pool_.logicalAnd(has_result, writes);
      guarded(last ? pool_.logicalAnd(writes, last) : writes, std::move(store), out);
    }
  });
}

Scalar KernelBuilder::atFirstOfBroadcasts(const Leaf& leaf, const LoopClass* group) const {
  Scalar condition = pool_.one();
  for (int position : loopsBehindFolded(leaf.out, loops_)) {
    const LoopClass* loop = loopOf(leaf, leaf.out, position);
    if (loop != group && leaf.out->getLoopDomain()[static_cast<size_t>(position)]->isBroadcast()) {
      condition = pool_.logicalAnd(condition, pool_.equal(indexer_.iteration(loop), pool_.zero()));
    }
  }
  return condition;
}

Scalar KernelBuilder::atFirstOfParts(const Leaf& leaf, const Places& places) const {
  std::vector<const LoopClass*> parts;
  for (int position : loopsBehindFolded(leaf.out, loops_)) {
    const IterDomain* id = leaf.out->getLoopDomain()[static_cast<size_t>(position)];
    const LoopClass* loop = loopOf(leaf, leaf.out, position);
    if (!id->isBroadcast() && !loop->isThread() && LoopModel::isRepeated(id)) {
      parts.push_back(loop);
    }
  }
  Scalar condition = pool_.one();
  for (const LoopAxis& axis : places.foreign(leaf.out, true)) {
    if (axis.id->isBroadcast() &&
        std::any_of(axis.loops.begin(), axis.loops.end(), [&](const LoopClass* loop) {
          return std::find(parts.begin(), parts.end(), loop) != parts.end();
        })) {
      condition = pool_.logicalAnd(condition, pool_.equal(axis.index, pool_.zero()));
    }
  }
  return condition;
}

Scalar KernelBuilder::finishesOnce(const Leaf& leaf, const LoopClass* group) const {
  if (accumulators_.count(leaf.out) != 0) {
    return pool_.one();
  }
  return atFirstOfBroadcasts(leaf, group);
}

}  // namespace nvfuser
