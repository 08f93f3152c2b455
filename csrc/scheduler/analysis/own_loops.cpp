#include <scheduler/analysis/own_loops.h>

#include <algorithm>
#include <set>

#include <id_model/axes_before.h>

namespace nvfuser {

namespace {

/// Logical axes that a loop is made of.
std::set<const Val*> sourcesOf(const IterDomain* loop, const TensorView* tv) {
  const auto& logical = tv->getLogicalDomain();
  const std::vector<const IterDomain*> before = axesBefore({loop}, logical);
  std::set<const Val*> sources(before.begin(), before.end());
  std::erase_if(sources, [&](const Val* id) {
    return std::find(logical.begin(), logical.end(), id) == logical.end();
  });
  return sources;
}

int64_t innermostLoop(const TensorView* tv) {
  int64_t innermost = tv->nDims() - 1;
  while (innermost >= 0 && tv->axis(innermost)->isBroadcast()) {
    --innermost;
  }
  return innermost;
}

}  // namespace

OwnLoops::OwnLoops(const Fusion& scheduled, const TensorView* reference,
                   const std::vector<TensorView*>& nest)
    : exact_(scheduled, IdGraph::Mode::Exact),
      shared_(reference->getLoopDomain().begin(), reference->getLoopDomain().end()) {
  const auto classesOf = [&](IterDomain* loop, const TensorView* tv) {
    std::set<int> classes;
    for (const Val* source : sourcesOf(loop, tv)) {
      if (!source->as<IterDomain>()->isBroadcast()) {
        classes.insert(exact_.classOf(source->as<IterDomain>()));
      }
    }
    return classes;
  };
  std::vector<std::set<int>> most;
  for (IterDomain* loop : reference->getLoopDomain()) {
    most.push_back(classesOf(loop, reference));
  }
  for (const TensorView* tv : nest) {
    const size_t loops = std::min(shared_.size(), tv->getLoopDomain().size());
    for (size_t i = 0; i < loops; ++i) {
      IterDomain* loop = tv->getLoopDomain()[i];
      if (loop->isBroadcast() || exact_.mapped(loop, shared_[i])) {
        continue;
      }
      std::set<int> classes = classesOf(loop, tv);
      if (classes.size() > most[i].size() &&
          std::includes(classes.begin(), classes.end(), most[i].begin(), most[i].end())) {
        shared_[i] = loop;
        most[i] = std::move(classes);
      }
    }
  }
}

bool OwnLoops::isShared(const IterDomain* loop, int64_t position) const {
  return position < static_cast<int64_t>(shared_.size()) &&
         exact_.mapped(loop, shared_[static_cast<size_t>(position)]);
}

bool OwnLoops::isShared(const TensorView* tv, int64_t position) const {
  return tv->axis(position)->isBroadcast() || isShared(tv->axis(position), position);
}

bool OwnLoops::mayHave(const TensorView* tv, int64_t from) const {
  std::set<const Val*> of_own;
  for (int64_t i = from; i < tv->nDims(); ++i) {
    of_own.merge(sourcesOf(tv->axis(i), tv));
  }
  for (int64_t i = 0; i < tv->nDims(); ++i) {
    if (isShared(tv, i)) {
      continue;
    }
    const std::set<const Val*> sources = sourcesOf(tv->axis(i), tv);
    if (std::any_of(sources.begin(), sources.end(),
                    [&](const Val* id) { return of_own.count(id) != 0; })) {
      return false;
    }
  }
  return true;
}

bool OwnLoops::mayHaveInnermost(const TensorView* tv) const {
  return mayHave(tv, std::max<int64_t>(innermostLoop(tv), 0));
}

bool haveSameLoops(const TensorView* a, const TensorView* b, const IdGraph& graph) {
  bool same = a->nDims() == b->nDims();
  for (int64_t i = 0; same && i < a->nDims(); ++i) {
    same = a == b || graph.mapped(a->axis(i), b->axis(i));
  }
  return same;
}

void vectorizeInnermost(TensorView* tv, int64_t width, int64_t elements) {
  int64_t innermost = innermostLoop(tv);
  if (width < 2 || innermost < 0) {
    return;
  }
  if (width < elements) {
    tv->split(innermost++, width);
  }
  tv->reorder({{innermost, tv->nDims() - 1}});
  tv->axis(-1)->parallelize(ParallelType::Vectorize);
}

}  // namespace nvfuser
