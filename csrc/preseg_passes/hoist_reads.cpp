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

constexpr size_t kMostSlices = 4;  ///< of one tensor

class Hoister {
 public:
  /// `shapes`: reshapes and broadcasts that lead to reads at an index move, not reads.
  Hoister(Fusion& fusion, bool shapes) : fusion_(fusion), shapes_(shapes) {}

  void run() {
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
    const bool cheap =
        readers.size() == 1 || (readers.size() <= kMostSlices &&
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

  /// Whether it is a shape of a tensor that one read at an index has, maybe by way of others.
  bool leadsToIndex(const Expr* shape) const {
    if (moved_.count(shape) != 0) {
      return shape->isOneOf<ReshapeOp, BroadcastOp>();
    }
    while (shape->isOneOf<ReshapeOp, BroadcastOp>()) {
      const auto* out = shape->output(0)->as<TensorView>();
      const auto found = readers_.find(out);
      if (out->isFusionOutput() || found == readers_.end() || found->second.size() != 1) {
        return false;
      }
      const Expr* reader = found->second[0];
      if (reader->isOneOf<IndexSelectOp, GatherOp>()) {
        return reader->input(0) == out && reader->input(1) != out;
      }
      shape = reader;
    }
    return false;
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
  // An index of several axes is one of them merged: gather(broadcast(reshape(f(T0)))). Each goes
  // before f, then the read does.
  Hoister(fusion, true).run();
  Hoister(fusion, true).run();
  Hoister(fusion, false).run();
}

}  // namespace nvfuser::preseg_passes
