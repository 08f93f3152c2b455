#include <scheduler/persistent/online_softmax.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <set>

#include <ir/builder.h>
#include <scheduler/analysis/persistent_buffers.h>

namespace nvfuser {

namespace {

struct Pair {
  ReductionOp* max;
  ReductionOp* sum;
};

TensorView* resultOf(const ReductionOp* op) { return op->out()->as<TensorView>(); }

/// Which axes are reduced, as a broadcast says which it adds.
std::vector<bool> reducedAxes(const TensorView* tv) {
  std::vector<bool> reduced;
  for (const IterDomain* id : tv->getLogicalDomain()) {
    reduced.push_back(id->isReduction());
  }
  return reduced;
}

bool startsAt(const ReductionOp* op, double value) {
  return op->init()->isConst() && op->init()->value() == PolymorphicValue(value);
}

/// The sum of exp(x − broadcast(m)), where m = max(x).
std::optional<Pair> pairOf(ReductionOp* max) {
  const DataType dtype = max->out()->dtype();
  if (max->getReductionOpType() != BinaryOpType::Max || max->in()->dtype() != dtype ||
      !(dtype == DataType::Float || dtype == DataType::Double) ||
      !startsAt(max, -std::numeric_limits<double>::infinity()) || resultOf(max)->hasAllocation()) {
    return std::nullopt;
  }
  const std::vector<bool> reduced = reducedAxes(resultOf(max));
  for (const Expr* keep : max->out()->uses()) {
    if (!keep->isA<BroadcastOp>() || keep->as<BroadcastOp>()->flags() != reduced) {
      continue;
    }
    for (const Expr* shift : keep->output(0)->uses()) {
      if (!shift->isA<BinaryOp>() ||
          shift->as<BinaryOp>()->getBinaryOpType() != BinaryOpType::Sub ||
          shift->input(0) != max->in() || shift->output(0)->dtype() != dtype) {
        continue;
      }
      for (const Expr* exp : shift->output(0)->uses()) {
        if (!exp->isA<UnaryOp>() || exp->as<UnaryOp>()->getUnaryOpType() != UnaryOpType::Exp ||
            exp->output(0)->dtype() != dtype) {
          continue;
        }
        for (Expr* use : exp->output(0)->uses()) {
          auto* sum = use->isA<ReductionOp>() ? use->as<ReductionOp>() : nullptr;
          if (sum != nullptr && sum->getReductionOpType() == BinaryOpType::Add &&
              sum->out()->dtype() == dtype && startsAt(sum, 0) &&
              reducedAxes(resultOf(sum)) == reduced && !resultOf(sum)->hasAllocation()) {
            return Pair{max, sum};
          }
        }
      }
    }
  }
  return std::nullopt;
}

std::vector<Pair> pairsOf(const Fusion& fusion) {
  std::vector<Pair> pairs;
  for (Expr* expr : fusion.exprs()) {
    if (expr->isA<ReductionOp>()) {
      if (const auto pair = pairOf(expr->as<ReductionOp>())) {
        pairs.push_back(*pair);
      }
    }
  }
  return pairs;
}

class Exchange {
 public:
  explicit Exchange(const Pair& pair)
      : fusion_(*pair.max->fusion()), max_(resultOf(pair.max)), sum_(resultOf(pair.sum)) {
    TensorView* x = pair.max->in()->as<TensorView>();
    const std::vector<Expr*> of_max = max_->uses();
    const std::vector<Expr*> of_sum = sum_->uses();
    const DataType dtype = max_->dtype();
    fusion_.removeExpr(pair.max);
    fusion_.removeExpr(pair.sum);
    IrBuilder::createInContainer<OnlineSoftmaxOp>(&fusion_, max_, sum_, x, fusion_.oneVal(dtype));

    TensorView* is_least = alike(DataType::Bool);
    IrBuilder::createInContainer<BinaryOp>(&fusion_, BinaryOpType::Eq, is_least, sum_,
                                           fusion_.zeroVal(dtype));
    const double infinity = std::numeric_limits<double>::infinity();
    TensorView* is_greatest = alike(DataType::Bool);
    IrBuilder::createInContainer<BinaryOp>(&fusion_, BinaryOpType::Eq, is_greatest, max_,
                                           constant(infinity));
    TensorView* is_neither = alike(DataType::Bool);
    IrBuilder::createInContainer<BinaryOp>(&fusion_, BinaryOpType::LogicalOr, is_neither, is_least,
                                           is_greatest);
    replace(max_, where(is_least, -infinity, max_), of_max);
    replace(sum_, where(is_neither, std::numeric_limits<double>::quiet_NaN(), sum_), of_sum);
  }

 private:
  Val* constant(double value) {
    return IrBuilder::createInContainer<Val>(&fusion_, value, max_->dtype());
  }
  TensorView* alike(DataType dtype) {
    std::vector<IterDomain*> axes =
        IterDomain::clone(TensorDomain::noReductions(max_->getLogicalDomain()));
    auto* domain = IrBuilder::createInContainer<TensorDomain>(
        &fusion_, axes, TensorDomain::getContiguityFilledWith(axes, true));
    return IrBuilder::createInContainer<TensorView>(&fusion_, domain, dtype, MemoryType::Local);
  }
  TensorView* where(TensorView* condition, double value, TensorView* otherwise) {
    TensorView* out = alike(otherwise->dtype());
    IrBuilder::createInContainer<TernaryOp>(&fusion_, TernaryOpType::Where, out, condition,
                                            constant(value), otherwise);
    return out;
  }
  void replace(TensorView* old, TensorView* with, const std::vector<Expr*>& readers) {
    for (Expr* reader : readers) {
      fusion_.replaceInput(reader, old, with);
    }
    if (old->isFusionOutput()) {
      fusion_.replaceOutput(old, with);
    }
  }

  Fusion& fusion_;
  TensorView* max_;
  TensorView* sum_;
};

}  // namespace

bool hasOnlineSoftmax(const Fusion& fusion) { return !pairsOf(fusion).empty(); }

void computeSoftmaxOnline(Fusion* fusion) {
  for (const Pair& pair : pairsOf(*fusion)) {
    Exchange exchange(pair);
  }
}

bool needsNoRow(const Fusion& exchanged) {
  const IdGraph permissive(exchanged, IdGraph::Mode::Permissive);
  const auto signature = reductionSignature(exchanged, permissive);
  const auto* rows = std::get_if<ReductionSignature>(&signature);
  return rows != nullptr && PersistentBuffers(exchanged, permissive, *rows).held().empty();
}

}  // namespace nvfuser
