// A new process's first cubin from the disk cache, the search for NVRTC included, beside compiling
// it. Needs NVRTC, no GPU. The bound is 5 ms a hit.
//
//   bench_disk_cache
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <runtime/cuda/cubin_cache.h>

using namespace nvfuser;

namespace {

struct Took {
  double ms = 0;
  bool hit = false;
};

/// In a process of its own, which has not looked for NVRTC before.
Took load(const KernelSource& source, DiskCache& cache) {
  int ends[2];
  if (pipe(ends) != 0) {
    std::perror("bench_disk_cache: pipe");
    std::exit(2);
  }
  Took took;
  if (const pid_t child = fork(); child == 0) {
    const auto begin = std::chrono::steady_clock::now();
    took.hit = cachedCubin(source, "sm_90", &cache).from_cache;
    const std::chrono::duration<double, std::milli> passed =
        std::chrono::steady_clock::now() - begin;
    took.ms = passed.count();
    _exit(write(ends[1], &took, sizeof took) == sizeof took ? 0 : 1);
  } else {
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0 || read(ends[0], &took, sizeof took) != sizeof took) {
      std::fprintf(stderr, "bench_disk_cache: the process that loads the cubin failed\n");
      std::exit(2);
    }
  }
  close(ends[0]);
  close(ends[1]);
  return took;
}

}  // namespace

int main() {
  char pattern[] = "/tmp/bench_disk_cacheXXXXXX";
  const std::string folder = mkdtemp(pattern);
  DiskCache cache(folder, int64_t{1} << 30);
  KernelSource source;
  source.entry = "fill";
  source.text = "extern \"C\" __global__ void fill(float* out) { out[threadIdx.x] = 1; }\n//" +
                std::string(100'000, 'x');
  const Took compiled = load(source, cache);
  std::vector<double> hits;
  for (int i = 0; i < 9; ++i) {
    const Took took = load(source, cache);
    if (!took.hit) {
      std::fprintf(stderr, "bench_disk_cache: a cubin that was stored was not found\n");
      return 1;
    }
    hits.push_back(took.ms);
  }
  std::filesystem::remove_all(folder);
  std::sort(hits.begin(), hits.end());
  std::printf(
      "compiled %.2f ms; from the cache %.2f ms at best, %.2f ms median, of %zu (bound 5)\n",
      compiled.ms, hits.front(), hits[hits.size() / 2], hits.size());
}
