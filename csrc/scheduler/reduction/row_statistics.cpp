#include <scheduler/reduction/row_statistics.h>

#include <algorithm>
#include <map>

#include <ir/axis_map.h>
#include <ir/builder.h>
#include <scheduler/analysis/persistent_buffers.h>
#include <scheduler/copy_axes.h>
#include <scheduler/copy_operation.h>

namespace nvfuser {

namespace {

bool hasBroadcast(const TensorView* tv) {
  const auto& logical = tv->getLogicalDomain();
  return std::any_of(logical.begin(), logical.end(),
                     [](const IterDomain* id) { return id->isBroadcast(); });
}

/// Whether there can be anything to do, before axes are compared: results that keep a broadcast, or
/// that have dropped one.
bool mayHaveStatistics(const Fusion& fusion) {
  const std::vector<Expr*> exprs = fusion.exprs();
  return std::any_of(exprs.begin(), exprs.end(), [](const Expr* expr) {
    return expr->isA<SqueezeOp>() ||
           std::any_of(expr->outputs().begin(), expr->outputs().end(), [](const Val* out) {
             return out->isFusionOutput() && out->isA<TensorView>() &&
                    hasBroadcast(out->as<TensorView>());
           });
  });
}

class Separation {
 public:
  explicit Separation(Fusion* fusion)
      : fusion_(fusion),
        permissive_(*fusion, IdGraph::Mode::Permissive),
        signature_(std::get<ReductionSignature>(rowSignature(*fusion, permissive_))) {}

  void run() {
    findReadByRow();
    findCopyable();
    // Between what the row reads too and what results alone read.
    for (Expr* expr : fusion_->exprs()) {
      const std::vector<TensorView*> outputs = tensorOutputs(expr);
      if (outputs.empty() || !isInRow(outputs.front()) || read_by_row_[outputs.front()]) {
        continue;
      }
      for (TensorView* in : tensorInputs(expr)) {
        if (isShared(in) && can_copy_.at(in)) {
          fusion_->replaceInput(expr, in, copyOf(in));
        }
      }
    }
  }

 private:
  bool isOneOfRow(const TensorView* tv) const {
    return tv->definition() != nullptr && !isReduction(tv->definition()) &&
           !signature_.spansReduced(tv, permissive_);
  }

  /// One value a row, with an axis that stands for the row's elements: loops over these go through
  /// it.
  bool isInRow(const TensorView* tv) const {
    const auto& logical = tv->getLogicalDomain();
    return isOneOfRow(tv) && std::any_of(logical.begin(), logical.end(), [&](const IterDomain* id) {
             return id->isBroadcast() && signature_.reduced.count(permissive_.classOf(id)) != 0;
           });
  }

  void findReadByRow() {
    const std::vector<Expr*> exprs = fusion_->exprs();
    for (auto it = exprs.rbegin(); it != exprs.rend(); ++it) {
      bool read = false;
      for (const TensorView* out : tensorOutputs(*it)) {
        read |= signature_.spansReduced(out, permissive_) || isReduction(*it) || isShared(out);
      }
      for (const TensorView* in : tensorInputs(*it)) {
        read_by_row_[in] |= read;
      }
    }
  }

  bool isShared(const TensorView* tv) const {
    const auto known = read_by_row_.find(tv);
    return known != read_by_row_.end() && known->second && isInRow(tv);
  }

  void findCopyable() {
    for (const Expr* expr : fusion_->exprs()) {
      const std::vector<TensorView*> inputs = tensorInputs(expr);
      // An operation without operands (full) gets its loops from its readers.
      const bool can = canRecompute(expr) && !inputs.empty() &&
                       std::all_of(inputs.begin(), inputs.end(), [&](const TensorView* in) {
                         return !isShared(in) || can_copy_.at(in);
                       });
      for (const TensorView* out : tensorOutputs(expr)) {
        can_copy_[out] = can;
      }
    }
  }

  /// Of what the row's loops read, broadcast or not: they compute that, too.
  TensorView* copyOf(TensorView* tv) {
    const auto read = read_by_row_.find(tv);
    if (read == read_by_row_.end() || !read->second || !isOneOfRow(tv) || !can_copy_.at(tv)) {
      return tv;
    }
    TensorView*& copy = copies_[tv];
    if (copy != nullptr) {
      return copy;
    }
    const Expr* def = tv->definition();
    std::vector<Val*> inputs;
    for (Val* in : def->inputs()) {
      inputs.push_back(in->isA<TensorView>() ? copyOf(in->as<TensorView>()) : in);
    }
    copy = computedLike(tv);
    copyOperation(def, std::move(inputs), {copy});
    return copy;
  }

  Fusion* fusion_;
  const IdGraph permissive_;
  const ReductionSignature signature_;
  /// Whether what has the row's elements reads a tensor, be it through others in the row's loops.
  std::map<const TensorView*, bool> read_by_row_;
  std::map<const TensorView*, bool> can_copy_;
  std::map<const TensorView*, TensorView*> copies_;
};

}  // namespace

void computeStatisticsApart(Fusion* fusion) {
  if (mayHaveStatistics(*fusion)) {
    Separation(fusion).run();
  }
}

}  // namespace nvfuser
