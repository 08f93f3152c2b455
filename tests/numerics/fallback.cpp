// Kernels that do not compile: the fusion runs in another way, or says so where it must not.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "automatic.h"
#include <support/error.h>

using namespace nvfuser;

namespace {

/// A folder with the text of `nvfuser_0_1` of the fusion below for a device, made unreadable to its
/// compiler.
class BrokenKernel {
 public:
  BrokenKernel(const std::function<std::unique_ptr<FusionExecutorCache>()>& make,
               const KernelArgumentHolder& args, const char* suffix) {
    char pattern[] = "/tmp/nvfuser-broken-XXXXXX";
    REQUIRE(mkdtemp(pattern) != nullptr);
    folder_ = pattern;
    const OptionsGuard options(
        Options::current().dump("cuda_to_file").set("DUMP_DIR", folder_).set("CACHE_MB", "0"));
    make()->runFusionWithInputs(args);
    for (const auto& file : std::filesystem::directory_iterator(folder_)) {
      if (file.path().string().ends_with(std::string("-nvfuser_0_1") + suffix)) {
        path_ = file.path().string();
      }
    }
    REQUIRE_FALSE(path_.empty());
    std::ofstream(path_, std::ios::app) << "\nthis is no C++\n";
  }
  ~BrokenKernel() { std::filesystem::remove_all(folder_); }
  const std::string& folder() const { return folder_; }

 private:
  std::string folder_;
  std::string path_;
};

std::unique_ptr<FusionExecutorCache> makeCache() {
  auto fusion = std::make_unique<Fusion>();
  FusionGuard guard(fusion.get());
  TensorView* x = makeContigTensor(2);
  fusion->addInput(x);
  fusion->addOutput(relu(add(x, IrBuilder::create<Val>(1.5))));
  return std::make_unique<FusionExecutorCache>(std::move(fusion));
}

}  // namespace

TEST_CASE("fallback: a kernel that does not compile is made by another scheduler") {
  for (Device* device : testDevices()) {
    CAPTURE(device->properties().name);
    const KernelArgumentHolder args = automatic::makeInputs({{{7, 33}, DataType::Float}}, *device);
    const BrokenKernel broken(makeCache, args, device == &cpuDevice() ? ".cpp" : ".cu");
    const Options options =
        Options::current().set("KERNEL_OVERRIDE", broken.folder()).set("CACHE_MB", "0");
    {
      const OptionsGuard guard(options);
      auto cache = makeCache();
      const KernelArgumentHolder results = cache->runFusionWithInputs(args);
      testValidate(cache->fusion(), results, args, __LINE__, __FILE__);
      CHECK(cache->numKernels() == 1);
      CHECK(cache->report().find("scheduler greedy") != std::string::npos);
      CHECK(cache->report().find("not pointwise: its plan failed before") != std::string::npos);
      CHECK(cache->isCompiled(args));
      testValidate(cache->fusion(), cache->runFusionWithInputs(args), args, __LINE__, __FILE__);
    }
    const OptionsGuard strict(Options(options).disable("fallback"));
    auto cache = makeCache();
    CHECK_THROWS_AS(cache->runFusionWithInputs(args), CompileError);
    // The cache stays usable.
    const OptionsGuard plain(Options().disable("fallback"));
    testValidate(cache->fusion(), cache->runFusionWithInputs(args), args, __LINE__, __FILE__);
  }
}
