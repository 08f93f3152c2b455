// Bulk copies on the emulated device: what the snippets promise, and that each wait, fence, barrier
// and announcement that is left out is reported.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include <codegen/snippet_set.h>
#include <runtime/emulated/emulated.h>
#include <runtime/emulated/errors.h>
#include <support/text.h>

using namespace nvfuser;
using Kind = EmulationFinding::Kind;

namespace {

constexpr int kTile = 64;

std::vector<float> ramp(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) {
    values[i] = static_cast<float>(i) + 1.0f;
  }
  return values;
}

/// Runs `body` with `steps` tiles of 64 floats in and out, each a little behind a multiple of 16
/// bytes.
std::vector<float> run(const std::string& body, int steps, int shift = 0,
                       unsigned threads = kTile) {
  Device& device = emulatedDevice();
  codegen::SnippetSet snippets(Target::Cuda);
  snippets.add("bulk_copy.cuh");
  const size_t count = static_cast<size_t>(steps * kTile + shift);
  const std::vector<float> values = ramp(count);
  void* in = device.allocate(count * sizeof(float), nullptr);
  void* out = device.allocate(count * sizeof(float), nullptr);
  device.copyFromHost(in, values.data(), count * sizeof(float), nullptr);
  device.copyFromHost(out, values.data(), count * sizeof(float), nullptr);
  float* from = static_cast<float*>(in) + shift;
  float* to = static_cast<float*>(out) + shift;
  std::vector<float> result(count);
  auto release = [&] {
    device.copyToHost(result.data(), out, count * sizeof(float), nullptr);
    device.release(in, nullptr);
    device.release(out, nullptr);
  };
  try {
    auto kernel = device.compile({.entry = "k", .text = snippets.text() + body, .options = {}});
    LaunchShape shape{.block = {threads, 1, 1}, .shared_bytes = 16 + 3 * kTile * 4};
    void* args[] = {&to, &from, &steps};
    device.launch(*kernel, shape, args, nullptr, nullptr);
  } catch (...) {
    release();
    throw;
  }
  release();
  return {result.begin() + shift, result.end()};
}

bool reports(const std::string& body, Kind kind) {
  try {
    run(body, 4);
  } catch (const EmulationError& error) {
    CAPTURE(error.what());
    CHECK(error.has(kind));
    return error.has(kind);
  }
  return false;
}

std::string without(std::string body, const std::string& removed) {
  const size_t at = body.find(removed);
  REQUIRE(at != std::string::npos);
  return body.erase(at, removed.size());
}

const std::string kHead = R"(
extern "C" __global__ void k(float* out, const float* in, int n) {
  extern __shared__ __align__(16) unsigned char smem[];
  u64* const ready = reinterpret_cast<u64*>(smem);
  float* const tile = reinterpret_cast<float*>(smem + 16);
  float* const result = tile + 128;
  int t = threadIdx.x;
  u32 phases = 0;
)";

/// Each tile reversed and doubled: two stages in, one out.
const std::string kPipeline = kHead + R"(
  mbarrierInit(ready, 2);
  __syncthreads();  // initialised
  bulkLoad(tile, in, 64, ready);
  bulkLoadCommit(ready);
  for (int k = 0; k < n; ++k) {
    bulkLoadWait(ready, k % 2, phases);
    __syncthreads();  // free
    if (k + 1 < n) {
      bulkLoad(tile + (k + 1) % 2 * 64, in + (k + 1) * 64, 64, ready + (k + 1) % 2);
      bulkLoadCommit(ready + (k + 1) % 2);
    }
    result[t] = 2 * tile[k % 2 * 64 + 63 - t];
    fenceAsyncProxy();
    __syncthreads();  // written
    bulkStore(out + k * 64, result, 64);
    bulkStoreCommit();
    bulkStoreWait<0>();
  }
}
)";

}  // namespace

TEST_CASE("bulk copies: loads and stores in a pipeline, aligned and not") {
  for (int steps : {1, 2, 5}) {
    for (int shift : {0, 1, 4}) {
      CAPTURE(steps);
      CAPTURE(shift);
      const std::vector<float> got = run(kPipeline, steps, shift);
      bool right = true;
      for (int i = 0; i < steps * kTile; ++i) {
        const int source = i / kTile * kTile + kTile - 1 - i % kTile;
        right &= got[static_cast<size_t>(i)] == 2.0f * static_cast<float>(source + shift + 1);
      }
      CHECK(right);
    }
  }
}

TEST_CASE("bulk copies: each wait, fence and barrier that is left out is reported") {
  CHECK(reports(without(kPipeline, "bulkLoadWait(ready, k % 2, phases);"), Kind::UnfinishedCopy));
  CHECK(reports(without(kPipeline, "__syncthreads();  // free"), Kind::UnfinishedCopy));
  CHECK(reports(without(kPipeline, "__syncthreads();  // written"), Kind::SharedRace));
  CHECK(reports(without(kPipeline, "fenceAsyncProxy();"), Kind::MissingFence));
  CHECK(reports(without(kPipeline, "bulkStoreCommit();"), Kind::UnfinishedCopy));
  CHECK(reports(without(kPipeline, "bulkStoreWait<0>();"), Kind::UnfinishedCopy));
  CHECK(reports(without(kPipeline, "__syncthreads();  // initialised"), Kind::SharedRace));
  CHECK(reports(without(kPipeline, "mbarrierInit(ready, 2);"), Kind::BarrierMisuse));
  CHECK(reports(without(kPipeline, "bulkLoadCommit(ready);"), Kind::Deadlock));
}

TEST_CASE("bulk copies: the protocol of mbarriers") {
  auto body = [](const std::string& statements) {
    return text(kHead, "if (t == 0) {", statements, "}\n __syncthreads();\n",
                "mbarrierWait(ready, 0); out[t] = tile[t]; }");
  };
  const std::string init = "mbarrierInitOne(ready); fenceAsyncProxy();";
  const std::string load = "bulkLoadBytes(tile, in, 256, ready); mbarrierArrive(ready);";
  CHECK_NOTHROW(run(body(init + "mbarrierExpect(ready, 256);" + load), 1));
  CHECK(reports(body("mbarrierInitOne(ready); mbarrierExpect(ready, 256);" + load),
                Kind::MissingFence));
  CHECK(reports(body(init + load), Kind::Deadlock));
  CHECK(reports(body(init + "mbarrierExpect(ready, 512);" + load), Kind::Deadlock));
  CHECK(reports(body(init + "mbarrierInitOne(ready);mbarrierExpect(ready, 256);" + load),
                Kind::BarrierMisuse));
  CHECK(reports(body(init + "mbarrierExpect(ready, 512);" + load + "mbarrierArrive(ready);"),
                Kind::BarrierMisuse));
  CHECK(reports(body("mbarrierInitOne((u64*)(out));"), Kind::BarrierMisuse));
  CHECK(reports(body("mbarrierInitOne((u64*)(smem + 4));"), Kind::Misaligned));
  CHECK(reports(kHead + "mbarrierInit(ready, 1); __syncthreads();" +
                    "bulkLoad(tile, in, 64, ready); bulkLoadCommit(ready); }",
                Kind::UnfinishedCopy));
}

TEST_CASE("bulk copies: addresses and sizes of the engine") {
  auto body = [](const std::string& statement) {
    return text(kHead, "mbarrierInit(ready, 1); __syncthreads(); tile[t] = 1; fenceAsyncProxy();",
                "__syncthreads(); if (t == 0) {", statement, "} }");
  };
  CHECK(reports(body("bulkLoadBytes(tile + 1, in, 16, ready);"), Kind::Misaligned));
  CHECK(reports(body("bulkLoadBytes(tile, in + 2, 16, ready);"), Kind::Misaligned));
  CHECK(reports(body("bulkLoadBytes(tile, in, 20, ready);"), Kind::Misaligned));
  CHECK(reports(body("bulkStoreBytes(out + 1, tile, 16);"), Kind::Misaligned));
  CHECK(reports(body("bulkStoreBytes(out, tile, 8);"), Kind::Misaligned));
  CHECK(reports(body("bulkStoreBytes(tile, tile + 4, 16);"), Kind::WildAccess));
  CHECK(reports(body("bulkLoadBytes(tile, in + 64 * n - 4, 32, ready);"), Kind::OutOfBounds));
  CHECK(reports(body("bulkStoreBytes(out, tile + 60, 32);"), Kind::UninitialisedRead));
}
