#include <runtime/host_compiler/cached_object.h>

#include <chrono>

#include <runtime/host_compiler/process.h>
#include <runtime/kernel_cache/entry.h>
#include <runtime/kernel_cache/process_cache.h>
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

}  // namespace

std::string hostObjectKey(const HostCompiler& compiler, const HostCompileRequest& request) {
  const std::vector<std::string_view> flags(request.flags.begin(), request.flags.end());
  return cacheKey({{"kind", "host object"},
                   {"build", ownBuildId()},
                   {"compiler", compiler.identity},
                   {"compiler files", filesOf(compiler)},
                   {"environment", compilerEnvironment()},
                   {"cpu", cpuIdentity()},
                   {"flags", packParts(flags)},
                   {"text", request.text}});
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
  result.compile_ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  if (cache != nullptr) {
    cache->store(key, packParts({result.log, result.bytes}));
  }
  return result;
}

}  // namespace nvfuser
