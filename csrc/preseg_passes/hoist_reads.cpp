#include <preseg_passes/hoist_reads.h>

#include <algorithm>
#include <set>

#include <ir/axis_map.h>
#include <ir/builder.h>
#include <ops/alias.h>
#include <ops/axes.h>
#include <ops/define_again.h>
#include <ops/indexing.h>
#include <preseg_passes/rewrite.h>

namespace nvfuser::preseg_passes {

namespace {

bool readsPart(const Expr* expr) {
  return expr->isOneOf<SliceOp, SelectOp, IndexSelectOp, GatherOp>();
}

/// `read` of another tensor with the axes of the first one, of which some may be broadcast; the
/// tensor itself where there is nothing to cut.
TensorView* readOf(const Expr* read, TensorView* x) {
  const std::vector<IterDomain*> axes = ops::axesOf(x);
  if (read->isA<SliceOp>()) {
    std::vector<ops::Range> ranges = ops::rangesOf(read->as<SliceOp>());
    for (size_t i = 0; i < axes.size(); ++i) {
      // A broadcast axis goes with any range, unless it is expanded: then it has all elements.
      ranges[i].whole |= axes[i]->isBroadcast() && !axes[i]->hasExpandedExtent();
    }
    return ops::cutTo(x, ranges);
  }
  if (read->isA<SelectOp>()) {
    const auto* op = read->as<SelectOp>();
    std::vector<IterDomain*> kept = ops::freshAxes(x);
    kept.erase(kept.begin() + op->dim());
    TensorView* out = ops::newTensor(std::move(kept), x->dtype());
    Val* index = axes[static_cast<size_t>(op->dim())]->isBroadcast()
                     ? x->fusion()->zeroVal(DataType::Index)
                     : op->input(1);
    IrBuilder::create<SelectOp>(out, x, op->dim(), index);
    return out;
  }
  if (read->isA<ReshapeOp>()) {
    return ops::reshapeTo(x, ops::sizesOf(read->output(0)->as<TensorView>()));
  }
  if (read->isA<BroadcastOp>()) {
    return broadcast(x, read->as<BroadcastOp>()->flags());
  }
  if (read->isA<SqueezeOp>()) {
    return squeeze(x, read->as<SqueezeOp>()->flags());
  }
  auto* index = read->input(1)->as<TensorView>();
  if (read->isA<IndexSelectOp>()) {
    return indexSelect(x, read->as<IndexSelectOp>()->dim(), index);
  }
  const auto* op = read->as<GatherOp>();
  return op->exactSizes() ? takeAlongAxis(x, index, op->dim()) : gather(x, op->dim(), index);
}

/// Whether `computed` can be computed from parts of its operands.
bool canMove(const Expr* read, const Expr* computed) {
  if (isPlainCopy(computed)) {
    return true;
  }
  if (!computed->isOneOf<UnaryOp, BinaryOp, TernaryOp>()) {
    return false;
  }
  if (onlyTensorOperand(computed)) {
    return true;
  }
  // Broadcast operands stay whole, which indexed reads cannot say.
  return read->isOneOf<SliceOp, SelectOp>();
}

constexpr size_t kMostSlices = 4;       ///< of one tensor
constexpr size_t kMostLightReads = 16;  ///< of one that is computed as fast as it is read
constexpr int kMostShapes = 4;          ///< of a tensor one after the other

bool isShape(const Expr* expr) { return expr->isOneOf<ReshapeOp, BroadcastOp, SqueezeOp>(); }

/// Whether an element is computed in the time of reading it, and what it is computed from is no
/// wider: then computing it for each read costs less than storing it.
bool isLight(const Expr* computed) {
  const std::vector<TensorView*> operands = tensorInputs(computed);
  const DataType dtype = computed->output(0)->dtype();
  if (operands.size() != 1 || (!operands[0]->isFusionInput() &&
                               dataTypeSizeByte(operands[0]->dtype()) > dataTypeSizeByte(dtype))) {
    return false;
  }
  using enum BinaryOpType;
  using enum UnaryOpType;
  if (const auto* binary = dynamic_cast<const BinaryOp*>(computed)) {
    const BinaryOpType type = binary->getBinaryOpType();
    return type == Add || type == Sub || type == Mul || type == Max || type == Min ||
           (type == Div && binary->rhs()->isConst());
  }
  const auto* unary = dynamic_cast<const UnaryOp*>(computed);
  return isPlainCopy(computed) ||
         (unary != nullptr && (unary->getUnaryOpType() == Cast || unary->getUnaryOpType() == Neg ||
                               unary->getUnaryOpType() == Abs));
}

/// Whether a read at an index takes more elements than there are, as far as that is known.
bool readsMore(const Expr* read, const TensorView* tv) {
  const auto count = [](const TensorView* of) -> std::optional<double> {
    double elements = 1;
    for (const IterDomain* id : TensorDomain::noReductions(of->getLogicalDomain())) {
      if (!id->getMaybeExpandedExtent()->isConstInt()) {
        return std::nullopt;
      }
      elements *= static_cast<double>(id->getMaybeExpandedExtent()->evaluate().as<int64_t>());
    }
    return elements;
  };
  const auto taken = count(read->output(0)->as<TensorView>());
  const auto there = count(tv);
  return read->isOneOf<IndexSelectOp, GatherOp>() && taken && there && *taken > *there;
}

class Hoister {
 public:
  /// `shapes`: what changes a shape and leads to reads at an index moves, not reads.
  Hoister(Fusion& fusion, bool shapes) : fusion_(fusion), shapes_(shapes) {}

  /// Whether anything moved.
  bool run() {
    for (const Expr* expr : fusion_.exprs()) {
      for (const TensorView* in : tensorInputs(expr)) {
        readers_[in].push_back(expr);
      }
    }
    // Bottom up: a tensor's readers are looked at before what it is computed from.
    const std::vector<Expr*> exprs = fusion_.exprs();
    for (auto it = exprs.rbegin(); it != exprs.rend(); ++it) {
      for (TensorView* out : tensorOutputs(*it)) {
        hoistReadersOf(out, *it);
      }
    }
    return !moved_.empty();
  }

 private:
  /// A read of `tv`, computed from parts of the operands instead.
  struct Move {
    TensorView* old;
    TensorView* result;
    /// New readers of the operands.
    std::vector<std::pair<TensorView*, const Expr*>> reads;
  };

  void hoistReadersOf(TensorView* tv, const Expr* computed) {
    const auto found = readers_.find(tv);
    if (found == readers_.end() || tv->isFusionOutput()) {
      return;
    }
    const std::vector<const Expr*>& readers = found->second;
    const bool all_move = std::all_of(readers.begin(), readers.end(), [&](const Expr* read) {
      return (shapes_ ? leadsToIndex(read) : readsPart(read)) && read->input(0) == tv &&
             canMove(read, computed) && (read->inputs().size() < 2 || read->input(1) != tv);
    });
    // Slices share little; indexed reads may compute an element once for each of them.
    const bool cheap = (readers.size() == 1 && (isLight(computed) || !readsMore(readers[0], tv))) ||
                       (readers.size() <= kMostLightReads && isLight(computed)) ||
                       (readers.size() <= kMostSlices &&
                        std::all_of(readers.begin(), readers.end(), [](const Expr* read) {
                          return read->isOneOf<SliceOp, SelectOp>();
                        }));
    if (!all_move || !cheap) {
      return;
    }
    std::vector<Move> moves;
    for (const Expr* read : readers) {
      moves.push_back(moved(read, computed));
      if (!sameForm(moves.back().old, moves.back().result)) {
        return;
      }
    }
    for (const Val* in : computed->inputs()) {
      if (in->isA<TensorView>()) {
        std::erase(readers_[in->as<TensorView>()], computed);
      }
    }
    for (const Move& move : moves) {
      replaceTensor(move.old, move.result);
      for (const auto& [tensor, read] : move.reads) {
        readers_[tensor].push_back(read);
        moved_.insert(read);
      }
    }
  }

  /// Whether it is a shape of a tensor that reads at an index alone have, maybe by way of others.
  bool leadsToIndex(const Expr* shape) const {
    if (!isShape(shape)) {
      return false;
    }
    if (moved_.count(shape) != 0) {
      return true;
    }
    const auto* out = shape->output(0)->as<TensorView>();
    const auto found = readers_.find(out);
    return !out->isFusionOutput() && found != readers_.end() && !found->second.empty() &&
           std::all_of(found->second.begin(), found->second.end(), [&](const Expr* reader) {
             return reader->isOneOf<IndexSelectOp, GatherOp>()
                        ? reader->input(0) == out && reader->input(1) != out
                        : leadsToIndex(reader);
           });
  }

  static Move moved(const Expr* read, const Expr* computed) {
    Move move{read->output(0)->as<TensorView>(), nullptr, {}};
    std::vector<Val*> operands = computed->inputs();
    std::vector<TensorView*> whole;
    for (Val*& operand : operands) {
      if (!operand->isA<TensorView>()) {
        continue;
      }
      auto* before = operand->as<TensorView>();
      TensorView* part = readOf(read, before);
      if (part == before) {
        whole.push_back(before);
      } else {
        move.reads.emplace_back(before, part->definition());
      }
      operand = part;
    }
    move.result =
        isPlainCopy(computed) ? set(operands[0]->as<TensorView>()) : applyTo(computed, operands);
    for (TensorView* operand : whole) {
      move.reads.emplace_back(operand, move.result->definition());
    }
    return move;
  }

  Fusion& fusion_;
  bool shapes_;
  std::set<const Expr*> moved_;
  std::unordered_map<const TensorView*, std::vector<const Expr*>> readers_;
};

}  // namespace

void hoistReads(Fusion& fusion) {
  FusionGuard guard(&fusion);
  // An index of several axes is one of them merged: gather(broadcast(reshape(squeeze(f(T0))))).
  // Each goes before f, then the read does.
  for (int shapes = 0; shapes < kMostShapes && Hoister(fusion, true).run(); ++shapes) {
  }
  Hoister(fusion, false).run();
}

}  // namespace nvfuser::preseg_passes
