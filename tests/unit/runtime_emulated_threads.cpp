// Emulated threads: barriers, warp functions, fences and atomics give the right bits in every
// order, and what is missing of them is reported as a race, a divergence or a deadlock.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include <emulated_kernel.h>
#include <support/error.h>

using namespace nvfuser;
using Kind = EmulationFinding::Kind;

namespace {

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
