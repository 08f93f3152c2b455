#include <runtime/host_compiler/cached_object.h>

#include <chrono>
#include <map>
#include <mutex>

#include <runtime/host_compiler/process.h>
#include <runtime/kernel_cache/entry.h>
#include <runtime/kernel_cache/process_cache.h>
#include <runtime/kernel_cache/sha256.h>
#include <runtime/kernel_cache/up_to_names.h>
#include <support/error.h>

namespace nvfuser {
namespace {

/// Which files the words of the compiler's command line are: "ccache g++" names two.
std::string filesOf(const HostCompiler& compiler) {
  std::string files;
  for (const std::string& word : compiler.command) {
    const std::string path = findExecutable(word);
    if (!path.empty()) {
      append(files, text(path, " ", fileIdentity(path), "\n"));
    }
  }
  return files;
}

bool loadCached(const std::string& payload, CachedObject& result) {
  auto parts = unpackParts(payload, 2);
  if (!parts) {
    return false;
  }
  try {
    result.object = loadSharedObject((*parts)[1]);
  } catch (const CompileError&) {
    return false;  // a library that it needs has gone
  }
  result.log = std::move((*parts)[0]);
  result.bytes = std::move((*parts)[1]);
  result.from_cache = true;
  return true;
}

std::string keyOf(std::string_view kind, const HostCompiler& compiler,
                  const HostCompileRequest& request, std::string_view code) {
  const std::vector<std::string_view> flags(request.flags.begin(), request.flags.end());
  return cacheKey({{"kind", kind},
                   {"build", ownBuildId()},
                   {"compiler", compiler.identity},
                   {"compiler files", filesOf(compiler)},
                   {"environment", compilerEnvironment()},
                   {"cpu", cpuIdentity()},
                   {"flags", packParts(flags)},
                   {"text", code}});
}

std::string kernelKey(const HostCompiler& compiler, const HostCompileRequest& request,
                      const std::string& entry) {
  return keyOf("host kernel", compiler, request, upToNames(request.text, entry));
}

std::string contentsKey(std::string_view object_id) {
  return cacheKey({{"kind", "host object by contents"}, {"sha256", object_id}});
}

double msSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
      .count();
}

/// Objects that are loaded, by their contents: those of kernels in use.
class LoadedObjects {
 public:
  using Object = std::shared_ptr<const SharedObject>;

  /// Null where the cache has none that can be loaded.
  Object find(const std::string& object_id, DiskCache& cache) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (Object loaded = objects_[object_id].lock()) {
      return loaded;
    }
    const std::optional<std::string> bytes = cache.load(contentsKey(object_id));
    if (!bytes) {
      return nullptr;
    }
    try {
      return remember(object_id, std::make_shared<SharedObject>(loadSharedObject(*bytes)));
    } catch (const CompileError&) {
      return nullptr;  // a library that it needs has gone
    }
  }

  void add(const std::string& object_id, const Object& object) {
    std::lock_guard<std::mutex> lock(mutex_);
    remember(object_id, object);
  }

 private:
  Object remember(const std::string& object_id, Object object) {
    std::erase_if(objects_, [](const auto& known) { return known.second.expired(); });
    objects_[object_id] = object;
    return object;
  }

  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<const SharedObject>> objects_;
};

LoadedObjects& loadedObjects() {
  static auto* const objects = new LoadedObjects;  // threads may still compile at the end
  return *objects;
}

}  // namespace

std::string hostObjectKey(const HostCompiler& compiler, const HostCompileRequest& request) {
  return keyOf("host object", compiler, request, request.text);
}

CachedObject cachedObject(const HostCompiler& compiler, const HostCompileRequest& request,
                          DiskCache* cache) {
  CachedObject result;
  std::string key;
  if (cache != nullptr) {
    key = hostObjectKey(compiler, request);
    if (auto payload = cache->load(key); payload && loadCached(*payload, result)) {
      return result;
    }
  }
  const auto begin = std::chrono::steady_clock::now();
  result.bytes = compileHostText(compiler, request, &result.log);
  result.object = loadSharedObject(result.bytes);
  result.compile_ms = msSince(begin);
  if (cache != nullptr) {
    cache->store(key, packParts({result.log, result.bytes}));
  }
  return result;
}

std::optional<HostKernel> findHostKernel(const HostCompiler& compiler,
                                         const HostCompileRequest& request,
                                         const std::string& entry, DiskCache* cache) {
  if (cache == nullptr) {
    return std::nullopt;
  }
  const std::optional<std::string> payload = cache->load(kernelKey(compiler, request, entry));
  auto parts = payload ? unpackParts(*payload, 3) : std::nullopt;
  if (!parts) {
    return std::nullopt;
  }
  HostKernel kernel;
  kernel.object = loadedObjects().find((*parts)[0], *cache);
  if (kernel.object == nullptr) {
    return std::nullopt;
  }
  kernel.object_id = std::move((*parts)[0]);
  kernel.symbol = std::move((*parts)[1]);
  kernel.log = std::move((*parts)[2]);
  kernel.from_cache = true;
  return kernel;
}

std::vector<HostKernel> compileHostKernels(const HostCompiler& compiler,
                                           const HostCompileRequest& request,
                                           std::span<const std::string> entries, DiskCache* cache) {
  const auto begin = std::chrono::steady_clock::now();
  HostKernel kernel;
  const std::string bytes = compileHostText(compiler, request, &kernel.log);
  kernel.object = std::make_shared<SharedObject>(loadSharedObject(bytes));
  kernel.compile_ms = msSince(begin);
  if (cache != nullptr) {
    kernel.object_id = hexOf(sha256({bytes}));
    loadedObjects().add(kernel.object_id, kernel.object);
    cache->store(contentsKey(kernel.object_id), bytes);
  }
  std::vector<HostKernel> kernels;
  for (const std::string& entry : entries) {
    kernels.push_back(kernel);
    kernels.back().symbol = entry;
  }
  return kernels;
}

void keepHostKernel(const HostCompiler& compiler, const HostCompileRequest& request,
                    const std::string& entry, const HostKernel& kernel, DiskCache& cache) {
  cache.store(kernelKey(compiler, request, entry),
              packParts({kernel.object_id, kernel.symbol, kernel.log}));
}

}  // namespace nvfuser
