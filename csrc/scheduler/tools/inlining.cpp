#include <scheduler/tools/inlining.h>

#include <algorithm>
#include <optional>
#include <unordered_map>

#include <id_model/id_graph.h>
#include <ir/axis_map.h>
#include <ir/internal_nodes.h>
#include <scheduler/replay_loop.h>
#include <scheduler/schedule_error.h>
#include <scheduler/tools/loop_groups.h>

namespace nvfuser {

namespace {

const Fusion& activeFusion() {
  Fusion* fusion = FusionGuard::getCurFusion();
  if (fusion == nullptr) {
    userError("inlining: there is no active Fusion; make a FusionGuard before scheduling");
  }
  return *fusion;
}

/// What loops iterate over: for the class (permissive) of each axis that a loop comes from, a
/// number for its size. Equal numbers are the same axis in the exact graph, or equal extents.
class LoopSizes {
 public:
  LoopSizes(const Fusion& fusion, const IdGraph& permissive) : permissive_(permissive) {
    for (TensorView* tv : fusion.allTvs()) {
      const auto& logical = tv->getLogicalDomain();
      if (std::any_of(logical.begin(), logical.end(), [](auto* id) { return id->isBroadcast(); })) {
        exact_.emplace(fusion, IdGraph::Mode::Exact);
        return;
      }
    }
  }

  /// Without any broadcast both graphs are one, and nothing can disagree.
  std::vector<LoopGroups::Sizes> of(const TensorView* tv) {
    if (!exact_) {
      return {};
    }
    std::vector<LoopGroups::Sizes> result;
    for (IterDomain* loop : tv->getLoopDomain()) {
      LoopGroups::Sizes& sizes = result.emplace_back();
      // A resized axis has a size of its own, whatever it was before.
      auto add = [&](IterDomain* id) {
        const bool is_source = id->definition() == nullptr || id->definition()->isA<Resize>();
        if (is_source && !id->isBroadcast()) {
          sizes.emplace(permissive_.classOf(id), numberOf(id));
        }
      };
      add(loop);
      for (const Expr* transform : transformsBefore({loop}, {})) {
        if (transform->isA<Resize>()) {
          continue;
        }
        for (Val* in : transform->inputs()) {
          add(in->as<IterDomain>());
        }
      }
    }
    return result;
  }

  /// The first axis with that number.
  const IterDomain* axisOf(int size) const { return axes_[static_cast<size_t>(size)]; }

 private:
  int numberOf(IterDomain* id) {
    std::vector<int>& known = by_class_[permissive_.classOf(id)];
    for (int size : known) {
      const IterDomain* other = axisOf(size);
      if (exact_->mapped(id, other) || id->extent()->sameAs(other->extent())) {
        return size;
      }
    }
    known.push_back(static_cast<int>(axes_.size()));
    axes_.push_back(id);
    return known.back();
  }

  const IdGraph& permissive_;
  std::optional<IdGraph> exact_;
  std::vector<const IterDomain*> axes_;
  std::unordered_map<int, std::vector<int>> by_class_;
};

/// What the index of an axis is, as a hash of its expression over the numbers of the tensor's
/// first loops, those that are shared. Two tensors walk through an axis alike if the hashes are
/// equal. Loops that are not shared, and what is made of those alone, are as good as any other.
///
///   loops of T[i0]: split(i0, 4) → (o, n)      i0 = L0·|n| + L1, |n| by its class
///   of which one is shared                     i0 = L0·|n| + own
class IndicesOfLoops {
 public:
  IndicesOfLoops(const TensorView* tv, const IdGraph& graph, int64_t num_shared) {
    const auto& loop = tv->getLoopDomain();
    for (size_t i = 0; i < loop.size(); ++i) {
      known_[loop[i]] = static_cast<int64_t>(i) < num_shared ? mix({i}) : kOwn;
    }
    const std::vector<Expr*> transforms = tv->domain()->allExprs();
    for (auto it = transforms.rbegin(); it != transforms.rend(); ++it) {
      const auto& ins = (*it)->inputs();
      const auto& outs = (*it)->outputs();
      const auto kind = static_cast<uint64_t>((*it)->kind());
      const bool is_own =
          std::all_of(outs.begin(), outs.end(), [&](const Val* out) { return of(out) == kOwn; });
      for (size_t i = 0; i < ins.size(); ++i) {
        if (!ins[i]->isA<IterDomain>()) {
          continue;
        }
        // Extents and attributes are those of the classes.
        uint64_t made = mix({kind, i});
        for (const auto& ids : {ins, outs}) {
          for (const Val* id : ids) {
            made = id->isA<IterDomain>() ? mix({made, classOf(id, graph)}) : made;
          }
        }
        for (const Val* out : outs) {
          made = mix({made, of(out)});
        }
        known_.emplace(ins[i], is_own ? kOwn : made);
      }
    }
  }

  uint64_t of(const Val* id) const {
    auto found = known_.find(id);
    return found == known_.end() ? 0 : found->second;
  }

 private:
  static uint64_t classOf(const Val* id, const IdGraph& graph) {
    return static_cast<uint64_t>(graph.classOf(id->as<IterDomain>())) + 1;
  }
  static uint64_t mix(std::initializer_list<uint64_t> parts) {
    uint64_t hash = 0x9e3779b97f4a7c15u;
    for (uint64_t part : parts) {
      hash = (hash ^ (part + 1)) * 0xbf58476d1ce4e5b9u;
      hash ^= hash >> 31;
    }
    return hash;
  }

  static constexpr uint64_t kOwn = 1;

  std::unordered_map<const Val*, uint64_t> known_;
};

}  // namespace

struct MaxPosCalculator::State {
  /// What keeps a tensor from going further inside.
  struct Limit {
    enum class Reason : uint8_t {
      NoConsumer,
      OwnAxis,
      OtherEnds,
      Consumer,
      Unmapped,
      Waiting,
      Sizes,
    };
    int64_t pos = 0;
    Reason reason = Reason::NoConsumer;
    /// Where the reason lies: the tensor itself, a sibling or a consumer.
    const TensorView* tv = nullptr;
    const TensorView* producer = nullptr;
    /// Two axes of different sizes that would be one loop.
    std::pair<const IterDomain*, const IterDomain*> sizes;
  };

  State(const Fusion& fusion, const std::unordered_set<IterDomain*>& uninlinable_ids)
      : graph(fusion, IdGraph::Mode::Permissive),
        uninlinable(uninlinable_ids.begin(), uninlinable_ids.end()),
        exprs(fusion.exprs()) {}

  IdGraph graph;
  std::unordered_set<const IterDomain*> uninlinable;
  std::vector<Expr*> exprs;
  std::unordered_map<const TensorView*, Limit> limits;
};

MaxPosCalculator::MaxPosCalculator(const std::unordered_set<IterDomain*>& uninlinable_ids, bool)
    : MaxPosCalculator(activeFusion(), uninlinable_ids) {}

MaxPosCalculator::MaxPosCalculator(const Fusion& fusion,
                                   const std::unordered_set<IterDomain*>& uninlinable_ids)
    : state_(std::make_unique<State>(fusion, uninlinable_ids)) {
  using Limit = State::Limit;
  std::unordered_map<const Expr*, int> number;
  for (Expr* expr : state_->exprs) {
    number.emplace(expr, static_cast<int>(number.size()));
  }
  std::unordered_map<const TensorView*, std::vector<TensorView*>> consumers;
  std::vector<std::vector<int>> statement_consumers(state_->exprs.size());
  for (size_t s = 0; s < state_->exprs.size(); ++s) {
    for (TensorView* in : tensorInputs(state_->exprs[s])) {
      for (TensorView* out : tensorOutputs(state_->exprs[s])) {
        consumers[in].push_back(out);
      }
      if (in->definition() == nullptr) {
        continue;
      }
      auto& readers = statement_consumers[static_cast<size_t>(number.at(in->definition()))];
      if (readers.empty() || readers.back() != static_cast<int>(s)) {
        readers.push_back(static_cast<int>(s));
      }
    }
  }

  LoopSizes loop_sizes(fusion, state_->graph);
  std::vector<std::vector<LoopGroups::Sizes>> statement_sizes;
  for (const Expr* expr : state_->exprs) {
    const std::vector<TensorView*> outputs = tensorOutputs(expr);
    statement_sizes.push_back(outputs.empty() ? std::vector<LoopGroups::Sizes>()
                                              : loop_sizes.of(outputs.front()));
  }
  LoopGroups groups(std::move(statement_consumers), std::move(statement_sizes));
  for (size_t s = state_->exprs.size(); s-- > 0;) {
    const std::vector<TensorView*> outputs = tensorOutputs(state_->exprs[s]);
    // The outputs of one expression are computed at one place: the innermost that suits them all.
    Limit limit;
    auto lower = [&](int64_t pos, Limit::Reason reason, const TensorView* tv,
                     const TensorView* producer) {
      if (limit.reason == Limit::Reason::NoConsumer || pos < limit.pos) {
        limit = {pos, reason, tv, producer, {}};
      }
    };
    for (TensorView* out : outputs) {
      for (TensorView* consumer : consumers[out]) {
        const int64_t own = getMaxPosSelf(out);
        const int64_t both = getMaxProducerPosFromConsumer(out, consumer);
        if (both == own) {
          lower(own, own < out->nDims() ? Limit::Reason::OwnAxis : Limit::Reason::OtherEnds, out,
                out);
        } else if (both >= consumer->nDims()) {
          lower(both, Limit::Reason::OtherEnds, consumer, out);
        } else if (!isAllowedID(consumer->axis(both), true)) {
          lower(both, Limit::Reason::Consumer, consumer, out);
        } else {
          lower(both, Limit::Reason::Unmapped, consumer, out);
        }
      }
    }
    const auto statement = static_cast<int>(s);
    for (int depth = 0; depth < limit.pos; ++depth) {
      TensorView* out = outputs.front();
      if (!groups.isRunnable(statement, depth)) {
        limit = {depth, Limit::Reason::Waiting, out, out, {}};
      } else if (auto sizes = groups.disagreement(statement, depth)) {
        limit = {depth,
                 Limit::Reason::Sizes,
                 out,
                 out,
                 {loop_sizes.axisOf(sizes->first), loop_sizes.axisOf(sizes->second)}};
      } else {
        groups.join(statement, depth);
      }
    }
    for (TensorView* out : outputs) {
      state_->limits[out] = limit;
    }
  }
}

MaxPosCalculator::~MaxPosCalculator() = default;

bool MaxPosCalculator::isAllowedID(const IterDomain* id, bool allow_reduction) const {
  if (!allow_reduction && id->isReduction()) {
    return false;
  }
  if (state_->uninlinable.count(id) != 0) {
    return false;
  }
  const ParallelType type = id->getParallelType();
  return type != ParallelType::Vectorize && type != ParallelType::Group &&
         type != ParallelType::Bulk && type != ParallelType::Mma;
}

int64_t MaxPosCalculator::getMaxPosSelf(const TensorView* tv, bool allow_reduction) const {
  int64_t pos = 0;
  while (pos < tv->nDims() && isAllowedID(tv->axis(pos), allow_reduction)) {
    ++pos;
  }
  return pos;
}

int64_t MaxPosCalculator::getMaxProducerPosFromConsumer(const TensorView* producer,
                                                        const TensorView* consumer) const {
  // Axes that the operation reads at another index than the loops give: in x + (y + transpose(x))
  // the axes of y + transpose(x) cannot be those of both of its operands.
  std::unordered_set<const Val*> crossed;
  const std::vector<std::pair<IterDomain*, IterDomain*>> pairs =
      mapAxes(consumer->definition(), producer, consumer);
  std::unordered_set<const IterDomain*> partners;
  for (auto [p, c] : pairs) {
    partners.insert(p);
    if (!p->isBroadcast() && !c->isBroadcast() && !state_->graph.mapped(p, c)) {
      crossed.insert(p);
    }
  }
  // What a gather or a select reads at another index is not there yet in the same iteration, even
  // where another tensor makes the axes meet.
  for (const IterDomain* p : TensorDomain::noReductions(producer->getLogicalDomain())) {
    if (!p->isBroadcast() && partners.count(p) == 0) {
      crossed.insert(p);
    }
  }
  auto crosses = [&](IterDomain* loop) {
    if (crossed.empty() || crossed.count(loop) != 0) {
      return !crossed.empty();
    }
    for (const Expr* transform : transformsBefore({loop}, {})) {
      for (const Val* in : transform->inputs()) {
        if (crossed.count(in) != 0) {
          return true;
        }
      }
    }
    return false;
  };
  const int64_t limit = std::min(getMaxPosSelf(producer), consumer->nDims());
  int64_t pos = 0;
  while (pos < limit && isAllowedID(consumer->axis(pos), true) &&
         state_->graph.mapped(producer->axis(pos), consumer->axis(pos)) &&
         !crosses(producer->axis(pos))) {
    ++pos;
  }
  // In reshape(x) + transpose(reshape(x)) the loops are one class with x, but the second one goes
  // through x in another order.
  const auto readsAlike = [&](int64_t num_shared) {
    const IndicesOfLoops of_producer(producer, state_->graph, num_shared);
    const IndicesOfLoops of_consumer(consumer, state_->graph, num_shared);
    return std::all_of(pairs.begin(), pairs.end(), [&](const auto& pair) {
      return pair.first->isBroadcast() || pair.second->isBroadcast() ||
             of_producer.of(pair.first) == of_consumer.of(pair.second);
    });
  };
  while (pos > 0 && !readsAlike(pos)) {
    --pos;
  }
  return pos;
}

int64_t MaxPosCalculator::getMaxPosAll(const TensorView* tv) const {
  auto found = state_->limits.find(tv);
  return found == state_->limits.end() ? 0 : found->second.pos;
}

int64_t MaxPosCalculator::getMappedPos(const TensorView* tv, const TensorView* reference,
                                       int64_t pos) const {
  std::unordered_set<int> classes;
  for (int64_t i = 0; i < pos; ++i) {
    classes.insert(state_->graph.classOf(reference->axis(i)));
  }
  classes.erase(-1);
  int64_t mapped = 0;
  while (mapped < tv->nDims() && classes.count(state_->graph.classOf(tv->axis(mapped))) != 0) {
    ++mapped;
  }
  return mapped;
}

std::string MaxPosCalculator::whyNotFurther(const TensorView* tv) const {
  using Reason = State::Limit::Reason;
  auto found = state_->limits.find(tv);
  if (tv->isFusionInput()) {
    return text("T", tv->name(), " is an input and is not computed");
  }
  if (found == state_->limits.end() || found->second.reason == Reason::NoConsumer) {
    return text("T", tv->name(), " has no consumer to be inlined into");
  }
  const State::Limit& limit = found->second;
  switch (limit.reason) {
    case Reason::OwnAxis:
    case Reason::Consumer: {
      const IterDomain* id = limit.tv->axis(limit.pos);
      const char* kind = "listed as not to be inlined";
      if (limit.reason == Reason::OwnAxis && id->isReduction()) {
        kind = "a reduction, complete only when its loop ends";
      } else if (state_->uninlinable.count(id) == 0) {
        return text(axisText(limit.tv, limit.pos), " is bound to ",
                    parallelTypeName(id->getParallelType()),
                    ", which handles several elements at once");
      }
      return text(axisText(limit.tv, limit.pos), " is ", kind);
    }
    case Reason::OtherEnds:
      return text("T", limit.tv->name(), " has no more axes");
    case Reason::Unmapped:
      return text(axisText(limit.producer, limit.pos), " and ", axisText(limit.tv, limit.pos),
                  " run over different things");
    case Reason::Sizes: {
      auto named = [&](const IterDomain* id) {
        const TensorView* owner = state_->graph.tensorOf(id);
        return text(id, " of ", owner ? owner->toInlineString() : "no tensor");
      };
      return text("the loop over ", axisText(tv, limit.pos), " would have two sizes, those of ",
                  named(limit.sizes.first), " and ", named(limit.sizes.second));
    }
    default:
      return text("inside the loop over ", axisText(tv, limit.pos),
                  " one consumer would wait for a value that another completes only when it ends");
  }
}

// ---- positions of one tensor

void TensorView::updateMaxProducerPosition() {
  max_producer_pos_ = 0;
  for (TensorView* producer : producersOf(this)) {
    if (producer->isFusionInput()) {
      continue;
    }
    max_producer_pos_ = std::max(max_producer_pos_, producer->getComputeAtPosition());
  }
}

void TensorView::inlineAt(int64_t pos, bool best_effort, MaxPosCalculator* calc) {
  if (isFusionInput()) {
    if (best_effort) {
      return;
    }
    scheduleError("inlineAt", this,
                  text("T", name(), " is an input of the Fusion and is not computed"),
                  "inline the copy that cacheAfter() makes");
  }
  pos = requirePosition("inlineAt", this, pos);
  std::unique_ptr<MaxPosCalculator> own;
  if (calc == nullptr) {
    own = std::make_unique<MaxPosCalculator>(*fusion());
    calc = own.get();
  }
  const int64_t limit = calc->getMaxPosAll(this);
  if (pos > limit && !best_effort) {
    scheduleError("inlineAt", this,
                  text("T", name(), " cannot be placed inside its consumers at position ", pos,
                       ", at most at ", limit, ": ", calc->whyNotFurther(this)),
                  text("use position ", limit,
                       ", ask for best_effort, or schedule it like its consumers first "
                       "(TransformPropagator); a reduction can be moved out with rFactor"));
  }
  pos = std::min(pos, limit);
  std::vector<TensorView*> placed = siblingsOf(this);
  placed.push_back(this);
  for (TensorView* tv : placed) {
    InlineState::setComputeAt(tv, pos);
    for (Expr* use : tv->uses()) {
      for (TensorView* consumer : tensorOutputs(use)) {
        consumer->updateMaxProducerPosition();
      }
    }
  }
}

// ---- positions of many tensors

namespace {

void inlineThese(const std::vector<TensorView*>& tvs, MaxPosCalculator& calc) {
  for (TensorView* tv : tvs) {
    tv->inlineAt(-1, true, &calc);
  }
}

/// The tensors of a set in the Fusion's order.
std::vector<TensorView*> inOrder(const Fusion& fusion, const std::unordered_set<TensorView*>& tvs) {
  std::vector<TensorView*> ordered;
  for (TensorView* tv : fusion.allTvs()) {
    if (tvs.count(tv) != 0) {
      ordered.push_back(tv);
    }
  }
  return ordered;
}

}  // namespace

void inlineTensorsAt(std::string_view primitive, const std::vector<TensorView*>& tvs,
                     TensorView* reference_tv, int64_t reference_pos, bool best_effort,
                     const std::unordered_set<IterDomain*>& uninlinable_ids) {
  const int64_t reference = requirePosition(primitive, reference_tv, reference_pos);
  MaxPosCalculator calc(*reference_tv->fusion(), uninlinable_ids);
  for (TensorView* tv : tvs) {
    if (tv->isFusionInput() || tv->uses().empty()) {
      continue;
    }
    const int64_t pos = calc.getMappedPos(tv, reference_tv, reference);
    const int64_t limit = calc.getMaxPosAll(tv);
    if (pos > limit && !best_effort) {
      scheduleError(primitive, tv,
                    text("T", tv->name(), " cannot be placed at position ", pos,
                         ", inside the first ", reference, " loops of T", reference_tv->name(),
                         ", at most at ", limit, ": ", calc.whyNotFurther(tv)),
                    text("use a smaller position, or best effort; other consumers of T", tv->name(),
                         " must have the same loops (TransformPropagator), a reduction can be "
                         "moved out with rFactor"));
    }
    tv->inlineAt(pos, true, &calc);
  }
}

void inlineMost(const std::unordered_set<IterDomain*>& uninlinable_ids) {
  MaxPosCalculator calc(uninlinable_ids);
  inlineThese(activeFusion().allTvs(), calc);
}

void inlineMost(const std::vector<TensorView*>& tvs,
                const std::unordered_set<IterDomain*>& uninlinable_ids) {
  if (tvs.empty()) {
    return;
  }
  MaxPosCalculator calc(*tvs.front()->fusion(), uninlinable_ids);
  inlineThese(tvs, calc);
}

void inlineMost(const std::unordered_set<TensorView*>& tvs,
                const std::unordered_set<IterDomain*>& uninlinable_ids) {
  if (tvs.empty()) {
    return;
  }
  inlineMost(inOrder(*(*tvs.begin())->fusion(), tvs), uninlinable_ids);
}

void inlineAllAt(TensorView* reference_tv, int64_t reference_pos, bool best_effort,
                 const std::unordered_set<IterDomain*>& uninlinable_ids) {
  inlineTensorsAt("inlineAllAt", reference_tv->fusion()->allTvs(), reference_tv, reference_pos,
                  best_effort, uninlinable_ids);
}

void inlineSelectedAt(const std::unordered_set<TensorView*>& selected, TensorView* reference_tv,
                      int64_t reference_pos, bool best_effort,
                      const std::unordered_set<IterDomain*>& uninlinable_ids) {
  inlineTensorsAt("inlineSelectedAt", inOrder(*reference_tv->fusion(), selected), reference_tv,
                  reference_pos, best_effort, uninlinable_ids);
}

void resetInlining(Fusion* fusion) {
  for (TensorView* tv : fusion->allTvs()) {
    InlineState::setComputeAt(tv, 0);
    InlineState::setMaxProducer(tv, 0);
  }
}

}  // namespace nvfuser
