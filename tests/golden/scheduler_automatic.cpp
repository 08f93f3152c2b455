// Kernels of the automatic schedulers: parameters and text, compared with
// tests/golden/expected/automatic_<name>.txt. Library snippets are left out.
#include <doctest/doctest.h>

#include <functional>

#include <fusion.h>
#include <golden_file.h>
#include <ops/all_ops.h>
#include <runtime/fusion_executor_cache.h>

using namespace nvfuser;

namespace {

struct Sample {
  std::string name;
  std::function<TensorView*(TensorView*)> define;
  std::vector<int64_t> sizes;
};

std::vector<Sample> samples() {
  return {
      {"row_sum",
       [](TensorView* x) {
         return castOp(DataType::BFloat16, sum(castOp(DataType::Float, x), {1}));
       },
       {64, 4096}},
      {"transpose",
       [](TensorView* x) {
         TensorView* y = relu(castOp(DataType::Float, x));
         return castOp(DataType::BFloat16, transpose(y, 0, 1));
       },
       {1024, 4096}},
      {"softmax",
       [](TensorView* x) { return castOp(DataType::BFloat16, softmax(x, 1)); },
       {64, 4096}},
  };
}

std::string textOf(const Sample& sample) {
  auto fusion = std::make_unique<Fusion>();
  FusionGuard guard(fusion.get());
  TensorView* x = makeContigTensor(2, DataType::BFloat16);
  fusion->addInput(x);
  fusion->addOutput(sample.define(x));
  FusionExecutorCache cache(std::move(fusion));
  KernelArgumentHolder arguments;
  arguments.push(Tensor::meta(sample.sizes, {sample.sizes[1], 1}, DataType::BFloat16));
  cache.prepare(arguments, PrimDataType::Int32, &emulatedDevice());
  std::string out = cache.report();
  for (KernelExecutor* executor : cache.executors()) {
    const GeneratedKernel& generated = executor->compiledKernel()->generated();
    out += "\n" + generated.text.substr(generated.own_begin);
  }
  return out;
}

}  // namespace

TEST_CASE("automatic: a row sum, a transpose and a softmax as they always were") {
  for (const Sample& sample : samples()) {
    const std::string got = textOf(sample);
    CHECK(got == textOf(sample));  // the same bytes each time
    checkGoldenFile(text("golden/expected/automatic_", sample.name, ".txt"), got);
  }
}
