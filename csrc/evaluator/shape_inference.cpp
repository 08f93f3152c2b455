// How a Fusion is read: its operations as steps of shape inference.
#include <evaluator/shape_inference.h>

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include <ir/axis_map.h>
#include <ir/composite_nodes.h>

namespace nvfuser {

namespace {

std::vector<IterDomain*> axesOf(const TensorView* tv) {
  return TensorDomain::noReductions(tv->getLogicalDomain());
}

/// It goes with an axis of any length, whatever the call.
bool isUnit(const IterDomain* id) { return id->isBroadcast() && !id->hasExpandedExtent(); }

/// Operations that define tensors, producers first.
std::vector<const Expr*> operationsOf(const Fusion& fusion, ShapeInference::Scope scope) {
  std::vector<const Expr*> sorted;
  if (scope == ShapeInference::Scope::Used) {
    for (const Expr* expr : fusion.exprs()) {
      sorted.push_back(expr);
    }
    return sorted;
  }
  std::unordered_set<const Expr*> done;
  std::vector<const Expr*> open;
  for (const auto& root : fusion.allExprs()) {
    open.push_back(root.get());
    while (!open.empty()) {
      const Expr* expr = open.back();
      bool is_ready = true;
      for (const Val* in : expr->inputs()) {
        const Expr* def = in->isA<TensorView>() ? in->definition() : nullptr;
        if (def != nullptr && done.count(def) == 0) {
          open.push_back(def);
          is_ready = false;
        }
      }
      if (!is_ready) {
        continue;
      }
      open.pop_back();
      const bool defines = !expr->outputs().empty() && expr->output(0)->isA<TensorView>();
      if (done.insert(expr).second && defines) {
        sorted.push_back(expr);
      }
    }
  }
  return sorted;
}

}  // namespace

/// Turns operations into steps.
class ShapeInference::Reader {
 public:
  explicit Reader(ShapeInference& result) : result_(result) {}

  void readInput(const TensorView* tv) {
    for (const IterDomain* id : axesOf(tv)) {
      sizes_[id] = evaluated(tv, id);
    }
    count(tv);
  }

  void read(const Expr* expr) {
    readNamed(expr);
    for (const TensorView* out : tensorOutputs(expr)) {
      readRoot(expr, out);
      readLogical(out);
      count(out);
    }
    if (expr->isA<SqueezeOp>()) {
      readSqueeze(expr->as<SqueezeOp>());
    } else if (expr->isA<SliceOp>()) {
      readSlice(expr->as<SliceOp>());
    } else if (expr->isA<GatherOp>() && !expr->as<GatherOp>()->exactSizes()) {
      readIndex(expr, expr->as<GatherOp>()->dim(), 0);
    } else if (expr->isA<ScatterOp>()) {
      readIndex(expr, expr->as<ScatterOp>()->dim(), 0);
      if (expr->input(2)->isA<TensorView>()) {
        readIndex(expr, std::nullopt, 2);
      }
    } else if (expr->isOneOf<MatmulOp, LinearOp>()) {
      readContraction(expr);
    } else if (expr->isA<ReshapeOp>()) {
      add(Regroup{expr, sizesOf(expr->input(0)->as<TensorView>()),
                  sizesOf(expr->output(0)->as<TensorView>())});
    }
  }

 private:
  template <typename S>
  void add(S step) {
    result_.steps_.emplace_back(std::move(step));
  }
  Size newSize() { return result_.num_sizes_++; }

  /// One size for axes of equal extents.
  Size evaluated(const TensorView* tv, const IterDomain* id) {
    const Val* extent = id->getMaybeExpandedExtent();
    const auto [place, is_new] = of_extent_.emplace(extent->fingerprint(), 0);
    if (is_new) {
      place->second = newSize();
      add(Evaluate{place->second, extent, tv, id});
    }
    return place->second;
  }

  std::vector<Size> sizesOf(const TensorView* tv) const {
    std::vector<Size> sizes;
    for (const IterDomain* id : axesOf(tv)) {
      sizes.push_back(sizes_.at(id));
    }
    return sizes;
  }

  Axis axisOf(const TensorView* tv, const IterDomain* id) const {
    const std::vector<IterDomain*> axes = axesOf(tv);
    const auto place = std::find(axes.begin(), axes.end(), id) - axes.begin();
    return {tv, static_cast<size_t>(place), sizes_.at(id)};
  }

  /// The sizes of what the operation makes before it changes them.
  void readRoot(const Expr* expr, const TensorView* out) {
    std::unordered_map<const IterDomain*, std::vector<Axis>> sources;
    for (const TensorView* in : tensorInputs(expr)) {
      for (auto [from, to] : mapAxes(expr, in, out)) {
        // The joined axis of a concatenation is as long as its padded parts, one of one element,
        // too.
        if (!isUnit(from) || expr->isA<CatOp>()) {
          sources[to].push_back(axisOf(in, from));
        }
      }
    }
    const std::vector<IterDomain*>& root = out->getMaybeRootDomain();
    for (size_t i = 0; i < root.size(); ++i) {
      const auto found = sources.find(root[i]);
      if (found == sources.end()) {
        sizes_[root[i]] = evaluated(out, root[i]);
      } else if (expr->isA<ExpandOp>()) {
        const Val* wanted = expr->input(i + 1);
        sizes_[root[i]] = newSize();
        add(Stretch{sizes_[root[i]], expr, found->second[0], wanted});
      } else {
        sizes_[root[i]] = met(expr, found->second);
      }
    }
  }

  /// Of axes that are equally long in every call nothing is left to be found.
  Size met(const Expr* expr, const std::vector<Axis>& axes) {
    std::vector<Axis> unlike;
    for (const Axis& axis : axes) {
      if (std::none_of(unlike.begin(), unlike.end(),
                       [&](const Axis& other) { return other.size == axis.size; })) {
        unlike.push_back(axis);
      }
    }
    if (unlike.size() == 1) {
      return unlike[0].size;
    }
    const Size found = newSize();
    add(Meet{found, expr, std::move(unlike), !expr->isA<CatOp>()});
    return found;
  }

  /// What merges and splits make of the root, and what windows leave of it.
  void readLogical(const TensorView* out) {
    for (const IterDomain* id : out->getLogicalDomain()) {
      derived(out, id);
    }
  }

  Size derived(const TensorView* out, const IterDomain* id) {
    if (const auto found = sizes_.find(id); found != sizes_.end()) {
      return found->second;
    }
    const Expr* def = id->definition();
    if (def != nullptr && def->isA<Merge>()) {
      const auto* merge = def->as<Merge>();
      const Size outer = derived(out, merge->outer());
      const Size inner = derived(out, merge->inner());
      sizes_[id] = newSize();
      add(Multiply{sizes_[id], outer, inner});
    } else if (def != nullptr && def->isA<Split>() &&
               id == (def->as<Split>()->innerSplit() ? def->as<Split>()->outer()
                                                     : def->as<Split>()->inner())) {
      const Size in = derived(out, def->as<Split>()->in());
      sizes_[id] = newSize();
      add(Divide{sizes_[id], in, def->as<Split>(), out, id});
    } else {
      sizes_[id] = evaluated(out, id);
    }
    return sizes_[id];
  }

  void readSqueeze(const SqueezeOp* op) {
    const auto* in = op->in()->as<TensorView>();
    const std::vector<IterDomain*> axes = axesOf(in);
    for (size_t i = 0; i < axes.size(); ++i) {
      if (op->isSqueezeDim(i) && !axes[i]->isBroadcast()) {
        add(Drop{op, axisOf(in, axes[i])});
      }
    }
  }

  void readSlice(const SliceOp* op) {
    const auto* in = op->in()->as<TensorView>();
    const std::vector<IterDomain*> axes = axesOf(in);
    const auto* out = op->out()->as<TensorView>();
    const std::vector<IterDomain*> root = TensorDomain::noReductions(out->getMaybeRootDomain());
    for (size_t i = 0; i < axes.size(); ++i) {
      if (root[i] != axesOf(out)[i]) {
        add(Cut{op, axisOf(in, axes[i]), op->start(i), op->stop(i),
                op->step(i)->value().as<int64_t>()});
      }
    }
  }

  /// The index, operand 1, names a place in each of its own lines of the operand, but for `dim`.
  void readIndex(const Expr* expr, std::optional<int64_t> dim, size_t operand) {
    const auto* index = expr->input(1)->as<TensorView>();
    const auto* other = expr->input(operand)->as<TensorView>();
    const std::vector<IterDomain*> of_index = axesOf(index);
    const std::vector<IterDomain*> of_other = axesOf(other);
    for (size_t i = 0; i < of_index.size(); ++i) {
      const Axis a = axisOf(index, of_index[i]);
      const Axis b = axisOf(other, of_other[i]);
      if (static_cast<int64_t>(i) != dim && a.size != b.size) {
        add(Fit{expr, a, b});
      }
    }
  }

  /// Rows of the first operand meet columns of the second.
  void readContraction(const Expr* expr) {
    const auto* a = expr->input(0)->as<TensorView>();
    const auto* b = expr->input(1)->as<TensorView>();
    const std::vector<IterDomain*> of_b = axesOf(b);
    const size_t last = of_b.size() - 1;
    const bool by_columns = expr->isA<LinearOp>() || of_b.size() == 1;
    const Axis row = axisOf(a, axesOf(a).back());
    const Axis column = axisOf(b, of_b[by_columns ? last : last - 1]);
    if (row.size != column.size) {
      add(Meet{newSize(), expr, {row, column}, false});
    }
  }

  /// Axes of one name are equally long, those that stretch may have one element.
  void readNamed(const Expr* expr) {
    std::unordered_map<std::string, Axis> known;
    for (size_t i = 0; i < expr->inputs().size(); ++i) {
      const std::optional<AxisNames> named = axisNames(expr, i);
      if (!named) {
        continue;
      }
      const auto* tv = expr->input(i)->as<TensorView>();
      const std::vector<IterDomain*> axes = axesOf(tv);
      for (size_t place = 0; place < axes.size(); ++place) {
        const bool is_scale = named->names[place] == "one";
        if (is_scale || (named->stretches && isUnit(axes[place]))) {
          continue;
        }
        const Axis axis = axisOf(tv, axes[place]);
        const auto [first, is_new] = known.emplace(named->names[place], axis);
        if (!is_new && first->second.size != axis.size) {
          add(Match{expr, first->second, axis, named->stretches});
        }
      }
    }
  }

  /// Tensors of the same sizes and of elements of one width are counted once.
  void count(const TensorView* tv) {
    std::vector<Size> sizes = sizesOf(tv);
    if (!sizes.empty() && counted_.emplace(sizes, dataTypeSizeByte(tv->dtype())).second) {
      add(Count{tv, std::move(sizes)});
    }
  }

  ShapeInference& result_;
  std::unordered_map<Fingerprint, Size, FingerprintHash> of_extent_;
  std::unordered_map<const IterDomain*, Size> sizes_;
  std::set<std::pair<std::vector<Size>, int64_t>> counted_;
};

ShapeInference::ShapeInference(const Fusion& fusion, Scope scope) : fusion_(&fusion) {
  Reader reader(*this);
  for (const Val* input : fusion.inputs()) {
    if (input->isA<TensorView>()) {
      reader.readInput(input->as<TensorView>());
    }
  }
  for (const Expr* expr : operationsOf(fusion, scope)) {
    reader.read(expr);
  }
}

}  // namespace nvfuser
