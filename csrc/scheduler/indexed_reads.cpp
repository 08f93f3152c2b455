#include <scheduler/indexed_reads.h>

#include <algorithm>

#include <ir/builder.h>
#include <ir/internal_nodes.h>
#include <scheduler/copy_operation.h>
#include <scheduler/propagate_resizes.h>
#include <scheduler/window_tensors.h>

namespace nvfuser::scheduler_tools {

namespace {

constexpr int64_t kMostCopies = 64;  ///< operations made for one read

/// Whether the same ones are broadcast, and expanded.
bool hasAxesOf(const TensorView* tv, const TensorView* other) {
  const std::vector<IterDomain*> axes = axesOf(tv);
  const std::vector<IterDomain*> others = axesOf(other);
  return std::equal(axes.begin(), axes.end(), others.begin(), others.end(),
                    [](const IterDomain* a, const IterDomain* b) {
                      return a->isBroadcast() == b->isBroadcast() &&
                             a->hasExpandedExtent() == b->hasExpandedExtent();
                    });
}

/// One read, of whatever its operand is computed from.
class Read {
 public:
  explicit Read(const Expr* read) : read_(read), fusion_(read->fusion()) {
    if (read->isA<SelectOp>()) {
      dim_ = read->as<SelectOp>()->dim();
    } else if (read->isA<IndexSelectOp>()) {
      dim_ = read->as<IndexSelectOp>()->dim();
    } else {
      dim_ = read->as<GatherOp>()->dim();
      index_ = read->input(1)->as<TensorView>();
    }
    dim_of_result_ = dim_;
  }

  /// `tv` read so; null if that cannot be computed from inputs.
  TensorView* of(TensorView* tv) {
    const IterDomain* along = axesOf(tv)[static_cast<size_t>(dim_)];
    if (along->isBroadcast() && !along->hasExpandedExtent() && !read_->isA<SelectOp>()) {
      return tv;  // one element, wherever it is read
    }
    if (!isComputed(tv)) {
      return ofInput(tv);
    }
    const Expr* def = tv->definition();
    if (!def->isOneOf<UnaryOp, BinaryOp, TernaryOp, LoadStoreOp>() || ++made_ > kMostCopies) {
      return nullptr;
    }
    if (tv->hasRoot()) {
      return ofPermuted(def, tv);
    }
    std::vector<Val*> operands = def->inputs();
    std::vector<IterDomain*> axes;
    for (Val*& operand : operands) {
      if (!operand->isA<TensorView>()) {
        continue;
      }
      TensorView* part = of(operand->as<TensorView>());
      if (part == nullptr) {
        return nullptr;
      }
      operand = part;
      const std::vector<IterDomain*> own = axesOf(part);
      axes = axes.empty() ? own : axes;
      for (size_t i = 0; i < own.size(); ++i) {
        axes[i] = axes[i]->isBroadcast() ? own[i] : axes[i];
      }
    }
    TensorView* out = tensor(IterDomain::clone(axes), tv->dtype());
    copyOperation(def, std::move(operands), {out});
    return out;
  }

 private:
  /// T1[j, i] = T0[i, j], read at (k, i) is T0 read at (i, k): along another axis, by an index that
  /// is permuted too.
  TensorView* ofPermuted(const Expr* def, const TensorView* tv) {
    const std::vector<IterDomain*>& root = tv->getRootDomain();
    std::vector<int64_t> order;  // of the logical axes: their places in the root
    for (const IterDomain* id : tv->getLogicalDomain()) {
      const auto place = std::find(root.begin(), root.end(), id);
      if (place == root.end()) {
        return nullptr;
      }
      order.push_back(place - root.begin());
    }
    const int64_t dim = dim_;
    TensorView* const index = index_;
    std::vector<int64_t> inverse(order.size());
    for (size_t i = 0; i < order.size(); ++i) {
      inverse[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
    }
    dim_ = order[static_cast<size_t>(dim)];
    index_ = index == nullptr ? nullptr : reordered(index, inverse);
    TensorView* part = of(def->input(0)->as<TensorView>());
    if (read_->isA<SelectOp>()) {
      order.erase(order.begin() + dim);
      for (int64_t& place : order) {
        place -= place > dim_ ? 1 : 0;
      }
    }
    dim_ = dim;
    index_ = index;
    return part == nullptr ? nullptr : reordered(part, order);
  }

  /// `new2old`: of the axes, whose number each was.
  TensorView* reordered(TensorView* tv, const std::vector<int64_t>& new2old) {
    if (std::is_sorted(new2old.begin(), new2old.end())) {
      return tv;
    }
    std::vector<IterDomain*> root = IterDomain::clone(axesOf(tv));
    std::vector<IterDomain*> logical;
    for (const int64_t old : new2old) {
      logical.push_back(root[static_cast<size_t>(old)]);
    }
    TensorView* out = WindowTensors(fusion_).tensor(std::move(root), logical, tv->dtype());
    IrBuilder::createInContainer<LoadStoreOp>(fusion_, LoadStoreOpType::Set, out, tv);
    return out;
  }

  TensorView* tensor(std::vector<IterDomain*> axes, DataType dtype) {
    auto* domain = IrBuilder::createInContainer<TensorDomain>(
        fusion_, axes, TensorDomain::getContiguityFilledWith(axes, true));
    return IrBuilder::createInContainer<TensorView>(fusion_, domain, dtype, MemoryType::Local);
  }

  TensorView* ofInput(TensorView* tv) {
    std::vector<IterDomain*> axes = axesOf(tv);
    if (std::any_of(axes.begin(), axes.end(),
                    [](const IterDomain* id) { return id->hasExpandedExtent(); })) {
      return nullptr;
    }
    const auto place = static_cast<size_t>(dim_);
    const IterDomain* along = axes[place];
    const std::vector<IterDomain*> result = axesOf(read_->output(0)->as<TensorView>());
    if (read_->isA<SelectOp>()) {
      axes.erase(axes.begin() + dim_);
    } else if (read_->isA<IndexSelectOp>()) {
      axes[place] = result[static_cast<size_t>(dim_of_result_)];
    } else {
      const std::vector<IterDomain*> of_index = axesOf(index_);
      for (size_t i = 0; i < axes.size(); ++i) {
        axes[i] = i == place || !of_index[i]->isBroadcast() ? of_index[i] : axes[i];
      }
    }
    TensorView* out = tensor(IterDomain::clone(axes), tv->dtype());
    if (read_->isA<SelectOp>()) {
      // The one element of a broadcast axis stands for any other.
      Val* at = along->isBroadcast() ? fusion_->zeroVal(DataType::Index) : read_->input(1);
      IrBuilder::createInContainer<SelectOp>(fusion_, out, tv, dim_, at);
    } else if (read_->isA<IndexSelectOp>()) {
      IrBuilder::createInContainer<IndexSelectOp>(fusion_, out, tv, dim_, read_->input(1));
    } else {
      IrBuilder::createInContainer<GatherOp>(fusion_, out, tv, dim_, index_, true);
    }
    return out;
  }

  const Expr* read_;
  Fusion* fusion_;
  int64_t dim_ = 0;              ///< of the tensor that is read now
  int64_t dim_of_result_ = 0;    ///< of what the read was of
  TensorView* index_ = nullptr;  ///< of a gather, with the axes of the tensor that is read now
  int64_t made_ = 0;
};

}  // namespace

bool readsElsewhere(const Expr* use, const TensorView* tv) {
  return use->isOneOf<SelectOp, IndexSelectOp, GatherOp, ScatterOp, SliceOp, PadOp>() &&
         use->input(0) == tv;
}

bool isReadAtIndex(const TensorView* tv) {
  const std::vector<Expr*> uses =
      tv->isFusionInput() ? tv->fusion()->usesOf(tv) : std::vector<Expr*>();
  return !uses.empty() && std::all_of(uses.begin(), uses.end(), [&](const Expr* use) {
    return use->isOneOf<SelectOp, IndexSelectOp, GatherOp>() && use->input(0) == tv;
  });
}

void propagateIndexedReadsToInputs(Fusion* fusion) {
  FusionGuard guard(fusion);
  for (Expr* expr : fusion->exprs()) {
    const bool reads = expr->isOneOf<SelectOp, IndexSelectOp>() ||
                       (expr->isA<GatherOp>() && expr->as<GatherOp>()->exactSizes());
    auto* old = expr->output(0);
    if (!reads || !isComputed(expr->input(0))) {
      continue;
    }
    TensorView* result = Read(expr).of(expr->input(0)->as<TensorView>());
    if (result == nullptr || !hasAxesOf(old->as<TensorView>(), result)) {
      continue;
    }
    for (Expr* reader : fusion->usesOf(old)) {
      fusion->replaceInput(reader, old, result);
    }
    fusion->removeExpr(expr);
    if (old->isFusionOutput()) {
      IrBuilder::createInContainer<LoadStoreOp>(fusion, LoadStoreOpType::Set, old, result);
    }
  }
}

}  // namespace nvfuser::scheduler_tools
