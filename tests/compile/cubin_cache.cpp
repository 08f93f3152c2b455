// Cubins through the disk cache. Needs NVRTC; no GPU, no driver.
#include <runtime/cuda/cubin_cache.h>

#include <doctest/doctest.h>

#include <random>

#include <cache_folder.h>
#include <runtime/cuda/cuda_device.h>
#include <runtime/kernel_cache/entry.h>
#include <runtime/kernel_cache/process_cache.h>
#include <support/error.h>

using namespace nvfuser;
using namespace nvfuser::cache_test;
using cuda::CompiledCubin;

namespace {

KernelSource fill() {
  KernelSource source;
  source.entry = "fill";
  source.text = "extern \"C\" __global__ void fill(float* out) { out[threadIdx.x] = 1; }\n";
  return source;
}

}  // namespace

TEST_CASE("disk cache: a cubin comes back with all that the compiler said") {
  CacheFolder folder;
  DiskCache cache = folder.cache();
  KernelSource source = fill();
  source.text += "#warning noted\n";
  const CompiledCubin first = cachedCubin(source, "sm_90", &cache);
  CHECK_FALSE(first.from_cache);
  CHECK(first.ms > 0);
  CHECK(first.log.find("noted") != std::string::npos);
  const CompiledCubin second = cachedCubin(source, "sm_90", &cache);
  CHECK(second.from_cache);
  CHECK(second.ms == 0);
  CHECK(second.cubin == first.cubin);
  CHECK(second.ptx == first.ptx);
  CHECK(second.log == first.log);
  CHECK(second.registers == first.registers);
  CHECK(second.registers > 0);
  CHECK(second.static_shared_bytes == first.static_shared_bytes);
  CHECK(second.spill_bytes == first.spill_bytes);
  CHECK_FALSE(cachedCubin(source, "sm_90", nullptr).from_cache);
  CHECK_FALSE(cachedCubin(source, "sm_90", &cache, /*lookup=*/false).from_cache);
}

TEST_CASE("disk cache: each part of a cubin's key alone makes a miss") {
  const std::string key = cubinKey(fill(), "sm_90");
  CHECK(key == cubinKey(fill(), "sm_90"));
  CHECK(key != cubinKey(fill(), "sm_90a"));
  KernelSource other = fill();
  other.text += " ";
  CHECK(key != cubinKey(other, "sm_90"));
  other = fill();
  other.entry = "fil";
  CHECK(key != cubinKey(other, "sm_90"));
  other = fill();
  other.max_registers = 32;
  CHECK(key != cubinKey(other, "sm_90"));
  other = fill();
  other.options = {"--fmad=true"};
  CHECK(key != cubinKey(other, "sm_90"));

  auto parts = unpackParts(key, 14);
  REQUIRE(parts.has_value());
  std::string names;
  for (size_t i = 0; i < parts->size(); i += 2) {
    append(names, text((*parts)[i], ", "));
  }
  CHECK(names == "kind, build, compiler, architecture, options, file, text, ");
  CHECK((*parts)[3] == ownBuildId());
  CHECK((*parts)[5] == cuda::nvrtcIdentity());
  // The file that NVRTC is, not just its version.
  CHECK((*parts)[5].find(" bytes of ") != std::string::npos);
}

TEST_CASE("disk cache: damaged cubins are compiled anew") {
  CacheFolder folder;
  DiskCache cache = folder.cache();
  const CompiledCubin good = cachedCubin(fill(), "sm_90", &cache);
  const std::string path = folder.path + "/" + cache.list().at(0).file;
  const std::string whole = readFile(path);
  std::mt19937 random(3);
  for (int i = 0; i < 20; i++) {
    std::string damaged = whole;
    const size_t at = random() % whole.size();
    if (i % 2 == 0) {
      damaged.resize(at);
    } else {
      damaged[at] = static_cast<char>(~damaged[at]);
    }
    writeFile(path, damaged);
    const CompiledCubin made = cachedCubin(fill(), "sm_90", &cache);
    CHECK_FALSE(made.from_cache);
    CHECK(made.cubin == good.cubin);
  }
  for (const std::string& payload :
       {std::string("no parts"), packParts({"cubin", "ptx", "log", "many", "0", "0"}),
        packParts({"cubin", "ptx", "log", "1", "", "0"}), packParts({"cubin", "ptx"})}) {
    REQUIRE(cache.store(cubinKey(fill(), "sm_90"), payload));
    CHECK_FALSE(cachedCubin(fill(), "sm_90", &cache).from_cache);
  }
}

TEST_CASE("disk cache: a payload whose numbers are none is compiled anew") {
  CacheFolder folder;
  DiskCache cache = folder.cache();
  const std::string key = cubinKey(fill(), "sm_90");
  const CompiledCubin good = cachedCubin(fill(), "sm_90", &cache);
  for (const std::string_view number : {"12x", "", "x", "1 "}) {
    CAPTURE(number);
    REQUIRE(cache.store(key, packParts({good.cubin, good.ptx, good.log, number, "0", "0"})));
    CHECK_FALSE(cachedCubin(fill(), "sm_90", &cache).from_cache);
    CHECK(cachedCubin(fill(), "sm_90", &cache).from_cache);
  }
}

TEST_CASE("disk cache: text that does not compile is not kept") {
  CacheFolder folder;
  DiskCache cache = folder.cache();
  KernelSource source = fill();
  source.text += "}";
  for (int i = 0; i < 2; i++) {
    CHECK_THROWS_AS(cachedCubin(source, "sm_90", &cache), CompileError);
  }
  CHECK(cache.list().empty());
}

TEST_CASE("disk cache: a new process finds the cubin of an earlier one") {
  CacheFolder folder;
  DiskCache cache = folder.cache();
  KernelSource source = fill();
  source.text += "//" + std::string(100'000, 'x');
  // In processes of their own, which have not looked for NVRTC before; the first fills the cache.
  auto isHit = [&] {
    return inChild([&] { return cachedCubin(source, "sm_90", &cache).from_cache ? 1 : 0; });
  };
  CHECK(isHit() == 0);
  CHECK(isHit() == 1);
}
