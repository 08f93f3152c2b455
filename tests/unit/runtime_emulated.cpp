// The emulated CUDA device: right accesses are silent, and each planted mistake of memory is
// reported; what is compiled and launched, and what is refused.
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

const char kVectorAdd[] = R"(
extern "C" __global__ void __launch_bounds__(128) k(float* __restrict__ out, const float* __restrict__ a,
                                                    const float* __restrict__ b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    out[i] = a[i] + b[i];
  }
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

TEST_CASE("emulated: a function's result goes into memory in sight of the hooks") {
  auto kernel = compileWith({"complex.cuh"}, R"(
__noinline__ complex<double> turned(const complex<double>& z) { return {-z.im, z.re}; }
extern "C" __global__ void k(complex<double>* out, complex<double>* between) {
  const int i = threadIdx.x;
  between[i] = turned(complex<double>(1.0, i));
  out[i] = turned(between[i]);
}
)");
  DeviceVector<double> out(16), between(16), small(14);
  CHECK(findings(*kernel, {.block = {8, 1, 1}}, {out.argument(), between.argument()}).empty());
  CHECK(has(findings(*kernel, {.block = {8, 1, 1}}, {small.argument(), between.argument()}),
            Kind::OutOfBounds, "the buffer of parameter 0"));
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
  CHECK_THROWS_WITH_AS(
      launch(*kernel, {.block = {1025, 1, 1}}, args),
      doctest::Contains("block extent 1025 is outside 1…1024 of threadIdx.x; split "
                        "the axis that is bound to it by a smaller factor"),
      UserError);
  CHECK_THROWS_WITH_AS(
      launch(*kernel, {.grid = {1, 65536, 1}}, args),
      doctest::Contains("grid extent 65536 is outside 1…65535 of blockIdx.y; split "
                        "the axis that is bound to it"),
      UserError);
  CHECK_THROWS_WITH_AS(launch(*kernel, {.block = {64, 32, 1}}, args),
                       doctest::Contains("2048 threads a block, at most 1024; bind smaller axes"),
                       UserError);
  CHECK_THROWS_WITH_AS(launch(*kernel, {.grid = {3, 1, 1}, .cluster = {2, 1, 1}}, args),
                       doctest::Contains("; bind another number of blocks to the grid"), UserError);
  CHECK_THROWS_WITH_AS(
      launch(*kernel, {.grid = {0, 1, 1}}, args),
      doctest::Contains("grid extent 0 is outside 1…2147483647 of blockIdx.x; leave out a "
                        "launch without threads"),
      UserError);
  CHECK_THROWS_WITH_AS(launch(*kernel, {.shared_bytes = 240000}, args),
                       doctest::Contains("; use smaller tiles, or keep fewer tensors in shared"),
                       UserError);
  CHECK_THROWS_WITH_AS(launch(*kernel, {}, {&p}), doctest::Contains("1 arguments for 4 parameters"),
                       UserError);
  CHECK_THROWS_WITH_AS(
      launch(*kernel, {.grid = {99, 1, 1}, .block = {512, 1, 1}, .cooperative = true}, args),
      doctest::Contains("only 16 can be resident; bind fewer or smaller blocks"), UserError);
}
