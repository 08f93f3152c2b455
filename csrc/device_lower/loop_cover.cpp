#include <device_lower/loop_cover.h>

#include <algorithm>
#include <set>

#include <device_lower/along_loops.h>
#include <device_lower/follow_transform.h>
#include <support/error.h>

namespace nvfuser {

namespace {

class Undo {
 public:
  using Axis = LoopCover::Axis;

  Undo(const IdGraph& exact, Symbols* symbols, std::set<int> wanted)
      : exact_(exact), symbols_(symbols), wanted_(std::move(wanted)) {}

  /// Undoes transforms in `axes` until all wanted classes are there. Where a class was made in
  /// several ways (by reshapes), each is tried.
  bool run(std::vector<Axis>& axes) const {
    while (!isCovered(axes)) {
      std::vector<const Expr*> choices;
      for (const Axis& axis : axes) {
        choices = waysBack(axis, axes);
        if (!choices.empty()) {
          break;
        }
      }
      if (choices.empty()) {
        return false;
      }
      if (choices.size() == 1) {
        apply(choices[0], axes);
        continue;
      }
      for (const Expr* choice : choices) {
        std::vector<Axis> tried = axes;
        apply(choice, tried);
        if (run(tried)) {
          axes = std::move(tried);
          return true;
        }
      }
      return false;
    }
    return true;
  }

  /// `made`: which of the axes are the transform's results.
  void apply(const Expr* expr, const std::vector<const IterDomain*>& made,
             std::vector<Axis>& axes) const {
    std::vector<const LoopClass*> loops;
    std::unordered_map<const Val*, kir::Scalar> indices;
    for (size_t k = 0; k < made.size(); ++k) {
      const auto axis = std::find_if(axes.begin(), axes.end(),
                                     [&](const Axis& other) { return other.id == made[k]; });
      check(axis != axes.end(), "the axes hold what the transform made");
      indices[expr->output(k)] = axis->index;
      for (const LoopClass* loop : axis->loops) {
        if (std::find(loops.begin(), loops.end(), loop) == loops.end()) {
          loops.push_back(loop);
        }
      }
      axes.erase(axis);
    }
    if (symbols_ != nullptr) {
      followTransform(
          expr, *symbols_, [&](const IterDomain* id) { return indices[id]; },
          [&](const IterDomain* id, kir::Scalar index) { indices[id] = index; });
    }
    for (const Val* in : expr->inputs()) {
      axes.push_back({in->as<IterDomain>(), loops, indices[in]});
    }
  }

  const IterDomain* firstMissing(const std::vector<Axis>& axes,
                                 const std::vector<IterDomain*>& of) const {
    for (const IterDomain* id : of) {
      if (wanted_.count(exact_.classOf(id)) != 0 && indexOf(axes, id) == axes.size()) {
        return id;
      }
    }
    return nullptr;
  }

 private:
  bool isWanted(const IterDomain* id) const { return wanted_.count(exact_.classOf(id)) != 0; }

  size_t indexOf(const std::vector<Axis>& axes, const IterDomain* id) const {
    size_t i = 0;
    while (i < axes.size() && !exact_.mapped(axes[i].id, id)) {
      ++i;
    }
    return i;
  }

  /// By the first axis of each result's class.
  void apply(const Expr* expr, std::vector<Axis>& axes) const {
    std::vector<const IterDomain*> made;
    for (const Val* out : expr->outputs()) {
      made.push_back(axes[indexOf(axes, out->as<IterDomain>())].id);
    }
    apply(expr, made, axes);
  }

  bool isCovered(const std::vector<Axis>& axes) const {
    size_t found = 0;
    std::set<int> seen;
    for (const Axis& axis : axes) {
      found += isWanted(axis.id) && seen.insert(exact_.classOf(axis.id)).second ? 1u : 0u;
    }
    return found == wanted_.size();
  }

  /// Transforms that made the axis and can be undone now, one for each set of inputs.
  std::vector<const Expr*> waysBack(const Axis& axis, const std::vector<Axis>& axes) const {
    std::vector<const Expr*> ways;
    if (isWanted(axis.id)) {
      return ways;
    }
    std::set<std::vector<int>> seen;
    for (const Expr* expr : exact_.definitions(exact_.classOf(axis.id))) {
      const bool undone =
          !expr->isA<Resize>() &&
          std::all_of(expr->outputs().begin(), expr->outputs().end(), [&](const Val* out) {
            const auto* id = out->as<IterDomain>();
            return !isWanted(id) && indexOf(axes, id) < axes.size();
          });
      if (!undone) {
        continue;
      }
      std::vector<int> inputs;
      for (const Val* in : expr->inputs()) {
        inputs.push_back(exact_.classOf(in->as<IterDomain>()));
      }
      if (seen.insert(inputs).second) {
        ways.push_back(expr);
      }
    }
    return ways;
  }

  const IdGraph& exact_;
  Symbols* symbols_;
  const std::set<int> wanted_;
};

}  // namespace

LoopCover coverOf(const TensorView* tv, const std::vector<const LoopClass*>& loops, bool reductions,
                  const IdGraph& exact) {
  std::vector<LoopCover::Axis> iterated;
  for (const LoopClass* loop : loops) {
    iterated.push_back({loop->promoted, {loop}});
  }
  return coverOf(tv, std::move(iterated), reductions, exact);
}

LoopCover coverOf(const TensorView* tv, std::vector<LoopCover::Axis> axes, bool reductions,
                  const IdGraph& exact, Symbols* symbols) {
  std::set<int> wanted;
  for (const IterDomain* id : tv->getLogicalDomain()) {
    if (!id->isBroadcast() && !id->extent()->isOneInt() && (reductions || !id->isReduction())) {
      wanted.insert(exact.classOf(id));
    }
  }
  const Undo undo(exact, symbols, wanted);
  std::vector<OwnAndLoop> begin;
  for (const LoopCover::Axis& axis : axes) {
    begin.emplace_back(ownAxis(tv, *axis.loops[0]), axis.id);
  }
  // The tensor's own schedule first: where an axis is there twice, it leads to the tensor's own.
  const AlongLoops along = alongLoops(tv, std::move(begin), exact);
  for (const AlongLoops::Undone& undone : along.schedule) {
    undo.apply(undone.expr, undone.made, axes);
  }
  const auto& logical = tv->getLogicalDomain();
  std::stable_partition(axes.begin(), axes.end(), [&](const LoopCover::Axis& axis) {
    return std::any_of(along.axes.begin(), along.axes.end(), [&](const OwnAndLoop& pair) {
      return pair.second == axis.id &&
             std::find(logical.begin(), logical.end(), pair.first) != logical.end() &&
             exact.mapped(pair.first, axis.id);
    });
  });
  LoopCover cover;
  if (!undo.run(axes)) {
    cover.missing = undo.firstMissing(axes, tv->getLogicalDomain());
    return cover;
  }
  std::set<int> taken;
  for (LoopCover::Axis& axis : axes) {
    const int id_class = exact.classOf(axis.id);
    if (wanted.count(id_class) == 0 || !taken.insert(id_class).second) {
      cover.besides.push_back(std::move(axis));
    }
  }
  return cover;
}

bool ownLoops(const TensorView* tv, const std::vector<const LoopClass*>& loops,
              const IdGraph& exact) {
  return std::all_of(loops.begin(), loops.end(), [&](const LoopClass* loop) {
    const IterDomain* own = ownAxis(tv, *loop);
    return own != nullptr && exact.mapped(loop->promoted, own);
  });
}

}  // namespace nvfuser
