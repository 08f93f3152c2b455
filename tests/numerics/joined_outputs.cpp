// Outputs whose parts are written by the kernels that compute them: equal to the reference and to
// the same fusion without, in as few kernels as they are there for, in memory that is the output's.
#include <doctest/doctest.h>

#include "automatic.h"
#include "current_fusion.h"

using namespace nvfuser;
using automatic::Define;
using automatic::Input;

namespace {

TensorView* symbolic(int64_t rank) {
  TensorView* tv = makeContigTensor(rank);
  FusionGuard::getCurFusion()->addInput(tv);
  return tv;
}

/// h' = 0.9·h + sin(h·x), so often: all steps.
std::vector<TensorView*> steps(TensorView* x, int64_t count) {
  std::vector<TensorView*> all;
  TensorView* h = x;
  for (int64_t step = 0; step < count; ++step) {
    h = add(mul(h, IrBuilder::create<Val>(0.9)), sin(mul(h, x)));
    all.push_back(h);
  }
  return all;
}

std::vector<TensorView*> stackable(const std::vector<TensorView*>& parts, int64_t axis) {
  std::vector<TensorView*> result;
  for (TensorView* part : parts) {
    result.push_back(unsqueeze(part, axis));
  }
  return result;
}

struct Case {
  std::string title;
  size_t kernels;  ///< with parts stored where they belong; 0: as many as a device wants
  std::vector<Input> inputs;
  std::function<void()> define;
};

std::unique_ptr<FusionExecutorCache> cacheOf(const Case& c) {
  auto fusion = std::make_unique<Fusion>();
  FusionGuard guard(fusion.get());
  c.define();
  return std::make_unique<FusionExecutorCache>(std::move(fusion));
}

void check(const Case& c) {
  CAPTURE(c.title);
  for (Device* device : testDevices()) {
    CAPTURE(device->properties().name);
    const KernelArgumentHolder arguments = automatic::makeInputs(c.inputs, *device);
    const OptionsGuard strict(Options::current().disable("fallback").set("VERIFY", "1"));
    auto with = cacheOf(c);
    const KernelArgumentHolder results = with->runFusionWithInputs(arguments);
    const std::string report = with->report();
    CAPTURE(report);
    CHECK((c.kernels == 0 || with->numKernels() == c.kernels));
    testValidate(with->fusion(), results, arguments, __LINE__, __FILE__, c.title);
    const KernelArgumentHolder again = with->runFusionWithInputs(arguments);

    const OptionsGuard off(Options::current().disable("preseg(mark-joins)"));
    auto without = cacheOf(c);
    const KernelArgumentHolder plain = without->runFusionWithInputs(arguments);
    REQUIRE(plain.size() == results.size());
    for (size_t i = 0; i < plain.size(); ++i) {
      CHECK(sameBytes(again[i].tensor(), results[i].tensor()));
      CHECK_FALSE(again[i].tensor().sharesStorage(results[i].tensor()));
      CHECK(again[i].tensor().strides() == results[i].tensor().strides());
      CHECK(plain[i].tensor().strides() == results[i].tensor().strides());
    }
  }
}

}  // namespace

TEST_CASE(
    "joined outputs: steps of a recurrence are one kernel, which stores them where they are "
    "joined") {
  check({"rows behind each other", 1, {{{24, 40}}}, [] {
           output(cat(stackable(steps(input({24, 40}), 6), 0), 0));
         }});
  check({"columns beside each other", 1, {{{24, 40}}}, [] {
           output(cat(stackable(steps(input({24, 40}), 6), 1), 1));
         }});
  check({"along the innermost axis", 1, {{{24, 40}}}, [] {
           output(cat(steps(input({24, 40}), 5), 1));
         }});
  check({"more than a join has operands", 0, {{{8, 32}}}, [] {
           output(cat(stackable(steps(input({8, 32}), 20), 1), 1));
         }});
  check({"sizes that a call knows", 1, {{{9, 16}}}, [] {
           output(cat(stackable(steps(symbolic(2), 5), 0), 0));
         }});
  check({"half precision", 1, {{{6, 64}, DataType::BFloat16}}, [] {
           std::vector<TensorView*> parts;
           for (TensorView* step :
                steps(castOp(DataType::Float, input({6, 64}, DataType::BFloat16)), 4)) {
             parts.push_back(castOp(DataType::BFloat16, step));
           }
           output(cat(stackable(parts, 1), 1));
         }});
}

TEST_CASE("joined outputs: long rows of odd lengths are stored where they are joined") {
  check({"levels of a smoothed series, from its first row on", 1, {{{24, 10007}}}, [] {
           TensorView* x = input({24, 10007});
           std::vector<TensorView*> levels;
           for (int64_t t = 0; t < 24; ++t) {
             TensorView* now = select(x, 0, IrBuilder::create<Val>(t));
             levels.push_back(t == 0 ? now
                                     : add(mul(levels.back(), IrBuilder::create<Val>(0.9)),
                                           mul(now, IrBuilder::create<Val>(0.1))));
           }
           output(cat(stackable(levels, 0), 0));
         }});
  check({"steps of rows", 1, {{{3, 515}}}, [] {
           output(cat(stackable(steps(input({3, 515}), 5), 1), 1));
         }});
}

TEST_CASE("joined outputs: rows that are no vectors, and short ones, are joined by a kernel") {
  check({"rows of 39", 0, {{{24, 39}}}, [] {
           output(cat(stackable(steps(input({24, 39}), 6), 1), 1));
         }});
  check({"rows of 3", 0, {{{24, 3}}}, [] {
           output(cat(stackable(steps(input({24, 3}), 6), 1), 1));
         }});
  check({"nothing", 0, {{{0, 40}}}, [] { output(cat(stackable(steps(symbolic(2), 4), 1), 1)); }});
}

TEST_CASE("joined outputs: parts that are needed elsewhere, twice, or are given") {
  check({"an output, too", 0, {{{24, 40}}}, [] {
           const std::vector<TensorView*> all = steps(input({24, 40}), 6);
           output(all[2]);
           output(cat(stackable(all, 1), 1));
           output(sum(all[5], {1}));
         }});
  check({"twice, and an input", 0, {{{24, 40}}}, [] {
           TensorView* x = input({24, 40});
           std::vector<TensorView*> all = steps(x, 6);
           all.push_back(all[3]);
           all.push_back(x);
           output(cat(stackable(all, 0), 0));
         }});
  check({"two joins of one recurrence", 0, {{{24, 40}}}, [] {
           const std::vector<TensorView*> all = steps(input({24, 40}), 6);
           output(cat(stackable(all, 0), 0));
           output(neg(all[0]));
           output(cat(stackable(all, 1), 1));
         }});
  check({"a permuted output", 0, {{{24, 40}}}, [] {
           TensorView* joined = cat(stackable(steps(input({24, 40}), 6), 1), 1);
           output(permute(joined, {1, 0, 2}));
         }});
}

TEST_CASE("joined outputs: sums and normalised rows go where they are joined") {
  check({"sums of rows", 0, {{{64, 48}}}, [] {
           std::vector<TensorView*> sums;
           for (TensorView* step : steps(input({64, 48}), 4)) {
             sums.push_back(sum(step, {1}));
           }
           output(cat(stackable(sums, 0), 0));
         }});
  check({"softmax beside a copy", 0, {{{24, 64}}}, [] {
           TensorView* x = input({24, 64});
           output(cat({softmax(x, 1), neg(x)}, 1));
         }});
}

TEST_CASE("joined outputs: parts that share nothing") {
  check({"stacked, of one input", 0, {{{24, 40}}}, [] {
           TensorView* x = input({24, 40});
           output(cat(stackable({sin(x), cos(x), abs(x), neg(x), exp(x)}, 0), 0));
         }});
  check({"unlike lengths, one of them given", 0, {{{3, 40}}, {{7, 40}}, {{1, 40}}, {{5, 40}}}, [] {
           TensorView* a = input({3, 40});
           TensorView* b = input({7, 40});
           TensorView* c = input({1, 40});
           TensorView* d = input({5, 40});
           output(cat({sin(a), cos(b), neg(c), d}, 0));
         }});
  check({"one row stretched, others not", 0, {{{9, 16}}}, [] {
           TensorView* x = symbolic(2);
           TensorView* one = sum(x, {0}, /*keep_dim=*/true);
           output(cat({neg(one), sin(x), cos(x)}, 0));
         }});
  check({"along the innermost axis, more than a loop is split into", 0, {{{24, 32}}}, [] {
           TensorView* x = input({24, 32});
           output(cat({sin(x), cos(x), abs(x), neg(x), exp(x), relu(x), tanh(x), sqrt(abs(x))}, 1));
         }});
  check({"rows of an axis in the middle", 0, {{{6, 5, 24}}}, [] {
           TensorView* x = input({6, 5, 24});
           output(cat({sin(x), slice(cos(x), {0, 1, 0}, {6, 3, 24}), neg(x)}, 1));
         }});
}

TEST_CASE("joined outputs: parts that are turned beside others that are not") {
  const Input square{{40, 64, 64}, DataType::Float};
  check({"a quarter turn, a half turn", 0, {square}, [] {
           TensorView* x = symbolic(3);
           TensorView* quarter = transpose(flip(x, {2}), 1, 2);
           FusionGuard::getCurFusion()->addOutput(cat({x, quarter, flip(x, {1, 2})}, 0));
         }});
  check({"a transpose that is computed", 0, {square}, [] {
           TensorView* x = symbolic(3);
           TensorView* y = sin(x);
           FusionGuard::getCurFusion()->addOutput(cat({y, transpose(y, 1, 2)}, 0));
         }});
}

TEST_CASE("joined outputs: an input that is updated beside them") {
  for (Device* device : testDevices()) {
    CAPTURE(device->properties().name);
    auto fusion = std::make_unique<Fusion>();
    {
      FusionGuard guard(fusion.get());
      TensorView* x = input({24, 40});
      TensorView* y = input({24, 40});
      const std::vector<TensorView*> all = steps(x, 6);
      output(cat(stackable(all, 1), 1));
      fusion->aliasOutputToInput(add(y, all[5]), y, AllocationType::ReuseBuffer);
    }
    const KernelArgumentHolder arguments = automatic::makeInputs({{{24, 40}}, {{24, 40}}}, *device);
    const OptionsGuard strict(Options::current().disable("fallback"));
    FusionExecutorCache cache(std::move(fusion));
    for (int call = 0; call < 3; ++call) {
      const std::vector<float> before = arguments[1].tensor().toHost<float>();
      const KernelArgumentHolder results = cache.runFusionWithInputs(arguments);
      const std::vector<float> joined = results[0].tensor().toHost<float>();
      const std::vector<float> after = arguments[1].tensor().toHost<float>();
      for (size_t at = 0; at < before.size(); ++at) {
        const float last = joined[(at / 40 * 6 + 5) * 40 + at % 40];
        CHECK(after[at] == doctest::Approx(before[at] + last));
      }
    }
  }
}
