// NVFUSER_ENABLE=bounds: an access of a CPU kernel that lies outside of a tensor's memory is found,
// named, and left out. The wrong kernels are right ones whose text was edited.
#include <doctest/doctest.h>

#include <fstream>
#include <functional>
#include <string>

#include <fusion.h>
#include <ir/builder.h>
#include <ops/all_ops.h>
#include <options.h>
#include <runtime/bounds_error.h>
#include <runtime/executor.h>
#include <runtime/fusion_executor_cache.h>
#include <stdlib.h>

namespace nvfuser {
namespace {

using Define = std::function<void(Fusion&)>;

const Options kBounds = Options().enable("bounds");

CompileParams paramsOf(const Options& options) {
  CompileParams params;
  params.options = options;
  params.device = &cpuDevice();
  return params;
}

/// The fusion as a scheduler has it, which makes one kernel of it.
std::unique_ptr<Fusion> scheduled(const Define& define, const KernelArgumentHolder& args) {
  auto fusion = std::make_unique<Fusion>();
  FusionGuard guard(fusion.get());
  define(*fusion);
  FusionExecutorCache cache(std::move(fusion));
  cache.runFusionWithInputs(args);
  REQUIRE(cache.executors().size() == 1);
  return std::make_unique<Fusion>(*cache.executors().front()->fusion());
}

std::string textOf(const Fusion& fusion, const Options& options) {
  return CompiledKernel(fusion, "nvfuser_0", cpuDevice(), DataType::Int, paramsOf(options))
      .kernelString();
}

/// What is said of the kernel with `from` in its text, at its last place, replaced by `to`.
std::string errorOf(const Define& define, const KernelArgumentHolder& args, std::string_view from,
                    std::string_view to, const KernelArgumentHolder& outputs = {}) {
  const std::unique_ptr<Fusion> fusion = scheduled(define, args);
  std::string edited = textOf(*fusion, kBounds);
  CAPTURE(edited);
  const size_t at = edited.rfind(from);
  REQUIRE(at != std::string::npos);
  REQUIRE(at > edited.find("// ---- the kernel ----"));
  edited.replace(at, from.size(), to);
  char path[] = "/tmp/nvfuser-bounds-XXXXXX";
  const int file = mkstemp(path);
  REQUIRE(file >= 0);
  std::ofstream(path) << edited;
  KernelExecutor executor;
  std::string message = "no error";
  try {
    executor.compile(fusion.get(), args, LaunchParams(),
                     paramsOf(kBounds.set("EXTERNAL_SRC", path)));
    executor.run(args, outputs);
  } catch (const BoundsError& error) {
    message = error.what();
  }
  remove(path);
  return message;
}

bool contains(const std::string& text, std::string_view words) {
  return text.find(words) != std::string::npos;
}

KernelArgumentHolder floats(const std::vector<int64_t>& sizes) {
  KernelArgumentHolder args;
  args.push(Tensor::ones(sizes, DataType::Float));
  return args;
}

void doubled(Fusion& fusion) {
  TensorView* x = makeContigTensor(1);
  fusion.addInput(x);
  fusion.addOutput(mul(x, IrBuilder::create<Val>(2.0)));
}

TEST_CASE("bounds: a vector read outside of its tensor is found, and left out") {
  const std::string message = errorOf(doubled, floats({40}), "(T0 + ", "(T0 + 1 + ");
  CHECK(contains(message, "kernel nvfuser_0: access to elements "));
  CHECK(contains(message, " to 40 of T0 = T0_g_float["));
  CHECK(contains(message,
                 ", outside of its memory, which has elements 0 to 39; the access was left out"));
}

TEST_CASE("bounds: nothing is written outside of a tensor") {
  const Tensor memory = Tensor::zeros({80}, DataType::Float);
  const KernelArgumentHolder outputs{memory.asStrided({40}, {1}, 16)};
  for (const std::string_view moved : {"(T1 + 4 + ", "(T1 + -4 + ", "(T1 + (1ll << 62) + "}) {
    CAPTURE(moved);
    const std::string message = errorOf(doubled, floats({40}), "(T1 + ", moved, outputs);
    CHECK(contains(message, "of T1 = T1_g_float["));
    const std::vector<float> all = memory.toHost<float>();
    for (size_t i = 0; i < all.size(); ++i) {
      CAPTURE(i);
      CHECK((i >= 16 && i < 56 ? all[i] == 0.0F || all[i] == 2.0F : all[i] == 0.0F));
    }
  }
}

TEST_CASE("bounds: single elements, and places before the first") {
  const auto strided = [](Fusion& fusion) {
    TensorView* x =
        TensorViewBuilder().ndims(1).shape(std::vector<int64_t>{-1}).contiguity(false).build();
    fusion.addInput(x);
    fusion.addOutput(neg(x));
  };
  const KernelArgumentHolder args{Tensor::ones({100}, DataType::Float).asStrided({10}, {3}, 5)};
  CHECK(contains(errorOf(strided, args, "T0[", "T0[1 + "),
                 "access to element 28 of T0 = T0_g_float["));
  CHECK(contains(errorOf(strided, args, "T0[", "T0[-1 + "), "access to element -1 of T0"));
}

TEST_CASE("bounds: a window of a padded tensor") {
  const auto padded = [](Fusion& fusion) {
    TensorView* x = makeContigTensor(1);
    fusion.addInput(x);
    const auto index = [](int64_t n) { return IrBuilder::create<Val>(n, DataType::Index); };
    fusion.addOutput(pad(x, {index(3), index(5)}));
  };
  CHECK(contains(errorOf(padded, floats({64}), ">(T0, ", ">(T0, 7 + "), " of T0 = T0_g_float["));
}

TEST_CASE("bounds: elements read at indices") {
  const auto taken = [](Fusion& fusion) {
    TensorView* x = makeContigTensor(2);
    TensorView* rows = makeContigTensor(1, DataType::Int);
    fusion.addInput(x);
    fusion.addInput(rows);
    fusion.addOutput(indexSelect(x, 0, rows));
  };
  KernelArgumentHolder args = floats({6, 32});
  args.push(Tensor::fromHost<int64_t>({5, 0, 3}, {3}));
  CHECK(contains(errorOf(taken, args, "(T0 + ", "(T0 + 32 + "), "of T0 = T0_g_float["));
}

TEST_CASE("bounds: a workspace") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = makeContigTensor(2);
  fusion.addInput(x);
  TensorView* kept = set(x);
  kept->setMemoryType(MemoryType::Global);
  fusion.addOutput(neg(kept));
  const std::string text = textOf(fusion, kBounds);
  CHECK(contains(text, "Checked<float> T1"));
  KernelExecutor executor;
  executor.compile(&fusion, floats({3, 5}), LaunchParams(), paramsOf(kBounds));
  CHECK(executor.run(floats({3, 5}))[0].tensor().toHost<float>() == std::vector<float>(15, -1.0F));
}

TEST_CASE("bounds: a kernel that stays inside gives its result, and the option is in its text") {
  const std::unique_ptr<Fusion> fusion = scheduled(doubled, floats({40}));
  CHECK_FALSE(contains(textOf(*fusion, Options()), "Checked"));
  CHECK(contains(textOf(*fusion, kBounds), "// options: enable=bounds"));
  KernelExecutor executor;
  executor.compile(fusion.get(), floats({40}), LaunchParams(), paramsOf(kBounds));
  CHECK(executor.run(floats({40}))[0].tensor().toHost<float>() == std::vector<float>(40, 2.0F));
  CHECK(executor.run(floats({1}))[0].tensor().toHost<float>() == std::vector<float>(1, 2.0F));
  CHECK(executor.run(floats({0}))[0].tensor().numel() == 0);
}

}  // namespace
}  // namespace nvfuser
