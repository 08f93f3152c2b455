/// Reductions: a monoid (identity, combine, state of one or three parts), emitted from the inside
/// out.
///
///   init      state = identity, in front of the reduction loops
///   update    state = combine(state, value), inside, only where the element exists
///   finish    across the threads bound to reduction axes, then across the blocks
///
/// The state of a tensor in registers is the tensor itself; a tensor in shared or global memory has
/// an accumulator in registers, stored once at the end.
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
    return monoid;
  }
  auto* op = expr->as<ReductionOp>();
  monoid.op = op->getReductionOpType();
  monoid.dtypes = {op->out()->dtype()};
  check(op->init()->isConst(), "the initial value of a reduction is a constant");
  monoid.identity = {{op->init()->value(), op->out()->dtype()}};
  return monoid;
}

std::vector<kir::Ref> KernelBuilder::state(Leaf& leaf, const AxisValues& values) {
  const std::vector<TensorView*> outputs = tensorOutputs(leaf.expr);
  std::vector<kir::Ref> result;
  auto& accumulators = accumulators_[leaf.expr];
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Allocation& allocation = allocations_.of(outputs[i]);
    if (allocation.buffer->memory == MemoryType::Local) {
      result.push_back(indexer_.write(outputs[i], leaf, values));
      const_cast<kir::Buffer*>(result.back().buffer)->read = true;
      const_cast<kir::Buffer*>(result.back().buffer)->written = true;
      continue;
    }
    if (accumulators.size() <= i) {
      // Without loops behind the first reduction axis, one value is enough.
      size_t private_loops = 0;
      const auto& axes = outputs[i]->getLoopDomain();
      bool behind = false;
      for (size_t a = 0; a < axes.size(); ++a) {
        behind |= axes[a]->isReduction();
        const LoopClass& loop = loops_.of(outputs[i], static_cast<int>(a));
        if (behind && !axes[a]->isReduction() && !loop.isThread() && !loop.extent->isConstant(1)) {
          ++private_loops;
        }
      }
      if (private_loops > 0) {
        userError("lower: ", outputs[i],
                  " is reduced straight into memory while a loop stands behind its reduction axes; "
                  "cacheBefore() it, so that the reduction is held in registers");
      }
      kir::Buffer buffer;
      buffer.name = text("acc", outputs[i]->name());
      buffer.dtype = allocation.buffer->dtype;
      buffer.elements = pool_.one();
      buffer.read = buffer.written = true;
      accumulators.push_back(kernel_.addBuffer(std::move(buffer)));
    }
    result.push_back({accumulators[i], pool_.zero(), 1});
  }
  return result;
}

void KernelBuilder::reduction(Leaf& leaf, const AxisValues& values, Scalar condition,
                              kir::Block& out) {
  const kir::Monoid monoid = monoidOf(leaf.expr);
  const std::vector<TensorView*> outputs = tensorOutputs(leaf.expr);
  const std::vector<kir::Ref> parts = state(leaf, values);
  switch (leaf.role) {
    case LeafRole::Init: {
      for (size_t i = 0; i < parts.size(); ++i) {
        if (allocations_.of(outputs[i]).buffer->memory != MemoryType::Local) {
          out.push_back({kir::Declare{parts[i].buffer}});
        }
        // Also where no element exists, so that threads outside contribute nothing.
        out.push_back({kir::Assign{parts[i], monoid.identity[i]}});
      }
      break;
    }
    case LeafRole::Update: {
      std::vector<kir::Operand> value;
      for (const Val* in : leaf.expr->inputs()) {
        value.push_back(operand(in, leaf.expr, leaf.out, values));
      }
      guarded(condition, {{kir::Combine{monoid, parts, std::move(value)}}}, out);
      break;
    }
    default: {
      combineAcrossThreads(leaf, values, out);
      kir::Block store;
      for (size_t i = 0; i < parts.size(); ++i) {
        const Allocation& allocation = allocations_.of(outputs[i]);
        if (allocation.buffer->memory == MemoryType::Local) {
          continue;
        }
        store.push_back(
            {kir::Assign{markWritten(indexer_.write(outputs[i], leaf, values)), parts[i]}});
      }
      if (!store.empty()) {
        // After a reduction across blocks only one of them is left; the others' index 0 is not
        // asked for.
        const MemoryType memory = allocations_.of(leaf.out).buffer->memory;
        Scalar once = predicates_.writesOnce(leaf.out, leaf, memory);
        if (leaf.out->hasGridReduction() && options_.target != LowerTarget::Cpu) {
          once = pool_.one();
          for (ParallelType type : kParallelTypeTIDs) {
            bool bound = false;
            for (const LoopClass* loop : leaf.path) {
              bound |= loop->parallel == type;
            }
            if (loops_.isUsed(type) && !bound) {
              once = pool_.logicalAnd(once, pool_.equal(loops_.parallelIndex(type), pool_.zero()));
            }
          }
        }
        guarded(pool_.logicalAnd(condition, once), std::move(store), out);
      }
    }
  }
}

void KernelBuilder::combineAcrossThreads(Leaf& leaf, const AxisValues& values, kir::Block& out) {
  bool block_dims[3] = {false, false, false};
  bool grid_dims[3] = {false, false, false};
  bool any_block = false;
  bool any_grid = false;
  const auto& axes = leaf.out->getLoopDomain();
  static constexpr ParallelType kTid[] = {ParallelType::TIDx, ParallelType::TIDy,
                                          ParallelType::TIDz};
  static constexpr ParallelType kBid[] = {ParallelType::BIDx, ParallelType::BIDy,
                                          ParallelType::BIDz};
  for (size_t i = 0; i < axes.size(); ++i) {
    if (!axes[i]->isReduction()) {
      continue;
    }
    const ParallelType type = loops_.of(leaf.out, static_cast<int>(i)).parallel;
    if (!isParallelTypeThread(type) || !loops_.isUsed(type)) {
      continue;
    }
    for (int d = 0; d < 3; ++d) {
      if (type == kTid[d]) {
        any_block = block_dims[d] = true;
      }
      if (type == kBid[d]) {
        any_grid = grid_dims[d] = true;
      }
    }
  }
  if (!any_block && !any_grid) {
    return;
  }
  const kir::Monoid monoid = monoidOf(leaf.expr);
  const std::vector<kir::Ref> parts = state(leaf, values);

  Scalar threads = pool_.one();
  for (ParallelType type : kTid) {
    if (loops_.dimension(type) != nullptr) {
      threads = pool_.mul(threads, loops_.dimension(type));
    }
  }
  int64_t state_bytes = 0;
  for (DataType dtype : monoid.dtypes) {
    // The three parts of one state lie side by side, each aligned to the widest.
    int64_t widest = 0;
    for (DataType other : monoid.dtypes) {
      widest = std::max(widest, dataTypeSizeByte(other));
    }
    (void)dtype;
    state_bytes += widest;
  }
  auto workspace = [&](const char* name, MemoryType memory, Scalar elements, bool zeroed) {
    kir::Buffer buffer;
    buffer.name = text(name, leaf.out->name());
    buffer.dtype = zeroed ? DataType(DataType::UInt32) : DataType(DataType::Byte);
    buffer.memory = memory;
    buffer.elements = elements;
    buffer.alignment = 16;
    buffer.zeroed = zeroed;
    buffer.read = buffer.written = true;
    return kernel_.addBuffer(std::move(buffer));
  };
  if (any_block) {
    kir::BlockReduce statement;
    statement.monoid = monoid;
    statement.state = parts;
    std::copy(std::begin(block_dims), std::end(block_dims), std::begin(statement.dims));
    statement.workspace =
        workspace("block_work", MemoryType::Shared, pool_.mul(threads, state_bytes), false);
    out.push_back({std::move(statement)});
  }
  if (any_grid) {
    Scalar blocks = pool_.one();
    Scalar segments = pool_.one();
    for (int d = 0; d < 3; ++d) {
      Scalar extent = loops_.dimension(kBid[d]);
      if (extent == nullptr) {
        continue;
      }
      blocks = pool_.mul(blocks, extent);
      if (!grid_dims[d]) {
        segments = pool_.mul(segments, extent);
      }
    }
    kir::GridReduce statement;
    statement.monoid = monoid;
    statement.state = parts;
    std::copy(std::begin(grid_dims), std::end(grid_dims), std::begin(statement.dims));
    statement.workspace = workspace("grid_work", MemoryType::Global,
                                    pool_.mul(pool_.mul(blocks, threads), state_bytes), false);
    statement.tickets = workspace("tickets", MemoryType::Global, segments, true);
    statement.shared = workspace("last", MemoryType::Shared, pool_.constant(16), false);
    out.push_back({std::move(statement)});
  }
}

}  // namespace nvfuser
