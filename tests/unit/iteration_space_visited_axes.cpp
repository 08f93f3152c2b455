// Which axes a loop comes to each index of.
#include <doctest/doctest.h>

#include <iteration_space/visited_axes.h>
#include <ops/all_ops.h>

using namespace nvfuser;

namespace {

/// x[4, 6], its elements in rows of three, and as one row.
struct Reshaped {
  Reshaped() {
    x = makeContigConcreteTensor({4, 6});
    fusion.addInput(x);
    rows = reshape(x, {4, 6}, {8, 3});
    flat = reshape(rows, {8, 3}, {24});
    fusion.addOutput(rows);
    fusion.addOutput(flat);
  }
  std::vector<int> classesOf(const TensorView* tv, const IdGraph& exact) const {
    std::vector<int> classes;
    for (const IterDomain* id : tv->getLogicalDomain()) {
      classes.push_back(exact.classOf(id));
    }
    return classes;
  }

  Fusion fusion;
  FusionGuard guard{&fusion};
  TensorView* x = nullptr;
  TensorView* rows = nullptr;
  TensorView* flat = nullptr;
};

}  // namespace

TEST_CASE("visited axes: what a loop's axes are made of, and made into") {
  Reshaped r;
  const IdGraph exact(r.fusion, IdGraph::Mode::Exact);
  for (const TensorView* from : {r.x, r.rows, r.flat}) {
    const VisitedAxes visited(r.classesOf(from, exact), exact);
    for (const TensorView* to : {r.x, r.rows, r.flat}) {
      for (const IterDomain* id : to->getLogicalDomain()) {
        CHECK(visited.leadTo(id));
      }
    }
  }
}

TEST_CASE("visited axes: a part of a split leads to no whole axis") {
  Reshaped r;
  const IdGraph exact(r.fusion, IdGraph::Mode::Exact);
  const VisitedAxes visited({exact.classOf(r.rows->axis(0))}, exact);
  CHECK(visited.leadTo(r.rows->axis(0)));
  CHECK(!visited.leadTo(r.rows->axis(1)));
  CHECK(!visited.leadTo(r.flat->axis(0)));
  CHECK(visited.leadTo(r.x->axis(0)));  // 8 are 4·2
  CHECK(!visited.leadTo(r.x->axis(1)));
}

TEST_CASE("visited axes: an axis and what it is made into are not visited together") {
  Reshaped r;
  TensorView* crossed =
      add(broadcast(r.rows, {false, false, true}), broadcast(sum(r.x, {0}), {true, true, false}));
  r.fusion.addOutput(crossed);  // [8, 3, 6], of which 8·3 are all of x, and 6 is its row again
  crossed->merge(0);
  crossed->merge(0);
  const IdGraph exact(r.fusion, IdGraph::Mode::Exact);
  REQUIRE(exact.mapped(crossed->getLogicalDomain()[2], r.x->axis(1)));
  const VisitedAxes of_x(r.classesOf(r.x, exact), exact);
  CHECK(of_x.leadTo(crossed->getLogicalDomain()[0]));
  CHECK(of_x.leadTo(crossed->getLogicalDomain()[2]));
  CHECK(!of_x.leadTo(crossed->axis(0)));
  const VisitedAxes of_crossed(r.classesOf(crossed, exact), exact);
  CHECK(of_crossed.leadTo(crossed->axis(0)));
  CHECK(of_crossed.leadTo(r.flat->axis(0)));
}
