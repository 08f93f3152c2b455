// block_reduce.cuh, cluster_reduce.cuh and grid_reduce.cuh on the emulated device, for blocks and
// grids of every shape.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include <emulated_kernel.h>

using namespace nvfuser;

namespace {
const char kReduceKernels[] = R"(
struct Sum {
  double v;
  static __device__ Sum combine(const Sum& a, const Sum& b) { return {a.v + b.v}; }
  static __device__ Sum identity() { return {0}; }
};
struct ArgMax {  // three fields of different sizes
  float v;
  i64 at;
  u8 tag;
  static __device__ ArgMax combine(const ArgMax& a, const ArgMax& b) {
    return (b.v > a.v || (b.v == a.v && b.at < a.at)) ? b : a;
  }
  static __device__ ArgMax identity() { return {-1e30f, 0x7fffffff, 0}; }
};
template <bool X, bool Y, bool Z>
__device__ void reduceBoth(double* sums, i64* places, float* means, float* together_out,
                           const float* in) {
  extern __shared__ __align__(16) unsigned char smem[];
  u32 bytes = blockReduceSlots<X, Y, Z>(blockDim.x, blockDim.y, blockDim.z) * 24;
  u32 t = linearThread();
  float x = in[t];
  Sum s = blockAllReduce<X, Y, Z>(Sum{x}, smem);
  ArgMax m = blockAllReduce<X, Y, Z>(ArgMax{x, (i64)t, 1}, smem + bytes);
  __syncthreads();
  Welford<float> w = Welford<float>::identity();
  w.push(x);
  w = blockAllReduce<X, Y, Z>(w, smem);
  __syncthreads();
  StateGroup<Welford<float>, 2> group = StateGroup<Welford<float>, 2>::identity();
  group.of[t % 2].push(x);  // each thread has numbers of one column
  if (t % 3 == 0) {
    group.of[t % 2].push(2 * x);
  }
  StateGroup<Welford<float>, 2> together = blockAllReduce<X, Y, Z>(group, smem);
  for (int column = 0; column < 2; ++column) {
    together_out[6 * t + 3 * column] = together.of[column].count;
    together_out[6 * t + 3 * column + 1] = together.of[column].mean;
    together_out[6 * t + 3 * column + 2] = together.of[column].m2;
  }
  sums[t] = s.v;
  places[t] = m.at;
  means[2 * t] = w.mean;
  means[2 * t + 1] = w.m2;
}
)";

std::string reduceKernels() {
  std::string all;
  std::set<std::string> seen;
  addSnippet("block_reduce.cuh", seen, all);
  addSnippet("welford_group.cuh", seen, all);
  all += kReduceKernels;
  for (std::string axes : {"x", "y", "xy", "z", "xz", "xyz"}) {
    auto reduced = [&](char axis) {
      return axes.find(axis) == std::string::npos ? "false" : "true";
    };
    all += "extern \"C\" __global__ void reduce_" + axes +
           "(double* a, i64* b, float* c, float* d, const float* in) {\n" + "  reduceBoth<" +
           reduced('x') + ", " + reduced('y') + ", " + reduced('z') + ">(a, b, c, d, in);\n}\n";
  }
  return all;
}

void checkBlockReduce(const std::string& entry, int64_t bx, int64_t by, int64_t bz) {
  static const std::string text = reduceKernels();
  CAPTURE(entry);
  CAPTURE(bx);
  CAPTURE(by);
  CAPTURE(bz);
  static std::vector<std::unique_ptr<LoadedKernel>> keep;  // one compilation for all
  keep.push_back(emulatedDevice().compile({.entry = entry, .text = text, .options = {}}));
  std::string axes = entry.substr(7);
  auto reduced = [&](char axis) { return axes.find(axis) != std::string::npos; };
  bool rx = reduced('x'), ry = reduced('y'), rz = reduced('z');
  auto n = static_cast<size_t>(bx * by * bz);
  std::vector<float> in(n);
  for (size_t i = 0; i < n; ++i) {
    in[i] = static_cast<float>(i * 37 % 101) - 50;
  }
  DeviceVector<double> sums(n);
  DeviceVector<int64_t> places(n);
  DeviceVector<float> means(2 * n), columns(6 * n), in_buffer(in);
  launch(*keep.back(), {.block = {bx, by, bz}, .shared_bytes = static_cast<int64_t>(n) * 48 + 64},
         {sums.argument(), places.argument(), means.argument(), columns.argument(),
          in_buffer.argument()});
  std::vector<double> got = sums.host();
  std::vector<int64_t> got_places = places.host();
  std::vector<float> got_means = means.host();
  std::vector<float> got_columns = columns.host();
  auto index = [&](int64_t x, int64_t y, int64_t z) {
    return static_cast<size_t>(x + bx * (y + by * z));
  };
  for (int64_t z = 0; z < bz; ++z) {
    for (int64_t y = 0; y < by; ++y) {
      for (int64_t x = 0; x < bx; ++x) {
        double sum = 0, squares = 0, count = 0;
        double of_column[2][3] = {};  // count, sum, sum of squares
        size_t best = n;
        for (int64_t k = rz ? 0 : z; k < (rz ? bz : z + 1); ++k) {
          for (int64_t j = ry ? 0 : y; j < (ry ? by : y + 1); ++j) {
            for (int64_t i = rx ? 0 : x; i < (rx ? bx : x + 1); ++i) {
              size_t at = index(i, j, k);
              sum += static_cast<double>(in[at]);
              squares += static_cast<double>(in[at]) * static_cast<double>(in[at]);
              count += 1;
              for (double number = 1; number <= (at % 3 == 0 ? 2 : 1); ++number) {
                const double value = number * static_cast<double>(in[at]);
                of_column[at % 2][0] += 1;
                of_column[at % 2][1] += value;
                of_column[at % 2][2] += value * value;
              }
              if (best == n || in[at] > in[best]) {
                best = at;
              }
            }
          }
        }
        size_t at = index(x, y, z);
        REQUIRE(got[at] == sum);
        REQUIRE(got_places[at] == static_cast<int64_t>(best));
        for (size_t column = 0; column < 2; ++column) {
          const double numbers = of_column[column][0];
          const float* got_column = &got_columns[6 * at + 3 * column];
          REQUIRE(static_cast<double>(got_column[0]) == numbers);
          if (numbers == 0) {
            REQUIRE(std::isnan(got_column[1]));
            continue;
          }
          const double mean = of_column[column][1] / numbers;
          REQUIRE(static_cast<double>(got_column[1]) ==
                  doctest::Approx(mean).epsilon(1e-4).scale(10));
          REQUIRE(static_cast<double>(got_column[2]) ==
                  doctest::Approx(of_column[column][2] - mean * mean * numbers)
                      .epsilon(1e-3)
                      .scale(10));
        }
        REQUIRE(static_cast<double>(got_means[2 * at]) ==
                doctest::Approx(sum / count).epsilon(1e-4).scale(10));
        REQUIRE(static_cast<double>(got_means[2 * at + 1]) ==
                doctest::Approx(squares - sum * sum / count).epsilon(1e-3).scale(10));
      }
    }
  }
}
}  // namespace

TEST_CASE("snippets: block reductions of every shape") {
  for (int64_t size : {1, 7, 32, 33, 64, 96, 128, 1000}) {
    checkBlockReduce("reduce_x", size, 1, 1);
    checkBlockReduce("reduce_y", 1, size, 1);
    checkBlockReduce("reduce_xy", size, 1, 1);
  }
  checkBlockReduce("reduce_x", 32, 8, 1);
  checkBlockReduce("reduce_x", 96, 3, 2);
  checkBlockReduce("reduce_x", 8, 9, 1);
  checkBlockReduce("reduce_x", 5, 7, 3);
  checkBlockReduce("reduce_y", 32, 8, 1);
  for (int64_t row : {1, 2, 4, 8, 16}) {
    for (int64_t rows : {32, 48, 64, 96, 512}) {
      if (row * rows <= 1024) {
        checkBlockReduce("reduce_y", row, rows, 1);
      }
    }
  }
  checkBlockReduce("reduce_y", 5, 32, 2);
  checkBlockReduce("reduce_y", 3, 7, 2);
  checkBlockReduce("reduce_xy", 8, 4, 1);
  checkBlockReduce("reduce_xy", 16, 6, 2);
  checkBlockReduce("reduce_xy", 5, 5, 5);
  checkBlockReduce("reduce_z", 8, 4, 6);
  checkBlockReduce("reduce_z", 1, 1, 64);
  checkBlockReduce("reduce_xz", 8, 4, 6);
  checkBlockReduce("reduce_xz", 8, 1, 4);
  checkBlockReduce("reduce_xyz", 4, 4, 4);
  checkBlockReduce("reduce_xyz", 9, 5, 3);
}

TEST_CASE("snippets: grid reductions, by the last block and by all") {
  const std::string body = R"(
struct Sum {
  double v;
  static __device__ Sum combine(const Sum& a, const Sum& b) { return {a.v + b.v}; }
  static __device__ Sum identity() { return {0}; }
};
// Rows of gridDim.y × blockDim.y results; columns are spread over blockIdx.x and threadIdx.x.
extern "C" __global__ void last(double* out, const float* in, int n, Sum* partials, u32* tickets) {
  extern __shared__ __align__(16) unsigned char smem[];
  u32 row = blockIdx.y * blockDim.y + threadIdx.y;
  Sum s = Sum::identity();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) s.v += in[row * n + i];
  s = blockAllReduce<true, false, false>(s, smem);
  __syncthreads();
  if (gridReduce<true, false, false, true, false, false>(s, partials, tickets, smem) && threadIdx.x == 0) out[row] = s.v;
}
extern "C" __global__ void all(double* out, const float* in, int n, Sum* partials, u32* barriers) {
  extern __shared__ __align__(16) unsigned char smem[];
  u32 row = blockIdx.y * blockDim.y + threadIdx.y;
  for (int repeat = 0; repeat < 2; ++repeat) {  // partials alternate between two areas
    Sum s = Sum::identity();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) s.v += in[row * n + i];
    s = blockAllReduce<true, false, false>(s, smem);
    __syncthreads();
    s = gridAllReduce<true, false, false, true, false, false>(
        s, partials + repeat * gridDim.x * gridDim.y * blockDim.y, barriers, smem);
    if (threadIdx.x == 0) out[(row * 2 + repeat) * gridDim.x + blockIdx.x] = s.v;
    __syncthreads();
  }
}
)";
  auto last = compileWith({"grid_reduce.cuh"}, body, "last"),
       all = compileWith({"grid_reduce.cuh"}, body, "all");
  EmulationSettings before = emulationSettings();
  for (auto order : {EmulationOrder::Forward, EmulationOrder::Reverse, EmulationOrder::Random}) {
    setEmulationSettings({.order = order, .seed = 5});
    for (int64_t bx : {32, 64, 7}) {
      int64_t gx = 3, gy = 2, by = 2, rows = gy * by;
      int n = 500;
      std::vector<float> in(static_cast<size_t>(rows * n));
      for (size_t i = 0; i < in.size(); ++i) {
        in[i] = static_cast<float>(i % 17) - 5;
      }
      DeviceVector<float> in_buffer(in);
      DeviceVector<double> out(static_cast<size_t>(rows)), outs(static_cast<size_t>(rows * 2 * gx));
      DeviceVector<double> partials(static_cast<size_t>(2 * gx * rows));
      DeviceVector<uint32_t> tickets(std::vector<uint32_t>(2, 0));
      LaunchShape shape{.grid = {gx, gy, 1}, .block = {bx, by, 1}, .shared_bytes = bx * by * 8};
      std::vector<void*> args = {out.argument(), in_buffer.argument(), &n, partials.argument(),
                                 tickets.argument()};
      launch(*last, shape, args);
      launch(*last, shape, args);
      CHECK(tickets.host() == std::vector<uint32_t>(2, 0));
      shape.cooperative = true;
      args[0] = outs.argument();
      launch(*all, shape, args);
      for (int64_t row = 0; row < rows; ++row) {
        double sum = 0;
        for (int i = 0; i < n; ++i) {
          sum += static_cast<double>(in[static_cast<size_t>(row * n + i)]);
        }
        CHECK(out.host()[static_cast<size_t>(row)] == sum);
        for (int64_t i = 0; i < 2 * gx; ++i) {
          CHECK(outs.host()[static_cast<size_t>(row * 2 * gx + i)] == sum);
        }
      }
    }
  }
  setEmulationSettings(before);
}

// Each thread along x holds the same number, each row of threads (y) one of its own: 1 + the
// block's number + 100 · the row's. Twice in the same memory where the blocks meet in the call,
// else in two.
TEST_CASE("snippets: reductions among the blocks of a cluster, however they meet") {
  std::string all;
  std::set<std::string> seen;
  addSnippet("cluster_reduce.cuh", seen, all);
  all += R"(
struct Sum {
  float v;
  static __device__ Sum combine(const Sum& a, const Sum& b) { return {a.v + b.v}; }
};
template <Cluster first, Cluster second>
__device__ void twice(float* out) {
  extern __shared__ __align__(16) unsigned char smem[];
  if (first == Cluster::Arrived) {
    clusterArrive();
  }
  const float own = 1.0f + blockIdx.x + 100.0f * threadIdx.y;
  const u32 bytes = second == Cluster::Met ? 4 * clusterSize() * blockDim.y : 0;
  const float once = clusterAllReduce<true, false, true, first>(Sum{own}, smem).v;
  const float again = clusterAllReduce<true, false, true, second>(Sum{once + own}, smem + bytes).v;
  const u32 thread = threadIdx.x + blockDim.x * threadIdx.y;
  out[blockIdx.x * blockDim.x * blockDim.y + thread] = again;
}
extern "C" __global__ void meets(float* out) { twice<Cluster::Meets, Cluster::Meets>(out); }
extern "C" __global__ void arrived(float* out) { twice<Cluster::Arrived, Cluster::Met>(out); }
)";
  for (const char* entry : {"meets", "arrived"}) {
    for (unsigned x : {1U, 3U, 32U}) {  // fewer and more threads of a row than blocks
      CAPTURE(entry);
      CAPTURE(x);
      constexpr unsigned kBlocks = 4;
      constexpr unsigned kRows = 2;
      DeviceVector<float> out(2 * kBlocks * x * kRows);
      LaunchShape shape{.grid = {2 * kBlocks, 1, 1},
                        .block = {x, kRows, 1},
                        .cluster = {kBlocks, 1, 1},
                        .shared_bytes = 2 * 4 * kBlocks * kRows};
      launch(*compileText(all, entry), shape, {out.argument()});
      for (unsigned block = 0; block < 2 * kBlocks; ++block) {
        for (unsigned row = 0; row < kRows; ++row) {
          float once = 0;
          for (unsigned rank = 0; rank < kBlocks; ++rank) {
            once += static_cast<float>(1 + block / kBlocks * kBlocks + rank + 100 * row);
          }
          for (unsigned i = 0; i < x; ++i) {
            CHECK(out.host()[(block * kRows + row) * x + i] ==
                  static_cast<float>(kBlocks) * once + once);
          }
        }
      }
    }
  }
}
