#include <device_lower/loop_cover.h>

#include <algorithm>
#include <set>

namespace nvfuser {

namespace {

class Undo {
 public:
  using Axis = LoopCover::Axis;

  Undo(const IdGraph& exact, std::set<int> wanted) : exact_(exact), wanted_(std::move(wanted)) {}

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

  void apply(const Expr* expr, std::vector<Axis>& axes) const {
    std::vector<const LoopClass*> loops;
    for (const Val* out : expr->outputs()) {
      const size_t i = indexOf(axes, out->as<IterDomain>());
      for (const LoopClass* loop : axes[i].loops) {
        if (std::find(loops.begin(), loops.end(), loop) == loops.end()) {
          loops.push_back(loop);
        }
      }
      axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(i));
    }
    for (const Val* in : expr->inputs()) {
      axes.push_back({in->as<IterDomain>(), loops});
    }
  }

  const IdGraph& exact_;
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
                  const IdGraph& exact) {
  std::set<int> wanted;
  for (const IterDomain* id : tv->getLogicalDomain()) {
    if (!id->isBroadcast() && !id->extent()->isOneInt() && (reductions || !id->isReduction())) {
      wanted.insert(exact.classOf(id));
    }
  }
  const Undo undo(exact, wanted);
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
    return std::any_of(loop->members.begin(), loop->members.end(), [&](const auto& member) {
      const auto& [other, position] = member;
      return other == tv &&
             exact.mapped(loop->promoted, tv->getLoopDomain()[static_cast<size_t>(position)]);
    });
  });
}

}  // namespace nvfuser
