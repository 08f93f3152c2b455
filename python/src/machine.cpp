#include "machine.h"

#include "aten/library.h"
#include <capi/nvfuser_c.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <runtime/cuda/nvrtc.h>
#include <runtime/device.h>
#include <runtime/host_compiler/host_compiler.h>
#include <runtime/kernel_cache/process_cache.h>

namespace nvfuser::python {

namespace nb = nanobind;

namespace {

nb::dict describe(const Device& device) {
  const DeviceProperties& properties = device.properties();
  nb::dict result;
  result["name"] = properties.name;
  result["multiprocessors"] = properties.multiprocessors;
  result["memory_bytes"] = properties.memory_bytes;
  result["compute_capability"] = nb::make_tuple(properties.major, properties.minor);
  return result;
}

/// What there is, and where something is missing why.
nb::dict machine() {
  nb::dict result;
  result["version"] = nvf_version();
  result["cpu"] = describe(cpuDevice());
  nb::list cuda;
  std::string why;
  for (int i = 0; i < cudaDeviceCount(); ++i) {
    if (const Device* device = cudaDevice(i, &why)) {
      cuda.append(describe(*device));
    }
  }
  if (nb::len(cuda) == 0 && why.empty()) {
    (void)cudaDevice(0, &why);
  }
  result["cuda"] = cuda;
  result["why_no_cuda"] = nb::len(cuda) > 0 ? std::string() : why;
  result["nvrtc"] = cuda::nvrtcVersion();
  result["host_compiler"] = hasHostCompiler() ? hostCompiler().identity : std::string();
  const DiskCache* cache = processDiskCache();
  result["cache_folder"] = cache != nullptr ? cache->folder() : std::string();
  result["cache_cap_bytes"] = cache != nullptr ? cache->cap() : int64_t{0};
  return result;
}

/// (file, bytes, seconds since 1970 when it was last used), the one used longest ago first.
nb::list cacheEntries() {
  nb::list result;
  if (DiskCache* cache = processDiskCache()) {
    for (const DiskCacheEntry& entry : cache->list()) {
      result.append(
          nb::make_tuple(entry.file, entry.bytes, static_cast<double>(entry.used_ns) / 1e9));
    }
  }
  return result;
}

}  // namespace

namespace {

void setLibraryOnCpuByName(const std::string& which) {
  constexpr std::pair<std::string_view, OnCpu> kChoices[] = {
      {"none", OnCpu::None}, {"faster", OnCpu::Faster}, {"all", OnCpu::All}};
  for (const auto& [name, value] : kChoices) {
    if (name == which) {
      return setLibraryOnCpu(value);
    }
  }
  userError("pytorch_on_cpu: there is no choice ", which, "; known: none, faster, all");
}

}  // namespace

void bindMachine(nb::module_& module) {
  module.def("pytorch_on_cpu", &setLibraryOnCpuByName, nb::arg("which"),
             "Which library operations on the CPU PyTorch runs: \"none\", \"faster\" (those that "
             "it does faster than the library's own code; so it is at first), \"all\". On a GPU it "
             "runs all that it has.");
  module.def("machine", &machine, "What this machine has: devices, compilers, the cache.");
  module.def("cache_entries", &cacheEntries,
             "The compiled kernels on the disk: (file, bytes, when last used), that used longest "
             "ago first.");
  module.def(
      "cache_clear",
      [] {
        DiskCache* cache = processDiskCache();
        return cache != nullptr ? cache->clear() : 0;
      },
      "Removes the compiled kernels from the disk; gives their number.");
}

}  // namespace nvfuser::python
