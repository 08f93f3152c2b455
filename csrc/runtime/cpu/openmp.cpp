#include <runtime/cpu/openmp.h>

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace nvfuser {
namespace {

/// What its C++ name is mangled to: at::get_num_threads().
constexpr const char* kTorchThreads = "_ZN2at15get_num_threadsEv";
constexpr std::string_view kTorch = "libtorch_cpu.so";
constexpr std::string_view kRuntimes[] = {"libgomp", "libomp", "libiomp5"};

/// Objects that the process has loaded so far, also those that it has closed again.
unsigned long long loadsSoFar() {
  unsigned long long loads = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* result) {
        *static_cast<unsigned long long*>(result) = info->dlpi_adds;
        return 1;  // the first object tells
      },
      &loads);
  return loads;
}

std::vector<std::string> loadedLibraries() {
  std::vector<std::string> paths;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* result) {
        static_cast<std::vector<std::string>*>(result)->emplace_back(info->dlpi_name);
        return 0;
      },
      &paths);
  return paths;
}

std::string_view fileName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

/// Handle of an object that is loaded, which then stays so; null: it is not.
void* handleOf(const std::string& path) {
  return dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

template <typename Function>
bool find(void* scope, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(scope, name));
  return function != nullptr;
}

/// Whether a scope has a whole runtime.
bool findRuntime(void* scope, OpenMp& runtime) {
  return find(scope, "GOMP_parallel", runtime.parallel) &&
         find(scope, "omp_get_thread_num", runtime.thread_number) &&
         find(scope, "omp_in_parallel", runtime.in_parallel) &&
         find(scope, "omp_get_max_threads", runtime.max_threads) &&
         find(scope, "omp_get_num_procs", runtime.processors);
}

/// As the loader binds PyTorch's own calls: what the whole process sees comes first, then what
/// PyTorch brought; after that whatever runtime some library brought for itself.
bool searchRuntime(OpenMp& runtime) {
  const std::vector<std::string> paths = loadedLibraries();
  const auto torch = std::find_if(paths.begin(), paths.end(),
                                  [](const auto& path) { return fileName(path) == kTorch; });
  void* const torch_scope = torch != paths.end() ? handleOf(*torch) : nullptr;
  const bool found = findRuntime(RTLD_DEFAULT, runtime) ||
                     (torch_scope != nullptr && findRuntime(torch_scope, runtime)) ||
                     std::any_of(paths.begin(), paths.end(), [&](const std::string& path) {
                       const bool named = std::any_of(std::begin(kRuntimes), std::end(kRuntimes),
                                                      [&](std::string_view prefix) {
                                                        return fileName(path).starts_with(prefix);
                                                      });
                       void* const scope = named ? handleOf(path) : nullptr;
                       return scope != nullptr && findRuntime(scope, runtime);
                     });
  if (found && torch_scope != nullptr) {
    find(torch_scope, kTorchThreads, runtime.torch_threads);
  }
  if (found) {
    Dl_info object;
    if (dladdr(reinterpret_cast<void*>(runtime.parallel), &object) != 0) {
      handleOf(object.dli_fname);
    }
  }
  return found;
}

bool same(const OpenMp& a, const OpenMp& b) {
  return a.parallel == b.parallel && a.torch_threads == b.torch_threads;
}

}  // namespace

const OpenMp* loadedOpenMp() {
  static std::atomic<const OpenMp*> found{nullptr};
  static std::atomic<unsigned long long> searched_at{0};  ///< loads; there is none without any
  static std::mutex searching;
  const unsigned long long loads = loadsSoFar();
  if (searched_at.load(std::memory_order_acquire) != loads) {
    const std::lock_guard<std::mutex> lock(searching);
    const OpenMp* const before = found.load();
    OpenMp now;
    if (searchRuntime(now) && (before == nullptr || !same(*before, now))) {
      // The one before is kept, since others may be reading it: there are as many as runtimes.
      found.store(new OpenMp(now));
    }
    searched_at.store(loads, std::memory_order_release);
  }
  return found.load(std::memory_order_acquire);
}

}  // namespace nvfuser
