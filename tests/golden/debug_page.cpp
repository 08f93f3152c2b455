// The outputs that docs/debug.md shows are those that its programs give today. In the page each
// stands in the block behind a line `<!-- output: name -->`.
#include <doctest/doctest.h>

#include <cstdio>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>

#include <fusion.h>
#include <ir/builder.h>
#include <ops/all_ops.h>
#include <options.h>
#include <runtime/executor.h>
#include <scheduler/utils.h>
#include <stdlib.h>
#include <support/dump.h>
#include <support/text.h>
#include <transpose_schedule.h>

using namespace nvfuser;

namespace {

/// What is shown of the page's example, a transpose through a tile.
std::string dumpsOf(std::string_view names, bool swizzled = false) {
  Fusion fusion;
  transposeThroughTile(fusion, swizzled);
  std::string shown;
  auto sink = std::make_shared<DumpSink>([&](std::string_view part) { shown += part; });
  CompileParams params;
  params.options = Options().dump(names).to(sink);
  const KernelArgumentHolder args{Tensor::zeros({64, 96}, DataType::Float, emulatedDevice())};
  KernelExecutor executor;
  executor.compile(&fusion, args, LaunchParams(), params);
  executor.run(args);
  return shown;
}

/// What the emulated device says when somebody takes the barrier out of the kernel's file.
std::string withoutBarrier() {
  char pattern[] = "/tmp/nvfuser-debug-XXXXXX";
  REQUIRE(mkdtemp(pattern) != nullptr);
  const std::string folder = pattern;
  Fusion fusion;
  transposeThroughTile(fusion, false);
  const KernelArgumentHolder args{Tensor::zeros({32, 32}, DataType::Float, emulatedDevice())};
  CompileParams params;
  params.options = Options().set("DUMP_DIR", folder).dump("cuda_to_file");
  KernelExecutor executor;
  executor.compile(&fusion, args, LaunchParams(), params);
  const std::string path = folder + "/001-nvfuser_0.cu";
  std::ifstream in(path);
  std::string text(std::istreambuf_iterator<char>(in), {});
  const size_t barrier = text.rfind("__syncthreads();");
  REQUIRE(barrier != std::string::npos);
  text.erase(barrier, 16);
  std::ofstream(path) << text;
  params.options = Options().set("KERNEL_OVERRIDE", folder);
  std::string message = "no finding";
  try {
    executor.run(args, {}, LaunchParams(), params);
  } catch (const std::exception& e) {
    message = e.what();
  }
  remove(path.c_str());
  remove(pattern);
  // The first finding; the others are the same race elsewhere.
  const size_t second = message.find("\n2. ");
  return message.substr(0, second == std::string::npos ? message.size() : second + 1);
}

/// What a checked kernel of the CPU says that reads a row further than it should. The page shows
/// registers of 64 bytes; those of this processor decide how many elements one access has.
std::string aRowFurther() {
  char pattern[] = "/tmp/nvfuser-debug-XXXXXX";
  REQUIRE(mkdtemp(pattern) != nullptr);
  const std::string path = std::string(pattern) + "/edited.cpp";
  Fusion fusion;
  transposeThroughTile(fusion, false);
  const KernelArgumentHolder args{Tensor::zeros({64, 96}, DataType::Float)};
  CompileParams params;
  params.options = Options().enable("bounds");
  KernelExecutor executor;
  executor.compile(&fusion, args, LaunchParams(), params);
  std::string kernel = executor.compiledKernel()->kernelString();
  const size_t row = kernel.rfind("i2 * n0");
  REQUIRE(row != std::string::npos);
  kernel.replace(row, 7, "i2 * (n0 + 1)");
  std::ofstream(path) << kernel;
  params.options = params.options->set("EXTERNAL_SRC", path);
  std::string message = "no error";
  try {
    executor.run(args, {}, LaunchParams(), params);
  } catch (const std::exception& e) {
    message = e.what();
  }
  remove(path.c_str());
  remove(pattern);
  const auto lastOf = [](int64_t bytes) {
    return text("elements 6144 to ", 6144 + bytes / int64_t{sizeof(float)} - 1, " of");
  };
  const std::string here = lastOf(cpuDevice().properties().vector_bytes);
  const size_t place = message.find(here);
  REQUIRE(place != std::string::npos);
  return message.replace(place, here.size(), lastOf(64));
}

struct Output {
  std::string name;
  std::function<std::string()> make;
};

const Output kOutputs[] = {
    {"math", [] { return dumpsOf("fusion_ir_math"); }},
    {"kernel-ir", [] { return dumpsOf("kernel_ir"); }},
    {"text", [] { return dumpsOf("cuda_kernel"); }},
    {"launch", [] { return dumpsOf("launch_param,kernel_args"); }},
    {"banks", [] { return dumpsOf("bank_conflict"); }},
    {"banks-swizzled", [] { return dumpsOf("bank_conflict", true); }},
    {"race", withoutBarrier},
    {"bounds", aRowFurther},
};

}  // namespace

TEST_CASE("docs/debug.md shows what its programs print") {
  const std::string path = std::string(NVFUSER_TESTS_DIR) + "/../docs/debug.md";
  std::ifstream file(path);
  std::string page(std::istreambuf_iterator<char>(file), {});
  file.close();
  for (const Output& output : kOutputs) {
    CAPTURE(output.name);
    std::string made = output.make();
    if (made.empty() || made.back() != '\n') {
      made += '\n';
    }
    const std::string mark = "<!-- output: " + output.name + " -->\n```text\n";
    const size_t begin = page.find(mark);
    REQUIRE_MESSAGE(begin != std::string::npos, "the page has no block for it");
    const size_t from = begin + mark.size();
    const size_t to = page.find("```", from);
    REQUIRE(to != std::string::npos);
    if (std::getenv("NVFUSER_UPDATE_GOLDEN") != nullptr) {
      page.replace(from, to - from, made);
      continue;
    }
    CHECK_MESSAGE(page.substr(from, to - from) == made,
                  "NVFUSER_UPDATE_GOLDEN=1 build/bin/nvfuser_test_golden -tc='docs*' rewrites it");
  }
  if (std::getenv("NVFUSER_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path) << page;
  }
}
