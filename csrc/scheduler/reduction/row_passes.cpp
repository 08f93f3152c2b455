#include <scheduler/reduction/row_passes.h>

#include <algorithm>
#include <vector>

#include <ir/axis_map.h>
#include <ir/builder.h>
#include <scheduler/analysis/persistent_buffers.h>

namespace nvfuser {

namespace {

bool isPlain(const WelfordOp* op) {
  const DataType dtype = op->outAvg()->dtype();
  auto isConst = [](const Val* val, int64_t value) {
    return !val->isA<TensorView>() && val->isConst() && val->value() == PolymorphicValue(value);
  };
  auto* n = op->outN()->as<TensorView>();
  return (dtype == DataType::Float || dtype == DataType::Double) &&
         op->inAvg()->isA<TensorView>() && op->inAvg()->dtype() == dtype &&
         op->outVar()->dtype() == dtype && op->inVar()->isZero() && isConst(op->inN(), 1) &&
         n->uses().empty() && !n->isFusionOutput() &&
         !op->outAvg()->as<TensorView>()->hasAllocation() &&
         !op->outVar()->as<TensorView>()->hasAllocation();
}

std::vector<WelfordOp*> momentsOf(const Fusion& fusion) {
  std::vector<WelfordOp*> found;
  for (Expr* expr : fusion.exprs()) {
    if (expr->isA<WelfordOp>() && isPlain(expr->as<WelfordOp>())) {
      found.push_back(expr->as<WelfordOp>());
    }
  }
  return found;
}

/// The operations of one mean and variance in two passes.
class InPasses {
 public:
  explicit InPasses(WelfordOp* op)
      : fusion_(*op->fusion()),
        x_(op->inAvg()->as<TensorView>()),
        sum_(op->outAvg()->as<TensorView>()),
        squares_(op->outVar()->as<TensorView>()),
        reduced_axes_(sum_->getLogicalDomain()) {
    const std::vector<Expr*> of_mean = sum_->uses();
    const std::vector<Expr*> of_squares = squares_->uses();
    fusion_.removeExpr(op);
    Val* count = fusion_.oneVal(DataType::Index);
    for (const IterDomain* id : reduced_axes_) {
      count = id->isReduction() ? SimplifyingIrBuilder::mulExpr(count, id->extent()) : count;
    }
    count_ = SimplifyingIrBuilder::maybeCastExpr(sum_->dtype(), count);
    is_one_ = SimplifyingIrBuilder::eqExpr(count, fusion_.oneVal(DataType::Index));

    reduce(sum_, x_);
    TensorView* distance = binary(BinaryOpType::Sub, x_, alongRow(perNumber(sum_)));
    distances_ = like(reduced_axes_);
    reduce(distances_, distance);
    reduce(squares_, binary(BinaryOpType::Mul, distance, distance));
    replace(sum_, of_mean, [&] { return mean(); });
    replace(squares_, of_squares, [&] { return squares(); });
  }

 private:
  TensorView* perNumber(TensorView* total) { return binary(BinaryOpType::Div, total, count_); }
  /// The mean of one number is that number, an infinite one, too: its distance is no number then.
  TensorView* mean() {
    if (is_one_->isTrue()) {
      return perNumber(sum_);
    }
    TensorView* missed = perNumber(distances_);
    if (!is_one_->isFalse()) {
      TensorView* distance = missed;
      missed = like(distance->getLogicalDomain());
      IrBuilder::createInContainer<TernaryOp>(&fusion_, TernaryOpType::Where, missed, is_one_,
                                              fusion_.zeroVal(sum_->dtype()), distance);
    }
    return binary(BinaryOpType::Add, perNumber(sum_), missed);
  }
  TensorView* squares() {
    TensorView* missed = perNumber(distances_);
    TensorView* of_missed =
        binary(BinaryOpType::Mul, binary(BinaryOpType::Mul, missed, missed), count_);
    return binary(BinaryOpType::Max, binary(BinaryOpType::Sub, squares_, of_missed),
                  fusion_.zeroVal(sum_->dtype()));
  }
  TensorView* like(const std::vector<IterDomain*>& axes) {
    std::vector<IterDomain*> own = IterDomain::clone(axes);
    auto* domain = IrBuilder::createInContainer<TensorDomain>(
        &fusion_, own, TensorDomain::getContiguityFilledWith(own, true));
    return IrBuilder::createInContainer<TensorView>(&fusion_, domain, sum_->dtype(),
                                                    MemoryType::Local);
  }
  TensorView* binary(BinaryOpType type, TensorView* a, Val* b) {
    TensorView* out = like(TensorDomain::noReductions(a->getLogicalDomain()));
    IrBuilder::createInContainer<BinaryOp>(&fusion_, type, out, a, b);
    return out;
  }
  void reduce(TensorView* out, TensorView* of) {
    IrBuilder::createInContainer<ReductionOp>(&fusion_, BinaryOpType::Add,
                                              fusion_.zeroVal(out->dtype()), out, of);
  }
  /// One value a row along the row's elements.
  TensorView* alongRow(TensorView* tv) {
    std::vector<IterDomain*> axes;
    std::vector<bool> added;
    size_t kept = 0;
    for (const IterDomain* id : reduced_axes_) {
      added.push_back(id->isReduction());
      axes.push_back(id->isReduction() ? IterDomainBuilder(fusion_.zeroVal(DataType::Index),
                                                           fusion_.oneVal(DataType::Index))
                                             .iter_type(IterType::Broadcast)
                                             .build()
                                       : tv->getLogicalDomain()[kept++]);
    }
    TensorView* out = like(axes);
    IrBuilder::createInContainer<BroadcastOp>(&fusion_, out, tv, added);
    return out;
  }
  /// Each reader has its own, straight from the reductions: one that is read along the row would
  /// lead the others into the row's loops.
  template <typename Make>
  void replace(TensorView* old, const std::vector<Expr*>& readers, Make make) {
    for (Expr* reader : readers) {
      fusion_.replaceInput(reader, old, make());
    }
    if (old->isFusionOutput()) {
      fusion_.replaceOutput(old, make());
    }
  }

  Fusion& fusion_;
  TensorView* x_;
  TensorView* sum_;
  TensorView* squares_;
  TensorView* distances_ = nullptr;
  Val* count_ = nullptr;   ///< of numbers in a row
  Val* is_one_ = nullptr;  ///< whether that is one
  const std::vector<IterDomain*> reduced_axes_;
};

}  // namespace

bool hasMoments(const Fusion& fusion) { return !momentsOf(fusion).empty(); }

void computeMomentsInPasses(Fusion* fusion) {
  for (WelfordOp* op : momentsOf(*fusion)) {
    InPasses moments(op);
  }
}

std::vector<TensorView*> holdBesideReductions(Fusion* fusion) {
  const IdGraph permissive(*fusion, IdGraph::Mode::Permissive);
  const auto signature = std::get<ReductionSignature>(rowSignature(*fusion, permissive));
  const PersistentBuffers buffers(*fusion, permissive, signature);
  std::vector<TensorView*> held;
  for (TensorView* tv : buffers.held()) {
    if (tv->definition() == nullptr || tv->isFusionInput() || tv->isFusionOutput()) {
      continue;
    }
    const int64_t home = buffers.placeOf(tv->definition());
    std::vector<Expr*> later;
    bool reduced = false;
    for (Expr* use : tv->uses()) {
      if (buffers.placeOf(use) > home) {
        later.push_back(use);
      }
      reduced |= buffers.placeOf(use) == home;
    }
    if (reduced && !later.empty()) {
      held.push_back(tv->cacheAfter(LoadStoreOpType::Set, CacheOp::Unspecified, false, later));
    }
  }
  return held;
}

}  // namespace nvfuser
