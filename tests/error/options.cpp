// Wrong names and values of options in calls.
#include <options.h>

#include <doctest/doctest.h>

#include <functional>
#include <string>

#include <codegen.h>
#include <fusion.h>
#include <ir/builder.h>
#include <ops/all_ops.h>
#include <runtime/executor.h>
#include <scheduler/utils.h>
#include <support/dump.h>
#include <support/error.h>

namespace nvfuser {
namespace {

void checkError(const std::function<void()>& use, const std::string& words) {
  std::string message = "no error";
  try {
    use();
  } catch (const UserError& e) {
    message = e.what();
  }
  CHECK_MESSAGE(message.find(words) != std::string::npos, words, "\n", message);
}

Options sunk() {
  return Options().to(std::make_shared<DumpSink>([](std::string_view) {}));
}

/// out = in + 1 on 4 elements under `options`.
void runWith(const Options& options) {
  Fusion fusion;
  {
    FusionGuard guard(&fusion);
    TensorView* in = makeContigTensor(1);
    fusion.addInput(in);
    fusion.addOutput(add(in, IrBuilder::create<Val>(1.0)));
  }
  CompileParams params;
  params.device = &cpuDevice();
  params.options = options;
  KernelExecutor executor;
  executor.compile(&fusion, {Tensor::zeros({4}, DataType::Float, cpuDevice())}, LaunchParams(),
                   params);
}

TEST_CASE("options: a wrong name in a call is an error that lists the known ones") {
  checkError([] { (void)Options().dump("kernel_irr"); },
             "options: NVFUSER_DUMP: there is no 'kernel_irr'; known are python_definition");
  checkError([] { (void)Options().disable("fma,hoist"); },
             "options: NVFUSER_DISABLE: there is no 'hoist'; known are fma, index_hoist");
  checkError([] { (void)Options().enable("everything"); },
             "options: NVFUSER_ENABLE: there is no 'everything'; known are kernel_lineinfo");
  checkError([] { (void)Options().set("DUMP_FOLDER", "x"); },
             "options: there is no setting 'DUMP_FOLDER'; known are DUMP_DIR, KERNEL_OVERRIDE");
  checkError([] { (void)Options().set("MAX_REG_COUNT", "256"); },
             "NVFUSER_MAX_REG_COUNT: '256' does not fit, needed is an integer, 0…255");
  checkError([] { (void)Options().set("CACHE_MB", "1GB"); },
             "NVFUSER_CACHE_MB: '1GB' does not fit, needed is an integer, 0…1000000");
  checkError([] { (void)Options().set("VERIFY", "each"); },
             "'each' does not fit, needed is 0 or 1");
}

TEST_CASE("options: files and passes that are not there") {
  checkError(
      [] { runWith(sunk().set("KERNEL_OVERRIDE", "/nonexistent/kernels")); },
      "NVFUSER_KERNEL_OVERRIDE: the folder /nonexistent/kernels cannot be read: No such file");
  checkError([] { runWith(sunk().set("EXTERNAL_SRC", "/nonexistent/a.cpp,b.cpp")); },
             "NVFUSER_EXTERNAL_SRC: /nonexistent/a.cpp cannot be read");
  checkError([] { runWith(sunk().set("DUMP_DIR", "/nonexistent/a/b").dump("kernel_ir")); },
             "dump: the folder /nonexistent/a/b cannot be made: No such file");
  checkError([] { runWith(sunk().set("SKIP_PASS", "allocate")); },
             "lower: 'allocate' is no pass that can be skipped; those are cluster-meetings, "
             "share-draws, share-conditions, "
             "wrap-remainders, fetch-ahead, split-loops, branch-choices, hoist-indices, "
             "limit-unrolling");
}

TEST_CASE("options: a kernel's text for another launch than its own") {
  kir::Kernel kernel;
  kernel.name = "kernel";
  kernel.block[0] = kernel.pool->constant(128);
  checkError(
      [&] { codegen::generateCudaKernel(&kernel, "k", LaunchParams(1, 1, 1, 64)); },
      "generateCudaKernel: LaunchParams ask for threadIdx.x of 64, but the schedule needs 128");
  checkError([] { codegen::generateCudaKernel(nullptr); }, "call GpuLower::run() first");
}

}  // namespace
}  // namespace nvfuser
