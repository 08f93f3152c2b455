#include <preseg_passes/read_uncut.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include <ir/builder.h>
#include <ops/alias.h>
#include <ops/arith.h>
#include <ops/axes.h>
#include <ops/define_again.h>
#include <ops/indexing.h>
#include <preseg_passes/rewrite.h>

namespace nvfuser::preseg_passes {

namespace {

constexpr int kMostCuts = 4;  ///< slices of slices

/// An axis that the index counts, and what is cut of it: element c is start + step · c.
struct Cut {
  int64_t size;
  int64_t whole;  ///< the size in front of the cut
  int64_t start = 0;
  int64_t step = 1;

  bool isWhole() const { return size == whole && start == 0 && step == 1; }
};

std::optional<std::vector<int64_t>> constantSizes(const TensorView* tv) {
  std::vector<int64_t> sizes;
  for (const Val* size : ops::sizesOf(tv)) {
    if (!size->isConstInt()) {
      return std::nullopt;
    }
    sizes.push_back(size->evaluate().as<int64_t>());
  }
  return sizes;
}

/// Follows the axes that a slice cuts through the shapes behind it, and makes these shapes of what
/// is cut.
class Uncut {
 public:
  /// Whether the slice cuts an input, or a slice of one, by constants.
  bool begin(const SliceOp* slice) {
    tv_ = slice->input(0)->as<TensorView>();
    const auto whole = constantSizes(tv_);
    const std::vector<ops::Range> ranges = ops::rangesOf(slice);
    const bool is_given =
        tv_->isFusionInput() || (tv_->definition() != nullptr && tv_->definition()->isA<SliceOp>());
    if (!is_given || !whole) {
      return false;
    }
    for (size_t i = 0; i < ranges.size(); ++i) {
      const ops::Range& range = ranges[i];
      if (!range.whole && !(range.start->isConstInt() && range.length->isConstInt())) {
        return false;
      }
      axes_.push_back({range.whole ? Cut{(*whole)[i], (*whole)[i]}
                                   : Cut{range.length->evaluate().as<int64_t>(), (*whole)[i],
                                         range.start->evaluate().as<int64_t>(), range.step}});
    }
    return true;
  }

  bool follow(const Expr* shape) {
    if (isPlainCopy(shape)) {
      return true;
    }
    if (const auto* spread = dynamic_cast<const BroadcastOp*>(shape)) {
      for (size_t i = 0; i < spread->flags().size(); ++i) {
        if (spread->flags()[i]) {
          axes_.insert(axes_.begin() + static_cast<std::ptrdiff_t>(i), {Cut{1, 1}});
        }
      }
      tv_ = broadcast(tv_, spread->flags());
      return true;
    }
    if (const auto* squeezed = dynamic_cast<const SqueezeOp*>(shape)) {
      for (size_t i = squeezed->flags().size(); i-- > 0;) {
        if (squeezed->flags()[i]) {
          if (!axes_[i].front().isWhole()) {
            return false;
          }
          axes_.erase(axes_.begin() + static_cast<std::ptrdiff_t>(i));
        }
      }
      tv_ = squeeze(tv_, squeezed->flags());
      return true;
    }
    return shape->isA<ReshapeOp>() && merge(shape->output(0)->as<TensorView>());
  }

  TensorView* tensor() const { return tv_; }

  /// The index of the same element of `tensor()` along `dim`; null: something else is cut.
  TensorView* translate(TensorView* index, int64_t dim) const {
    for (size_t i = 0; i < axes_.size(); ++i) {
      const bool is_whole = std::all_of(axes_[i].begin(), axes_[i].end(),
                                        [](const Cut& cut) { return cut.isWhole(); });
      if (is_whole == (static_cast<int64_t>(i) == dim)) {
        return nullptr;
      }
    }
    // From the last axis on; whole ones that follow each other are one.
    const std::vector<Cut> cuts = joined(axes_[static_cast<size_t>(dim)]);
    const bool is_short =
        std::accumulate(cuts.begin(), cuts.end(), 1.0, [](double n, const Cut& cut) {
          return n * static_cast<double>(std::max(cut.whole, cut.size));
        }) < std::numeric_limits<int32_t>::max();
    TensorView* result = nullptr;
    TensorView* rest = is_short ? castOp(DataType::Int32, index) : index;  // quickly divided
    int64_t stride = 1;
    for (size_t i = cuts.size(); i-- > 0;) {
      const Cut& cut = cuts[i];
      TensorView* place = i > 0 ? mod(rest, constant(cut.size)) : rest;
      rest = i > 0 ? div(rest, constant(cut.size)) : rest;
      place = cut.step * stride == 1 ? place : mul(place, constant(cut.step * stride));
      place = cut.start == 0 ? place : add(place, constant(cut.start * stride));
      result = result == nullptr ? place : add(result, place);
      stride *= cut.whole;
    }
    return result;
  }

 private:
  static Val* constant(int64_t value) { return IrBuilder::create<Val>(value); }

  static std::vector<Cut> joined(const std::vector<Cut>& cuts) {
    std::vector<Cut> result;
    for (const Cut& cut : cuts) {
      if (!result.empty() && result.back().isWhole() && cut.isWhole()) {
        result.back() = {result.back().size * cut.size, result.back().whole * cut.whole};
      } else {
        result.push_back(cut);
      }
    }
    return result;
  }

  /// A reshape each of whose axes is made of whole axes.
  bool merge(const TensorView* reshaped) {
    const auto sizes = constantSizes(reshaped);
    if (!sizes) {
      return false;
    }
    std::vector<std::vector<Cut>> merged;
    std::vector<Val*> whole;
    size_t next = 0;
    for (int64_t size : *sizes) {
      std::vector<Cut> of_axis;
      int64_t found = 1;
      int64_t elements = 1;
      while (next < axes_.size() && (found < size || (found == size && isOne(axes_[next])))) {
        for (const Cut& cut : axes_[next++]) {
          of_axis.push_back(cut);
          found *= cut.size;
          elements *= cut.whole;
        }
      }
      if (found != size) {
        return false;
      }
      merged.push_back(of_axis.empty() ? std::vector{Cut{1, 1}} : of_axis);
      whole.push_back(IrBuilder::create<Val>(elements, DataType::Index));
    }
    if (next != axes_.size()) {
      return false;
    }
    axes_ = std::move(merged);
    tv_ = ops::reshapeTo(tv_, whole);
    return true;
  }

  static bool isOne(const std::vector<Cut>& cuts) {
    return std::all_of(cuts.begin(), cuts.end(),
                       [](const Cut& cut) { return cut.size == 1 && cut.whole == 1; });
  }

  TensorView* tv_ = nullptr;
  std::vector<std::vector<Cut>> axes_;  ///< for each axis, those that it was merged of
};

bool isShape(const Expr* expr) {
  return expr->isOneOf<BroadcastOp, SqueezeOp, ReshapeOp>() || isPlainCopy(expr);
}

/// Whether the read was replaced.
bool readUncut(const GatherOp* read) {
  std::vector<const Expr*> shapes;
  const Expr* def = read->input(0)->definition();
  while (def != nullptr && isShape(def)) {
    shapes.push_back(def);
    def = def->input(0)->definition();
  }
  Uncut uncut;
  if (def == nullptr || !def->isA<SliceOp>() || !uncut.begin(def->as<SliceOp>())) {
    return false;
  }
  for (auto shape = shapes.rbegin(); shape != shapes.rend(); ++shape) {
    if (!uncut.follow(*shape)) {
      return false;
    }
  }
  auto* index = read->input(1)->as<TensorView>();
  if (!isIntegralType(index->dtype())) {
    return false;
  }
  TensorView* there = uncut.translate(index, read->dim());
  if (there == nullptr) {
    return false;
  }
  TensorView* result = read->exactSizes() ? takeAlongAxis(uncut.tensor(), there, read->dim())
                                          : gather(uncut.tensor(), read->dim(), there);
  auto* old = read->output(0)->as<TensorView>();
  if (!sameForm(old, result)) {
    return false;
  }
  replaceTensor(old, result);
  return true;
}

}  // namespace

void readUncut(Fusion& fusion) {
  FusionGuard guard(&fusion);
  bool any = true;
  for (int cuts = 0; cuts < kMostCuts && any; ++cuts) {
    any = false;
    for (const Expr* expr : fusion.exprs()) {
      any |= expr->isA<GatherOp>() && readUncut(expr->as<GatherOp>());
    }
  }
}

}  // namespace nvfuser::preseg_passes
