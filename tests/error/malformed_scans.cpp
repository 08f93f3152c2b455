// Loops that do not go along a scanned axis in order, or to what another block or thread has.
#include <malformed_schedules.h>

namespace nvfuser::malformed {

namespace {

using enum ParallelType;

/// T0[8, 64] → T1 = set → T2 = scan along axis 1 → T3 = set (output).
struct Scanned {
  TensorView* in;
  TensorView* load;
  TensorView* sums;
  TensorView* out;

  explicit Scanned(Program& p)
      : in(p.input({8, 64})), load(set(in)), sums(cumsum(load, 1)), out(p.output(set(sums))) {}

  void like(const std::function<void(TensorView*)>& loops) {
    for (TensorView* tv : {load, sums, out}) {
      loops(tv);
    }
  }
};

}  // namespace

std::vector<Case> scans() {
  return {
      {"the inner part of a scanned axis outside of its outer one", "its loop over",
       [](Program& p) {
         Scanned c(p);
         c.like([](TensorView* tv) {
           tv->split(1, 4);
           tv->reorder({{1, 2}, {2, 1}});
         });
         p.lower();
       }},
      {"a scanned axis merged with another", "is mixed with others",
       [](Program& p) {
         Scanned c(p);
         c.like([](TensorView* tv) { tv->merge(0); });
         p.lower();
       }},
      {"a scan in loops over its columns and copies of them, cut anywhere",
       "combines elements once",
       [](Program& p) {
         TensorView* sums = cumsum(set(p.input({8, 5})), 0);
         TensorView* out = p.output(add(broadcast(sums, {false, false, true}), p.input({8, 5, 5})));
         out->merge(1);
         out->split(1, 16);
         out->reorder({{0, 1}, {1, 0}});
         TransformPropagator propagator(out);
         MaxLogicalDomainInfoSpanningTree(out).traverse(&propagator);
         inlineMost();
         p.lower();
       }},
      {"a scanned axis shared by blocks", "but blocks do not wait for each other",
       [](Program& p) {
         Scanned c(p);
         c.like([](TensorView* tv) { tv->axis(1)->parallelize(BIDx); });
         p.lower();
       }},
      {"a scanned axis as a vector", "but each step needs the one before it",
       [](Program& p) {
         Scanned c(p);
         c.like([](TensorView* tv) { tv->split(1, 4); });
         c.sums->axis(2)->parallelize(Vectorize);
         p.lower();
       }},
      {"threads along a scanned axis in two places", "split so that the parts bound to threads",
       [](Program& p) {
         Scanned c(p);
         c.like([](TensorView* tv) {
           tv->split(1, 4);
           tv->split(1, 4);
           tv->axis(1)->parallelize(TIDy);
           tv->axis(3)->parallelize(TIDx);
         });
         p.lower();
       }},
      {"threads along a scanned axis in another order than the block's", "whose order in a block",
       [](Program& p) {
         Scanned c(p);
         c.like([](TensorView* tv) {
           tv->split(1, 4);
           tv->axis(1)->parallelize(TIDx);
           tv->axis(2)->parallelize(TIDy);
         });
         p.lower();
       }},
      {"the operand of threads that scan in the loop of one element", "needs all of its elements",
       [](Program& p) {
         Scanned c(p);
         c.like([](TensorView* tv) {
           tv->split(1, 4);
           tv->axis(1)->parallelize(TIDx);
         });
         InlineState::setComputeAt(c.load, 3);
         p.lower();
       }},
      {"scans of both directions in one loop", "in a loop that it shares with a scan backward",
       [](Program& p) {
         TensorView* in = p.input({8, 64});
         TensorView* one = cumsum(set(in), 1);
         TensorView* other = scan(one, 1, BinaryOpType::Add, nullptr, true);
         p.output(other);
         InlineState::setComputeAt(one, 2);
         p.lower();
       }},
      {"a loop between those of a scan that repeats its elements",
       "comes to the same elements again",
       [](Program& p) {
         TensorView* in = p.input({8, 64});
         TensorView* load = set(in);
         p.output(cumsum(load, 1));
         TensorView* columns = broadcast(load, {false, false, true});
         TensorView* other = p.output(add(columns, p.input({8, 64, 3})));
         other->split(1, 4);
         other->reorder({{2, 3}, {3, 2}});  // [8, 64 / 4, 3, 4]
         scheduler_utils::transformPropagateToAllFrom(other);
         InlineState::setComputeAt(load, 4);
         InlineState::setComputeAt(columns, 4);
         p.lower();
       }},
      {"more rows at once than registers hold", "each with a value to carry",
       [](Program& p) {
         TensorView* in = p.input({64, 2000});
         p.output(cumsum(in, 0));
         p.lower();
       }},
  };
}

TEST_CASE("malformed schedules of scans are refused by lowering") {
  for (const Case& wrong : scans()) {
    checkCase(wrong);
  }
}

}  // namespace nvfuser::malformed
