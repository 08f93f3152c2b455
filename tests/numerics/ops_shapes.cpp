/// Values of shape operations, computed by the reference interpreter, against formulas written out
/// here.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>

#include <numerics/ops_composed.h>
#include <ops/alias.h>
#include <ops/arith.h>
#include <ops/indexing.h>

namespace nvfuser {
namespace {

TEST_CASE("reshape keeps row-major order, however it is declared") {
  struct Case {
    Sizes declared, sizes, to;
  };
  const Case cases[] = {
      {{4, 6}, {4, 6}, {2, 12}},
      {{2, 3}, {2, 3}, {3, 2}},
      {{8, 3, 5}, {8, 3, 5}, {2, 4, 15}},
      {{1, 6, 1}, {1, 6, 1}, {3, 1, 2}},
      {{6, 10, 15}, {6, 10, 15}, {4, 9, 25}},
      {{-1, 6}, {4, 6}, {4, 2, 3}},
      {{-1, -1}, {4, 6}, {2, 12}},
  };
  for (const Case& c : cases) {
    Program p;
    HostTensor y = p.run(reshape(p.counting(c.declared, c.sizes), c.sizes, c.to));
    CHECK(y.sizes() == c.to);
    for (int64_t i = 0; i < y.numel(); ++i) {
      CHECK(y.getInt(i) == i);
    }
  }
}

TEST_CASE("reshape by scalars") {
  Program p;
  TensorView* x = p.counting({-1, -1, 6}, {4, 5, 6});
  Val* ten = p.scalar(10);
  const std::vector<std::pair<std::vector<Val*>, Sizes>> cases = {
      {{p.num(-1), p.num(6)}, {20, 6}},
      {{ten, p.num(-1)}, {10, 12}},
      {{p.num(-1), ten}, {12, 10}},
      {{p.num(2), p.num(-1), p.num(3)}, {2, 20, 3}},
      {{size(x, 0), p.num(-1)}, {4, 30}},
      {{size(x, 1), size(x, 0), p.num(2), p.num(3)}, {5, 4, 2, 3}},
      {{mul(size(x, 0), size(x, 1)), p.num(1), p.num(6)}, {20, 1, 6}},
  };
  for (const auto& [to, sizes] : cases) {
    HostTensor y = p.run(reshape(x, to));
    CHECK(y.sizes() == sizes);
    for (int64_t i = 0; i < y.numel(); ++i) {
      CHECK(y.getInt(i) == i);
    }
  }
}

TEST_CASE("reshape of an expanded tensor repeats its elements") {
  Program p;
  TensorView* x = expand(p.counting({1, 3}), {p.num(2), p.num(-1)});
  checkClose(p.values(reshape(x, {p.num(6)})), {0, 1, 2, 0, 1, 2});
}

TEST_CASE("permute, broadcast, expand and repeat") {
  Program p;
  TensorView* x = p.counting({2, 3});
  checkClose(p.values(permute(x, {1, 0})), {0, 3, 1, 4, 2, 5});
  checkClose(p.values(repeat(x, {2, 1})), {0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5});
  checkClose(p.values(repeat(x, {1, 2})), {0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5});
  checkClose(p.values(repeat(p.counting({1, 2}), {3, 1})), {0, 1, 0, 1, 0, 1});
  checkClose(p.values(add(expand(unsqueeze(x, 0), {p.num(2), p.num(2), p.num(3)}),
                          broadcast(p.counting({3}), {true, true, false}))),
             {0, 2, 4, 3, 5, 7, 0, 2, 4, 3, 5, 7});
}

TEST_CASE("slice follows Python for every pair of bounds") {
  const int64_t n = 5;
  for (int64_t start = -7; start <= 7; ++start) {
    for (int64_t stop = -7; stop <= 7; ++stop) {
      auto bound = [n](int64_t b) { return std::clamp<int64_t>(b < 0 ? b + n : b, 0, n); };
      Values want;
      for (int64_t i = bound(start); i < bound(stop); ++i) {
        want.push_back(static_cast<double>(i));
      }
      CAPTURE(start);
      CAPTURE(stop);
      Program constant;
      checkClose(constant.values(slice(constant.counting({n}), Sizes{start}, Sizes{stop})), want);
      Program symbolic;
      Slice range{symbolic.scalar(start), symbolic.scalar(stop), nullptr};
      checkClose(symbolic.values(slice(symbolic.counting({-1}, {n}), {range})), want);
    }
  }
}

TEST_CASE("chunks of symbolic and constant sizes") {
  Program p;
  Values all;
  for (TensorView* piece : chunk(p.counting({-1}, {7}), 3, 0)) {
    Values part = p.values(piece);
    CHECK(part.size() <= 3);
    all.insert(all.end(), part.begin(), part.end());
  }
  checkClose(all, countTo(7));
}

TEST_CASE("pad and cat") {
  Program p;
  TensorView* x = p.counting({2, 2});
  checkClose(p.values(pad(x, {p.num(1), p.num(0), p.num(0), p.num(1)}, p.real(9))),
             {9, 0, 1, 9, 2, 3, 9, 9, 9});
  checkClose(p.values(pad(x, {p.num(-1), p.num(1)})), {1, 0, 3, 0});
  checkClose(p.values(pad(p.counting({2, 1}), {p.num(1), p.num(1)})), {0, 0, 0, 0, 1, 0});
  TensorView* y = p.counting({-1, 2}, {1, 2});
  checkClose(p.values(cat({x, y, x}, 0)), {0, 1, 2, 3, 0, 1, 0, 1, 2, 3});
  checkClose(p.values(cat({x, p.counting({2, 1}), p.counting({2, 0})}, 1)), {0, 1, 0, 2, 3, 1});
}

TEST_CASE("indexed reads and writes") {
  Program p;
  TensorView* x = p.counting({3, 4});
  auto indices = [&](const Sizes& sizes, const std::vector<int64_t>& at) {
    return p.input(
        sizes, [at](int64_t i) { return static_cast<double>(at[static_cast<size_t>(i)]); },
        DataType::Int);
  };
  checkClose(p.values(select(x, 0, p.num(-1))), {8, 9, 10, 11});
  checkClose(p.values(select(x, 1, p.scalar(-3))), {1, 5, 9});
  checkClose(p.values(indexSelect(x, 0, indices({2}, {2, 0}))), {8, 9, 10, 11, 0, 1, 2, 3});
  checkClose(p.values(indexSelect(x, 1, indices({}, {3}))), {3, 7, 11});
  checkClose(p.values(gather(x, 0, indices({1, 3}, {2, 0, 1}))), {8, 1, 6});
  checkClose(p.values(gather(x, 1, indices({2, 1}, {3, 0}))), {3, 4});
  checkClose(p.values(takeAlongAxis(x, indices({1, 2}, {1, 3}), 1)), {1, 3, 5, 7, 9, 11});
  checkClose(p.values(takeAlongAxis(x, castOp(DataType::Float, indices({1, 2}, {1, 3})), 1)),
             {1, 3, 5, 7, 9, 11});
  checkClose(p.values(scatter(x, 1, indices({2, 1}, {1, 3}), p.real(-1))),
             {0, -1, 2, 3, 4, 5, 6, -1, 8, 9, 10, 11});
}

}  // namespace
}  // namespace nvfuser
