#include <scheduler/replay_loop.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include <id_model/axes_before.h>
#include <ir/axis_map.h>
#include <ir/builder.h>
#include <scheduler/replay_target.h>

namespace nvfuser {

namespace {

using AxisSet = std::unordered_set<const IterDomain*>;

bool contains(const std::vector<IterDomain*>& ids, const IterDomain* id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

class Replayer {
 public:
  /// With `may_create` false only transforms that the target has already are followed.
  Replayer(const TensorView* reference, int64_t pos, const TensorView* target,
           ReplayDirection direction, bool may_create)
      : reference_(reference),
        target_(target),
        own_(target, may_create),
        direction_(direction),
        may_create_(may_create),
        ends_(reference->getLoopDomain().begin(), reference->getLoopDomain().begin() + pos),
        sources_(direction == ReplayDirection::ProducerToConsumer
                     ? reference->getLogicalDomain()
                     : reference->getMaybeRootDomain()) {
    mapSources();
    if (reference->hasRoot() && direction == ReplayDirection::ConsumerToProducer) {
      for (Expr* e : transformsBefore(reference->getLogicalDomain(), reference->getRootDomain())) {
        reference_fixed_.insert(e);
      }
    }
    for (Expr* expr : transformsBefore(ends_, sources_)) {
      replay(expr);
    }
    placeEnds();
  }

  /// For each of the reference's axes the target's, or null.
  const std::vector<IterDomain*>& counterparts() const { return counterparts_; }

  LoopReplay result() {
    LoopReplay out;
    for (IterDomain* id : counterparts_) {
      if (id != nullptr) {
        out.loop.push_back(id);
      }
    }
    out.position = static_cast<int64_t>(out.loop.size());
    const auto gap = std::find(counterparts_.begin(), counterparts_.end(), nullptr);
    out.aligned = gap - counterparts_.begin();
    out.added = added_;
    for (IterDomain* id : remainder(out.loop)) {
      out.loop.push_back(id);
    }
    return out;
  }

 private:
  void mapSources() {
    if (direction_ == ReplayDirection::Sibling) {
      const auto& from = reference_->getMaybeRootDomain();
      const auto& to = target_->getMaybeRootDomain();
      check(from.size() == to.size(), "outputs of one expression have the same axes");
      for (size_t i = 0; i < from.size(); ++i) {
        to_target_[from[i]] = to[i];
      }
      return;
    }
    const bool to_producer = direction_ == ReplayDirection::ConsumerToProducer;
    const TensorView* producer = to_producer ? target_ : reference_;
    const TensorView* consumer = to_producer ? reference_ : target_;
    check(consumer->definition() != nullptr, "a replay goes along an expression");
    for (auto [p, c] : mapAxes(consumer->definition(), producer, consumer)) {
      to_target_[to_producer ? c : p] = to_producer ? p : c;
    }
  }

  IterDomain* mapped(const IterDomain* id) const {
    auto found = to_target_.find(id);
    return found == to_target_.end() ? nullptr : found->second;
  }

  /// Whether the axis comes from broadcasts alone that the target lacks.
  bool isMissing(const IterDomain* id) const {
    if (mapped(id) != nullptr) {
      return false;
    }
    if (missing_.count(id) != 0) {
      return true;
    }
    return id->isBroadcast() && (id->definition() == nullptr || contains(sources_, id));
  }

  /// Whether an earlier replay put `id` into the target in place of the reference's `axis`.
  bool standsFor(IterDomain* id, const IterDomain* axis) const {
    if (stand_ins_.count(id) != 0 || !contains(target_->domain()->additionalIDs(), id)) {
      return false;
    }
    const auto& known = target_->fusion()->registeredExactMappings();
    return std::any_of(known.begin(), known.end(),
                       [&](const auto& pair) { return pair.first == id && pair.second == axis; });
  }

  void replay(Expr* expr) {
    std::vector<IterDomain*> inputs;
    bool all_missing = true;
    for (Val* in : expr->inputs()) {
      auto* id = in->as<IterDomain>();
      inputs.push_back(mapped(id));
      if (inputs.back() != nullptr) {
        all_missing = false;
      } else if (!isMissing(id)) {
        return;  // the target lacks this axis and nothing can stand in for it
      }
    }
    if (all_missing) {
      for (Val* out : expr->outputs()) {
        missing_.insert(out->as<IterDomain>());
      }
      return;
    }
    if (expr->isA<Resize>() && reference_fixed_.count(expr) != 0) {
      to_target_[expr->output(0)->as<IterDomain>()] = inputs[0];
      return;
    }
    Expr* same = existing(expr, inputs);
    if (same == nullptr) {
      for (IterDomain*& in : inputs) {
        in = in == nullptr ? nullptr : own_.restored(in);
      }
      same = existing(expr, inputs);
    }
    if (same == nullptr && may_create_) {
      same = create(expr, inputs);
    }
    if (same == nullptr) {
      return;
    }
    own_.take(same);
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i] == nullptr) {
        auto* in = same->input(i)->as<IterDomain>();
        stand_ins_.insert(in);
        to_target_[expr->input(i)->as<IterDomain>()] = in;
      }
    }
    for (size_t i = 0; i < expr->outputs().size(); ++i) {
      to_target_[expr->output(i)->as<IterDomain>()] = same->output(i)->as<IterDomain>();
    }
  }

  /// The target's own transform that equals `expr`; null inputs are those a stand-in is needed for.
  Expr* existing(const Expr* expr, const std::vector<IterDomain*>& inputs) const {
    auto fits = [&](const Expr* use) {
      if (!use->sameOp(expr)) {
        return false;
      }
      for (size_t i = 0; i < inputs.size(); ++i) {
        auto* in = use->input(i)->as<IterDomain>();
        const bool same = inputs[i] != nullptr
                              ? (in == inputs[i] || in == own_.throughResizes(inputs[i]))
                              : standsFor(in, expr->input(i)->as<IterDomain>());
        if (!same || own_.isConsumed(in)) {
          return false;
        }
      }
      return true;
    };
    for (IterDomain* in : inputs) {
      if (in == nullptr) {
        continue;
      }
      for (const IterDomain* start : {in, own_.throughResizes(in)}) {
        for (Expr* use : own_.usesOf(start)) {
          if (fits(use)) {
            return use;
          }
        }
      }
    }
    return nullptr;
  }

  Expr* create(const Expr* expr, std::vector<IterDomain*> inputs) {
    for (IterDomain*& in : inputs) {
      if (in == nullptr) {
        continue;
      }
      in = own_.throughResizes(in);
      if (own_.isTaken(in)) {
        return nullptr;
      }
    }
    if (expr->isA<Merge>() && inputs[0] != nullptr && inputs[1] != nullptr &&
        !mergedIterType(inputs[0]->getIterType(), inputs[1]->getIterType())) {
      return nullptr;  // the consumer reduces only one of the two
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i] == nullptr) {
        inputs[i] = standIn(expr->input(i)->as<IterDomain>());
      }
    }
    switch (expr->kind()) {
      case ExprKind::Split: {
        auto* op = expr->as<Split>();
        return IterDomain::split(inputs[0], op->factor(), op->innerSplit()).first->definition();
      }
      case ExprKind::Merge:
        return IterDomain::merge(inputs[0], inputs[1])->definition();
      case ExprKind::Resize: {
        auto* op = expr->as<Resize>();
        check(op->step() == 1, "schedules make no resize with a step");
        return IterDomain::resize(inputs[0], op->leftExpand(), op->rightExpand())->definition();
      }
      case ExprKind::Swizzle: {
        auto* op = expr->as<Swizzle>();
        return IterDomain::swizzle(op->swizzleType(), inputs[0], inputs[1], op->swizzleMode())
            .first->definition();
      }
      default: {
        auto* op = expr->as<Swizzle1D>();
        IterDomain* out = inputs[0]->cloneWithoutRFactor();
        return IrBuilder::createInContainer<Swizzle1D>(out->fusion(), out, inputs[0],
                                                       op->parallelType());
      }
    }
  }

  /// An axis of extent 1 where the reference has a broadcast.
  IterDomain* standIn(IterDomain* axis) {
    for (IterDomain* id : target_->domain()->additionalIDs()) {
      if (own_.usesOf(id).empty() && standsFor(id, axis)) {
        stand_ins_.insert(id);
        return id;
      }
    }
    if (!may_create_) {
      return nullptr;
    }
    Fusion* fusion = target_->fusion();
    IterDomain* id =
        IterDomainBuilder(fusion->zeroVal(DataType::Index), fusion->oneVal(DataType::Index))
            .iter_type(IterType::Broadcast)
            .build();
    stand_ins_.insert(id);
    added_.emplace_back(id, axis);
    return id;
  }

  void placeEnds() {
    for (IterDomain* end : ends_) {
      IterDomain* id = mapped(end);
      if (id != nullptr) {
        id = own_.restored(own_.throughResizes(id));
        if (own_.isTaken(id) || contains(counterparts_, id)) {
          id = nullptr;
        }
      } else if (isMissing(end)) {
        id = standIn(end);
      }
      counterparts_.push_back(id);
    }
  }

  /// Axes of the target that the replayed ones do not cover, with the transforms they had.
  std::vector<IterDomain*> remainder(const std::vector<IterDomain*>& covered) const {
    std::vector<IterDomain*> rest = target_->getLogicalDomain();
    for (const Expr* transform : own_.used()) {
      applyTransform(rest, transform);
    }
    std::erase_if(rest, [&](const IterDomain* id) { return contains(covered, id); });
    const auto& now = target_->getLoopDomain();
    for (const Expr* transform : transformsBefore(now, target_->getLogicalDomain())) {
      const auto& ins = transform->inputs();
      const bool is_free = std::all_of(ins.begin(), ins.end(), [&](const Val* in) {
        return contains(rest, in->as<IterDomain>());
      });
      if (is_free) {
        applyTransform(rest, transform);
      }
    }
    const bool as_before = std::all_of(rest.begin(), rest.end(),
                                       [&](const IterDomain* id) { return contains(now, id); });
    if (as_before) {
      std::sort(rest.begin(), rest.end(), [&](const IterDomain* a, const IterDomain* b) {
        return std::find(now.begin(), now.end(), a) < std::find(now.begin(), now.end(), b);
      });
    }
    return rest;
  }

  const TensorView* reference_;
  const TensorView* target_;
  ReplayTarget own_;  ///< the target's transforms
  const ReplayDirection direction_;
  const bool may_create_;
  const std::vector<IterDomain*> ends_;
  const std::vector<IterDomain*> sources_;
  std::unordered_map<const IterDomain*, IterDomain*> to_target_;
  AxisSet missing_;
  std::unordered_set<const Expr*> reference_fixed_;
  AxisSet stand_ins_;
  std::vector<std::pair<IterDomain*, IterDomain*>> added_;
  std::vector<IterDomain*> counterparts_;
};

}  // namespace

LoopReplay replayLoop(const TensorView* reference, int64_t pos, const TensorView* target,
                      ReplayDirection direction) {
  return Replayer(reference, pos, target, direction, true).result();
}

int64_t matchingLoops(const TensorView* reference, int64_t pos, const TensorView* target,
                      ReplayDirection direction) {
  const Replayer replayer(reference, pos, target, direction, false);
  int64_t matched = 0;
  for (IterDomain* id : replayer.counterparts()) {
    if (id == nullptr || matched >= target->nDims() || target->axis(matched) != id) {
      break;
    }
    ++matched;
  }
  return matched;
}

}  // namespace nvfuser
