// What a GPU's threads hold of a row in registers: statistics take two passes over it, exponentials
// are held as long as they are few, and no thread of a warp is idle where the row divides.
#include <doctest/doctest.h>

#include "planned.h"
#include <ops/all_ops.h>
#include <scheduler/persistent/persistent.h>
#include <scheduler/reduction/reduction.h>

using namespace nvfuser;

namespace {

std::string softmaxPlanned(int64_t rows, int64_t row) {
  auto define = [](Fusion& fusion) {
    TensorView* x = makeContigTensor(2, DataType::BFloat16);
    fusion.addInput(x);
    fusion.addOutput(castOp(DataType::BFloat16, softmax(castOp(DataType::Float, x), 1)));
  };
  return planned(innerPersistentScheduler(), define, {{{rows, row}}});
}

std::string rmsNormPlanned(int64_t row, bool is_fixed) {
  auto define = [&](Fusion& fusion) {
    TensorView* x = is_fixed ? makeContigConcreteTensor({16376, row}, DataType::BFloat16)
                             : makeContigTensor(2, DataType::BFloat16);
    fusion.addInput(x);
    TensorView* y = castOp(DataType::Float, x);
    TensorView* mean = broadcast(sum(mul(y, y), {1}), {false, true});
    fusion.addOutput(castOp(DataType::BFloat16, mul(y, rsqrt(mean))));
  };
  return planned(innerPersistentScheduler(), define, {{{16376, row}}});
}

std::string normPlanned(int64_t rows, int64_t row) {
  auto define = [](Fusion& fusion) {
    TensorView* x = makeContigTensor(2);
    fusion.addInput(x);
    const VarMeanResult of = variance_mean(x, {1}, 0, true);
    fusion.addOutput(mul(sub(x, of.mean), rsqrt(of.var)));
  };
  return planned(innerPersistentScheduler(), define, {{{rows, row}}});
}

bool says(const std::string& plan, const std::string& what) {
  CAPTURE(plan);
  CHECK(plan.find("held in registers") != std::string::npos);
  return plan.find(what) != std::string::npos;
}

}  // namespace

TEST_CASE("persistent scheduler: rows in registers take variances in two passes") {
  CHECK(says(normPlanned(1000, 256), "moments in passes"));
  CHECK(says(normPlanned(1000, 4096), "moments in passes"));
  CHECK(says(normPlanned(1000, 5121), "moments in passes"));
}

TEST_CASE("persistent scheduler: exponentials are held up to 32 of a thread") {
  CHECK(says(softmaxPlanned(1000, 768), "and exponentials"));
  CHECK(says(softmaxPlanned(1000, 1024), "and exponentials"));
  CHECK_FALSE(says(softmaxPlanned(1000, 4096), "and exponentials"));
}

TEST_CASE("persistent scheduler: rows of vectors that whole warps share leave no thread idle") {
  CHECK(says(softmaxPlanned(1000, 768), "batches 3"));   // 32 threads rather than 24 of 4
  CHECK(says(softmaxPlanned(1000, 1024), "batches 4"));  // 32 threads
  CHECK(says(softmaxPlanned(1000, 1600), "batches 4"));  // 200 vectors: no whole warps
  // 2049 vectors of two, narrow accesses: 257 threads of 8. Sizes that are known: 410 of 5, which
  // leave 6 lanes of 13 warps idle rather than 31 of 9.
  CHECK(says(rmsNormPlanned(4098, false), "V 2, unroll 1, held in registers, computed again"));
  CHECK(says(rmsNormPlanned(4098, false), "batches 8,"));
  CHECK(says(rmsNormPlanned(4098, true), "batches 5,"));
}

TEST_CASE("persistent scheduler: a point of few numbers has one thread") {
  const auto plannedOf = [](int64_t row, bool is_fixed) {
    auto define = [&](Fusion& fusion) {
      TensorView* x = is_fixed ? makeContigConcreteTensor({150000, row}) : makeContigTensor(2);
      fusion.addInput(x);
      fusion.addOutput(div(x, broadcast(sum(mul(x, x), {1}), {false, true})));
    };
    return planned(innerPersistentScheduler(), define, {{{150000, row}}});
  };
  CHECK(says(plannedOf(2, true), "rows 128"));
  CHECK(says(plannedOf(3, true), "rows 128"));
  CHECK(says(plannedOf(4, true), "rows 128"));
  CHECK(says(plannedOf(6, true), "rows 32"));  // 4 threads, of which one has none
  CHECK_FALSE(says(plannedOf(2, false), "rows 128"));
}

TEST_CASE("persistent scheduler: a vector is one access of the widest large output") {
  auto define = [](Fusion& fusion) {
    TensorView* x = makeContigTensor(2, DataType::BFloat16);
    fusion.addInput(x);
    TensorView* y = castOp(DataType::Float, x);
    fusion.addOutput(castOp(DataType::BFloat16, softmax(y, 1)));
    fusion.addOutput(lt(y, IrBuilder::create<Val>(0.5)));  // a byte each: 16 would fit
  };
  const std::string plan = planned(innerPersistentScheduler(), define, {{{65536, 1024}}});
  CHECK(says(plan, "V 8,"));
  CHECK(says(plan, "outputs by [8, 8]"));
}
