// Each option does what the table says: what is shown, what changes in a kernel's text or result.
#include <doctest/doctest.h>

#include <fstream>
#include <functional>
#include <string>

#include <codegen.h>
#include <device_lower/lower2device.h>
#include <fusion.h>
#include <ir/builder.h>
#include <ops/all_ops.h>
#include <options.h>
#include <runtime/executor.h>
#include <runtime/fusion_executor_cache.h>
#include <scheduler/utils.h>
#include <stdlib.h>
#include <support/dump.h>
#include <support/error.h>

namespace nvfuser {
namespace {

/// Options whose dumps are kept.
struct Kept {
  std::shared_ptr<std::string> shown = std::make_shared<std::string>();
  Options options =
      Options().to(std::make_shared<DumpSink>([to = shown](std::string_view s) { *to += s; }));
  bool has(std::string_view words) const { return shown->find(words) != std::string::npos; }
};

bool contains(const std::string& text, std::string_view words) {
  return text.find(words) != std::string::npos;
}

/// out = in0 * in1 + 1, 128 threads a block.
void define(Fusion& fusion) {
  FusionGuard guard(&fusion);
  TensorView* a = makeContigTensor(1);
  TensorView* b = makeContigTensor(1);
  fusion.addInput(a);
  fusion.addInput(b);
  TensorView* product = mul(a, b);
  TensorView* out = add(product, IrBuilder::create<Val>(1.0));
  fusion.addOutput(out);
  out->split(0, 128);
  TransformPropagator propagator(out);
  MaxLogicalDomainInfoSpanningTree(out).traverse(&propagator);
  out->axis(0)->parallelize(ParallelType::BIDx);
  out->axis(1)->parallelize(ParallelType::TIDx);
  scheduler_utils::parallelizeAllLike(out);
  inlineMost();
}

CompileParams paramsOf(const Options& options, Device& device) {
  CompileParams params;
  params.options = options;
  params.device = &device;
  return params;
}

KernelArgumentHolder twoInputs(Device& device, int64_t size = 300) {
  KernelArgumentHolder args;
  args.push(Tensor::zeros({size}, DataType::Float, device));
  args.push(Tensor::zeros({size}, DataType::Float, device));
  return args;
}

std::string textOf(Fusion& fusion, const Options& options, Device& device = emulatedDevice()) {
  const CompiledKernel kernel(fusion, "nvfuser_0", device, DataType::Int,
                              paramsOf(options, device));
  return kernel.generated().ownText();
}

std::string runShowing(std::string_view names, Device& device) {
  Fusion fusion;
  define(fusion);
  const Kept kept;
  KernelExecutor executor;
  executor.compile(&fusion, twoInputs(device), LaunchParams(),
                   paramsOf(kept.options.dump(names), device));
  executor.run(twoInputs(device));
  return *kept.shown;
}

TEST_CASE("options: each dump of a kernel shows its stage") {
  struct Row {
    std::string_view name;
    std::string_view words;
    bool on_cpu = true;
  };
  const Row rows[] = {
      {"fusion_ir", "T3"},
      {"fusion_ir_math", "T3"},
      {"fusion_ir_graph", "digraph fusion {"},
      {"lower_verbose", "lower_verbose plan-shared-memory ----"},
      {"lower_verbose(allocate)", "lower_verbose allocate ----"},
      {"lower_verbose(unroll)", "there is no pass 'unroll'; passes are verify-fusion, "},
      {"pass_times", " ms  build-statements\n"},
      {"parallel_dimensions", "TIDx = 128\n", false},
      {"dynamic_shared_memory", "in all 0 bytes"},
      {"kernel_ir", "kernel nvfuser_0("},
      {"cuda_kernel", "nvfuser_0("},
      {"cuda_full", "nvfuser_0("},
      {"compile_params", "compile_params ----\n"},
      {"ptx", "this device gives no ptx"},
      {"sass", "this device gives no sass"},
      {"ptxas_verbose", "registers unknown"},
      {"index_type", "indices are int"},
      {"launch_param", "grid (3, 1, 1), block ("},
      {"kernel_args", "input  T0: float[300]"},
      {"kernel_args", "output T3: float[300]"},
      {"dump_eff_bandwidth", " ms, 3600 bytes, "},
      {"bank_conflict", "no access to shared memory"},
  };
  for (const Row& row : rows) {
    for (Device* device : {&emulatedDevice(), &cpuDevice()}) {
      if (device == &cpuDevice() && !row.on_cpu) {
        continue;
      }
      CAPTURE(row.name);
      CAPTURE(device->properties().name);
      const std::string shown = runShowing(row.name, *device);
      CHECK_MESSAGE(contains(shown, row.words), row.words, "\n", shown);
      const std::string name = std::string(row.name.substr(0, row.name.find('(')));
      CHECK_MESSAGE(contains(shown, ": " + name), shown);
    }
  }
  CHECK(runShowing("", emulatedDevice()).empty());
}

TEST_CASE("options: a pass that is named is the only one shown") {
  const std::string shown = runShowing("lower_verbose(hoist-indices)", emulatedDevice());
  CHECK(contains(shown, "lower_verbose hoist-indices"));
  CHECK_FALSE(contains(shown, "lower_verbose allocate"));
}

TEST_CASE("options: buffers that are zeroed are marked among the arguments") {
  Fusion fusion;
  {
    FusionGuard guard(&fusion);
    TensorView* in = makeContigTensor(1);
    fusion.addInput(in);
    TensorView* out = sum(in, {0});
    fusion.addOutput(out);
    out->split(0, 64);
    out->axis(0)->parallelize(ParallelType::BIDx);
    out->axis(1)->parallelize(ParallelType::TIDx);
  }
  const Kept kept;
  KernelExecutor executor;
  const KernelArgumentHolder args{Tensor::zeros({256}, DataType::Float, emulatedDevice())};
  executor.compile(&fusion, args, LaunchParams(),
                   paramsOf(kept.options.dump("kernel_args"), emulatedDevice()));
  executor.run(args);
  CHECK_MESSAGE(kept.has(", zero-initialized\n"), *kept.shown);
}

TEST_CASE("options: a fusion's way through the cache is shown") {
  auto fusion = std::make_unique<Fusion>();
  {
    FusionGuard guard(fusion.get());
    TensorView* in = makeContigTensor(2);
    fusion->addInput(in);
    TensorView* total = sum(in, {1});
    fusion->addOutput(sub(in, broadcast(total, {false, true})));
    fusion->addOutput(sum(in, {0}));  // other axes: a kernel of its own
  }
  const Kept kept;
  OptionsGuard guard(kept.options.dump(
      "fusion_ir_original,fusion_ir_preseg,fusion_ir_presched,segmented_fusion,scheduler_params,"
      "fusion_args,launch_param"));
  FusionExecutorCache cache(std::move(fusion), 7);
  cache.runFusionWithInputs({Tensor::zeros({4, 8}, DataType::Float, cpuDevice())});
  for (const char* words :
       {"nvfuser_7: fusion_ir_original ----", "nvfuser_7: fusion_ir_preseg ----",
        "nvfuser_7_1: fusion_ir_presched ----", "scheduler_params ----\nscheduler reduction: inner",
        "scheduler_params ----\nscheduler reduction: outer", "nvfuser_7_2: fusion_ir_presched ----",
        "nvfuser_7: segmented_fusion ----\nkernel 1: (T0", "kernel 2: (",
        "nvfuser_7: fusion_args ----", "nvfuser_7_2: launch_param ----"}) {
    CHECK_MESSAGE(kept.has(words), words, "\n", *kept.shown);
  }
}

// ---- features

TEST_CASE("options: without index_hoist no index has a name") {
  Fusion fusion;
  define(fusion);
  CHECK(contains(textOf(fusion, Options()), "Index n0 = "));
  const std::string plain = textOf(fusion, Options().disable("index_hoist"));
  CHECK_FALSE(contains(plain, "Index n0 = "));
  CHECK(contains(plain, "// options: disable=index_hoist\n"));
  CHECK_FALSE(contains(textOf(fusion, Options().set("SKIP_PASS", "hoist-indices")), "Index n0 = "));
}

TEST_CASE("options: without predicate_elimination proven checks are written down") {
  // 4 of 4 elements: the split divides, so nothing needs a check.
  Fusion fusion;
  {
    FusionGuard guard(&fusion);
    TensorView* in = makeContigConcreteTensor({64, 32});
    fusion.addInput(in);
    TensorView* out = neg(in);
    fusion.addOutput(out);
    out->merge(0)->split(0, 128);
    out->axis(0)->parallelize(ParallelType::BIDx);
    out->axis(1)->parallelize(ParallelType::TIDx);
  }
  CHECK_FALSE(contains(textOf(fusion, Options()), "if ("));
  const Options kept = Options().disable("predicate_elimination");
  const std::string text = textOf(fusion, kept);
  CHECK_MESSAGE(contains(text, "if ("), text);
  CHECK_MESSAGE(contains(text, " < 2048"), text);
  // And the kernel still computes.
  for (Device* device : {&emulatedDevice(), &cpuDevice()}) {
    Tensor in = Tensor::full({64, 32}, PolymorphicValue(2.0), DataType::Float, *device);
    KernelExecutor executor;
    executor.compile(&fusion, {in}, LaunchParams(), paramsOf(kept, *device));
    CHECK(executor.run({in})[0].tensor().toHost<float>() == std::vector<float>(2048, -2.0F));
  }
}

TEST_CASE("options: without unroll_with_rng loops that draw are not unrolled") {
  auto make = [](Fusion& fusion, bool random) {
    FusionGuard guard(&fusion);
    TensorView* in = makeContigTensor(1);
    fusion.addInput(in);
    TensorView* out = random ? add(in, rand_like(in)) : neg(in);
    fusion.addOutput(out);
    out->split(0, 4);
    out->axis(1)->parallelize(ParallelType::Unroll);
    inlineMost();
  };
  const Options disabled = Options().disable("unroll_with_rng");
  Fusion draws;
  make(draws, true);
  CHECK(contains(textOf(draws, Options()), "#pragma unroll"));
  CHECK_FALSE(contains(textOf(draws, disabled), "#pragma unroll\n"));
  Fusion plain;
  make(plain, false);
  CHECK(contains(textOf(plain, disabled), "#pragma unroll"));
}

TEST_CASE("options: products are rounded before they are added, unless fma is enabled") {
  // (1 + 2^-12)^2 - (1 + 2^-11) is 2^-24 exactly, and 0 where the product is rounded first.
  Fusion fusion;
  {
    FusionGuard guard(&fusion);
    TensorView* a = makeContigTensor(1);
    TensorView* b = makeContigTensor(1);
    fusion.addInput(a);
    fusion.addInput(b);
    fusion.addOutput(sub(mul(a, a), b));
    inlineMost();
  }
  Device& cpu = cpuDevice();
  const KernelArgumentHolder args{
      Tensor::full({4}, PolymorphicValue(1.0 + 0x1p-12), DataType::Float, cpu),
      Tensor::full({4}, PolymorphicValue(1.0 + 0x1p-11), DataType::Float, cpu)};
  KernelExecutor executor;
  const auto result = [&](const Options& options) {
    CompileParams params;
    params.options = options;
    executor.compile(&fusion, args, LaunchParams(), params);
    return executor.run(args, {}, LaunchParams(), params)[0].tensor().toHost<float>()[0];
  };
  CHECK(result(Options()) == 0.0F);
  CHECK(result(Options().disable("fma")) == 0.0F);
  CHECK(result(Options().enable("fma").disable("fma")) == 0.0F);
  const float contracted = result(Options().enable("fma"));
  CHECK(contains(executor.compiledKernel()->kernelString(), "// options: enable=fma\n"));
#if defined(__x86_64__)
  if (__builtin_cpu_supports("fma")) {
    CHECK(contracted == 0x1p-24F);
  }
#endif
  const Kept kept;
  executor.compile(&fusion, args, LaunchParams(),
                   paramsOf(kept.options.enable("fma").dump("compile_params"), cpu));
  CHECK_MESSAGE(kept.has("-ffp-contract=fast"), *kept.shown);
}

TEST_CASE("options: what code depends on makes a variant of its own") {
  Fusion fusion;
  define(fusion);
  KernelExecutor executor;
  const KernelArgumentHolder args = twoInputs(cpuDevice());
  executor.compile(&fusion, args);
  const CompiledKernel* plain = executor.compiledKernel();
  CompileParams params;
  params.options = Options().disable("index_hoist");
  executor.run(args, {}, LaunchParams(), params);
  const CompiledKernel* other = executor.compiledKernel();
  CHECK(other != plain);
  executor.run(args);
  CHECK(executor.compiledKernel() == plain);
  params.options = Options().disable("index_hoist,fallback");
  executor.run(args, {}, LaunchParams(), params);
  CHECK(executor.compiledKernel() == other);
}

TEST_CASE("options: verification passes on sound kernels") {
  Fusion fusion;
  define(fusion);
  for (Device* device : {&emulatedDevice(), &cpuDevice()}) {
    CHECK(contains(textOf(fusion, Options().set("VERIFY", "1"), *device), "nvfuser_0("));
  }
}

// ---- kernels from files

TEST_CASE("options: an edited dump replaces the kernel") {
  char pattern[] = "/tmp/nvfuser-override-XXXXXX";
  REQUIRE(mkdtemp(pattern) != nullptr);
  const std::string folder = pattern;
  Fusion fusion;
  define(fusion);
  for (Device* device : {&emulatedDevice(), &cpuDevice()}) {
    CAPTURE(device->properties().name);
    const Kept kept;
    KernelExecutor executor;
    const KernelArgumentHolder args = twoInputs(*device, 4);
    executor.compile(&fusion, args, LaunchParams(),
                     paramsOf(kept.options.dump("cuda_to_file").set("DUMP_DIR", folder), *device));
    const std::string path = folder + "/001-nvfuser_0" + (device == &cpuDevice() ? ".cpp" : ".cu");
    std::ifstream in(path);
    std::string edited(std::istreambuf_iterator<char>(in), {});
    REQUIRE(edited.starts_with("// nvfuser kernel nvfuser_0 "));
    const size_t at = edited.rfind("1.0f");
    REQUIRE(at != std::string::npos);
    edited.replace(at, 4, "5.0f");
    std::ofstream(path) << edited;

    CHECK(executor.run(args)[0].tensor().toHost<float>() == std::vector<float>(4, 1.0F));
    CompileParams params;
    params.options = Options().set("KERNEL_OVERRIDE", folder);
    CHECK(executor.run(args, {}, LaunchParams(), params)[0].tensor().toHost<float>() ==
          std::vector<float>(4, 5.0F));
    CHECK(executor.compiledKernel()->isOverridden());
    // By number: fusion 0 is the first of the list.
    params.options = Options().set("EXTERNAL_SRC", path);
    CHECK(executor.run(args, {}, LaunchParams(), params)[0].tensor().toHost<float>() ==
          std::vector<float>(4, 5.0F));
    // Another text is another kernel.
    params.options = Options().set("KERNEL_OVERRIDE", folder).disable("index_hoist");
    CHECK(executor.run(args, {}, LaunchParams(), params)[0].tensor().toHost<float>() ==
          std::vector<float>(4, 1.0F));
    remove(path.c_str());
  }
  remove(pattern);
}

// ---- the public names

TEST_CASE("GpuLower and generateCudaKernel give the kernel's text") {
  Fusion fusion;
  define(fusion);
  GpuLower lower(&fusion);
  CHECK(lower.kernel() == nullptr);
  kir::Kernel* kernel = lower.run();
  CHECK(kernel == lower.run());
  CHECK(kernel == lower.kernel());
  const std::string text = codegen::generateCudaKernel(kernel, "my_kernel");
  CHECK(contains(text, "extern \"C\" __global__ void"));
  CHECK(contains(text, " my_kernel("));
  CHECK(contains(codegen::generateCudaKernel(kernel), " CUDAGeneratedKernel("));
  const Kept kept;
  CompileParams params;
  params.options = kept.options.dump("kernel_ir,lower_verbose(allocate)");
  GpuLower(&fusion, params).run();
  CHECK(kept.has("kernel: kernel_ir ----"));
  CHECK(kept.has("lower_verbose allocate ----"));
}

}  // namespace
}  // namespace nvfuser
