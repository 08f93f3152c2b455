#include <ops/reshape_plan.h>

#include <algorithm>
#include <limits>

#include <ops/axes.h>

namespace nvfuser::ops {

namespace {

[[noreturn]] void countsDiffer(const std::vector<Val*>& from, const std::vector<Val*>& to) {
  auto show = [](Val* size) { return size ? size->toInlineString() : std::string("-1"); };
  userError("reshape: Total element counts across view operation must match: [",
            join(from, ", ", show), "] cannot become [", join(to, ", ", show), "]");
}

/// a·b, or the greatest integer if that is more.
int64_t saturatingProduct(int64_t a, int64_t b) {
  return a > std::numeric_limits<int64_t>::max() / b ? std::numeric_limits<int64_t>::max() : a * b;
}

/// Product of the constants of a range; whether it has nothing else is stored in `all_constant`.
int64_t constantProduct(const std::vector<Val*>& sizes, size_t begin, size_t end,
                        bool& all_constant) {
  int64_t product = 1;
  all_constant = true;
  for (size_t i = begin; i < end; ++i) {
    if (auto size = constantOf(sizes[i])) {
      product = saturatingProduct(product, *size);
    } else {
      all_constant = false;
    }
  }
  return product;
}

void checkCounts(const std::vector<Val*>& from, const std::vector<Val*>& to,
                 const AxisGroup& group) {
  bool from_constant = false;
  bool to_constant = false;
  const int64_t old_count = constantProduct(from, group.old_begin, group.old_end, from_constant);
  const int64_t new_count = constantProduct(to, group.new_begin, group.new_end, to_constant);
  const bool differ = (from_constant && to_constant && old_count != new_count) ||
                      (from_constant && !to_constant && old_count % new_count != 0) ||
                      (!from_constant && to_constant && new_count % old_count != 0);
  if (differ) {
    countsDiffer(from, to);
  }
}

bool sameSize(const Val* a, const Val* b) { return a != nullptr && b != nullptr && a->sameAs(b); }

/// Length of the shortest runs of constants at the ends of both lists with equal products; {0, 0}
/// without any. `from` and `to` are read through `at(list, k)`: the k-th size from the end that is
/// matched.
template <typename At>
std::pair<size_t, size_t> constantRun(const std::vector<Val*>& from, size_t from_left,
                                      const std::vector<Val*>& to, size_t to_left, At at) {
  size_t a = 0;
  size_t b = 0;
  int64_t from_product = 1;
  int64_t to_product = 1;
  do {
    const bool take_old = from_product <= to_product;
    if (take_old ? a == from_left : b == to_left) {
      return {0, 0};
    }
    const auto size = constantOf(take_old ? at(from, a++) : at(to, b++));
    if (!size) {
      return {0, 0};
    }
    int64_t& product = take_old ? from_product : to_product;
    product = saturatingProduct(product, *size);
  } while (from_product != to_product);
  return {a, b};
}

}  // namespace

std::vector<AxisGroup> groupAxes(const std::vector<Val*>& from, const std::vector<Val*>& to) {
  // What is not yet in a group: [i, m) of `from`, [j, n) of `to`.
  size_t i = 0;
  size_t j = 0;
  size_t m = from.size();
  size_t n = to.size();
  std::vector<AxisGroup> left;
  std::vector<AxisGroup> right;

  while (i < m && j < n) {
    auto [a, b] = sameSize(from[m - 1], to[n - 1])
                      ? std::pair<size_t, size_t>(1, 1)
                      : constantRun(from, m - i, to, n - j, [&](const auto& list, size_t k) {
                          return list[(&list == &from ? m : n) - 1 - k];
                        });
    if (a == 0) {
      break;
    }
    right.push_back({m - a, m, n - b, n});
    m -= a;
    n -= b;
  }
  while (i < m && j < n) {
    auto [a, b] = sameSize(from[i], to[j])
                      ? std::pair<size_t, size_t>(1, 1)
                      : constantRun(from, m - i, to, n - j, [&](const auto& list, size_t k) {
                          return list[(&list == &from ? i : j) + k];
                        });
    if (a == 0) {
      break;
    }
    left.push_back({i, i + a, j, j + b});
    i += a;
    j += b;
  }

  if (i < m || j < n) {
    AxisGroup rest{i, m, j, n};
    checkCounts(from, to, rest);
    if ((i == m) != (j == n)) {
      // What is left on one side alone has one element when it runs; a neighbour takes it in.
      if (!left.empty()) {
        rest.old_begin = left.back().old_begin;
        rest.new_begin = left.back().new_begin;
        left.pop_back();
      } else if (!right.empty()) {
        rest.old_end = right.back().old_end;
        rest.new_end = right.back().new_end;
        right.pop_back();
      }
    }
    left.push_back(rest);
  }
  left.insert(left.end(), right.rbegin(), right.rend());
  return left;
}

std::vector<ReshapeStep> constantSteps(std::vector<int64_t> from, const std::vector<int64_t>& to) {
  using enum ReshapeStep::Kind;
  std::vector<ReshapeStep> steps;
  auto merge = [&](size_t position) {
    steps.push_back({Merge, position, 0});
    from[position] *= from[position + 1];
    from.erase(from.begin() + static_cast<std::ptrdiff_t>(position) + 1);
  };
  auto split = [&](size_t position, int64_t factor) {
    steps.push_back({Split, position, factor});
    from[position] /= factor;
    from.insert(from.begin() + static_cast<std::ptrdiff_t>(position) + 1, factor);
  };

  size_t pending = from.size();  // axes [0, pending) are still to be placed
  for (size_t k = to.size(); k-- > 0;) {
    const int64_t target = to[k];
    while (true) {
      check(pending > 0, "constant sizes of a reshape have the same product");
      const size_t last = pending - 1;
      const int64_t size = from[last];
      if (size == target) {
        pending = last;
        break;
      }
      if (size % target == 0) {
        split(last, target);
        break;  // the outer part stays pending at `last`
      }
      check(last > 0, "constant sizes of a reshape have the same product");
      const int64_t missing = target % size == 0 ? target / size : 0;
      if (missing > 1 && from[last - 1] != missing && from[last - 1] % missing == 0) {
        split(last - 1, missing);
        merge(last);
        pending = last;
        break;
      }
      merge(last - 1);
      --pending;
    }
  }
  check(pending == 0, "constant sizes of a reshape have the same product");
  return steps;
}

}  // namespace nvfuser::ops
