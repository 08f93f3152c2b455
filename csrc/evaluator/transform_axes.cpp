// The splits, merges and resizes between two domains of a tensor, carried out on its elements. Most
// are another view of them; a merge of axes that do not lie one behind the other copies, and so
// does what makes room.

#include <functional>
#include <unordered_set>

#include <evaluator/operations.h>

namespace nvfuser::reference {

namespace {

/// `fill` around `array`: out[i] = in[i − left]. Negative widths cut.
Array padAxes(const Array& array, const std::vector<int64_t>& left,
              const std::vector<int64_t>& right, const PolymorphicValue& fill) {
  std::vector<int64_t> sizes = array.sizes;
  Array inner = array;  // what remains of the input
  std::vector<int64_t> begin(array.rank());
  for (size_t axis = 0; axis < array.rank(); ++axis) {
    sizes[axis] += left[axis] + right[axis];
    if (sizes[axis] < 0) {
      userError("pad: axis ", axis, " of extent ", array.sizes[axis], " cannot be cut by ",
                -left[axis], " and ", -right[axis]);
    }
    const int64_t first = std::max<int64_t>(0, -left[axis]);
    const int64_t last = std::min(array.sizes[axis], array.sizes[axis] + right[axis]);
    inner.offset += first * array.strides[axis];
    inner.sizes[axis] = std::max<int64_t>(0, last - first);
    begin[axis] = first + left[axis];
  }
  if (sizes == inner.sizes) {
    return inner;
  }
  Array out = materialized(splat(fill, array.dtype, sizes));
  if (inner.numel() == 0) {
    return out;
  }
  Array window = out;
  window.sizes = inner.sizes;
  for (size_t axis = 0; axis < array.rank(); ++axis) {
    window.offset += begin[axis] * out.strides[axis];
  }
  copyInto(window, inner);
  return out;
}

/// The array with its axes in the order `order`.
Array permuted(const Array& array, const std::vector<size_t>& order) {
  Array view = array;
  for (size_t axis = 0; axis < order.size(); ++axis) {
    view.sizes[axis] = array.sizes[order[axis]];
    view.strides[axis] = array.strides[order[axis]];
  }
  return view;
}

/// An array whose axes have names.
class NamedAxes {
 public:
  NamedAxes(Array array, std::vector<IterDomain*> ids, const PolymorphicValue& fill,
            Context& context)
      : array_(std::move(array)), ids_(std::move(ids)), fill_(fill), context_(context) {}

  void apply(const Expr* transform) {
    if (transform->isA<Split>()) {
      split(transform->as<Split>());
    } else if (transform->isA<Merge>()) {
      merge(transform->as<Merge>());
    } else if (transform->isA<Resize>()) {
      resize(transform->as<Resize>());
    } else {
      throwInternal(text("a logical domain is made by ", exprKindName(transform->kind())),
                    std::source_location::current());
    }
  }

  Array inOrder(const std::vector<IterDomain*>& ids) const {
    check(ids.size() == ids_.size(), "a logical domain lacks axes of its root domain");
    std::vector<size_t> order;
    for (const IterDomain* id : ids) {
      order.push_back(find(id));
    }
    return permuted(array_, order);
  }

 private:
  size_t find(const IterDomain* id) const {
    auto at = std::find(ids_.begin(), ids_.end(), id);
    check(at != ids_.end(), "a transform reads an axis that is not there");
    return static_cast<size_t>(at - ids_.begin());
  }

  void padAxis(size_t axis, int64_t left, int64_t right) {
    std::vector<int64_t> before(array_.rank(), 0);
    std::vector<int64_t> after(array_.rank(), 0);
    before[axis] = left;
    after[axis] = right;
    array_ = padAxes(array_, before, after, fill_);
  }

  void split(const Split* op) {
    const size_t axis = find(op->in());
    const int64_t factor = context_.evaluator.evaluateInt(op->factor(), "the factor of a split");
    if (factor <= 0) {
      userError("split: factor must be positive, got ", factor, " for axis ", *op->in());
    }
    const int64_t size = array_.sizes[axis];
    const int64_t other = (size + factor - 1) / factor;
    if (other * factor != size) {
      padAxis(axis, 0, other * factor - size);
    }
    const int64_t inner = op->innerSplit() ? factor : other;
    const auto at = static_cast<std::ptrdiff_t>(axis);
    array_.sizes[axis] = op->innerSplit() ? other : factor;
    array_.sizes.insert(array_.sizes.begin() + at + 1, inner);
    array_.strides.insert(array_.strides.begin() + at + 1, array_.strides[axis]);
    array_.strides[axis] *= inner;
    ids_[axis] = op->outer();
    ids_.insert(ids_.begin() + at + 1, op->inner());
  }

  void merge(const Merge* op) {
    // The inner axis moves to stand behind the outer one.
    const size_t inner = find(op->inner());
    const size_t outer = find(op->outer());
    std::vector<size_t> order;
    std::vector<IterDomain*> ids;
    for (size_t axis = 0; axis < ids_.size(); ++axis) {
      if (axis == inner) {
        continue;
      }
      order.push_back(axis);
      ids.push_back(ids_[axis]);
      if (axis == outer) {
        order.push_back(inner);
        ids.push_back(ids_[inner]);
      }
    }
    array_ = permuted(array_, order);
    ids_ = std::move(ids);
    const size_t axis = find(op->outer());
    const bool gap = array_.sizes[axis] != 1 && array_.sizes[axis + 1] != 1 &&
                     array_.strides[axis] != array_.strides[axis + 1] * array_.sizes[axis + 1];
    if (gap) {
      array_ = materialized(array_);
    }
    const auto at = static_cast<std::ptrdiff_t>(axis);
    if (array_.sizes[axis + 1] != 1) {
      array_.strides[axis] = array_.strides[axis + 1];
    }
    array_.sizes[axis] *= array_.sizes[axis + 1];
    array_.sizes.erase(array_.sizes.begin() + at + 1);
    array_.strides.erase(array_.strides.begin() + at + 1);
    ids_[axis] = op->out();
    ids_.erase(ids_.begin() + at + 1);
  }

  void resize(const Resize* op) {
    const size_t axis = find(op->in());
    const int64_t left = context_.evaluator.evaluateInt(op->leftExpand(), "the width of a resize");
    const int64_t right =
        context_.evaluator.evaluateInt(op->rightExpand(), "the width of a resize");
    ids_[axis] = op->out();
    if (op->step() == 1) {
      padAxis(axis, left, right);
      return;
    }
    const int64_t size = (array_.sizes[axis] + left + right) / op->step();
    const int64_t last_read = -left + (size - 1) * op->step();
    const int64_t first = std::min(-left, last_read);
    const int64_t last = std::max(-left, last_read);
    padAxis(axis, -first, size == 0 ? first - array_.sizes[axis] : last + 1 - array_.sizes[axis]);
    array_.offset += (-left - first) * array_.strides[axis];
    array_.sizes[axis] = size;
    array_.strides[axis] *= op->step();
  }

  Array array_;
  std::vector<IterDomain*> ids_;
  PolymorphicValue fill_;
  Context& context_;
};

/// The transforms that lead from `from` to `to`, producers first.
std::vector<const Expr*> transformsBetween(const std::vector<IterDomain*>& from,
                                           const std::vector<IterDomain*>& to) {
  std::unordered_set<const Val*> made(from.begin(), from.end());
  std::vector<const Expr*> sorted;
  const std::function<void(const IterDomain*)> visit = [&](const IterDomain* id) {
    if (made.count(id) != 0) {
      return;
    }
    const Expr* def = id->definition();
    check(def != nullptr, "an axis of a logical domain does not come from the root domain");
    for (const Val* input : def->inputs()) {
      visit(input->as<IterDomain>());
    }
    for (const Val* output : def->outputs()) {
      made.insert(output);
    }
    sorted.push_back(def);
  };
  for (const IterDomain* id : to) {
    visit(id);
  }
  return sorted;
}

}  // namespace

Array transformAxes(const Array& array, const std::vector<IterDomain*>& from,
                    const std::vector<IterDomain*>& to, const PolymorphicValue& fill,
                    Context& context) {
  check(array.rank() == from.size(), "an array has another rank than its axes");
  NamedAxes named(array, from, fill, context);
  for (const Expr* transform : transformsBetween(from, to)) {
    named.apply(transform);
  }
  return named.inOrder(to);
}

}  // namespace nvfuser::reference
