// What each pass of lowering leaves behind, for small fusions: Fusion in, text out, compared with
// tests/golden/expected/lowering_<name>.txt. A pass that changed nothing says so.
#include <doctest/doctest.h>

#include <functional>
#include <set>

#include <device_lower/lower.h>
#include <golden_file.h>
#include <ops/all_ops.h>
#include <scheduler/utils.h>

using namespace nvfuser;
using enum ParallelType;

namespace {

struct Sample {
  std::string name;
  std::function<void(Fusion&)> define;
  LowerTarget target = LowerTarget::Cuda;
};

/// Threads that keep their elements: predicates, names for indices, parameters.
void pointwise(Fusion& fusion) {
  TensorView* x = makeContigTensor(2);
  TensorView* bias = makeContigTensor(1);
  fusion.addInput(x);
  fusion.addInput(bias);
  TensorView* out = mul(add(x, broadcast(bias, {true, false})), add(x, x));
  fusion.addOutput(out);
  out->merge(0);
  out->split(0, 128);
  scheduler_utils::transformPropagateToAllFrom(out);
  out->axis(0)->parallelize(BIDx);
  out->axis(1)->parallelize(TIDx);
  scheduler_utils::parallelizeAllLike(out);
  inlineMost();
}

/// Vectors, on both sides of a copy.
void vectors(Fusion& fusion) {
  TensorView* x = makeContigTensor(1);
  fusion.addInput(x);
  TensorView* load = set(x);
  TensorView* body = exp(load);
  TensorView* out = set(body);
  fusion.addOutput(out);
  out->split(0, 4);
  out->axis(0)->parallelize(BIDx);
  scheduler_utils::transformPropagateToAllFrom(out);
  scheduler_utils::parallelizeAllLike(out);
  inlineAllAt(out, 1);
  out->axis(1)->parallelize(Vectorize);
  load->axis(1)->parallelize(Vectorize);
}

/// What is broadcast along rows that vectors run across.
void acrossRows(Fusion& fusion) {
  TensorView* x = makeContigTensor(2);
  TensorView* bias = makeContigTensor(1);
  fusion.addInput(x);
  fusion.addInput(bias);
  TensorView* load = set(x);
  TensorView* out = set(add(load, broadcast(bias, {true, false})));
  fusion.addOutput(out);
  out->merge(0);
  out->split(0, 4);
  out->split(0, 128);
  scheduler_utils::transformPropagateToAllFrom(out);
  out->axis(0)->parallelize(BIDx);
  out->axis(1)->parallelize(TIDx);
  scheduler_utils::parallelizeAllLike(out);
  out->axis(2)->parallelize(Vectorize);
  load->axis(2)->parallelize(Vectorize);
  inlineMost();
}

/// A tile through shared memory: barriers, planned memory.
void transposed(Fusion& fusion) {
  TensorView* x = makeContigConcreteTensor({64, 64});
  fusion.addInput(x);
  TensorView* tile = set(x);
  TensorView* out = transpose(tile, 0, 1);
  fusion.addOutput(out);
  tile->setMemoryType(MemoryType::Shared);
  tile->split(0, 16);
  tile->axis(1)->parallelize(TIDx);
  out->split(1, 16);
  out->reorder({{1, 0}});
  out->axis(1)->parallelize(TIDx);
  tile->inlineAt(1);
}

/// A reduction across the threads of a block, kept for the division.
void normalised(Fusion& fusion) {
  TensorView* x = makeContigTensor(2);
  fusion.addInput(x);
  TensorView* out = div(x, broadcast(sum(x, {1}), {false, true}));
  fusion.addOutput(out);
  for (TensorView* tv : fusion.allTvs()) {
    if (!tv->isFusionInput() && tv->nDims() == 2) {
      tv->split(1, 64);
      tv->axis(0)->parallelize(BIDx);
      tv->axis(2)->parallelize(TIDx);
    }
  }
  inlineMost();
}

/// The same by tasks of the CPU, whose loops ask for lines ahead.
void fetchedAhead(Fusion& fusion) {
  normalised(fusion);
  fusion.manage("fetch_ahead", true);
}

/// Bulk loads into a circular buffer, a bulk store of what threads computed: waits and fences.
void bulk(Fusion& fusion) {
  TensorView* x = makeContigTensor(2);
  fusion.addInput(x);
  TensorView* body = exp(x);
  TensorView* out = set(body);
  fusion.addOutput(out);
  TensorView* load = x->cacheAfter(LoadStoreOpType::CpAsyncBulk);
  for (TensorView* tv : {load, body, out}) {
    tv->split(1, 64);
    tv->axis(0)->parallelize(BIDx);
    tv->axis(2)->parallelize(tv == body ? TIDx : Bulk);
  }
  load->setMemoryType(MemoryType::Shared);
  body->setMemoryType(MemoryType::Shared);
  inlineAllAt(out, 2);
  load->circularBuffer(3);
}

/// Threads that share rows which are scanned, backward.
void scanned(Fusion& fusion) {
  TensorView* x = makeContigTensor(2);
  fusion.addInput(x);
  TensorView* out = mul(scan(add(x, x), 1, BinaryOpType::Add, nullptr, true), x);
  fusion.addOutput(out);
  out->split(1, 2);
  out->split(1, 64);
  scheduler_utils::transformPropagateToAllFrom(out);
  out->axis(0)->parallelize(BIDx);
  out->axis(2)->parallelize(TIDx);
  scheduler_utils::parallelizeAllLike(out);
  inlineMost();
}

const std::vector<Sample>& samples() {
  static const std::vector<Sample> all = {
      {"pointwise", pointwise},
      {"pointwise_cpu", pointwise, LowerTarget::Cpu},
      {"vectors", vectors},
      {"across_rows", acrossRows},
      {"transposed", transposed},
      {"normalised", normalised},
      {"fetched_ahead", fetchedAhead, LowerTarget::Cpu},
      {"bulk", bulk},
      {"scanned", scanned},
      {"scanned_cpu", scanned, LowerTarget::Cpu},
  };
  return all;
}

/// The whole way of a fusion, pass by pass.
std::string passesText(const Sample& sample) {
  Fusion fusion;
  FusionGuard guard(&fusion);
  sample.define(fusion);
  LowerOptions options;
  options.target = sample.target;
  options.index_type = DataType::Int32;
  std::string out = text("==== fusion\n", fusion.toString());
  std::string last;
  std::set<std::string_view> seen;
  lower(&fusion, options, [&](const LoweringPass& pass, const Lowering& lowering, double) {
    std::string now = printLowering(lowering);
    out += text("==== after ", pass.name, "\n", now == last ? "(unchanged)\n" : now);
    last = std::move(now);
    seen.insert(pass.name);
  });
  for (const LoweringPass& pass : loweringPasses()) {
    CHECK_MESSAGE((pass.optional || seen.count(pass.name) == 1), pass.name, " did not run");
  }
  return out;
}

}  // namespace

TEST_CASE("lowering: passes leave behind what they did") {
  for (const Sample& sample : samples()) {
    const std::string got = passesText(sample);
    CHECK(got == passesText(sample));  // the same bytes each time
    checkGoldenFile(text("golden/expected/lowering_", sample.name, ".txt"), got);
  }
}
