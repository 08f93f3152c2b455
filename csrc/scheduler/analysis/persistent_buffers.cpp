#include <scheduler/analysis/persistent_buffers.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <set>

#include <ir/axis_map.h>
#include <ir/builder.h>
#include <scheduler/analysis/reshaped_rows.h>
#include <scheduler/copy_axes.h>
#include <scheduler/copy_operation.h>
#include <scheduler/indexed_reads.h>

namespace nvfuser {

namespace {

constexpr int64_t kFewRepeated = 64;  ///< operations

bool isExpensive(const Expr* expr) {
  if (expr->isA<UnaryOp>()) {
    switch (expr->as<UnaryOp>()->getUnaryOpType()) {
      case UnaryOpType::Cast:
      case UnaryOpType::BitCast:
      case UnaryOpType::Abs:
      case UnaryOpType::Ceil:
      case UnaryOpType::Floor:
      case UnaryOpType::Imag:
      case UnaryOpType::Neg:
      case UnaryOpType::Real:
      case UnaryOpType::Reciprocal:
      case UnaryOpType::Relu:
      case UnaryOpType::Rsqrt:
      case UnaryOpType::Round:
      case UnaryOpType::Sign:
      case UnaryOpType::Signbit:
      case UnaryOpType::Sqrt:
      case UnaryOpType::Trunc:
      case UnaryOpType::BitCeil:
      case UnaryOpType::LogicalNot:
      case UnaryOpType::BitwiseNot:
      case UnaryOpType::IsFinite:
      case UnaryOpType::IsInf:
      case UnaryOpType::IsNan:
      case UnaryOpType::IsNegInf:
      case UnaryOpType::IsPosInf:
      case UnaryOpType::IsReal:
        return false;
      default:
        return true;
    }
  }
  if (expr->isA<BinaryOp>()) {
    switch (expr->as<BinaryOp>()->getBinaryOpType()) {
      case BinaryOpType::Atan2:
      case BinaryOpType::Fmod:
      case BinaryOpType::Pow:
      case BinaryOpType::Remainder:
        return true;
      default:
        return false;
    }
  }
  return false;
}

}  // namespace

bool canRecompute(const Expr* expr) {
  if (expr->outputs().size() != 1 || !expr->output(0)->isA<TensorView>()) {
    return false;
  }
  if (expr->isOneOf<LoadStoreOp, ReshapeOp>()) {
    return true;  // in another order, or another shape
  }
  return expr->isOneOf<UnaryOp, BinaryOp, TernaryOp, BroadcastOp, SqueezeOp, ExpandOp, FullOp,
                       IotaOp>() &&
         !expr->output(0)->as<TensorView>()->hasRoot();
}

PersistentBuffers::PersistentBuffers(const Fusion& fusion, const IdGraph& permissive,
                                     const ReductionSignature& signature)
    : permissive_(permissive), signature_(signature) {
  place(fusion);
  in_front_ = axesInFrontOfRows(fusion, permissive, signature.reduced);
  for (TensorView* tv : fusion.allTvs()) {
    if (!signature.spansReduced(tv, permissive)) {
      continue;
    }
    int64_t first = std::numeric_limits<int64_t>::max();
    int64_t last = -1;
    if (tv->definition() != nullptr) {
      first = placeOf(tv->definition());
    }
    for (const Expr* use : fusion.usesOf(tv)) {
      if (tv->isFusionInput() && scheduler_tools::readsElsewhere(use, tv)) {
        continue;  // from memory, in whatever loops
      }
      first = std::min(first, placeOf(use));
      last = std::max(last, placeOf(use));
    }
    if (last > first) {
      held_.push_back(tv);
      lives_.push_back({tv, {first, last}});
    }
  }
  project();
}

void PersistentBuffers::place(const Fusion& fusion) {
  const std::vector<Expr*> exprs = fusion.exprs();
  auto isOfRows = [&](const Expr* expr) {
    const auto& of_rows = signature_.reductions;
    return std::find(of_rows.begin(), of_rows.end(), expr) != of_rows.end();
  };
  // As early as operands allow.
  std::map<const Val*, int64_t> ready;
  std::map<int64_t, int64_t> earliest;
  for (const Expr* expr : exprs) {
    int64_t at = 0;
    for (const Val* in : expr->inputs()) {
      auto known = ready.find(in);
      at = std::max(at, known == ready.end() ? 0 : known->second);
    }
    earliest[expr->name()] = at;
    for (const Val* out : expr->outputs()) {
      ready[out] = isOfRows(expr) ? at + 1 : at;
    }
    last_ = std::max(last_, at);
  }
  // As late as the first reader, unless something has to be finished here.
  for (auto it = exprs.rbegin(); it != exprs.rend(); ++it) {
    const Expr* expr = *it;
    int64_t at = std::numeric_limits<int64_t>::max();
    bool fixed = isOfRows(expr);
    for (const Val* out : expr->outputs()) {
      fixed |= out->isFusionOutput();
      for (const Expr* use : fusion.usesOf(out)) {
        at = std::min(at, places_.at(use->name()));
      }
    }
    const int64_t early = earliest.at(expr->name());
    places_[expr->name()] =
        fixed || at == std::numeric_limits<int64_t>::max() ? early : std::max(early, at);
  }
}

bool PersistentBuffers::isOfRows(const TensorView* tv) const {
  const std::vector<IterDomain*>& logical = tv->getLogicalDomain();
  return signature_.spansReduced(tv, permissive_) ||
         std::any_of(logical.begin(), logical.end(), [&](const IterDomain* id) {
           return !id->isBroadcast() && !id->isReduction() &&
                  in_front_.count(permissive_.classOf(id)) != 0;
         });
}

void PersistentBuffers::project() {
  // Readers before what they read, each tensor once; inputs in the order in which they are met.
  std::vector<TensorView*> order;
  std::vector<TensorView*> inputs;
  std::set<const TensorView*> seen;
  auto isRead = [](const TensorView* tv) {
    return tv->isFusionInput() || tv->definition() == nullptr;
  };
  std::function<void(TensorView*)> walk = [&](TensorView* tv) {
    if (!seen.insert(tv).second || !isOfRows(tv)) {
      return;
    }
    if (isRead(tv)) {
      inputs.push_back(tv);
    } else if (!canRecompute(tv->definition())) {
      obstacle_ = obstacle_ == nullptr ? tv : obstacle_;
    } else {
      expensive_ += isExpensive(tv->definition()) ? 1 : 0;
      for (TensorView* in : tensorInputs(tv->definition())) {
        walk(in);
      }
      order.push_back(tv);
    }
  };
  // The places where each is needed: those of all held tensors that are computed from it.
  std::map<const TensorView*, std::pair<int64_t, int64_t>> needed;
  auto need = [&](const TensorView* tv, std::pair<int64_t, int64_t> life) {
    const auto [place, is_new] = needed.emplace(tv, life);
    place->second = {std::min(place->second.first, life.first),
                     std::max(place->second.second, life.second)};
  };
  for (const auto& [tv, life] : lives_) {
    walk(tv);
    need(tv, life);
  }
  for (auto tv = order.rbegin(); tv != order.rend(); ++tv) {
    const auto life = needed.at(*tv);
    for (const TensorView* in : tensorInputs((*tv)->definition())) {
      need(in, life);
    }
    repeated_ += std::max<int64_t>(0, life.second - placeOf((*tv)->definition()));
  }
  for (TensorView* input : inputs) {
    projected_.emplace_back(input, needed.at(input));
  }
  for (const Expr* reduction : signature_.reductions) {
    auto* row = reduction->input(0)->as<TensorView>();
    if (obstacle_ == nullptr && !comesFromInput(row)) {
      obstacle_ = row;
    }
  }
}

bool PersistentBuffers::repeatsMany() const {
  return repeated_ > kFewRepeated + 2 * static_cast<int64_t>(places_.size());
}

bool PersistentBuffers::comesFromInput(const TensorView* row) const {
  std::vector<const TensorView*> open{row};
  std::set<const TensorView*> seen;
  while (!open.empty()) {
    const TensorView* tv = open.back();
    open.pop_back();
    if (!seen.insert(tv).second || !isOfRows(tv)) {
      continue;
    }
    if (tv->isFusionInput() || tv->definition() == nullptr || !canRecompute(tv->definition())) {
      return true;
    }
    for (const TensorView* in : tensorInputs(tv->definition())) {
      open.push_back(in);
    }
  }
  return false;
}

bool PersistentBuffers::spansRows(const TensorView* tv) const {
  std::set<int> own;
  for (const IterDomain* id : tv->getLogicalDomain()) {
    if (!id->isBroadcast() && !id->isReduction()) {
      own.insert(permissive_.classOf(id));
    }
  }
  const bool is_in_front = !in_front_.empty() && std::includes(own.begin(), own.end(),
                                                               in_front_.begin(), in_front_.end());
  return is_in_front || signature_.spansRows(tv, permissive_);
}

int64_t PersistentBuffers::peak(
    const std::vector<std::pair<TensorView*, std::pair<int64_t, int64_t>>>& lives,
    DataType index_type) const {
  std::vector<int64_t> change(static_cast<size_t>(places()) + 1, 0);  // at each place
  for (const auto& [tv, life] : lives) {
    if (!tv->isFusionInput() || spansRows(tv)) {
      const int64_t bytes =
          dataTypeSizeByte(tv->dtype() == DataType::Index ? index_type : tv->dtype());
      change[static_cast<size_t>(life.first)] += bytes;
      change[static_cast<size_t>(life.second)] -= bytes;
    }
  }
  int64_t most = 0;
  int64_t bytes = 0;
  for (const int64_t more : change) {
    bytes += more;
    most = std::max(most, bytes);
  }
  return most;
}

int64_t PersistentBuffers::bytesHeld(DataType index_type) const { return peak(lives_, index_type); }

int64_t PersistentBuffers::bytesProjected(DataType index_type) const {
  return peak(projected_, index_type);
}

namespace {

class Projection {
 public:
  Projection(Fusion* fusion, bool hold_expensive)
      : fusion_(fusion),
        hold_expensive_(hold_expensive),
        permissive_(*fusion, IdGraph::Mode::Permissive),
        signature_(std::get<ReductionSignature>(rowSignature(*fusion, permissive_))),
        buffers_(*fusion, permissive_, signature_) {}

  void run() {
    struct Change {
      Expr* use;
      TensorView* tv;
      int64_t place;
    };
    std::vector<Change> changes;
    for (TensorView* tv : buffers_.held()) {
      if (tv->isFusionInput() || tv->definition() == nullptr) {
        continue;
      }
      const int64_t home = buffers_.placeOf(tv->definition());
      for (Expr* use : fusion_->usesOf(tv)) {
        if (buffers_.placeOf(use) > home) {
          changes.push_back({use, tv, buffers_.placeOf(use)});
        }
      }
    }
    // All copies are made of the operations as they were.
    std::vector<TensorView*> replacements;
    for (const Change& change : changes) {
      replacements.push_back(at(change.tv, change.place));
    }
    for (size_t i = 0; i < changes.size(); ++i) {
      if (replacements[i] != changes[i].tv) {
        fusion_->replaceInput(changes[i].use, changes[i].tv, replacements[i]);
      }
    }
  }

 private:
  /// `tv` as computed at `place`.
  TensorView* at(TensorView* tv, int64_t place) {
    if (tv->isFusionInput() || tv->definition() == nullptr || !buffers_.isOfRows(tv) ||
        !canRecompute(tv->definition()) || buffers_.placeOf(tv->definition()) == place ||
        (hold_expensive_ && isExpensive(tv->definition()))) {
      return tv;
    }
    auto known = copies_.find({tv->name(), place});
    if (known != copies_.end()) {
      return known->second;
    }
    const Expr* def = tv->definition();
    std::vector<Val*> inputs;
    for (Val* in : def->inputs()) {
      inputs.push_back(in->isA<TensorView>() ? at(in->as<TensorView>(), place) : in);
    }
    TensorView* copy = computedLike(tv);
    copyOperation(def, std::move(inputs), {copy});
    const std::vector<IterDomain*> axes = TensorDomain::noReductions(tv->getLogicalDomain());
    for (size_t i = 0; i < axes.size(); ++i) {  // operations without operands say nothing of them
      fusion_->registerExactMapping(copy->getLogicalDomain()[i], axes[i]);
    }
    copies_[{tv->name(), place}] = copy;
    return copy;
  }

  Fusion* fusion_;
  const bool hold_expensive_;
  IdGraph permissive_;
  ReductionSignature signature_;
  PersistentBuffers buffers_;
  std::map<std::pair<int64_t, int64_t>, TensorView*> copies_;
};

}  // namespace

void projectToInputs(Fusion* fusion, bool hold_expensive) {
  Projection(fusion, hold_expensive).run();
}

bool expensiveReplaceInputs(const Fusion& fusion) {
  Fusion projected(fusion);
  projectToInputs(&projected, true);
  const IdGraph permissive(projected, IdGraph::Mode::Permissive);
  const auto signature = reductionSignature(projected, permissive);
  const auto* of = std::get_if<ReductionSignature>(&signature);
  if (of == nullptr) {
    return false;
  }
  const PersistentBuffers buffers(projected, permissive, *of);
  return std::none_of(buffers.held().begin(), buffers.held().end(),
                      [](const TensorView* tv) { return tv->isFusionInput(); });
}

}  // namespace nvfuser
