// A new process's first cubin from the disk cache, the search for NVRTC included, and its first
// object of the CPU, loading included, beside compiling them. Needs NVRTC, no GPU. The bound is 5
// ms a hit.
//
//   bench_disk_cache
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <runtime/cuda/cubin_cache.h>
#include <runtime/host_compiler/cached_object.h>

using namespace nvfuser;

namespace {

struct Took {
  double ms = 0;
  bool hit = false;
};

/// Asks for compiled code, in a process of its own, which has not looked for a compiler before;
/// `ask` gives whether it came from the cache.
Took load(const std::function<bool()>& ask) {
  int ends[2];
  if (pipe(ends) != 0) {
    std::perror("bench_disk_cache: pipe");
    std::exit(2);
  }
  Took took;
  if (const pid_t child = fork(); child == 0) {
    const auto begin = std::chrono::steady_clock::now();
    took.hit = ask();
    const std::chrono::duration<double, std::milli> passed =
        std::chrono::steady_clock::now() - begin;
    took.ms = passed.count();
    _exit(write(ends[1], &took, sizeof took) == sizeof took ? 0 : 1);
  } else {
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0 || read(ends[0], &took, sizeof took) != sizeof took) {
      std::fprintf(stderr, "bench_disk_cache: the process that loads the code failed\n");
      std::exit(2);
    }
  }
  close(ends[0]);
  close(ends[1]);
  return took;
}

/// Prints a line; false where what was stored is not found.
bool report(const char* what, const std::function<bool()>& ask) {
  const Took compiled = load(ask);
  std::vector<double> hits;
  for (int i = 0; i < 9; ++i) {
    const Took took = load(ask);
    if (!took.hit) {
      std::fprintf(stderr, "bench_disk_cache: a stored %s was not found\n", what);
      return false;
    }
    hits.push_back(took.ms);
  }
  std::sort(hits.begin(), hits.end());
  std::printf("%-6s compiled %.2f ms; found %.2f ms at best, %.2f ms median, of %zu (bound 5)\n",
              what, compiled.ms, hits.front(), hits[hits.size() / 2], hits.size());
  return true;
}

}  // namespace

int main() {
  char pattern[] = "/tmp/bench_disk_cacheXXXXXX";
  const std::string folder = mkdtemp(pattern);
  DiskCache cache(folder, int64_t{1} << 30);
  const std::string comment =
      "\n//" + std::string(100'000, 'x');  // as long as a large kernel's text
  KernelSource source;
  source.entry = "fill";
  source.text = "extern \"C\" __global__ void fill(float* out) { out[threadIdx.x] = 1; }" + comment;
  const HostCompileRequest request{.text = "extern \"C\" int answer() { return 42; }" + comment,
                                   .flags = {"-O0"}};
  const bool found =
      report("cubin", [&] { return cachedCubin(source, "sm_90", &cache).from_cache; }) &&
      report("object", [&] { return cachedObject(hostCompiler(), request, &cache).from_cache; });
  std::filesystem::remove_all(folder);
  return found ? 0 : 1;
}
