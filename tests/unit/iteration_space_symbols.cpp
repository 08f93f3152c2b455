// Extents that must be equal are one expression, the one of which most is known.
#include <doctest/doctest.h>

#include <iteration_space/symbols.h>
#include <ops/all_ops.h>

using namespace nvfuser;

namespace {

TensorView* input(Fusion& fusion, int64_t rank) {
  TensorView* tv = makeContigTensor(rank);
  fusion.addInput(tv);
  return tv;
}

struct Extents {
  explicit Extents(const Fusion& fusion)
      : exact(fusion, IdGraph::Mode::Exact), symbols(fusion, exact, pool) {}
  std::string of(const TensorView* tv, size_t axis) {
    return symbols.extent(tv->getLogicalDomain()[axis])->toString();
  }

  kir::ScalarPool pool;
  IdGraph exact;
  Symbols symbols;
};

}  // namespace

TEST_CASE("symbols: a constant, then a product, then what was made first") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = input(fusion, 2);
  TensorView* rows = flatten(x, 0, 1);
  TensorView* row = input(fusion, 1);
  fusion.addOutput(add(rows, row));
  TensorView* other = input(fusion, 2);
  fusion.addOutput(add(x, other));
  TensorView* four = makeContigConcreteTensor({4});
  TensorView* any = input(fusion, 1);
  fusion.addInput(four);
  fusion.addOutput(add(any, four));
  Extents extents(fusion);
  CHECK(extents.of(row, 0) == extents.of(rows, 0));
  CHECK(extents.of(row, 0).find(" * ") != std::string::npos);
  CHECK(extents.of(other, 0) == extents.of(x, 0));
  CHECK(extents.of(any, 0) == "4");
}

TEST_CASE("symbols: an extent is no product of itself") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = input(fusion, 2);
  TensorView* rows = flatten(x, 0, 1);
  TensorView* first = sum(x, {1});
  fusion.addOutput(add(rows, first));  // i0·i1 elements, and i0: i1 is 1
  Extents extents(fusion);
  CHECK(extents.of(rows, 0) == extents.of(first, 0));
}

TEST_CASE("symbols: extents that are all computed are one, whatever node they are") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = input(fusion, 1);
  Val* n = x->axis(0)->extent();
  const auto tail = [&](Val* begin) { return slice(x, {{begin, n}}); };
  Val* two = IrBuilder::create<Val>(int64_t{2});
  Val* three = IrBuilder::create<Val>(int64_t{3});
  TensorView* second = tail(div(n, two));
  TensorView* third = tail(div(n, three));
  TensorView* alike = tail(div(n, three));  // the same length by other nodes
  fusion.addOutput(add(second, third));
  fusion.addOutput(neg(alike));
  Extents extents(fusion);
  CHECK(extents.of(second, 0) == extents.of(third, 0));
  CHECK(extents.of(alike, 0) == extents.of(third, 0));
}

TEST_CASE("symbols: an extent is not computed of itself") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = input(fusion, 1);
  Val* zero = IrBuilder::create<Val>(int64_t{0});
  Val* n = x->axis(0)->extent();
  Val* half = ceilDiv(n, IrBuilder::create<Val>(int64_t{2}));
  TensorView* first = slice(x, {{zero, half}});
  TensorView* rest = slice(x, {{half, n}});  // n - half elements
  fusion.addOutput(add(rest, first));
  fusion.addOutput(add(first, rest));
  Extents extents(fusion);
  CHECK(extents.of(rest, 0) == extents.of(first, 0));
}

TEST_CASE("symbols: an input of a computed length is the product that the kernel knows") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = input(fusion, 2);
  TensorView* rows = flatten(x, 0, 1);
  // What another kernel wrote: its extent is the same product, by a node of its own.
  TensorView* given = TensorViewBuilder()
                          .shape({mul(x->axis(0)->extent(), x->axis(1)->extent())})
                          .contiguity(true)
                          .build();
  fusion.addInput(given);
  fusion.addOutput(add(given, rows));
  Extents extents(fusion);
  CHECK(extents.of(given, 0) == extents.of(rows, 0));
  CHECK(extents.of(given, 0).find(" * ") != std::string::npos);
}
