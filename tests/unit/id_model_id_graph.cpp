#include <doctest/doctest.h>

#include <id_model/id_graph.h>
#include <ir/builder.h>
#include <ops/all_ops.h>
#include <random_schedule.h>

using namespace nvfuser;
using Mode = IdGraph::Mode;

namespace {

struct Graphs {
  IdGraph exact;
  IdGraph permissive;
  explicit Graphs(const Fusion& fusion)
      : exact(fusion, Mode::Exact), permissive(fusion, Mode::Permissive) {}
  bool onlyPermissive(const IterDomain* a, const IterDomain* b) const {
    return permissive.mapped(a, b) && !exact.mapped(a, b);
  }
};

}  // namespace

TEST_CASE("id_graph: operations join axes, broadcasts meet permissively") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = makeContigTensor(1);
  TensorView* y = makeContigTensor(2);
  fusion.addInput(x);
  fusion.addInput(y);
  TensorView* wide = broadcast(x, {false, true});
  TensorView* out = add(wide, y);
  fusion.addOutput(out);
  const Graphs graphs(fusion);
  CHECK(graphs.exact.mapped(x->axis(0), wide->axis(0)));
  CHECK(graphs.exact.mapped(x->axis(0), out->axis(0)));
  CHECK(graphs.exact.mapped(y->axis(1), out->axis(1)));
  CHECK(graphs.onlyPermissive(wide->axis(1), out->axis(1)));
  CHECK_FALSE(graphs.permissive.mapped(out->axis(0), out->axis(1)));
  CHECK(graphs.exact.tensorOf(wide->axis(1)) == wide);
  CHECK(graphs.exact.classOf(IterDomain::merge(x->axis(0), x->axis(0))) == -1);
}

TEST_CASE("id_graph: equal transforms of equal axes are equal") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = makeContigTensor(2);
  fusion.addInput(x);
  TensorView* a = set(x);
  TensorView* b = exp(a);
  fusion.addOutput(b);
  a->split(1, 4);
  b->split(1, 4);
  b->merge(0);
  {
    const Graphs graphs(fusion);
    CHECK(graphs.exact.mapped(a->axis(2), b->axis(1)));
    CHECK_FALSE(graphs.exact.mapped(a->axis(0), b->axis(0)));
  }
  a->merge(0);
  const Graphs graphs(fusion);
  CHECK(graphs.exact.mapped(a->axis(0), b->axis(0)));
}

TEST_CASE("id_graph: unlike transforms are not equal") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = makeContigConcreteTensor({8, 8});
  fusion.addInput(x);
  TensorView* a = set(x);
  TensorView* b = set(a);
  fusion.addOutput(b);
  SUBCASE("factors") {
    a->split(0, 2);
    b->split(0, 4);
    const Graphs graphs(fusion);
    CHECK_FALSE(graphs.exact.mapped(a->axis(0), b->axis(0)));
    CHECK_FALSE(graphs.exact.mapped(a->axis(1), b->axis(1)));
  }
  SUBCASE("sides") {
    a->split(0, 2, true);
    b->split(0, 2, false);
    CHECK_FALSE(Graphs(fusion).exact.mapped(a->axis(1), b->axis(1)));
  }
  SUBCASE("order of a merge") {
    a->merge(0, 1);
    b->merge(1, 0);
    CHECK_FALSE(Graphs(fusion).exact.mapped(a->axis(0), b->axis(0)));
  }
}

TEST_CASE("id_graph: an axis that meets itself elsewhere is left out") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = makeContigConcreteTensor({4, 4});
  fusion.addInput(x);
  TensorView* out = add(x, transpose(x));
  fusion.addOutput(out);
  const Graphs graphs(fusion);
  CHECK_FALSE(graphs.permissive.mapped(out->axis(0), out->axis(1)));
}

TEST_CASE("id_graph: members of a class have one index, for all elements") {
  const std::vector<int64_t> sizes{4, 6, 5};
  for (uint64_t seed = 0; seed < 150; ++seed) {
    CAPTURE(seed);
    Fusion fusion;
    FusionGuard guard(&fusion);
    TensorView* x = makeContigConcreteTensor(sizes);
    fusion.addInput(x);
    TensorView* a = set(x);
    TensorView* b = set(a);
    fusion.addOutput(b);
    // From one seed or from two: classes that go far, and classes that must not.
    RandomSchedule first(seed);
    first.transform(a, 5);
    RandomSchedule second(seed % 2 == 0 ? seed : seed + 1);
    second.transform(b, 5);
    const IdGraph exact(fusion, Mode::Exact);
    if (seed % 2 == 0) {
      for (int64_t i = 0; i < a->nDims(); ++i) {
        CHECK(exact.mapped(a->axis(i), b->axis(i)));
      }
    }
    forEachElement(sizes, [&](const std::vector<int64_t>& element) {
      std::map<int, int64_t> index;
      for (const TensorView* tv : {a, b}) {
        for (const auto& [id, value] : axisValues(tv, element)) {
          auto [entry, fresh] = index.emplace(exact.classOf(id), value);
          if (!fresh) {
            REQUIRE(entry->second == value);
          }
        }
      }
    });
  }
}

TEST_CASE("id_graph: what a reshape merges is what the schedule splits again") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = makeContigConcreteTensor({6, 8});
  fusion.addInput(x);
  SUBCASE("into the same parts") {
    TensorView* a = reshape(x, {6, 8}, {48});
    fusion.addOutput(a);
    a->split(0, 8);
    const Graphs graphs(fusion);
    CHECK(graphs.exact.mapped(a->axis(0), x->axis(0)));
    CHECK(graphs.exact.mapped(a->axis(1), x->axis(1)));
  }
  SUBCASE("into others") {
    TensorView* a = reshape(x, {6, 8}, {48});
    fusion.addOutput(a);
    a->split(0, 6);
    const Graphs graphs(fusion);
    CHECK_FALSE(graphs.permissive.mapped(a->axis(0), x->axis(0)));
    CHECK_FALSE(graphs.permissive.mapped(a->axis(1), x->axis(1)));
  }
  SUBCASE("all parts of an axis, merged") {
    TensorView* a = reshape(x, {6, 8}, {2, 3, 8});
    fusion.addOutput(a);
    a->merge(0);
    const Graphs graphs(fusion);
    CHECK(graphs.exact.mapped(a->axis(0), x->axis(0)));
  }
  SUBCASE("not what the schedule itself merges") {
    TensorView* a = set(x);
    fusion.addOutput(a);
    a->merge(0)->split(0, 8);
    const Graphs graphs(fusion);
    CHECK_FALSE(graphs.permissive.mapped(a->axis(1), x->axis(1)));
  }
}
