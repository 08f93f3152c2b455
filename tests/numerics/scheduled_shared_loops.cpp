/// Tensors that share loops with tensors of other axes: broadcasts that were split and merged,
/// reductions inside loops over foreign axes, elements that several threads or blocks compute.
#include "scheduled.h"

namespace nvfuser {
namespace {

using enum ParallelType;

/// [r, c] + broadcast of a row, both merged into one axis and split.
struct Widened {
  TensorView* row;
  TensorView* wide;
  TensorView* out;

  explicit Widened(Fusion& fusion) {
    TensorView* x = makeSymbolicTensor(1);
    TensorView* y = makeSymbolicTensor(2);
    fusion.addInput(x);
    fusion.addInput(y);
    row = exp(x);
    wide = broadcast(row, {true, false});
    out = add(wide, y);
    fusion.addOutput(out);
    out->merge(0);
    out->split(0, 4);
  }
};

const std::vector<scheduled::Sizes> kRowsAndColumns = {
    {{5}, {3, 5}}, {{1}, {7, 1}}, {{33}, {2, 33}}, {{4}, {1, 4}}};

TEST_CASE("a broadcast axis merged into the loop that it is widened in") {
  scheduled::check(
      [](Fusion& fusion) {
        Widened w(fusion);
        scheduler_utils::transformPropagateToAllFrom(w.out);
        inlineMost();
      },
      kRowsAndColumns);
}

TEST_CASE("an output beside a wider one is written once by the threads that share its loop") {
  scheduled::check(
      [](Fusion& fusion) {
        Widened w(fusion);
        fusion.addOutput(neg(w.wide));
        scheduler_utils::transformPropagateToAllFrom(w.out);
        w.out->axis(0)->parallelize(BIDx);
        w.out->axis(1)->parallelize(TIDx);
        scheduler_utils::parallelizeAllLike(w.out);
        inlineMost();
      },
      kRowsAndColumns);
}

TEST_CASE("loops over an axis without elements leave out nothing of other tensors") {
  scheduled::check(
      [](Fusion& fusion) {
        Widened w(fusion);
        fusion.addOutput(neg(w.wide));
        scheduler_utils::transformPropagateToAllFrom(w.out);
        inlineMost();
      },
      {{{5}, {0, 5}}, {{5}, {3, 5}}});
}

TEST_CASE("a sum in loops over a broadcast axis is started and taken once") {
  for (int64_t factor : {1, 3, 8}) {
    for (bool merged : {false, true}) {
      CAPTURE(factor);
      CAPTURE(merged);
      scheduled::check(
          [&](Fusion& fusion) {
            TensorView* x = makeSymbolicTensor(1);
            TensorView* y = makeSymbolicTensor(2);
            fusion.addInput(x);
            fusion.addInput(y);
            TensorView* wide = broadcast(exp(x), {true, false});
            TensorView* total = sum(wide, {1});
            TensorView* out = add(broadcast(total, {false, true}), y);
            fusion.addOutput(out);
            out->split(0, factor);
            if (merged) {
              out->merge(1);
            }
            scheduler_utils::transformPropagateToAllFrom(out);
            inlineMost();
          },
          {{{5}, {3, 5}}, {{7}, {10, 7}}, {{1}, {1, 1}}});
    }
  }
}

TEST_CASE("what one thread writes to shared memory is there for all that repeat its axis") {
  for (ParallelType type : {TIDx, BIDx}) {
    CAPTURE(type);
    scheduled::check(
        [&](Fusion& fusion) {
          TensorView* x = makeConcreteTensor({5});
          fusion.addInput(x);
          TensorView* wide = broadcast(x, {true, false});
          TensorView* kept = exp(wide);
          TensorView* out = neg(kept);
          fusion.addOutput(out);
          out->split(0, 8);  // an axis of one element, in eight
          scheduler_utils::transformPropagateToAllFrom(out);
          kept->setMemoryType(MemoryType::Shared);
          out->axis(1)->parallelize(type);
          scheduler_utils::parallelizeAllLike(out);
          inlineAllAt(out, 1, true);
        },
        {{{5}}});
  }
}

TEST_CASE("shared memory has room for all threads of its loop, whichever tensor binds it") {
  scheduled::check(
      [](Fusion& fusion) {
        TensorView* x = makeSymbolicTensor(1);
        fusion.addInput(x);
        TensorView* kept = exp(x);
        TensorView* out = neg(kept);
        fusion.addOutput(out);
        out->split(0, 4, false);
        scheduler_utils::transformPropagateToAllFrom(out);
        kept->setMemoryType(MemoryType::Shared);
        inlineMost();
        out->axis(0)->parallelize(TIDx);  // and `kept` is left as it is
      },
      {{{5}}, {{64}}, {{1}}});
}

TEST_CASE("threads and blocks have what they read beyond the loop in which it is computed") {
  for (ParallelType type : {TIDx, BIDx}) {
    for (MemoryType memory : {MemoryType::Local, MemoryType::Shared}) {
      CAPTURE(type);
      CAPTURE(memory);
      scheduled::check(
          [&](Fusion& fusion) {
            TensorView* one = makeConcreteTensor({1});
            TensorView* few = makeSymbolicTensor(1);
            TensorView* many = makeSymbolicTensor(1);
            for (TensorView* input : {one, few, many}) {
              fusion.addInput(input);
            }
            TensorView* both = exp(one);
            TensorView* first = mul(both, few);
            TensorView* kept = neg(both);
            TensorView* wide = broadcast(squeeze(kept, std::vector<bool>{true}), {true});
            TensorView* second = add(wide, many);
            fusion.addOutput(first);
            fusion.addOutput(second);
            for (TensorView* tv : {both, first, kept, wide, second}) {
              tv->split(0, 3);
              tv->merge(0);
              tv->axis(0)->parallelize(type);
            }
            kept->setMemoryType(memory);
            both->inlineAt(1);  // into a loop over `few`
            wide->inlineAt(1);
          },
          {{{1}, {4}, {40}}, {{1}, {40}, {4}}, {{1}, {1}, {2}}});
    }
  }
}

/// y[i, 0] = exp(x[i]) by loops over 32 x 32, in memory of that size, from an array of `rows`
/// elements on the CPU. Its text.
std::string arrayTurned(int64_t rows) {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = makeConcreteTensor({rows});
  fusion.addInput(x);
  TensorView* kept = broadcast(exp(x), {false, true});
  fusion.addOutput(neg(kept));
  kept->split(0, 1024);
  kept->split(1, 32);
  kept->reorder({{2, 1}});
  KernelArgumentHolder arguments;
  arguments.push(Tensor::randn({rows}, DataType::Float, 1, cpuDevice()));
  KernelExecutor executor;
  executor.compile(&fusion, arguments);
  testValidate(&fusion, executor.run(arguments), arguments, __LINE__, __FILE__);
  return executor.compiledKernel()->kernelString();
}

TEST_CASE("rows of an array are turned into columns only where the array has room for all") {
  CHECK(scheduled::contains(arrayTurned(1024), "lanesTurn<32, 32>("));
  CHECK_FALSE(scheduled::contains(arrayTurned(1000), "lanesTurn<32, 32>("));
}

TEST_CASE("pads and numbers of an axis of one element in many iterations") {
  scheduled::check(
      [](Fusion& fusion) {
        TensorView* x = makeConcreteTensor({-1, 1});
        fusion.addInput(x);
        TensorView* y = exp(x);
        TensorView* twice = cat({y, neg(y)}, 0);
        fusion.addOutput(twice);
        TensorView* one = broadcast(sum(y, {0, 1}), {true});
        fusion.addOutput(add(one, iota(IrBuilder::create<Val>(int64_t{1}))));
        twice->split(1, 64);
        scheduler_utils::transformPropagateToAllFrom(twice);
        scheduler_utils::transformPropagateToAllFrom(fusion.outputs()[1]->as<TensorView>());
        inlineMost();
      },
      {{{5, 1}}, {{1, 1}}});
}

TEST_CASE(
    "results of one reduction in several memories, in loops over a broadcast axis behind it") {
  for (MemoryType memory : {MemoryType::Shared, MemoryType::Global}) {
    CAPTURE(memory);
    scheduled::check(
        [&](Fusion& fusion) {
          TensorView* x = makeConcreteTensor({-1, 1});
          fusion.addInput(x);
          WelfordResult w = Welford(set(x), {0});
          TensorView* mean = neg(w.avg);
          TensorView* squares = neg(w.var_sum);
          fusion.addOutput(mean);
          fusion.addOutput(squares);
          w.var_sum->setMemoryType(memory);
          w.avg->split(1, 4);
          scheduler_utils::transformPropagateToAllFrom(w.avg);
          w.avg->axis(0)->parallelize(TIDx);
          mean->axis(1)->parallelize(TIDy);
          scheduler_utils::parallelizeAllLike(w.avg);
        },
        {{{7, 1}}, {{33, 1}}});
  }
}

TEST_CASE("reductions across threads in an unswitched loop") {
  scheduled::check(
      [](Fusion& fusion) {
        TensorView* x = makeSymbolicTensor(2);
        fusion.addInput(x);
        TensorView* total = sum(x, {1});
        fusion.addOutput(exp(total));
        total->split(0, 4);
        scheduler_utils::transformPropagateToAllFrom(total);
        total->axis(0)->parallelize(Unswitch);
        total->axis(2)->parallelize(BIDx);
        scheduler_utils::parallelizeAllLike(total);
        inlineMost();
      },
      {{{6, 9}}, {{4, 33}}});
}

TEST_CASE("a sum that threads read beyond the loop that it shares") {
  scheduled::check(
      [](Fusion& fusion) {
        TensorView* in = makeConcreteTensor({1, 4});
        TensorView* few = makeConcreteTensor({5, 4});
        TensorView* many = makeConcreteTensor({40});
        for (TensorView* tv : {in, few, many}) {
          fusion.addInput(tv);
        }
        TensorView* one = exp(in);
        TensorView* beside = mul(one, few);
        fusion.addOutput(beside);
        TensorView* total = sum(one, {1});
        TensorView* wide = broadcast(squeeze(total, std::vector<bool>{true}), {true});
        TensorView* out = add(wide, many);
        fusion.addOutput(out);
        for (TensorView* tv : {one, beside, total, wide, out}) {
          tv->axis(0)->parallelize(TIDx);
        }
        one->inlineAt(1);
      },
      {{{1, 4}, {5, 4}, {40}}});
}

TEST_CASE("shared memory of one element, whose first thread is beyond another tensor") {
  scheduled::check(
      [](Fusion& fusion) {
        TensorView* one = makeConcreteTensor({1});
        TensorView* few = makeConcreteTensor({3});
        fusion.addInput(one);
        fusion.addInput(few);
        TensorView* kept = set(one);
        TensorView* out = sub(kept, few);
        fusion.addOutput(out);
        out->split(0, 64);
        out->merge(0);
        out->split(0, 4);
        out->reorder({{1, 0}});
        out->merge(0);
        out->split(0, 3, false);
        scheduler_utils::transformPropagateToAllFrom(out);
        out->axis(0)->parallelize(BIDx);
        out->axis(1)->parallelize(TIDy);
        scheduler_utils::parallelizeAllLike(out);
        kept->setMemoryType(MemoryType::Shared);
        inlineMost();
      },
      {{{1}, {3}}});
}

TEST_CASE("threads beyond a loop of one turn compute its element, and what it is computed from") {
  for (int64_t rows : {1, 5}) {
    CAPTURE(rows);
    scheduled::check(
        [&](Fusion& fusion) {
          TensorView* in = makeConcreteTensor({1});
          TensorView* few = makeConcreteTensor({rows});
          TensorView* many = makeConcreteTensor({40});
          for (TensorView* tv : {in, few, many}) {
            fusion.addInput(tv);
          }
          TensorView* one = exp(in);
          TensorView* again = neg(one);
          TensorView* beside = mul(one, few);
          TensorView* out = add(again, many);
          fusion.addOutput(beside);
          fusion.addOutput(out);
          for (TensorView* tv : {one, again, beside, out}) {
            tv->axis(0)->parallelize(TIDx);
          }
          InlineState::setComputeAt(one, 1);
        },
        {{{1}, {rows}, {40}}});
  }
}

}  // namespace
}  // namespace nvfuser
