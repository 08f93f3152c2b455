// The emulated CUDA device: correct kernels give the right bits in every order, and each planted
// mistake is reported.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include <emulated_kernel.h>
#include <runtime/emulated/module.h>
#include <support/error.h>

using namespace nvfuser;
using Kind = EmulationFinding::Kind;

namespace {

/// What the launch is found to do wrong; nothing when it is right.
std::vector<EmulationFinding> findings(const LoadedKernel& kernel, const LaunchShape& shape,
                                       const std::vector<void*>& args) {
  try {
    launch(kernel, shape, args);
  } catch (const EmulationError& error) {
    return error.findings();
  }
  return {};
}

bool has(const std::vector<EmulationFinding>& all, Kind kind, const std::string& words = "") {
  for (const EmulationFinding& finding : all) {
    if (finding.kind == kind && finding.message.find(words) != std::string::npos) {
      return true;
    }
  }
  return false;
}

/// Runs `body` in every order; the settings are as before afterwards.
template <typename Body>
void inEveryOrder(Body body) {
  EmulationSettings before = emulationSettings();
  for (EmulationOrder order :
       {EmulationOrder::Forward, EmulationOrder::Reverse, EmulationOrder::Random}) {
    for (uint64_t seed = 0; seed < (order == EmulationOrder::Random ? 3u : 1u); ++seed) {
      CAPTURE(static_cast<int>(order));
      CAPTURE(seed);
      setEmulationSettings({.order = order, .seed = seed});
      body();
    }
  }
  setEmulationSettings(before);
}

std::vector<float> ramp(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) {
    values[i] = static_cast<float>(static_cast<int>(i * 7 % 23) - 11);
  }
  return values;
}

/// `text` with the first `from` replaced.
std::string replaced(std::string text, const std::string& from, const std::string& to) {
  size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

const char kVectorAdd[] = R"(
extern "C" __global__ void __launch_bounds__(128) k(float* __restrict__ out, const float* __restrict__ a,
                                                    const float* __restrict__ b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    out[i] = a[i] + b[i];
  }
}
)";

const char kRowSoftmax[] = R"(
extern "C" __global__ void k(float* out, const float* in, int n) {
  extern __shared__ __align__(16) float slots[];
  const float* row = in + (long long)blockIdx.x * n;
  float* to = out + (long long)blockIdx.x * n;
  int lane = threadIdx.x % 32;
  int warp = threadIdx.x / 32;
  int warps = blockDim.x / 32;
  float most = -3e38f;
  for (int i = threadIdx.x; i < n; i += blockDim.x) most = fmaxf(most, row[i]);
  for (int s = 16; s > 0; s /= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, s));
  if (lane == 0) slots[warp] = most;
  __syncthreads();  // slots are written
  for (int w = 0; w < warps; ++w) most = fmaxf(most, slots[w]);
  __syncthreads();  // slots are read
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) sum += expf(row[i] - most);
  for (int s = 16; s > 0; s /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, s);
  if (lane == 0) slots[warp] = sum;
  __syncthreads();  // sums are written
  sum = 0;
  for (int w = 0; w < warps; ++w) sum += slots[w];
  for (int i = threadIdx.x; i < n; i += blockDim.x) to[i] = expf(row[i] - most) / sum;
}
)";

}  // namespace

TEST_CASE("emulated: vector add with a tail is right and silent") {
  auto kernel = compileText(kVectorAdd);
  int n = 1001;
  DeviceVector<float> a(ramp(1001)), b(ramp(1001));
  inEveryOrder([&] {
    DeviceVector<float> out(1001);
    launch(*kernel, {.grid = {8, 1, 1}, .block = {128, 1, 1}},
           {out.argument(), a.argument(), b.argument(), &n});
    std::vector<float> expected = ramp(1001);
    for (float& value : expected) {
      value *= 2;
    }
    CHECK(out.host() == expected);
  });
}

TEST_CASE("emulated: a missing predicate is out of bounds") {
  auto kernel = compileText(replaced(kVectorAdd, "if (i < n)", "if (true)"));
  int n = 1001;
  DeviceVector<float> a(ramp(1001)), b(ramp(1001)), out(1001);
  EmulationSettings before = emulationSettings();
  setEmulationSettings({.order = EmulationOrder::Forward});  // which thread is first
  try {
    launch(*kernel, {.grid = {8, 1, 1}, .block = {128, 1, 1}},
           {out.argument(), a.argument(), b.argument(), &n});
    FAIL("nothing was reported");
  } catch (const EmulationError& error) {
    std::string message = error.what();
    CHECK(error.has(Kind::OutOfBounds));
    CHECK(message.find("read of 4 bytes at byte 4004 of the buffer of parameter 1 (4004 bytes)") !=
          std::string::npos);
    CHECK(message.find("thread (105,0,0) of block (7,0,0)") != std::string::npos);
    CHECK(message.find("out[i] = a[i] + b[i];") != std::string::npos);
    CHECK(error.findings()[0].line == 6);
    CHECK(error.findings()[0].count == 23);
  }
  setEmulationSettings(before);
}

TEST_CASE("emulated: softmax with shuffles and shared memory") {
  auto kernel = compileText(kRowSoftmax);
  int n = 777;
  std::vector<float> values = ramp(5 * 777);
  DeviceVector<float> in(values);
  inEveryOrder([&] {
    DeviceVector<float> out(values.size());
    launch(*kernel, {.grid = {5, 1, 1}, .block = {256, 1, 1}, .shared_bytes = 32},
           {out.argument(), in.argument(), &n});
    std::vector<float> got = out.host();
    for (size_t row = 0; row < 5; ++row) {
      double sum = 0;
      for (size_t i = 0; i < 777; ++i) {
        sum += std::exp(static_cast<double>(values[row * 777 + i]) - 11);
      }
      for (size_t i = 0; i < 777; ++i) {
        double expected = std::exp(static_cast<double>(values[row * 777 + i]) - 11) / sum;
        REQUIRE(static_cast<double>(got[row * 777 + i]) == doctest::Approx(expected).epsilon(1e-5));
      }
    }
  });
}

TEST_CASE("emulated: each barrier of softmax is missed when it is gone") {
  int n = 777;
  std::vector<float> values = ramp(5 * 777);
  DeviceVector<float> in(values), out(values.size());
  for (const char* barrier :
       {"__syncthreads();  // slots are written", "__syncthreads();  // slots are read",
        "__syncthreads();  // sums are written"}) {
    CAPTURE(barrier);
    auto kernel = compileText(replaced(kRowSoftmax, barrier, ""));
    inEveryOrder([&] {
      auto found = findings(*kernel, {.grid = {5, 1, 1}, .block = {256, 1, 1}, .shared_bytes = 32},
                            {out.argument(), in.argument(), &n});
      CHECK(has(found, Kind::SharedRace, "dynamic shared memory"));
    });
  }
}

TEST_CASE("emulated: misaligned vector accesses are reported, aligned ones are not") {
  const std::string text = R"(
extern "C" __global__ void k(float4* out, const float* in, int offset) {
  out[threadIdx.x] = __ldg(reinterpret_cast<const float4*>(in + offset) + threadIdx.x);
}
)";
  auto kernel = compileText(text);
  DeviceVector<float> in(ramp(200)), out(128);
  for (int offset : {0, 1, 2, 3, 4}) {
    auto found = findings(*kernel, {.block = {32, 1, 1}}, {out.argument(), in.argument(), &offset});
    CHECK(has(found, Kind::Misaligned, "read of 16 bytes") == (offset % 4 != 0));
    CHECK(found.empty() == (offset % 4 == 0));
  }
}

TEST_CASE("emulated: reads of what nobody wrote") {
  auto kernel = compileText(kVectorAdd);
  int n = 100;
  DeviceVector<float> a(ramp(100)), b(100), out(100);
  auto found =
      findings(*kernel, {.block = {128, 1, 1}}, {out.argument(), a.argument(), b.argument(), &n});
  CHECK(has(found, Kind::UninitialisedRead, "the buffer of parameter 2"));

  auto shared = compileText(R"(
extern "C" __global__ void k(float* out) {
  extern __shared__ float dynamic[];
  __shared__ float fixed[64];
  if (threadIdx.x < 16) dynamic[threadIdx.x] = 1;
  if (threadIdx.x != 5) fixed[threadIdx.x] = 2;
  __syncthreads();
  out[threadIdx.x] = threadIdx.x < 40 ? fixed[63 - threadIdx.x] : dynamic[threadIdx.x - 40];
}
)");
  DeviceVector<float> result(64);
  found = findings(*shared, {.block = {64, 1, 1}, .shared_bytes = 256}, {result.argument()});
  CHECK(has(found, Kind::UninitialisedRead, "dynamic shared memory"));
  CHECK_FALSE(has(found, Kind::UninitialisedRead, "shared variables"));
  CHECK(found.size() == 1);
  found = findings(*shared, {.block = {64, 1, 1}, .shared_bytes = 32}, {result.argument()});
  CHECK(has(found, Kind::OutOfBounds, "dynamic shared memory (32 bytes)"));
}

TEST_CASE("emulated: divergent barriers") {
  auto some = compileText(R"(
extern "C" __global__ void k(int* out) {
  if (threadIdx.x < 40) {
    __syncthreads();
  }
  out[threadIdx.x] = 1;
}
)");
  DeviceVector<int> out(64);
  auto found = findings(*some, {.block = {64, 1, 1}}, {out.argument()});
  CHECK(has(found, Kind::DivergentBarrier, "40 of 64 threads are at the barrier"));
  REQUIRE_FALSE(found.empty());
  CHECK(found[0].line == 4);

  auto two = compileText(R"(
extern "C" __global__ void k(int* out) {
  if (threadIdx.x < 40) {
    out[threadIdx.x] = __syncthreads_count(1);
  } else {
    __syncthreads();
  }
}
)");
  found = findings(*two, {.block = {64, 1, 1}}, {out.argument()});
  CHECK(has(found, Kind::DivergentBarrier, "different barriers"));
}

TEST_CASE("emulated: warp functions") {
  auto kernel = compileText(R"(
extern "C" __global__ void k(int* out) {
  int lane = threadIdx.x;
  int* row = out + lane * 8;
  row[0] = __shfl_sync(0xffffffffu, lane * 10, 33);
  row[1] = __shfl_up_sync(0xffffffffu, lane, 3, 8);
  row[2] = __shfl_down_sync(0xffffffffu, lane, 3, 8);
  row[3] = __shfl_xor_sync(0xffffffffu, lane, 5);
  row[4] = (int)__ballot_sync(0xffffffffu, lane % 3 == 0);
  row[5] = __any_sync(0xffffffffu, lane == 31) + 2 * __all_sync(0xffffffffu, lane < 31);
  row[6] = (int)__match_any_sync(0xffffffffu, lane / 30);
  double wide = __shfl_sync(0xffffffffu, lane * 0.5, 7, 16);
  row[7] = (int)(wide * 2);
}
)");
  DeviceVector<int> out(256);
  inEveryOrder([&] {
    launch(*kernel, {.block = {32, 1, 1}}, {out.argument()});
    std::vector<int> got = out.host();
    for (int lane = 0; lane < 32; ++lane) {
      const int* row = got.data() + lane * 8;
      CHECK(row[0] == 10);
      CHECK(row[1] == (lane % 8 >= 3 ? lane - 3 : lane));
      CHECK(row[2] == (lane % 8 <= 4 ? lane + 3 : lane));
      CHECK(row[3] == (lane ^ 5));
      CHECK(static_cast<unsigned>(row[4]) == 0x49249249u);
      CHECK(row[5] == 1);
      CHECK(static_cast<unsigned>(row[6]) == (lane < 30 ? 0x3fffffffu : 0xc0000000u));
      CHECK(row[7] == (lane < 16 ? 7 : 23));
    }
  });
}

TEST_CASE("emulated: shuffles that not all lanes reach") {
  DeviceVector<int> out(64);
  auto partial = compileText(R"(
extern "C" __global__ void k(int* out) {
  int v = threadIdx.x;
  if (threadIdx.x % 2) v = __shfl_xor_sync(0xffffffffu, v, 2);
  else __syncthreads();
  out[threadIdx.x] = v;
}
)");
  CHECK_FALSE(findings(*partial, {.block = {32, 1, 1}}, {out.argument()}).empty());
  auto own = compileText(R"(
extern "C" __global__ void k(int* out) { out[threadIdx.x] = __shfl_xor_sync(0xffffu, (int)threadIdx.x, 1); }
)");
  CHECK(has(findings(*own, {.block = {32, 1, 1}}, {out.argument()}), Kind::ShuffleMismatch,
            "is not in the mask"));
  auto absent = compileText(R"(
extern "C" __global__ void k(int* out) { out[threadIdx.x] = __shfl_xor_sync(0xffffffffu, (int)threadIdx.x, 16); }
)");
  CHECK(has(findings(*absent, {.block = {24, 1, 1}}, {out.argument()}), Kind::ShuffleMismatch,
            "does not exist"));
  CHECK(findings(*absent, {.block = {64, 1, 1}}, {out.argument()}).empty());
}

TEST_CASE("emulated: __syncwarp orders a warp, shuffles do not") {
  const std::string text = R"(
extern "C" __global__ void k(int* out) {
  __shared__ int s[32];
  s[threadIdx.x] = threadIdx.x;
  int x = __shfl_xor_sync(0xffffffffu, 1, 1);
  __syncwarp();
  out[threadIdx.x] = s[31 - threadIdx.x] * x;
}
)";
  DeviceVector<int> out(32);
  CHECK(findings(*compileText(text), {.block = {32, 1, 1}}, {out.argument()}).empty());
  auto found = findings(*compileText(replaced(text, "__syncwarp();", "")), {.block = {32, 1, 1}},
                        {out.argument()});
  CHECK(has(found, Kind::SharedRace, "the shared variables"));
}

TEST_CASE("emulated: races between blocks") {
  auto in_place = compileText(R"(
extern "C" __global__ void k(float* data, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] = data[n - 1 - i] + 1;
}
)");
  int n = 256;
  inEveryOrder([&] {
    DeviceVector<float> data(ramp(256));
    CHECK(has(findings(*in_place, {.grid = {4, 1, 1}, .block = {64, 1, 1}}, {data.argument(), &n}),
              Kind::GlobalRace));
  });
  // Neighbouring bytes are no race, the same byte is one.
  auto bytes = compileText(R"(
extern "C" __global__ void k(unsigned char* out, int by) { out[(blockIdx.x * 32 + threadIdx.x) / by] = 1; }
)");
  DeviceVector<unsigned char> flags(64);
  int one = 1, two = 2;
  CHECK(
      findings(*bytes, {.grid = {2, 1, 1}, .block = {32, 1, 1}}, {flags.argument(), &one}).empty());
  CHECK(has(findings(*bytes, {.grid = {2, 1, 1}, .block = {32, 1, 1}}, {flags.argument(), &two}),
            Kind::GlobalRace));
}

TEST_CASE("emulated: fences and atomics order blocks") {
  const std::string text = R"(
extern "C" __global__ void k(float* out, float* partials, unsigned* ticket) {
  if (threadIdx.x == 0) partials[blockIdx.x] = blockIdx.x + 1;
  __threadfence();  // release
  __syncthreads();
  bool last = false;
  if (threadIdx.x == 0) {
    last = atomicInc(ticket, gridDim.x - 1) == gridDim.x - 1;
    __threadfence();  // acquire
  }
  if (__syncthreads_or(last)) {
    float sum = 0;
    for (int b = 0; b < gridDim.x; ++b) sum += partials[b];
    if (threadIdx.x == 0) out[0] = sum;
  }
}
)";
  DeviceVector<float> out(1), partials(16);
  DeviceVector<unsigned> ticket(std::vector<unsigned>{0});
  LaunchShape shape{.grid = {16, 1, 1}, .block = {64, 1, 1}};
  std::vector<void*> args = {out.argument(), partials.argument(), ticket.argument()};
  auto kernel = compileText(text);
  inEveryOrder([&] {
    launch(*kernel, shape, args);
    CHECK(out.host()[0] == 136);
    CHECK(ticket.host()[0] == 0);
  });
  CHECK(has(findings(*compileText(replaced(text, "__threadfence();  // release", "")), shape, args),
            Kind::GlobalRace));
  CHECK(has(findings(*compileText(replaced(text, "__threadfence();  // acquire", "")), shape, args),
            Kind::GlobalRace));
}

TEST_CASE("emulated: atomics do not race with each other, but with plain accesses") {
  const std::string text = R"(
extern "C" __global__ void k(int* sum, float* most, unsigned long long* wide) {
  atomicAdd(sum, (int)threadIdx.x);
  atomicMax(most, (float)threadIdx.x);
  atomicCAS(wide, 0ull, 7ull);
}
)";
  DeviceVector<int> sum(std::vector<int>{0});
  DeviceVector<float> most(std::vector<float>{0});
  DeviceVector<unsigned long long> wide(std::vector<unsigned long long>{0});
  LaunchShape shape{.grid = {3, 1, 1}, .block = {50, 1, 1}};
  std::vector<void*> args = {sum.argument(), most.argument(), wide.argument()};
  launch(*compileText(text), shape, args);
  CHECK(sum.host()[0] == 3 * 50 * 49 / 2);
  CHECK(most.host()[0] == 49);
  CHECK(wide.host()[0] == 7);
  auto plain = compileText(
      replaced(text, "atomicAdd(sum, (int)threadIdx.x)", "*sum += threadIdx.x; atomicAdd(sum, 1)"));
  CHECK(has(findings(*plain, shape, args), Kind::GlobalRace));
}

TEST_CASE("emulated: freed, foreign and null memory") {
  auto kernel = compileText(R"(extern "C" __global__ void k(float* p) { p[threadIdx.x] = 1; })");
  void* freed = emulatedDevice().allocate(128, nullptr);
  emulatedDevice().release(freed, nullptr);
  CHECK(has(findings(*kernel, {.block = {32, 1, 1}}, {&freed}), Kind::UseAfterFree));
  CHECK_THROWS_AS(emulatedDevice().release(freed, nullptr), UserError);
  std::vector<float> foreign(32);
  void* data = foreign.data();
  CHECK(has(findings(*kernel, {.block = {32, 1, 1}}, {&data}), Kind::WildAccess));
  registerEmulatedMemory(data, 32 * sizeof(float));
  CHECK(findings(*kernel, {.block = {32, 1, 1}}, {&data}).empty());
  forgetEmulatedMemory(data);
  CHECK(foreign[31] == 1);
  void* null = nullptr;
  CHECK(has(findings(*kernel, {.block = {32, 1, 1}}, {&null}), Kind::WildAccess));
  CHECK(emulatedDevice().allocate(0, nullptr) == nullptr);
}

TEST_CASE("emulated: fixed-size shared memory belongs to a block, also when blocks run together") {
  auto kernel = compileText(R"(
extern "C" __global__ void k(int* out, unsigned* barrier) {
  __shared__ int mine[32];
  extern __shared__ int also[];
  mine[threadIdx.x] = blockIdx.x;
  also[threadIdx.x] = blockIdx.x;
  __nvf_grid_barrier(barrier, gridDim.x);
  out[blockIdx.x * 32 + threadIdx.x] = mine[31 - threadIdx.x] + also[31 - threadIdx.x];
}
)");
  DeviceVector<int> out(128);
  DeviceVector<unsigned> barrier(std::vector<unsigned>{0});
  LaunchShape shape{
      .grid = {4, 1, 1}, .block = {32, 1, 1}, .shared_bytes = 128, .cooperative = true};
  inEveryOrder([&] {
    launch(*kernel, shape, {out.argument(), barrier.argument()});
    std::vector<int> got = out.host();
    for (int i = 0; i < 128; ++i) {
      CHECK(got[static_cast<size_t>(i)] == 2 * (i / 32));
    }
  });
  CHECK(kernel->resources().static_shared_bytes == 128);
  shape.cooperative = false;
  CHECK(has(findings(*kernel, shape, {out.argument(), barrier.argument()}), Kind::Deadlock,
            "not cooperative"));
}

TEST_CASE("emulated: several kernels of one text, and a batch of texts with equal names") {
  const std::string text = R"(
// a __global__ void comment(int) is no kernel
template <int N> __device__ int twice(int x) { return N * x; }
extern "C" __global__ void __launch_bounds__(32, 2) first(int* out) { out[threadIdx.x] = twice<2>(threadIdx.x); }
extern "C" __global__ void second(int* out, long long scale) { out[threadIdx.x] = (int)scale * threadIdx.x; }
)";
  CHECK(emulated::kernelNames(text) == std::vector<std::string>{"first", "second"});
  auto first = compileText(text, "first"), second = compileText(text, "second");
  DeviceVector<int> out(32);
  launch(*first, {.block = {32, 1, 1}}, {out.argument()});
  CHECK(out.host()[31] == 62);
  long long scale = 5;
  launch(*second, {.block = {32, 1, 1}}, {out.argument(), &scale});
  CHECK(out.host()[31] == 155);
  CHECK_THROWS_WITH_AS(compileText(text, "third"), doctest::Contains("it has first, second"),
                       UserError);

  std::vector<KernelSource> sources;
  for (int i = 0; i < 20; ++i) {
    sources.push_back({.entry = "k",
                       .text = "extern \"C\" __global__ void k(int* k1) { k1[threadIdx.x] = " +
                               std::to_string(i) + "; }",
                       .options = {}});
  }
  auto kernels = compileEmulatedBatch(sources);
  for (int i = 0; i < 20; ++i) {
    launch(*kernels[static_cast<size_t>(i)], {.block = {32, 1, 1}}, {out.argument()});
    CHECK(out.host()[3] == i);
  }
  auto found = findings(*kernels[7], {.block = {33, 1, 1}}, {out.argument()});
  REQUIRE(found.size() == 1);
  CHECK(found[0].message.find("k1[threadIdx.x] = 7;") != std::string::npos);
}

TEST_CASE("emulated: dynamic shared memory is found in the text") {
  using emulated::rewriteDynamicShared;
  CHECK(rewriteDynamicShared("extern __shared__ __align__(16) unsigned char smem[];") ==
        "unsigned char* const smem = static_cast<unsigned char*>(__nvf_dynamic_shared());");
  CHECK(rewriteDynamicShared("extern \"C\" __global__ void k() {\n  __shared__ int a[3];\n}") ==
        "extern \"C\" __global__ void k() {\n  __shared__ int a[3];\n}");
  CHECK(rewriteDynamicShared("// extern __shared__ int a[];") == "// extern __shared__ int a[];");
}

TEST_CASE("emulated: refused text and refused launches") {
  CHECK_THROWS_AS(compileText("extern \"C\" __global__ void k() { oops }"), CompileError);
  auto kernel = compileText(kVectorAdd);
  int n = 1;
  void* p = nullptr;
  std::vector<void*> args = {&p, &p, &p, &n};
  CHECK_THROWS_WITH_AS(launch(*kernel, {.block = {1025, 1, 1}}, args),
                       doctest::Contains("block extent 1025"), UserError);
  CHECK_THROWS_WITH_AS(launch(*kernel, {.grid = {0, 1, 1}}, args),
                       doctest::Contains("grid extent 0"), UserError);
  CHECK_THROWS_WITH_AS(launch(*kernel, {.shared_bytes = 240000}, args),
                       doctest::Contains("shared memory"), UserError);
  CHECK_THROWS_WITH_AS(launch(*kernel, {}, {&p}), doctest::Contains("1 arguments for 4 parameters"),
                       UserError);
  CHECK_THROWS_WITH_AS(
      launch(*kernel, {.grid = {99, 1, 1}, .block = {512, 1, 1}, .cooperative = true}, args),
      doctest::Contains("only 16 can be resident"), UserError);
}
