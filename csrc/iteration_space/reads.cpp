#include <iteration_space/reads.h>

#include <algorithm>
#include <optional>
#include <set>

#include <ir/axis_map.h>
#include <ir/scan_loops.h>
#include <iteration_space/follow_transform.h>

namespace nvfuser {

using kir::Scalar;

namespace {

/// `axes` of `tv` and what is made of them.
std::set<const IterDomain*> withProducts(const TensorView* tv, std::set<const IterDomain*> axes) {
  for (const Expr* expr : tv->domain()->allExprs()) {
    const bool made_of = std::any_of(expr->inputs().begin(), expr->inputs().end(), [&](Val* in) {
      return axes.count(in->as<IterDomain>()) != 0;
    });
    for (const Val* out : expr->outputs()) {
      if (made_of) {
        axes.insert(out->as<IterDomain>());
      }
    }
  }
  return axes;
}

/// Axes of `tv` with a part of a broadcast axis in them that the loops go through: split by 16, its
/// one element is computed 16 times, but perhaps stored at the first place alone.
std::set<const IterDomain*> repeatedAxes(const TensorView* tv, const Places& places) {
  std::set<const IterDomain*> result;
  for (const IterDomain* id : tv->domain()->allIDs()) {
    if (id->isBroadcast() && places.isGoneThrough(id)) {
      result.insert(id);
    }
  }
  return withProducts(tv, std::move(result));
}

/// Of `repeated` axes, those that loops in `shared` are a part of, and the other parts of these. Of
/// b·i0 split into a shared loop n and an own one k, the reader finds only what was computed in its
/// turn of n. There an element of i0 is at one k alone, so it is read at the reader's own k.
std::set<const IterDomain*> partlyShared(const TensorView* tv,
                                         const std::set<const IterDomain*>& repeated,
                                         std::vector<const IterDomain*> shared) {
  std::set<const IterDomain*> whole;
  while (!shared.empty()) {
    const IterDomain* id = shared.back();
    shared.pop_back();
    if (id->isBroadcast() || repeated.count(id) == 0 || !whole.insert(id).second ||
        id->definition() == nullptr) {
      continue;
    }
    for (const Val* in : id->definition()->inputs()) {
      shared.push_back(in->as<IterDomain>());
    }
  }
  return withProducts(tv, std::move(whole));
}

/// Where a tensor is kept as its readers see it: what only one task of the CPU has is as good as in
/// registers.
MemoryType keptIn(const TensorView* tv, const LoopModel& loops) {
  return loops.isCpu()                                 ? MemoryType::Local
         : tv->isFusionInput() || tv->isFusionOutput() ? MemoryType::Global
                                                       : tv->getMemoryType();
}

}  // namespace

MaybeRefused Reads::axes(const Expr* expr, const TensorView* producer, const TensorView* consumer,
                         const Places& places, AxisIndex& known) const {
  for (auto [p, c] : mapAxes(expr, producer, consumer)) {
    // A broadcast axis has one element, however often a loop goes around it.
    known[p] = p->isBroadcast() || c->isBroadcast() ? symbols_.pool().zero() : places.index(c);
    if (known[p] == nullptr) {
      return ScheduleRefusal{
          consumer,
          text("the loops around ", consumer, " do not lead to its axis ", c,
               ": some of them are shared with a tensor that has other axes merged in, others are "
               "its own"),
          "inline it further, or not at all"};
    }
  }
  for (const IterDomain* id : producer->getLogicalDomain()) {
    if (id->isBroadcast()) {
      known.try_emplace(id, symbols_.pool().zero());
    }
  }
  followLoops(producer, places, known);
  return std::nullopt;
}

void Reads::followLoops(const TensorView* producer, const Places& places, AxisIndex& known) const {
  std::vector<const IterDomain*> shared;  // loops
  if (!producer->isFusionInput()) {
    for (const int position : heldAtOneIndex(producer)) {
      shared.push_back(producer->axis(position));
    }
  }
  std::set<const IterDomain*> at_first = repeatedAxes(producer, places);
  if (storesRepeats(producer)) {
    for (const IterDomain* id : partlyShared(producer, at_first, shared)) {
      at_first.erase(id);
    }
  }
  for (const IterDomain* id : shared) {
    at_first.erase(id);
  }
  for (const Expr* expr : producer->domain()->allExprs()) {
    AxisIndex tried;
    for (const Val* out : expr->outputs()) {
      const auto* id = out->as<IterDomain>();
      const bool may_be_tried =
          known.count(id) == 0 && !id->isBroadcast() && at_first.count(id) == 0;
      if (Scalar index = may_be_tried ? places.indexOfClass(id) : nullptr) {
        tried[id] = index;
      }
    }
    const auto get = [&](const IterDomain* id) -> Scalar {
      const auto found = tried.find(id);
      return found != tried.end() ? found->second : nullptr;
    };
    bool leads_back = !tried.empty();
    followTransform(expr, symbols_, get, [&](const IterDomain* id, Scalar index) {
      const auto read = known.find(id);
      leads_back &= id->isBroadcast() || (read != known.end() && read->second == index);
    });
    if (leads_back && tried.size() == expr->outputs().size()) {
      known.merge(tried);
    }
    followTransform(
        expr, symbols_,
        [&](const IterDomain* id) -> Scalar {
          const auto& ins = expr->inputs();
          const auto found = known.find(id);
          return found != known.end() && std::find(ins.begin(), ins.end(), id) != ins.end()
                     ? found->second
                     : nullptr;
        },
        [&](const IterDomain* id, Scalar index) { known.emplace(id, index); });
  }
}

void Reads::followTransforms(const TensorView* tv, AxisIndex& known) const {
  const IndexOf get = [&](const IterDomain* id) -> Scalar {
    auto found = known.find(id);
    return found == known.end() ? nullptr : found->second;
  };
  bool changed = true;
  const SetIndex set = [&](const IterDomain* id, Scalar index) {
    changed |= known.emplace(id, index).second;
  };
  for (IterDomain* id : tv->domain()->additionalIDs()) {
    set(id, symbols_.pool().zero());
  }
  const std::vector<Expr*> transforms = tv->domain()->allExprs();
  while (changed) {
    changed = false;
    for (const Expr* expr : transforms) {
      followTransform(expr, symbols_, get, set);
    }
  }
}

bool Reads::storesRepeats(const TensorView* tv) const {
  const MemoryType memory = keptIn(tv, loops_);
  if (memory != MemoryType::Shared || tv->definition() == nullptr) {
    return memory == MemoryType::Local;
  }
  const auto& axes = tv->getLoopDomain();
  const bool is_whole =
      scanOf(tv) == nullptr && std::none_of(axes.begin(), axes.end(),
                                            [](const IterDomain* id) { return id->isReduction(); });
  const std::vector<const LoopClass*> path = loops_.path(tv);
  return is_whole && std::none_of(path.begin(), path.end(), [&](const LoopClass* loop) {
           return isParallelTypeThreadDim(loop->parallel) && loops_.isSpread(tv, loop->parallel);
         });
}

std::vector<int> Reads::heldAtOneIndex(const TensorView* tv) const {
  const MemoryType memory = keptIn(tv, loops_);
  std::vector<int> held;
  for (int position = 0; position < static_cast<int>(tv->nDims()); ++position) {
    const LoopClass& loop = loops_.of(tv, position);
    // What other threads and blocks wrote is there behind a barrier.
    const bool is_held =
        loop.isThread() && loops_.isUsed(loop.parallel)
            ? memory == MemoryType::Local ||
                  (memory == MemoryType::Shared && isParallelTypeBlockDim(loop.parallel))
            : position < static_cast<int>(tv->getComputeAtPosition());
    if (is_held) {
      held.push_back(position);
    }
  }
  return held;
}

MaybeRefused Reads::elementsApart(const WriterAt& writer, const TensorView* consumer,
                                  const Places& places, const AxisIndex& read) const {
  std::optional<Places> of_writer;
  for (const int position : heldAtOneIndex(writer.tv)) {
    const IterDomain* axis = writer.tv->axis(position);
    const auto at = read.find(axis);
    if (axis->isBroadcast() || axis->isReduction() || axis->extent()->isOneInt() ||
        at == read.end()) {
      continue;
    }
    const LoopClass& loop = loops_.of(writer.tv, position);
    Scalar written = writer.iteration(&loop);
    if (!exact_.mapped(loop.promoted, axis)) {
      if (!of_writer) {
        of_writer = writer.places();
      }
      written = of_writer->index(axis);
    }
    if (!places.areEqual(written, at->second, consumer)) {
      return ScheduleRefusal{
          writer.tv,
          text("the loops that T", writer.tv->name(), " shares with its consumer T",
               consumer->name(), " compute it at other elements than are read: axis ", position,
               " (", axis, ") is at ", written ? written->toString() : "no known index",
               ", where T", consumer->name(), " reads ", at->second->toString(),
               "\n  note: ", consumer),
          "inline it at a position before that axis, or bind both alike"};
    }
  }
  return std::nullopt;
}

bool Reads::areAlike(const Expr* expr, const TensorView* producer,
                     const TensorView* consumer) const {
  if (!areOwn(consumer, loops_.path(consumer), exact_) ||
      !areOwn(producer, loops_.path(producer), exact_)) {
    return false;
  }
  Partners partners;
  for (auto [p, c] : mapAxes(expr, producer, consumer)) {
    partners[p] = c;
  }
  const std::vector<int> held = heldAtOneIndex(producer);
  return std::all_of(held.begin(), held.end(), [&](int position) {
    const LoopClass& loop = loops_.of(producer, position);
    const IterDomain* read = position < static_cast<int>(producer->getComputeAtPosition())
                                 ? ownAxis(consumer, loop)
                                 : loops_.boundAxis(consumer, loop.parallel);
    const IterDomain* axis = producer->axis(position);
    return axis->isBroadcast() || axis->isReduction() || axis->extent()->isOneInt() ||
           (read != nullptr && isAlike(axis, read, partners));
  });
}

bool Reads::isAlike(const IterDomain* p, const IterDomain* c, Partners& partners) const {
  if (const auto partner = partners.find(p); partner != partners.end()) {
    return partner->second == c;
  }
  const Expr* of_p = p->definition();
  const Expr* of_c = c->definition();
  if (of_p == nullptr || of_c == nullptr || of_p->kind() != of_c->kind() || of_p->isA<Resize>() ||
      !exact_.mapped(p, c)) {
    return false;
  }
  const auto& outs = of_p->outputs();
  for (size_t k = 0; k < outs.size(); ++k) {
    if ((outs[k] == p) != (of_c->output(k) == c)) {
      return false;
    }
  }
  for (size_t i = 0; i < of_p->inputs().size(); ++i) {
    if (!isAlike(of_p->input(i)->as<IterDomain>(), of_c->input(i)->as<IterDomain>(), partners)) {
      return false;
    }
  }
  partners.emplace(p, c);
  return true;
}

/// Of all statements of a Fusion, before there are any.
class ReadCheck {
 public:
  ReadCheck(const IdGraph& exact, const LoopModel& loops, Symbols& symbols)
      : reads_(loops, exact, symbols), exact_(exact), loops_(loops), symbols_(symbols) {}

  MaybeRefused check(const Expr* expr) const {
    const TensorView* consumer = tensorOutputs(expr).front();
    const bool own = areOwn(consumer, loops_.path(consumer), exact_);
    std::optional<Places> places;
    for (const TensorView* producer : tensorInputs(expr)) {
      if (producer->isFusionInput() ? own : reads_.areAlike(expr, producer, consumer)) {
        continue;
      }
      if (!places) {
        places = placesOf(expr, loops_, exact_, symbols_);
      }
      AxisIndex known;
      if (auto refusal = reads_.axes(expr, producer, consumer, *places, known)) {
        return refusal;
      }
      if (producer->isFusionInput()) {
        continue;
      }
      reads_.followTransforms(producer, known);
      const WriterAt writer{producer, [&] { return storedAt(producer, loops_, exact_, symbols_); },
                            [](const LoopClass* loop) { return loop->index; }};
      if (auto refusal = reads_.elementsApart(writer, consumer, *places, known)) {
        return refusal;
      }
    }
    return std::nullopt;
  }

 private:
  Reads reads_;
  const IdGraph& exact_;
  const LoopModel& loops_;
  Symbols& symbols_;
};

MaybeRefused refusedReads(const Fusion& fusion, const IdGraph& exact, const LoopModel& loops,
                          Symbols& symbols) {
  const ReadCheck reads(exact, loops, symbols);
  for (const Expr* expr : fusion.exprs()) {
    if (!tensorOutputs(expr).empty() && !expr->isA<WrittenOp>()) {
      if (auto refusal = reads.check(expr)) {
        return refusal;
      }
    }
  }
  return std::nullopt;
}

}  // namespace nvfuser
