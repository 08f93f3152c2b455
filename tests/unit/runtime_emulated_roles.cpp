// Threads of a block with roles, on the emulated device: barriers of some of them and arrivals at
// mbarriers order what those did that took part, and nobody else.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include <codegen/snippet_set.h>
#include <emulated_kernel.h>
#include <support/text.h>

using namespace nvfuser;
using Kind = EmulationFinding::Kind;

namespace {

/// 64 threads that compute, 32 that load; `out` has 96 elements.
const std::string kHead = R"(
extern "C" __global__ void k(int* out) {
  extern __shared__ __align__(16) unsigned char smem[];
  u64* const full = reinterpret_cast<u64*>(smem);
  u64* const empty = full + 1;
  int* const value = reinterpret_cast<int*>(smem + 16);
  using Computing = BlockPart<1, 0, 64>;
  using Loading = BlockPart<2, 64, 32>;
  const bool computes = threadOfBlock() < 64;
  mbarrierInit(full, 1, 32);
  mbarrierInit(empty, 1, 64);
  __syncthreads();
)";

/// Three times a number from each thread that loads to all that compute.
const std::string kHandOver = kHead + R"(
  if (computes) {
    int sum = 0;
    for (int k = 0; k < 3; ++k) {
      mbarrierWait(full, k & 1);
      sum += value[threadIdx.x % 32];
      mbarrierArrive(empty);
    }
    out[threadIdx.x] = sum;
  } else {
    for (int k = 0; k < 3; ++k) {
      mbarrierWait(empty, (k & 1) ^ 1);
      value[Loading::rank()] = (int)Loading::rank() + k;
      mbarrierArrive(full);
    }
    out[threadIdx.x] = 0;
  }
}
)";

std::vector<int> run(const std::string& body, unsigned threads = 96, bool dependent = false) {
  codegen::SnippetSet snippets(Target::Cuda);
  snippets.add("box_copy.cuh");
  snippets.add("grid_dependency.cuh");
  auto kernel = compileText(snippets.text() + body);
  DeviceVector<int> out(std::vector<int>(128));
  LaunchShape shape{.block = {threads, 1, 1}, .shared_bytes = 1024};
  shape.dependent = dependent;
  launch(*kernel, shape, {out.argument()});
  return out.host();
}

bool reports(const std::string& body, Kind kind, unsigned threads = 96, bool dependent = false) {
  try {
    run(body, threads, dependent);
  } catch (const EmulationError& error) {
    CAPTURE(std::string(error.what()));
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

}  // namespace

TEST_CASE("emulated roles: what was done before an arrival is there behind the wait") {
  inEveryOrder([] {
    const std::vector<int> out = run(kHandOver);
    for (int i = 0; i < 64; ++i) {
      CHECK(out[static_cast<size_t>(i)] == 3 * (i % 32) + 3);
    }
  });
  CHECK(reports(without(kHandOver, "mbarrierWait(full, k & 1);"), Kind::SharedRace));
  CHECK(reports(without(kHandOver, "mbarrierWait(empty, (k & 1) ^ 1);"), Kind::Deadlock));
  CHECK(reports(without(kHandOver, "mbarrierArrive(empty);"), Kind::Deadlock));
}

TEST_CASE("emulated roles: a barrier of some threads orders these alone") {
  auto body = [](std::string_view reader, std::string_view first, std::string_view second) {
    return text(kHead, "if (computes) { value[threadIdx.x] = 1; ", first, " } else { ", second,
                " }\n if (", reader, ") out[threadIdx.x] = value[63 - threadIdx.x % 64]; }");
  };
  CHECK_NOTHROW(run(body("computes", "Computing::sync();", "")));
  CHECK(reports(body("computes", "", ""), Kind::SharedRace));
  CHECK(reports(body("!computes", "Computing::sync();", "Loading::sync();"), Kind::SharedRace));
  CHECK(reports(body("computes", "if (threadIdx.x < 32) Computing::sync();", ""),
                Kind::DivergentBarrier));
  CHECK(reports(kHead + "BlockPart<3, 0, 48>::sync(); out[0] = 1; }", Kind::BarrierMisuse));
}

TEST_CASE("emulated roles: registers are a warpgroup's") {
  auto body = [](std::string_view statements) { return text(kHead, statements, " out[0] = 1; }"); };
  CHECK(reports(body("leaveRegisters<40>();"), Kind::Trap));  // of 96 threads
  const std::string head = "extern \"C\" __global__ void k(int* out) { ";
  CHECK_NOTHROW(run(head + "leaveRegisters<40>(); out[threadIdx.x] = 1; }", 128));
  CHECK(reports(head + "leaveRegisters<41>(); }", Kind::Trap, 128));
  CHECK(reports(head + "if (threadIdx.x < 32) leaveRegisters<40>(); else leaveRegisters<48>(); }",
                Kind::Trap, 128));
}

TEST_CASE("emulated: a kernel that starts early waits before it touches global memory") {
  const std::string head = "extern \"C\" __global__ void k(int* out) { ";
  CHECK_NOTHROW(run(head + "gridDependencyWait(); out[threadIdx.x] = 1; }", 128, true));
  CHECK_NOTHROW(run(head + "out[threadIdx.x] = 1; }", 128));
  CHECK(
      reports(head + "out[threadIdx.x] = 1; gridDependencyWait(); }", Kind::GlobalRace, 128, true));
  CHECK(reports(head + "if (threadIdx.x == 0) gridDependencyWait(); out[threadIdx.x] = 1; }",
                Kind::GlobalRace, 128, true));
}

TEST_CASE("emulated: boxes that the engine does not take as they are") {
  // A map by value, as the kernel gets it: rows of 8 floats, of a buffer of 4 x 32.
  auto body = [](std::string_view change, std::string_view copy) {
    return text(
        "extern \"C\" __global__ void k(int* out) {\n"
        "extern __shared__ __align__(1024) unsigned char smem[];\n"
        "int* const tile = reinterpret_cast<int*>(smem);\n"
        "TensorMap map = {{}, (u64)out, {4, 128}, {32, 4}, {8, 2}, 2, 4, 0, 1};\n",
        change, "tile[threadIdx.x] = (int)threadIdx.x; fenceAsyncProxy();",
        "__syncthreads(); if (threadIdx.x == 0) {", copy,
        "bulkStoreCommit(); bulkStoreWait<0>(); } }");
  };
  const std::string store = "boxStoreByEngine<Box<0, 8, 2>>(map, {{4, 3}}, tile);";
  std::vector<int> expected(128, 0);
  for (int i = 0; i < 8; ++i) {
    expected[static_cast<size_t>(3 * 32 + 4 + i)] = i;  // the second row is outside
  }
  CHECK(run(body("", store), 32) == expected);
  CHECK(reports(body("map.fits = 0;", store), Kind::Trap, 32));
  CHECK(reports(body("map.box[0] = 6;", store), Kind::Misaligned, 32));
  CHECK(reports(body("map.swizzle = 64;", store), Kind::Misaligned, 32));
  CHECK(reports(body("", "boxStoreByEngine<Box<0, 8, 2>>(map, {{4, 3}}, tile + 4);"),
                Kind::Misaligned, 32));
  CHECK(reports(body("", "boxStoreByEngine<Box<0, 8, 2>>(map, {{4, 3}}, out);"), Kind::WildAccess,
                32));
}
