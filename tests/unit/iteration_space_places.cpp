// docs/math/places.md by enumeration: of the turns of a statement's loops in which its bounds hold
// and the foreign indices are 0, exactly one is at each element.
#include <doctest/doctest.h>

#include <map>

#include <device_lower/lower.h>
#include <device_lower/predicates.h>
#include <ir/axis_map.h>
#include <ops/all_ops.h>
#include <random_schedule.h>
#include <scheduler/utils.h>
#include <support/error.h>

using namespace nvfuser;
using kir::Scalar;

namespace {

/// Small tensors, each an output, so that each statement is guarded as one that writes memory.
TensorView* drawProgram(Fusion& fusion, RandomSchedule& random) {
  const int64_t rows = random.number(2, 5);
  const int64_t columns = random.number(2, 5);
  const auto input = [&](const std::vector<int64_t>& sizes) {
    TensorView* in = makeContigConcreteTensor(sizes);
    fusion.addInput(in);
    return in;
  };
  const auto output = [&](TensorView* tv) {
    fusion.addOutput(tv);
    return tv;
  };
  switch (random.number(0, 4)) {
    case 0:
      return output(
          add(input({rows, columns}), broadcast(output(set(input({columns}))), {true, false})));
    case 1:
      return output(
          add(input({rows, columns}), broadcast(output(set(input({rows}))), {false, true})));
    case 2:
      return output(add(broadcast(output(set(input({rows}))), {false, true}),
                        broadcast(output(set(input({columns}))), {true, false})));
    case 3:
      return output(add(input({3, rows, columns}),
                        broadcast(output(set(input({rows, columns}))), {true, false, false})));
    default: {
      TensorView* flat =
          output(reshape(output(set(input({rows, columns}))), {rows, columns}, {rows * columns}));
      return output(add(input({3, rows * columns}), broadcast(flat, {true, false})));
    }
  }
}

int64_t elementsOf(const IterDomain* id) {
  return id->isBroadcast() ? 1 : id->extent()->evaluate().as<int64_t>();
}

struct Counts {
  int64_t statements = 0;
  int64_t with_foreign_axes = 0;
  int64_t refused = 0;
};

/// Calls `visit` with each turn of the loops.
template <typename Visit>
void forEachTurn(const std::vector<const LoopClass*>& loops, size_t next,
                 std::map<Scalar, int64_t>& at, const Visit& visit) {
  const auto valueOf = [&](Scalar symbol) { return at.at(symbol); };
  if (next == loops.size()) {
    visit([&](Scalar a) { return kir::evaluate(a, valueOf); });
    return;
  }
  const int64_t extent = kir::evaluate(loops[next]->extent, valueOf);
  for (int64_t i = 0; i < extent; ++i) {
    at[loops[next]->index] = i;
    forEachTurn(loops, next + 1, at, visit);
  }
}

void checkStatement(const Leaf& leaf, const Indexer& indexer, const Predicates& predicates,
                    Counts& counts) {
  const Places places = indexer.around(leaf);
  const auto bounds = predicates.bounds(leaf, places);
  const std::vector<LoopAxis> foreign = places.foreign(leaf.out, true);
  ++counts.statements;
  counts.with_foreign_axes += std::any_of(
      foreign.begin(), foreign.end(), [](const LoopAxis& axis) { return !axis.id->isBroadcast(); });
  std::map<std::vector<int64_t>, int64_t> met;
  int64_t elements = 1;
  for (const IterDomain* id : leaf.out->getLogicalDomain()) {
    elements *= elementsOf(id);
  }
  std::map<Scalar, int64_t> at;
  forEachTurn(leaf.path, 0, at, [&](const auto& value) {
    for (const Predicates::Bound& bound : bounds) {
      if (value(bound.index) >= value(bound.extent)) {
        return;
      }
    }
    for (const LoopAxis& axis : foreign) {
      if (value(axis.index) != 0) {
        return;
      }
    }
    std::vector<int64_t> element;
    for (const IterDomain* id : leaf.out->getLogicalDomain()) {
      element.push_back(id->isBroadcast() ? 0 : value(places.index(id)));
      REQUIRE(element.back() < elementsOf(id));
    }
    ++met[element];
  });
  CHECK(static_cast<int64_t>(met.size()) == elements);
  for (const auto& [element, times] : met) {
    CHECK(times == 1);
  }
}

void checkProgram(uint64_t seed, Counts& counts) {
  Fusion fusion;
  FusionGuard guard(&fusion);
  RandomSchedule random(seed);
  TensorView* out = drawProgram(fusion, random);
  random.transform(out, random.number(0, 5));
  scheduler_utils::transformPropagateToAllFrom(out);
  Lowering l;
  try {
    inlineAllAt(out, random.number(0, out->nDims()), true);
    l = lower(&fusion, LowerOptions());
  } catch (const UserError&) {
    ++counts.refused;
    return;
  }
  const Indexer indexer(*l.exact, *l.loops, *l.symbols, *l.allocations);
  const Predicates predicates(fusion, *l.exact, *l.loops, *l.symbols, true);
  forEachLeaf(l.tree, [&](const Leaf& leaf, const std::vector<LoopNode*>&) {
    if (leaf.out->isFusionOutput()) {
      CAPTURE(leaf.out->toString());
      checkStatement(leaf, indexer, predicates, counts);
    }
  });
}

}  // namespace

TEST_CASE("places: where bounds hold and foreign indices are 0, each element is met once") {
  Counts counts;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    checkProgram(seed, counts);
  }
  CAPTURE(counts.refused);
  CHECK(counts.statements > 600);
  CHECK(counts.with_foreign_axes > 100);
}
