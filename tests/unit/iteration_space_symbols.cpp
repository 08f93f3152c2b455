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
