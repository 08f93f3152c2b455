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
    }
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
    const bool is_elementwise =
        def->isOneOf<UnaryOp, BinaryOp, TernaryOp>() || (def->isA<LoadStoreOp>() && !tv->hasRoot());
    if (!is_elementwise || ++made_ > kMostCopies) {
      return nullptr;
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
      axes[place] = result[place];
    } else {
      const std::vector<IterDomain*> of_index = axesOf(read_->input(1)->as<TensorView>());
      for (size_t i = 0; i < axes.size(); ++i) {
        axes[i] = i == place || !of_index[i]->isBroadcast() ? of_index[i] : axes[i];
      }
    }
    TensorView* out = tensor(IterDomain::clone(axes), tv->dtype());
    std::vector<Val*> operands = read_->inputs();
    operands[0] = tv;
    if (read_->isA<SelectOp>() && along->isBroadcast()) {
      operands[1] = fusion_->zeroVal(DataType::Index);  // its one element stands for any other
    }
    copyOperation(read_, std::move(operands), {out});
    return out;
  }

  const Expr* read_;
  Fusion* fusion_;
  int64_t dim_ = 0;
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
