/// How far inside each tensor can be placed: decided for all of them, consumers first.
#include <algorithm>
#include <unordered_map>

#include <id_model/axes_before.h>
#include <id_model/id_graph.h>
#include <ir/axis_map.h>
#include <ir/internal_nodes.h>
#include <ir/scan_loops.h>
#include <scheduler/schedule_error.h>
#include <scheduler/tools/indices_of_loops.h>
#include <scheduler/tools/inlining.h>
#include <scheduler/tools/loop_groups.h>
#include <scheduler/tools/loop_sizes.h>

namespace nvfuser {

namespace {

const Fusion& activeFusion() {
  Fusion* fusion = FusionGuard::getCurFusion();
  if (fusion == nullptr) {
    userError("inlining: there is no active Fusion; make a FusionGuard before scheduling");
  }
  return *fusion;
}

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
      Bindings,
      Held,
      Scanned,
    };
    int64_t pos = 0;
    Reason reason = Reason::NoConsumer;
    /// Where the reason lies: the tensor itself, a sibling or a consumer.
    const TensorView* tv = nullptr;
    const TensorView* producer = nullptr;
    /// Two axes of different sizes that would be one loop.
    std::pair<const IterDomain*, const IterDomain*> sizes;
    std::pair<ParallelType, ParallelType> bindings{};
  };

  State(const Fusion& fusion, const std::unordered_set<IterDomain*>& uninlinable_ids)
      : graph(fusion, IdGraph::Mode::Permissive),
        uninlinable(uninlinable_ids.begin(), uninlinable_ids.end()),
        exprs(fusion.exprs()) {}

  using Consumers = std::unordered_map<const TensorView*, std::vector<TensorView*>>;
  Consumers consumers() const {
    Consumers result;
    for (const Expr* expr : exprs) {
      for (TensorView* in : tensorInputs(expr)) {
        for (TensorView* out : tensorOutputs(expr)) {
          result[in].push_back(out);
        }
      }
    }
    return result;
  }

  /// How far a statement's outputs and each of their consumers alone allow it, and what holds them
  /// in memory.
  Limit ownLimit(const MaxPosCalculator& calc, const std::vector<TensorView*>& outputs,
                 Consumers& consumers,
                 const std::unordered_map<const TensorView*, int64_t>& held) const {
    Limit limit;
    for (TensorView* out : outputs) {
      for (const TensorView* consumer : consumers[out]) {
        const Limit of_both = pairLimit(calc, out, consumer);
        if (limit.reason == Limit::Reason::NoConsumer || of_both.pos < limit.pos) {
          limit = of_both;
        }
      }
    }
    for (TensorView* out : outputs) {
      const auto most = held.find(out);
      if (most != held.end() && most->second < limit.pos) {
        limit = {most->second, Limit::Reason::Held, out, out, {}, {}};
      }
    }
    return limit;
  }

  static Limit pairLimit(const MaxPosCalculator& calc, const TensorView* out,
                         const TensorView* consumer) {
    using Reason = Limit::Reason;
    const int64_t own = calc.getMaxPosSelf(out);
    const int64_t both = calc.getMaxProducerPosFromConsumer(out, consumer);
    if (both == own) {
      return {own, own < out->nDims() ? Reason::OwnAxis : Reason::OtherEnds, out, out, {}, {}};
    }
    Reason reason = Reason::Unmapped;
    if (scanOf(consumer) != nullptr && both < consumer->nDims() &&
        both == scanOperandPosition(consumer)) {
      reason = Reason::Scanned;
    } else if (both >= consumer->nDims()) {
      reason = Reason::OtherEnds;
    } else if (!calc.isAllowedID(consumer->axis(both), true)) {
      reason = Reason::Consumer;
    }
    return {both, reason, consumer, out, {}, {}};
  }

  /// By statement: those that read what it writes.
  std::vector<std::vector<int>> readers() const {
    std::unordered_map<const Expr*, int> number;
    for (Expr* expr : exprs) {
      number.emplace(expr, static_cast<int>(number.size()));
    }
    std::vector<std::vector<int>> result(exprs.size());
    for (size_t s = 0; s < exprs.size(); ++s) {
      for (const TensorView* in : tensorInputs(exprs[s])) {
        if (in->definition() == nullptr) {
          continue;
        }
        auto& of_writer = result[static_cast<size_t>(number.at(in->definition()))];
        if (of_writer.empty() || of_writer.back() != static_cast<int>(s)) {
          of_writer.push_back(static_cast<int>(s));
        }
      }
    }
    return result;
  }

  /// By statement and depth: what its loop goes through, and what it is bound to.
  std::vector<std::vector<LoopGroups::Sizes>> sizes(LoopSizes& loop_sizes) const {
    std::vector<std::vector<LoopGroups::Sizes>> result;
    for (const Expr* expr : exprs) {
      const std::vector<TensorView*> outputs = tensorOutputs(expr);
      std::vector<LoopGroups::Sizes>& of_statement = result.emplace_back();
      if (outputs.empty()) {
        continue;
      }
      const std::vector<IterDomain*>& loops = outputs.front()->getLoopDomain();
      of_statement = loop_sizes.of(outputs.front());
      of_statement.resize(loops.size());
      for (size_t depth = 0; depth < loops.size(); ++depth) {
        const ParallelType type = loops[depth]->getParallelType();
        if (type != ParallelType::Serial) {
          of_statement[depth].emplace(LoopGroups::kBinding, static_cast<int>(type));
        }
      }
    }
    return result;
  }

  /// Puts a statement into the loops of its readers, as many as its limit says and can be shared,
  /// which becomes the limit.
  void shareLoops(int statement, LoopGroups& groups, const LoopSizes& loop_sizes,
                  Limit& limit) const {
    const std::vector<TensorView*> outputs = tensorOutputs(exprs[static_cast<size_t>(statement)]);
    for (int depth = 0; depth < limit.pos; ++depth) {
      TensorView* out = outputs.front();
      if (!groups.isRunnable(statement, depth)) {
        limit = {depth, Limit::Reason::Waiting, out, out, {}, {}};
      } else if (auto found = groups.disagreement(statement, depth)) {
        const auto [first, second] = found->sizes;
        limit = {depth, Limit::Reason::Sizes, out, out, {}, {}};
        if (found->axis_class == LoopGroups::kBinding) {
          limit.reason = Limit::Reason::Bindings;
          limit.bindings = {static_cast<ParallelType>(first), static_cast<ParallelType>(second)};
        } else {
          limit.sizes = {loop_sizes.axisOf(first), loop_sizes.axisOf(second)};
        }
      } else {
        groups.join(statement, depth);
      }
    }
  }

  IdGraph graph;
  std::unordered_set<const IterDomain*> uninlinable;
  std::vector<Expr*> exprs;
  std::unordered_map<const TensorView*, Limit> limits;
};

MaxPosCalculator::MaxPosCalculator(const std::unordered_set<IterDomain*>& uninlinable_ids, bool)
    : MaxPosCalculator(activeFusion(), uninlinable_ids) {}

MaxPosCalculator::MaxPosCalculator(const Fusion& fusion,
                                   const std::unordered_set<IterDomain*>& uninlinable_ids)
    : MaxPosCalculator(fusion, uninlinable_ids, {}) {}

MaxPosCalculator::MaxPosCalculator(const Fusion& fusion,
                                   const std::unordered_map<const TensorView*, int64_t>& held)
    : MaxPosCalculator(fusion, {}, held) {}

MaxPosCalculator::MaxPosCalculator(const Fusion& fusion,
                                   const std::unordered_set<IterDomain*>& uninlinable_ids,
                                   const std::unordered_map<const TensorView*, int64_t>& held)
    : state_(std::make_unique<State>(fusion, uninlinable_ids)) {
  State::Consumers consumers = state_->consumers();
  LoopSizes loop_sizes(fusion, state_->graph);
  LoopGroups groups(state_->readers(), state_->sizes(loop_sizes));
  for (size_t s = state_->exprs.size(); s-- > 0;) {
    // The outputs of one expression are computed at one place: the innermost that suits them all.
    const std::vector<TensorView*> outputs = tensorOutputs(state_->exprs[s]);
    State::Limit limit = state_->ownLimit(*this, outputs, consumers, held);
    state_->shareLoops(static_cast<int>(s), groups, loop_sizes, limit);
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
  const int64_t limit =
      std::min(getMaxPosSelf(producer),
               scanOf(consumer) != nullptr ? scanOperandPosition(consumer) : consumer->nDims());
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
    case Reason::Held:
      return text("T", tv->name(), " is held in memory for later loops");
    case Reason::Scanned:
      return text("T", limit.tv->name(),
                  " is scanned along threads, each of which needs all of its ", "elements first");
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
    case Reason::Bindings:
      return text("the loop over ", axisText(tv, limit.pos), " would be bound to ",
                  parallelTypeName(limit.bindings.first), " and to ",
                  parallelTypeName(limit.bindings.second));
    default:
      return text("inside the loop over ", axisText(tv, limit.pos),
                  " one consumer would wait for a value that another completes only when it ends");
  }
}

}  // namespace nvfuser
