// Where statements are in their loops: a schedule in, the index of each axis, its bounds and what
// is foreign to it out (docs/math/places.md).
#include <doctest/doctest.h>

#include <functional>

#include <golden_file.h>
#include <ops/all_ops.h>
#include <places_text.h>
#include <scheduler/utils.h>

using namespace nvfuser;
using enum ParallelType;

namespace {

struct Case {
  std::string name;
  std::function<void(Fusion&)> define;
};

TensorView* input(Fusion& fusion, int64_t rank) {
  TensorView* tv = makeContigTensor(rank);
  fusion.addInput(tv);
  return tv;
}

TensorView* output(Fusion& fusion, TensorView* tv) {
  fusion.addOutput(tv);
  return tv;
}

/// T4[i0, i1] = x + broadcast(set(y)), the row of y in `position` of its loops.
void rowBesideRows(Fusion& fusion, const std::function<void(TensorView*)>& schedule,
                   int64_t position) {
  TensorView* x = input(fusion, 2);
  TensorView* y = input(fusion, 1);
  TensorView* out = output(fusion, add(x, broadcast(set(y), {true, false})));
  schedule(out);
  scheduler_utils::transformPropagateToAllFrom(out);
  scheduler_utils::parallelizeAllLike(out);
  inlineAllAt(out, position);
}

void copy(Fusion& fusion, int64_t rank, const std::function<void(TensorView*)>& schedule) {
  TensorView* out = output(fusion, set(input(fusion, rank)));
  schedule(out);
}

const std::vector<Case> kCases = {
    {"loops as they are", [](Fusion& f) { copy(f, 2, [](TensorView*) {}); }},
    {"split", [](Fusion& f) { copy(f, 1, [](TensorView* t) { t->split(0, 4); }); }},
    {"split by an outer factor",
     [](Fusion& f) { copy(f, 1, [](TensorView* t) { t->split(0, 4, false); }); }},
    {"split of a part",
     [](Fusion& f) {
       copy(f, 1, [](TensorView* t) {
         t->split(0, 32);
         t->split(1, 4);
         t->split(0, 8);
       });
     }},
    {"merge", [](Fusion& f) { copy(f, 2, [](TensorView* t) { t->merge(0); }); }},
    {"merge of columns and rows",
     [](Fusion& f) { copy(f, 2, [](TensorView* t) { t->merge(1, 0); }); }},
    {"merge and split",
     [](Fusion& f) {
       copy(f, 2, [](TensorView* t) {
         t->merge(0);
         t->split(0, 128);
         t->axis(0)->parallelize(BIDx);
         t->axis(1)->parallelize(TIDx);
       });
     }},
    {"reordered", [](Fusion& f) { copy(f, 3, [](TensorView* t) { t->reorder({{0, 2}}); }); }},
    {"swizzled tile",
     [](Fusion& f) {
       copy(f, 2, [](TensorView* t) {
         t->split(0, 8);
         t->split(2, 8);
         t->swizzle(SwizzleType::XOR, 1, 3);
       });
     }},
    {"a row in loops over rows", [](Fusion& f) { rowBesideRows(f, [](TensorView*) {}, 1); }},
    {"a row in all loops over rows", [](Fusion& f) { rowBesideRows(f, [](TensorView*) {}, 2); }},
    {"a row in merged loops",
     [](Fusion& f) { rowBesideRows(f, [](TensorView* t) { t->merge(0); }, 1); }},
    {"a row in a part of merged loops",
     [](Fusion& f) {
       rowBesideRows(
           f,
           [](TensorView* t) {
             t->merge(0);
             t->split(0, 128);
             t->axis(0)->parallelize(BIDx);
             t->axis(1)->parallelize(TIDx);
           },
           2);
     }},
    {"a row in tiles",
     [](Fusion& f) {
       rowBesideRows(
           f,
           [](TensorView* t) {
             t->split(1, 16);
             t->split(0, 16);
             t->reorder({{1, 2}});
           },
           4);
     }},
    {"a column in merged loops",
     [](Fusion& f) {
       TensorView* x = input(f, 2);
       TensorView* y = input(f, 1);
       TensorView* out = output(f, add(x, broadcast(set(y), {false, true})));
       out->merge(0);
       out->split(0, 4);
       scheduler_utils::transformPropagateToAllFrom(out);
       inlineMost();
     }},
    {"a tensor beside its transpose",
     [](Fusion& f) {
       TensorView* x = input(f, 2);
       output(f, add(set(x), transpose(x)));
       inlineMost();
     }},
    {"a sum of rows",
     [](Fusion& f) {
       TensorView* out = output(f, sum(input(f, 2), {1}));
       out->split(1, 128);
       out->axis(0)->parallelize(BIDx);
       out->axis(2)->parallelize(TIDx);
     }},
    {"a sum of columns in parts",
     [](Fusion& f) {
       TensorView* out = output(f, sum(input(f, 2), {0}));
       out->split(1, 32);
       out->split(0, 8);
       out->axis(2)->parallelize(BIDx);
       out->axis(3)->parallelize(TIDx);
       out->reorder({{2, 0}, {3, 1}});
     }},
    {"a sum in the loop of its reader",
     [](Fusion& f) {
       TensorView* x = input(f, 2);
       TensorView* total = sum(x, {1});
       output(f, div(x, broadcast(total, {false, true})));
       inlineMost();
     }},
    {"a value that blocks beyond its loop read",
     [](Fusion& f) {
       TensorView* y = makeContigConcreteTensor({1});
       f.addInput(y);
       TensorView* one = set(y);
       TensorView* again = neg(one);
       TensorView* few = output(f, add(input(f, 1), one));
       TensorView* many = output(f, add(input(f, 1), again));
       for (TensorView* tv : {one, again, few, many}) {
         tv->axis(0)->parallelize(BIDx);
       }
       InlineState::setComputeAt(one, 1);
     }},
    {"a sum that rows in parts of a loop read",
     [](Fusion& f) {
       TensorView* x = input(f, 2);
       TensorView* total = sum(input(f, 1), {0}, true);
       TensorView* out = output(f, add(x, broadcast(total, {true, false})));
       out->split(0, 4, false);
       scheduler_utils::transformPropagateToAllFrom(out);
       inlineAllAt(out, 2, true);
     }},
    {"rows of a reshape",
     [](Fusion& f) {
       TensorView* x = makeContigConcreteTensor({12, 5});
       f.addInput(x);
       TensorView* out = output(f, reshape(set(x), {12, 5}, {3, 20}));
       out->split(1, 4);
       scheduler_utils::transformPropagateToAllFrom(out);
       inlineMost();
     }},
    {"a window",
     [](Fusion& f) {
       TensorView* x = makeContigConcreteTensor({16});
       f.addInput(x);
       TensorView* out =
           output(f, pad(x, {IrBuilder::create<Val>(2L), IrBuilder::create<Val>(1L)}));
       out->split(0, 4);
     }},
};

}  // namespace

TEST_CASE("places: schedules by hand") {
  std::string got;
  for (const Case& one : kCases) {
    CAPTURE(one.name);
    Fusion fusion;
    FusionGuard guard(&fusion);
    one.define(fusion);
    Lowering lowering = lower(&fusion, LowerOptions());
    got += text(one.name, "\n", placesText(lowering));
  }
  checkGoldenFile("golden/expected/places.txt", got);
}
