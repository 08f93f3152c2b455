#include <iteration_space/loop_axes.h>

#include <algorithm>

#include <iteration_space/follow_transform.h>

namespace nvfuser {

namespace {

/// Bounds of the operands of a transform, given those of its results, of which `outer` is the
/// first. `index`, `loops`: of the first operand.
///
/// - Split: what is beyond a part is beyond the whole, or comes to one of its indices once more.
/// - Merge: the inner operand's index is a remainder; what is beyond is beyond the outer one (of
///   one element: beyond the inner one).
/// - Swizzle: beyond a result may be beyond either operand.
std::vector<std::vector<AxisBound>> boundsOfInputs(const Expr* expr,
                                                   std::vector<std::vector<AxisBound>> of_outputs,
                                                   const IterDomain* outer, kir::Scalar index,
                                                   const std::vector<const LoopClass*>& loops,
                                                   Symbols& symbols) {
  if (expr->isA<Split>()) {
    for (AxisBound& bound : of_outputs[0]) {
      const bool is_of_part = bound.split != nullptr && bound.id == outer;
      bound.implied_by = is_of_part ? expr->as<Split>() : bound.implied_by;
    }
  }
  std::vector<AxisBound> all;
  for (std::vector<AxisBound>& bounds : of_outputs) {
    all.insert(all.end(), bounds.begin(), bounds.end());
  }
  if (expr->isA<Split>()) {
    const auto* split = expr->as<Split>();
    all.push_back(
        {split->in(), index, symbols.extent(split->in()), split, nullptr, nullptr, loops});
    return {std::move(all)};
  }
  if (expr->isA<Merge>()) {
    const kir::Scalar one = symbols.pool().one();
    const bool is_inner = symbols.extent(expr->as<Merge>()->outer()) == one;
    const bool is_both = is_inner && symbols.extent(expr->as<Merge>()->inner()) == one;
    return {!is_inner || is_both ? all : std::vector<AxisBound>(),
            is_inner ? all : std::vector<AxisBound>()};
  }
  return std::vector<std::vector<AxisBound>>(expr->inputs().size(), all);
}

}  // namespace

void undoTransform(const Expr* expr, const std::vector<size_t>& made, const Expr* own,
                   Symbols& symbols, std::vector<LoopAxis>& axes) {
  std::vector<const LoopClass*> loops;
  std::unordered_map<const Val*, kir::Scalar> indices;
  std::vector<std::vector<AxisBound>> bounds;
  const IterDomain* outer = axes[made[0]].id;
  for (size_t k = 0; k < made.size(); ++k) {
    LoopAxis& axis = axes[made[k]];
    indices[expr->output(k)] = axis.index;
    for (const LoopClass* loop : axis.loops) {
      if (std::find(loops.begin(), loops.end(), loop) == loops.end()) {
        loops.push_back(loop);
      }
    }
    bounds.push_back(std::move(axis.bounds));
    axis.id = nullptr;
  }
  std::erase_if(axes, [](const LoopAxis& axis) { return axis.id == nullptr; });
  followTransform(
      expr, symbols, [&](const IterDomain* id) { return indices[id]; },
      [&](const IterDomain* id, kir::Scalar index) { indices[id] = index; });
  bounds = boundsOfInputs(expr, std::move(bounds), outer, indices[expr->input(0)], loops, symbols);
  for (size_t i = 0; i < expr->inputs().size(); ++i) {
    const Val* in = expr->input(i);
    axes.push_back({in->as<IterDomain>(),
                    own != nullptr ? own->input(i)->as<IterDomain>() : nullptr, loops, indices[in],
                    std::move(bounds[i])});
  }
}

namespace {

class Search {
 public:
  Search(const std::set<int>& wanted, const IdGraph& exact, Symbols& symbols)
      : wanted_(wanted), exact_(exact), symbols_(symbols) {}

  bool run(std::vector<LoopAxis>& axes) {
    seen_.insert(classesOf(axes));
    while (!isCovered(axes)) {
      std::vector<std::vector<LoopAxis>> choices = nextOf(axes);
      if (choices.empty()) {
        return false;
      }
      if (choices.size() == 1) {
        axes = std::move(choices[0]);
        continue;
      }
      for (std::vector<LoopAxis>& choice : choices) {
        if (run(choice)) {
          axes = std::move(choice);
          return true;
        }
      }
      return false;
    }
    return true;
  }

 private:
  /// The axes with one transform undone, in each way that leads to axes that were not there yet: an
  /// axis may be a part of another one, which is made of the part again (restoredAxes).
  std::vector<std::vector<LoopAxis>> nextOf(const std::vector<LoopAxis>& axes) {
    std::vector<std::vector<LoopAxis>> next;
    for (const LoopAxis& axis : axes) {
      for (const Expr* way : waysBack(axis, axes)) {
        std::vector<LoopAxis> tried = axes;
        apply(way, tried);
        if (seen_.insert(classesOf(tried)).second) {
          next.push_back(std::move(tried));
        }
      }
      if (!next.empty()) {
        break;
      }
    }
    return next;
  }

  std::vector<int> classesOf(const std::vector<LoopAxis>& axes) const {
    std::vector<int> classes;
    for (const LoopAxis& axis : axes) {
      classes.push_back(exact_.classOf(axis.id));
    }
    std::sort(classes.begin(), classes.end());
    return classes;
  }

  bool isWanted(const IterDomain* id) const { return wanted_.count(exact_.classOf(id)) != 0; }

  size_t find(const std::vector<LoopAxis>& axes, const Val* id) const {
    const auto found = std::find_if(axes.begin(), axes.end(), [&](const LoopAxis& axis) {
      return exact_.mapped(axis.id, id->as<IterDomain>());
    });
    return static_cast<size_t>(found - axes.begin());
  }

  bool isCovered(const std::vector<LoopAxis>& axes) const {
    std::set<int> seen;
    for (const LoopAxis& axis : axes) {
      if (isWanted(axis.id)) {
        seen.insert(exact_.classOf(axis.id));
      }
    }
    return seen.size() == wanted_.size();
  }

  /// By the first axis of each result's class.
  void apply(const Expr* expr, std::vector<LoopAxis>& axes) const {
    std::vector<size_t> made;
    for (const Val* out : expr->outputs()) {
      made.push_back(find(axes, out));
    }
    undoTransform(expr, made, nullptr, symbols_, axes);
  }

  /// Transforms that made the axis and can be undone now, one for each set of inputs.
  std::vector<const Expr*> waysBack(const LoopAxis& axis, const std::vector<LoopAxis>& axes) const {
    std::vector<const Expr*> ways;
    if (isWanted(axis.id)) {
      return ways;
    }
    std::set<std::vector<int>> seen;
    for (const Expr* expr : exact_.definitions(exact_.classOf(axis.id))) {
      const bool can_be_undone =
          !expr->isA<Resize>() &&
          std::all_of(expr->outputs().begin(), expr->outputs().end(), [&](const Val* out) {
            return !isWanted(out->as<IterDomain>()) && find(axes, out) < axes.size();
          });
      if (!can_be_undone) {
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

  const std::set<int>& wanted_;
  const IdGraph& exact_;
  Symbols& symbols_;
  std::set<std::vector<int>> seen_;  ///< the classes of all axes that were tried
};

}  // namespace

bool undoUntil(const std::set<int>& classes, const IdGraph& exact, Symbols& symbols,
               std::vector<LoopAxis>& axes) {
  std::vector<LoopAxis> tried = axes;
  if (!Search(classes, exact, symbols).run(tried)) {
    return false;
  }
  axes = std::move(tried);
  return true;
}

}  // namespace nvfuser
