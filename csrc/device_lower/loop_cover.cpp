#include <device_lower/loop_cover.h>

#include <algorithm>
#include <set>

#include <device_lower/follow_transform.h>

namespace nvfuser {

namespace {

/// The tensor's own come first.
auto endOfOwn(const std::vector<LoopCover::Axis>& axes) {
  return std::find_if(axes.begin(), axes.end(),
                      [](const LoopCover::Axis& axis) { return !axis.own; });
}

class Undo {
 public:
  using Axis = LoopCover::Axis;

  Undo(const IdGraph& exact, Symbols* symbols, std::set<int> wanted)
      : exact_(exact), symbols_(symbols), wanted_(std::move(wanted)) {}

  /// Undoes transforms in `axes`, of which the tensor's own come first, until all wanted classes
  /// are there; what its own loops lead to is undone before anything else is. Where a class was
  /// made in several ways (by reshapes), each is tried.
  bool run(std::vector<Axis>& axes) const {
    while (true) {
      const std::vector<Axis> own(axes.cbegin(), endOfOwn(axes));
      std::vector<const Expr*> choices =
          isCovered(own) ? std::vector<const Expr*>() : firstWays(own);
      if (choices.empty() && isCovered(axes)) {
        return true;
      }
      choices = choices.empty() ? firstWays(axes) : choices;
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

  /// Of the first axis that can be undone.
  std::vector<const Expr*> firstWays(const std::vector<Axis>& axes) const {
    for (const Axis& axis : axes) {
      std::vector<const Expr*> ways = waysBack(axis, axes);
      if (!ways.empty()) {
        return ways;
      }
    }
    return {};
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
    std::unordered_map<const IterDomain*, kir::Scalar> indices;
    bool own = true;
    for (const Val* out : expr->outputs()) {
      const auto* id = out->as<IterDomain>();
      const size_t i = indexOf(axes, id);
      indices[id] = axes[i].index;
      own = own && axes[i].own;
      for (const LoopClass* loop : axes[i].loops) {
        if (std::find(loops.begin(), loops.end(), loop) == loops.end()) {
          loops.push_back(loop);
        }
      }
      axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(i));
    }
    if (symbols_ != nullptr) {
      followTransform(
          expr, *symbols_, [&](const IterDomain* id) { return indices[id]; },
          [&](const IterDomain* id, kir::Scalar index) { indices[id] = index; });
    }
    for (const Val* in : expr->inputs()) {
      const auto* id = in->as<IterDomain>();
      axes.insert(own ? endOfOwn(axes) : axes.cend(), Axis{id, loops, indices[id], own});
    }
  }

  const IdGraph& exact_;
  Symbols* symbols_;
  const std::set<int> wanted_;
};

/// Whether `axis`, which a loop runs over, is an axis of `tv` itself.
bool isOwn(const IterDomain* axis, const LoopClass* loop, const TensorView* tv,
           const IdGraph& exact) {
  return std::any_of(loop->members.begin(), loop->members.end(), [&](const auto& member) {
    const auto& [other, position] = member;
    return other == tv && exact.mapped(axis, tv->getLoopDomain()[static_cast<size_t>(position)]);
  });
}

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
  for (LoopCover::Axis& axis : axes) {
    axis.own = isOwn(axis.id, axis.loops[0], tv, exact);
  }
  std::stable_partition(axes.begin(), axes.end(),
                        [](const LoopCover::Axis& axis) { return axis.own; });
  const Undo undo(exact, symbols, wanted);
  LoopCover cover;
  if (!undo.run(axes)) {
    cover.missing = undo.firstMissing(axes, tv->getLogicalDomain());
    return cover;
  }
  std::set<int> taken;  // of two of a class the first, the tensor's own
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
  return std::all_of(loops.begin(), loops.end(),
                     [&](const LoopClass* loop) { return isOwn(loop->promoted, loop, tv, exact); });
}

}  // namespace nvfuser
