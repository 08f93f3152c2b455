/// Random transforms of loop domains, and what they mean by definition: the oracle of the tests of
/// axes and indices.
#pragma once

#include <map>
#include <random>
#include <vector>

#include <ir/builder.h>
#include <ir/fusion.h>
#include <ir/internal_nodes.h>

namespace nvfuser {

class RandomSchedule {
 public:
  explicit RandomSchedule(uint64_t seed) : random_(seed) {}

  int64_t number(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }

  /// Splits, merges, reorders and shifts the loop domain of `tv`.
  void transform(TensorView* tv, int64_t steps) {
    for (int64_t step = 0; step < steps; ++step) {
      const int64_t n = tv->nDims();
      const int64_t a = number(0, n - 1);
      switch (number(0, 3)) {
        case 0:
          if (n < 6) {
            tv->split(a, number(1, 5), number(0, 1) == 0);
          }
          break;
        case 1:
          if (n > 1) {
            tv->merge(a, (a + number(1, n - 1)) % n);
          }
          break;
        case 2:
          tv->reorder({{a, number(0, n - 1)}});
          break;
        default:
          if (n > 1 && shifts_) {
            tv->swizzle(SwizzleType::CyclicShift, a, (a + number(1, n - 1)) % n);
          }
          break;
      }
    }
  }
  void withoutShifts() { shifts_ = false; }

 private:
  std::mt19937_64 random_;
  bool shifts_ = true;
};

/// Values of all axes made from the logical ones, for one element. Extents are constants.
inline std::map<const IterDomain*, int64_t> axisValues(const TensorView* tv,
                                                       const std::vector<int64_t>& element) {
  std::map<const IterDomain*, int64_t> values;
  for (size_t i = 0; i < element.size(); ++i) {
    values[tv->getLogicalDomain()[i]] = element[i];
  }
  auto extent = [](const IterDomain* id) { return id->extent()->evaluate().as<int64_t>(); };
  for (const Expr* expr : tv->domain()->allExprs()) {
    if (const auto* split = expr->isA<Split>() ? expr->as<Split>() : nullptr) {
      const int64_t in = values.at(split->in());
      const int64_t inner = extent(split->inner());
      values[split->outer()] = in / inner;
      values[split->inner()] = in % inner;
    } else if (const auto* merge = expr->isA<Merge>() ? expr->as<Merge>() : nullptr) {
      values[merge->out()] =
          values.at(merge->outer()) * extent(merge->inner()) + values.at(merge->inner());
    } else if (const auto* shift = expr->isA<Swizzle>() ? expr->as<Swizzle>() : nullptr) {
      const int64_t x = values.at(shift->inX());
      values[shift->outX()] = x;
      values[shift->outY()] = (values.at(shift->inY()) + x) % extent(shift->inY());
    }
  }
  return values;
}

/// Calls `visit` with each element of a shape, row-major.
template <typename Visit>
void forEachElement(const std::vector<int64_t>& sizes, Visit visit) {
  std::vector<int64_t> element(sizes.size(), 0);
  int64_t count = 1;
  for (int64_t size : sizes) {
    count *= size;
  }
  for (int64_t i = 0; i < count; ++i) {
    visit(element);
    for (size_t axis = sizes.size(); axis-- > 0;) {
      if (++element[axis] < sizes[axis]) {
        break;
      }
      element[axis] = 0;
    }
  }
}

}  // namespace nvfuser
