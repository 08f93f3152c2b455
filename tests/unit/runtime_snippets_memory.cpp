// basics.cuh, async_copy.cuh and cluster.cuh on the emulated device: accesses of vectors,
// asynchronous copies, shared memory of a cluster.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <emulated_kernel.h>

using namespace nvfuser;

TEST_CASE("snippets: vector accesses are one access each") {
  auto kernel = compileWith({"basics.cuh"}, R"(
extern "C" __global__ void k(float* out, const float* in, int offset) {
  auto v = loadVec<4>(in + offset + 8 * threadIdx.x);
  auto w = loadVecStreaming<4>(in + offset + 8 * threadIdx.x + 4);
  for (int i = 0; i < 4; ++i) v[i] += w[i];
  storeVecStreaming(out + 4 * threadIdx.x, v);
}
)");
  std::vector<float> in(300);
  for (size_t i = 0; i < in.size(); ++i) {
    in[i] = static_cast<float>(i);
  }
  DeviceVector<float> in_buffer(in), out(128);
  int offset = 4;
  launch(*kernel, {.block = {32, 1, 1}}, {out.argument(), in_buffer.argument(), &offset});
  CHECK(out.host()[5] == 4 + 8 + 1 + 4 + 8 + 4 + 1);
  offset = 2;
  try {
    launch(*kernel, {.block = {32, 1, 1}}, {out.argument(), in_buffer.argument(), &offset});
    FAIL("nothing was reported");
  } catch (const EmulationError& error) {
    CHECK(error.has(EmulationFinding::Kind::Misaligned));
    CHECK(error.findings()[0].count == 32);
    CHECK(std::string(error.what()).find("inlined at line") != std::string::npos);
  }
}

TEST_CASE(
    "snippets: asynchronous copies are seen after their wait, and by others after a barrier") {
  const std::string body = R"(
extern "C" __global__ void k(float* out, const float* in, int n) {
  extern __shared__ __align__(16) float tile[];
  int t = threadIdx.x;
  asyncCopy<16>(tile + 4 * t, in + 4 * t, 4 * t < n);
  asyncCopyCommit();
  asyncCopyWait<0>();
  __syncthreads();
  out[t] = tile[127 - t];
}
)";
  std::vector<float> in(64);
  for (size_t i = 0; i < in.size(); ++i) {
    in[i] = static_cast<float>(i + 1);
  }
  DeviceVector<float> in_buffer(in), out(32);
  int n = 64;
  LaunchShape shape{.block = {32, 1, 1}, .shared_bytes = 512};
  std::vector<void*> args = {out.argument(), in_buffer.argument(), &n};
  launch(*compileWith({"async_copy.cuh"}, body), shape, args);
  CHECK(out.host()[0] == 0);
  auto reported = [&](const std::string& removed, EmulationFinding::Kind kind) {
    std::string text = body;
    text.erase(text.find(removed), removed.size());
    try {
      launch(*compileWith({"async_copy.cuh"}, text), shape, args);
    } catch (const EmulationError& error) {
      return error.has(kind);
    }
    return false;
  };
  CHECK(reported("asyncCopyWait<0>();", EmulationFinding::Kind::UnfinishedCopy));
  CHECK(reported("__syncthreads();", EmulationFinding::Kind::SharedRace));
}

TEST_CASE("snippets: clusters read each other's shared memory") {
  const std::string body = R"(
extern "C" __global__ void k(int* out) {
  extern __shared__ int mine[];
  mine[threadIdx.x] = 100 * blockIdx.x + threadIdx.x;
  clusterSync();  // written
  out[blockIdx.x * 32 + threadIdx.x] = mapSharedRank(mine, clusterRank() ^ 1)[31 - threadIdx.x] + clusterSize();
  clusterSync();  // read
}
)";
  DeviceVector<int> out(256);
  LaunchShape shape{
      .grid = {8, 1, 1}, .block = {32, 1, 1}, .cluster = {4, 1, 1}, .shared_bytes = 128};
  launch(*compileWith({"cluster.cuh"}, body), shape, {out.argument()});
  for (int b = 0; b < 8; ++b) {
    CHECK(out.host()[static_cast<size_t>(b * 32)] == 100 * (b ^ 1) + 31 + 4);
  }
  std::string text = body;
  text.erase(text.find("clusterSync();  // written"), 14);
  CHECK_THROWS_AS(launch(*compileWith({"cluster.cuh"}, text), shape, {out.argument()}),
                  EmulationError);
}
