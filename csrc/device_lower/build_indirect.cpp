/// Reads at an index that is a scalar (select) or comes from a tensor (index_select, gather), and
/// writes at one (what a scatter is in a kernel: ir/internal_nodes.h). An
/// index that its axis does not have is an error, as PyTorch's is: a scalar is checked at the
/// launch, one from memory by the CPU's kernel itself. A GPU's kernel does not tell; an emulated
/// device sees such a read, and what is written goes to the nearest end of the axis.
#include <algorithm>

#include <device_lower/axes_read_elsewhere.h>
#include <device_lower/counted_index.h>
#include <device_lower/kernel_builder.h>
#include <ir/axis_map.h>

namespace nvfuser {

using kir::Scalar;

void KernelBuilder::requireInRange(Scalar index, Scalar extent, const Expr* expr) {
  for (const kir::LaunchCheck& check : kernel_.checks) {
    if (check.kind == kir::LaunchCheck::Kind::InRange && check.reads == expr) {
      return;  // another copy of the statement
    }
  }
  kir::LaunchCheck check;
  check.kind = kir::LaunchCheck::Kind::InRange;
  check.value = index;
  check.extent = extent;
  check.reads = expr;
  kernel_.checks.push_back(std::move(check));
}

int KernelBuilder::indexRange(Scalar extent, const Expr* expr) {
  std::vector<kir::Kernel::IndexRead>& all = kernel_.index_reads;
  const auto known =
      std::find_if(all.begin(), all.end(), [&](const auto& read) { return read.expr == expr; });
  if (known != all.end()) {
    return static_cast<int>(known - all.begin());  // another copy of the statement
  }
  if (kernel_.index_report == nullptr) {
    kir::Buffer buffer;
    buffer.name = "wrong_index";
    buffer.dtype = DataType::Int;
    buffer.memory = MemoryType::Global;
    buffer.elements = pool_.constant(2);
    buffer.zeroed = buffer.read = buffer.written = true;
    kernel_.index_report = kernel_.addBuffer(std::move(buffer));
  }
  if (!(extent->isConstant() && extent->value > 0)) {
    kernel_.checks.push_back({kir::LaunchCheck::Kind::NotEmpty, extent, nullptr, 1,
                              text(expr->output(0), " reads at indices of it")});
  }
  all.push_back({expr, extent});
  return static_cast<int>(all.size()) - 1;
}

Scalar KernelBuilder::knownIndex(const Expr* expr, const IterDomain* axis, const Places& places) {
  const auto* index_tv = expr->input(1)->as<TensorView>();
  const auto* result = expr->output(0)->as<TensorView>();
  AxisIndex known;
  for (const IterDomain* id : index_tv->getLogicalDomain()) {
    known[id] = pool_.zero();
  }
  for (const auto& [p, c] : mapAxes(expr, index_tv, result)) {
    if (!p->isBroadcast() && !c->isBroadcast()) {
      known[p] = places.index(c);
      if (known[p] == nullptr) {
        return nullptr;
      }
    }
  }
  const std::optional<CountedIndex> index = countedIndex(index_tv, known, pool_);
  const Val* extent = axis->getMaybeExpandedExtent();
  const bool inside = index && index->least >= 0 && extent->isConstInt() &&
                      index->most < extent->evaluate().as<int64_t>();
  return inside ? index->value : nullptr;
}

Scalar KernelBuilder::loadIndex(const Expr* expr, const IterDomain* axis, const Places& places,
                                kir::Block& out) {
  auto* index_tv = expr->input(1)->as<TensorView>();
  auto* result = expr->output(0)->as<TensorView>();
  const bool guarded = options_.target == LowerTarget::Cpu;
  if (guarded && !expr->isA<WriteAtOp>()) {
    if (const Scalar counted = knownIndex(expr, axis, places)) {
      return counted;
    }
  }
  // A GPU tells nobody of an index that the axis does not have, but writes nothing elsewhere.
  const bool clamped = !guarded && expr->isA<WriteAtOp>();
  const std::string name = text("at", loaded_indices_++);
  const Scalar index =
      clamped ? pool_.symbol(name, nullptr, INT64_MIN) : pool_.symbol(name, symbols_.extent(axis));
  kir::Ref at = markRead(indexer_.read(index_tv, result, places,
                                       indexer_.producerAxes(expr, index_tv, result, places)));
  const Scalar extent = symbols_.of(axis->getMaybeExpandedExtent());
  out.push_back({kir::LoadIndex{index, at, guarded ? indexRange(extent, expr) : -1}});
  return clamped ? pool_.max(pool_.min(index, pool_.sub(extent, pool_.one())), pool_.zero())
                 : index;
}

void KernelBuilder::indirect(const Expr* expr, const Places& places, const kir::Ref& dst,
                             kir::Block& out) {
  auto* in = expr->input(0)->as<TensorView>();
  auto* result = expr->output(0)->as<TensorView>();
  const std::vector<IterDomain*> axes = TensorDomain::noReductions(in->getLogicalDomain());
  const auto dim = static_cast<size_t>(indexedAxis(expr));
  AxisIndex known = indexer_.producerAxes(expr, in, result, places);

  Scalar index = nullptr;
  if (expr->isA<SelectOp>()) {
    index = symbols_.of(expr->input(1));
    requireInRange(index, symbols_.of(axes[dim]->getMaybeExpandedExtent()), expr);
  } else {
    index = loadIndex(expr, axes[dim], places, out);
  }
  known[axes[dim]] = axes[dim]->isBroadcast() ? pool_.zero() : index;
  if (expr->isA<GatherOp>() && !expr->as<GatherOp>()->exactSizes()) {
    // The other axes are those of the index tensor, which may be shorter than the input's.
    const auto& own = result->getMaybeRootDomain();
    for (size_t i = 0; i < axes.size(); ++i) {
      if (i != dim) {
        known[axes[i]] = axes[i]->isBroadcast() ? pool_.zero() : elementIndex(own[i], places);
      }
    }
  }
  // A row that is read through a window (scheduler/resize_to_inputs.h) has nothing outside of it.
  const Scalar inside = insideWindow(windowBounds(expr, places));
  kir::Operand src = markRead(indexer_.read(in, result, places, std::move(known)));
  if (inside->isConstant(1)) {
    out.push_back({kir::Assign{dst, src}});
  } else {
    out.push_back({kir::Guarded{dst, inside, src,
                                scalarOperand(result->fusion()->zeroVal(result->dtype()))}});
  }
}

void KernelBuilder::writeAt(const WriteAtOp* op, const Places& places, kir::Block& out) {
  auto* target = op->input(0)->as<TensorView>();
  auto* entry = op->output(0)->as<TensorView>();
  const std::vector<IterDomain*> axes = TensorDomain::noReductions(target->getLogicalDomain());
  const auto dim = static_cast<size_t>(op->dim());
  AxisIndex known = indexer_.producerAxes(op, target, entry, places);
  known[axes[dim]] = loadIndex(op, axes[dim], places, out);
  const kir::Ref at = markWritten(indexer_.read(target, entry, places, std::move(known)));
  kir::Operand value = operand(op->input(2), op, entry, places);
  const auto type = op->accumulateOp();
  if (options_.target != LowerTarget::Cpu) {
    if (type) {
      markRead(at);
    }
    out.push_back({kir::CombineAt{type, at, std::move(value)}});
    return;
  }
  if (!type) {
    out.push_back({kir::Assign{at, std::move(value)}});
    return;
  }
  markRead(at);
  kir::Monoid monoid;
  monoid.op = *type;
  monoid.dtypes = {at.buffer->dtype};
  out.push_back({kir::Combine{std::move(monoid), {at}, {std::move(value)}}});
}

bool KernelBuilder::writesInOrder(const Leaf& leaf, const LoopClass& loop) {
  if (!leaf.expr->isA<WriteAtOp>()) {
    return false;
  }
  const std::vector<IterDomain*>& axes = leaf.out->getLogicalDomain();
  const IterDomain* counted = axes[static_cast<size_t>(leaf.expr->as<WriteAtOp>()->dim())];
  const IterDomain* own = ownAxis(leaf.out, loop);
  return own != nullptr && isMadeOf(own, {counted});
}

}  // namespace nvfuser
