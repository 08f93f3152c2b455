// The disk cache on a real GPU. Without one the case says so and checks nothing.
#include <runtime/cuda/cubin_cache.h>

#include <doctest/doctest.h>

#include <chrono>
#include <cstdlib>

#include <cache_folder.h>
#include <runtime/cuda/cuda_device.h>
#include <runtime/kernel_cache/entry.h>
#include <runtime/kernel_cache/process_cache.h>

using namespace nvfuser;
using namespace nvfuser::cache_test;

namespace {

KernelSource fill() {
  KernelSource source;
  source.entry = "fill";
  source.text = "extern \"C\" __global__ void fill(int* out) { out[threadIdx.x] = threadIdx.x; }\n";
  return source;
}

bool runsRight(Device& device, const LoadedKernel& kernel) {
  int* out = static_cast<int*>(device.allocate(32 * sizeof(int), nullptr));
  LaunchShape shape;
  shape.block[0] = 32;
  void* args[] = {&out};
  device.launch(kernel, shape, args, nullptr, nullptr);
  std::vector<int> values(32);
  device.copyToHost(values.data(), out, 32 * sizeof(int), nullptr);
  device.release(out, nullptr);
  for (int i = 0; i < 32; i++) {
    if (values[static_cast<size_t>(i)] != i) {
      return false;
    }
  }
  return true;
}

}  // namespace

/// Run twice by the next case, each time in a process of its own with the same folder.
TEST_CASE("disk cache child: cubins" * doctest::skip()) {
  Device* device = cudaDevice(0);
  DiskCache* cache = processDiskCache();
  REQUIRE((device && cache));
  const bool second = std::getenv("NVFUSER_TEST_CHILD") == std::string("second");
  const auto begin = std::chrono::steady_clock::now();
  auto kernel = device->compile(fill());
  const std::chrono::duration<double, std::milli> ms = std::chrono::steady_clock::now() - begin;
  std::printf("kernel %s in %.2f ms\n", second ? "found" : "compiled", ms.count());
  CHECK(kernel->resources().from_cache == second);
  CHECK((kernel->resources().compile_ms == 0) == second);
  CHECK(kernel->resources().registers > 0);
  CHECK(!kernel->assembly("ptx").empty());
  CHECK(runsRight(*device, *kernel));
  KernelSource without = fill();
  without.cached = false;
  CHECK_FALSE(device->compile(without)->resources().from_cache);

  // An undamaged entry that the driver refuses is a miss, and replaced.
  const std::string key = cubinKey(fill(), cudaArchitecture(device->properties()));
  REQUIRE(cache->load(key).has_value());
  REQUIRE(cache->store(
      key, packParts({"not a cubin, but long enough to be read", "", "", "1", "0", "0"})));
  kernel = device->compile(fill());
  CHECK_FALSE(kernel->resources().from_cache);
  CHECK(runsRight(*device, *kernel));
  CHECK(device->compile(fill())->resources().from_cache);
}

TEST_CASE("cuda: a second process finds its cubins in the disk cache") {
  std::string why;
  if (!cudaDevice(0, &why)) {
    MESSAGE("no GPU: ", why);
    return;
  }
  CacheFolder folder;
  const std::string output = folder.base.path() + "/output";
  for (const char* which : {"first", "second"}) {
    const int code = inChild([&] {
      setenv("NVFUSER_TEST_CHILD", which, 1);
      setenv("NVFUSER_CACHE_DIR", folder.path.c_str(), 1);
      unsetenv("NVFUSER_CACHE_MB");
      unsetenv("NVFUSER_DISABLE");
      dup2(open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), 1);
      execl("/proc/self/exe", "nvfuser_test_device", "-ns", "-tc=disk cache child*", nullptr);
      return 127;
    });
    const std::string said = readFile(output);
    CHECK_MESSAGE(code == 0, said);
    MESSAGE(said.substr(0, said.find('\n', said.find("kernel "))));
  }
}
