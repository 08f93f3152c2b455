// The device-side library (runtime/*.cuh), run on the emulated device against independent formulas.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <codegen/snippets.h>
#include <runtime/emulated/emulated.h>
#include <runtime/emulated/errors.h>

using namespace nvfuser;

namespace {

void addSnippet(const std::string& file, std::set<std::string>& seen, std::string& text) {
  if (!seen.insert(file).second) {
    return;
  }
  std::string content(runtimeFile(file));
  size_t needs = content.find("// needs:");
  REQUIRE_MESSAGE(needs != std::string::npos, file);
  std::string line = content.substr(needs + 9, content.find('\n', needs) - needs - 9);
  for (size_t at = line.find_first_not_of(' '); at != std::string::npos;) {
    size_t end = std::min(line.find(' ', at), line.size());
    addSnippet(line.substr(at, end - at), seen, text);
    at = line.find_first_not_of(' ', end);
  }
  text += content;
}

std::unique_ptr<LoadedKernel> compileWith(const std::vector<std::string>& files,
                                          const std::string& body, const std::string& entry = "k") {
  std::string text;
  std::set<std::string> seen;
  for (const std::string& file : files) {
    addSnippet(file, seen, text);
  }
  return emulatedDevice().compile({.entry = entry, .text = text + body, .options = {}});
}

template <typename T>
class Buffer {
 public:
  explicit Buffer(size_t count)
      : count_(count), data_(emulatedDevice().allocate(count * sizeof(T), nullptr)) {}
  explicit Buffer(const std::vector<T>& values) : Buffer(values.size()) {
    emulatedDevice().copyFromHost(data_, values.data(), count_ * sizeof(T), nullptr);
  }
  ~Buffer() { emulatedDevice().release(data_, nullptr); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  std::vector<T> host() const {
    std::vector<T> values(count_);
    emulatedDevice().copyToHost(values.data(), data_, count_ * sizeof(T), nullptr);
    return values;
  }
  void** argument() { return &data_; }

 private:
  size_t count_;
  void* data_;
};

void launch(const LoadedKernel& kernel, const LaunchShape& shape, const std::vector<void*>& args) {
  emulatedDevice().launch(kernel, shape, args, nullptr);
}

uint32_t bitsOf(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}
float floatOf(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

/// A small floating-point format, described by its numbers alone.
struct Format {
  int fraction_bits;
  int exponent_bits;
  bool has_infinity;  ///< else the greatest code is NaN and the one below the largest number

  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  unsigned codes() const { return 1u << (fraction_bits + exponent_bits); }  ///< without sign

  /// Value of a code without sign; NaN for the NaNs.
  double value(unsigned code) const {
    unsigned fraction = code & ((1u << fraction_bits) - 1), exponent = code >> fraction_bits;
    if (has_infinity && exponent == (1u << exponent_bits) - 1) {
      return fraction ? std::nan("") : std::numeric_limits<double>::infinity();
    }
    if (!has_infinity && code == codes() - 1) {
      return std::nan("");
    }
    double scaled = exponent ? 1.0 + std::ldexp(fraction, -fraction_bits)
                             : std::ldexp(fraction, 1 - fraction_bits);
    return std::ldexp(scaled, static_cast<int>(exponent) - bias());
  }
  /// The code nearest to x ≥ 0, ties to even, by looking at the neighbours; beyond the last number,
  /// what follows it.
  unsigned nearest(double x) const {
    unsigned last = has_infinity ? ((1u << exponent_bits) - 1) << fraction_bits
                                 : codes() - 1;  // infinity or NaN
    unsigned low = 0, high = last;
    while (high - low > 1) {
      unsigned middle = (low + high) / 2;
      (value(middle) <= x ? low : high) = middle;
    }
    // What would come after the greatest number, had the format more exponents.
    double above = high == last ? value(low) + (value(low) - value(low - 1)) : value(high);
    double middle = (value(low) + above) / 2;
    return x < middle || (x == middle && low % 2 == 0) ? low : high;
  }
};

/// Floats around every code of a format, and some of all sizes.
std::vector<float> interestingFloats(const Format& format) {
  std::vector<float> floats;
  for (unsigned code = 0; code + 1 < format.codes(); ++code) {
    double value = format.value(code), next = format.value(code + 1);
    if (!std::isfinite(value)) {
      break;
    }
    if (!std::isfinite(next)) {
      next = value + (value - format.value(code - 1));
    }
    for (double x : {value, (value + next) / 2}) {
      auto f = static_cast<float>(x);
      for (float g : {std::nextafterf(f, 0), f, std::nextafterf(f, 1e38f)}) {
        floats.push_back(g);
        floats.push_back(-g);
      }
    }
  }
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    floats.push_back(floatOf(static_cast<uint32_t>(random())));
  }
  for (uint32_t bits : {0x7f800000u, 0xff800000u, 0x7fc00000u, 0xffc00000u, 0x7f800001u,
                        0x7f7fffffu, 0xff7fffffu, 1u}) {
    floats.push_back(floatOf(bits));
  }
  return floats;
}

/// Checks both directions of a type with codes of type Code. `nan_code(x)` is the code that a NaN
/// gives.
template <typename Code, typename NanCode>
void checkFormat(const Format& format, const std::string& file, const std::string& type,
                 NanCode nan_code) {
  CAPTURE(type);
  auto kernel = compileWith({file}, R"(
extern "C" __global__ void k(float* floats, const )" +
                                        type + R"(* codes, int n, )" + type +
                                        R"(* rounded, const float* in, int m) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) floats[i] = float(codes[i]);
  for (int i = threadIdx.x; i < m; i += blockDim.x) rounded[i] = )" +
                                        type + R"((in[i]);
}
)");
  std::vector<Code> codes;
  for (unsigned code = 0; code < 2 * format.codes(); ++code) {
    codes.push_back(static_cast<Code>(code));
  }
  std::vector<float> in = interestingFloats(format);
  Buffer<Code> code_buffer(codes), rounded(in.size());
  Buffer<float> floats(codes.size()), in_buffer(in);
  int n = static_cast<int>(codes.size()), m = static_cast<int>(in.size());
  launch(*kernel, {.block = {256, 1, 1}},
         {floats.argument(), code_buffer.argument(), &n, rounded.argument(), in_buffer.argument(),
          &m});
  std::vector<float> got = floats.host();
  size_t wrong = 0;
  for (unsigned code = 0; code < 2 * format.codes(); ++code) {
    double expected = format.value(code % format.codes()) * (code < format.codes() ? 1 : -1);
    bool right = std::isnan(expected) ? std::isnan(got[code])
                                      : bitsOf(got[code]) == bitsOf(static_cast<float>(expected));
    wrong += !right;
  }
  CHECK(wrong == 0);
  std::vector<Code> got_codes = rounded.host();
  for (size_t i = 0; i < in.size(); ++i) {
    unsigned sign = std::signbit(in[i]) ? format.codes() : 0;
    unsigned expected = std::isnan(in[i])
                            ? nan_code(in[i])
                            : format.nearest(std::fabs(static_cast<double>(in[i]))) | sign;
    if (got_codes[i] != static_cast<Code>(expected)) {
      CAPTURE(in[i]);
      CHECK(static_cast<unsigned>(got_codes[i]) == expected);
      if (++wrong > 5) {
        break;
      }
    }
  }
}

}  // namespace

TEST_CASE("snippets: half, bfloat16 and both fp8 formats, every code and every rounding edge") {
  checkFormat<uint16_t>({10, 5, true}, "half.cuh", "half_t", [](float) { return 0x7fffu; });
  checkFormat<uint16_t>({7, 8, true}, "bf16.cuh", "bf16_t", [](float) { return 0x7fffu; });
  auto fp8Nan = [](float x) { return std::signbit(x) ? 0xffu : 0x7fu; };
  checkFormat<uint8_t>({3, 4, false}, "fp8.cuh", "fp8_e4m3_t", fp8Nan);
  checkFormat<uint8_t>({2, 5, true}, "fp8.cuh", "fp8_e5m2_t", fp8Nan);
}

TEST_CASE("snippets: Philox known answers and what is made of the bits") {
  auto kernel = compileWith({"philox.cuh"}, R"(
extern "C" __global__ void k(u32* words, float* uniform, float* normal, double* uniform64, double* normal64, u8* keep) {
  if (threadIdx.x == 0) {
    u32x4 zero = philox(0, 0, 0);
    u32x4 ones = philox(~0ull, ~0ull, ~0ull);
    u32x4 pi = philox(0x299f31d0a4093822ull, 0x0370734413198a2eull, 0x85a308d3243f6a88ull);
    for (int i = 0; i < 4; ++i) {
      words[i] = zero.w[i];
      words[4 + i] = ones.w[i];
      words[8 + i] = pi.w[i];
    }
  }
  for (u64 e = threadIdx.x; e < 40000; e += blockDim.x) {
    uniform[e] = uniformF32(7, 3, e);
    normal[e] = normalF32(7, 3, e);
    uniform64[e] = uniformF64(7, 3, e);
    normal64[e] = normalF64(7, 3, e);
    keep[e] = dropoutKeep(philox(7, 3, e / 8), e, probabilityBits(0.9), 7, 3);
  }
}
)");
  size_t n = 40000;
  Buffer<uint32_t> words(12);
  Buffer<float> uniform(n), normal(n);
  Buffer<double> uniform64(n), normal64(n);
  Buffer<uint8_t> keep(n);
  launch(*kernel, {.block = {128, 1, 1}},
         {words.argument(), uniform.argument(), normal.argument(), uniform64.argument(),
          normal64.argument(), keep.argument()});
  // Random123's kat_vectors, philox4x32 with 10 rounds.
  std::vector<uint32_t> known = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8,
                                 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd,
                                 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1};
  CHECK(words.host() == known);
  auto moments = [](const auto& values) {
    double sum = 0, squares = 0;
    for (auto v : values) {
      sum += static_cast<double>(v);
      squares += static_cast<double>(v) * static_cast<double>(v);
    }
    auto count = static_cast<double>(values.size());
    return std::pair(sum / count, squares / count);
  };
  for (auto [mean, square] : {moments(uniform.host()), moments(uniform64.host())}) {
    CHECK(mean == doctest::Approx(0.5).epsilon(0.02));
    CHECK(square == doctest::Approx(1.0 / 3).epsilon(0.02));
  }
  for (auto [mean, square] : {moments(normal.host()), moments(normal64.host())}) {
    CHECK(std::fabs(mean) < 0.02);
    CHECK(square == doctest::Approx(1).epsilon(0.03));
  }
  for (float u : uniform.host()) {
    REQUIRE((u >= 0 && u < 1));
  }
  CHECK(moments(keep.host()).first == doctest::Approx(0.9).epsilon(0.01));
}

TEST_CASE("snippets: fast division") {
  auto kernel = compileWith({"fast_divide.cuh"}, R"(
extern "C" __global__ void k(u32* bad, const u32* divisors, int count, const u32* numbers, int number_count) {
  u32 wrong = 0;
  for (int i = threadIdx.x; i < count; i += blockDim.x) {
    FastDivide f = makeFastDivide(divisors[i]);
    for (int j = 0; j < number_count; ++j) {
      u32 q, r;
      f.divmod(numbers[j], q, r);
      wrong += q != numbers[j] / divisors[i] || r != numbers[j] % divisors[i];
    }
  }
  bad[threadIdx.x] = wrong;
}
)");
  std::vector<uint32_t> divisors, numbers = {0, 1, 2, 0x7fffffff, 0x7ffffffe};
  for (uint32_t d = 1; d < 70; ++d) {
    divisors.push_back(d);
  }
  for (uint32_t p = 7; p < 31; ++p) {
    for (uint32_t d : {(1u << p) - 1, 1u << p, (1u << p) + 1}) {
      divisors.push_back(d);
    }
  }
  divisors.push_back(0x7fffffff);
  std::mt19937 random(3);
  for (uint32_t d : {3u, 7u, 641u, 65537u, 1000003u}) {
    for (uint32_t m : {1u, 100u, 2000u}) {
      numbers.push_back(d * m);
      numbers.push_back(d * m - 1);
    }
  }
  for (int i = 0; i < 100; ++i) {
    numbers.push_back(static_cast<uint32_t>(random()) >> 1);
  }
  Buffer<uint32_t> bad(32), d(divisors), m(numbers);
  int count = static_cast<int>(divisors.size()), number_count = static_cast<int>(numbers.size());
  launch(*kernel, {.block = {32, 1, 1}},
         {bad.argument(), d.argument(), &count, m.argument(), &number_count});
  CHECK(bad.host() == std::vector<uint32_t>(32, 0));
}

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
__device__ void reduceBoth(double* sums, i64* places, float* means, const float* in) {
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
  addSnippet("welford.cuh", seen, all);
  all += kReduceKernels;
  for (std::string axes : {"x", "y", "xy", "z", "xz", "xyz"}) {
    auto reduced = [&](char axis) {
      return axes.find(axis) == std::string::npos ? "false" : "true";
    };
    all += "extern \"C\" __global__ void reduce_" + axes +
           "(double* a, i64* b, float* c, const float* in) {\n" + "  reduceBoth<" + reduced('x') +
           ", " + reduced('y') + ", " + reduced('z') + ">(a, b, c, in);\n}\n";
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
  Buffer<double> sums(n);
  Buffer<int64_t> places(n);
  Buffer<float> means(2 * n), in_buffer(in);
  launch(*keep.back(), {.block = {bx, by, bz}, .shared_bytes = static_cast<int64_t>(n) * 48 + 64},
         {sums.argument(), places.argument(), means.argument(), in_buffer.argument()});
  std::vector<double> got = sums.host();
  std::vector<int64_t> got_places = places.host();
  std::vector<float> got_means = means.host();
  auto index = [&](int64_t x, int64_t y, int64_t z) {
    return static_cast<size_t>(x + bx * (y + by * z));
  };
  for (int64_t z = 0; z < bz; ++z) {
    for (int64_t y = 0; y < by; ++y) {
      for (int64_t x = 0; x < bx; ++x) {
        double sum = 0, squares = 0, count = 0;
        size_t best = n;
        for (int64_t k = rz ? 0 : z; k < (rz ? bz : z + 1); ++k) {
          for (int64_t j = ry ? 0 : y; j < (ry ? by : y + 1); ++j) {
            for (int64_t i = rx ? 0 : x; i < (rx ? bx : x + 1); ++i) {
              size_t at = index(i, j, k);
              sum += static_cast<double>(in[at]);
              squares += static_cast<double>(in[at]) * static_cast<double>(in[at]);
              count += 1;
              if (best == n || in[at] > in[best]) {
                best = at;
              }
            }
          }
        }
        size_t at = index(x, y, z);
        REQUIRE(got[at] == sum);
        REQUIRE(got_places[at] == static_cast<int64_t>(best));
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
      Buffer<float> in_buffer(in);
      Buffer<double> out(static_cast<size_t>(rows)), outs(static_cast<size_t>(rows * 2 * gx));
      Buffer<double> partials(static_cast<size_t>(2 * gx * rows));
      Buffer<uint32_t> tickets(std::vector<uint32_t>(2, 0));
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
  Buffer<float> in_buffer(in), out(128);
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
  Buffer<float> in_buffer(in), out(32);
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
  Buffer<int> out(256);
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

TEST_CASE("snippets: integer and real functions of the table") {
  auto kernel = compileWith({"math.cuh"}, R"(
extern "C" __global__ void k(i8* out, float* reals) {
  for (int at = threadIdx.x; at < 65536; at += blockDim.x) {
    i8 a = (i8)(at & 255), b = (i8)(at >> 8);
    i8* row = out + at * 8;
    row[0] = truncDiv(a, b);
    row[1] = truncMod(a, b);
    row[2] = floorDiv(a, b);
    row[3] = floorMod(a, b);
    row[4] = gcd(a, b);
    row[5] = powInteger(a, b);
    row[6] = shiftLeft(a, b);
    row[7] = shiftRight(a, b);
  }
  if (threadIdx.x == 0) {
    float nan = quietNan<float>(), inf = infinity<float>();
    reals[0] = maxNan(nan, 1.f);
    reals[1] = minNan(1.f, nan);
    reals[2] = maxNan(-inf, 3.f);
    reals[3] = floorMod(-7.f, 3.f);
    reals[4] = floorDiv(-7.f, 3.f);
    reals[5] = lerp(3.f, 5.f, 1.f);
    reals[6] = floorMod(7.f, -3.f);
    reals[7] = toInteger<i32>(1e20f) == 2147483647;
    reals[8] = toInteger<u8>(-1.f);
    reals[9] = bitCeil((i64)5) + bitCeil(64) + bitCeil(0);
    reals[10] = erfinvf(0.5f);
    reals[11] = (float)erfcinv(1e-10);
    reals[12] = sinpif(1.25f);
    reals[13] = cospif(0.5f);
    float zero = 0.f * reals[2];
    reals[14] = maxNan(-zero, zero);
    reals[15] = maxNan(zero, -zero);
    reals[16] = minNan(-zero, zero);
    reals[17] = minNan(zero, -zero);
    reals[18] = maxNan(-(double)zero, (double)zero);
    reals[19] = minNan((double)zero, -(double)zero);
    reals[20] = maxNumber(nan, -zero);
    reals[21] = minNumber(zero, -zero);
  }
}
)");
  Buffer<int8_t> out(65536 * 8);
  Buffer<float> reals(22);
  launch(*kernel, {.block = {128, 1, 1}}, {out.argument(), reals.argument()});
  std::vector<int8_t> got = out.host();
  size_t wrong = 0;
  for (int at = 0; at < 65536; ++at) {
    int a = static_cast<int8_t>(at & 255), b = static_cast<int8_t>(at >> 8);
    const int8_t* row = got.data() + at * 8;
    auto is = [&](int column, int expected) {
      wrong += row[column] != static_cast<int8_t>(expected);
    };
    is(0, b ? a / b : 0);
    is(1, b ? a % b : 0);
    if (b) {
      is(2, static_cast<int>(std::floor(static_cast<double>(a) / b)));
    }
    if (b) {
      is(3, a - b * static_cast<int>(std::floor(static_cast<double>(a) / b)));
    }
    int x = std::abs(a), y = std::abs(b);
    while (y) {
      std::swap(x %= y, y);
    }
    is(4, x);
    int power = 1;
    for (int i = 0; i < b; ++i) {
      power = static_cast<int8_t>(power * a);
    }
    is(5, b >= 0 ? power : a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0);
    is(6, b < 0 || b > 7 ? 0 : a << b);
    is(7, b < 0 || b > 7 ? (a < 0 ? -1 : 0) : a >> b);
  }
  CHECK(wrong == 0);
  std::vector<float> r = reals.host();
  CHECK(std::isnan(r[0]));
  CHECK(std::isnan(r[1]));
  CHECK(r[2] == 3);
  CHECK(r[3] == 2);
  CHECK(r[4] == -3);
  CHECK(r[5] == 5);
  CHECK(r[6] == -2);
  CHECK(r[7] == 1);
  CHECK(r[8] == 255);
  CHECK(r[9] == 8 + 64 + 1);
  CHECK(static_cast<double>(r[10]) == doctest::Approx(0.4769362762044699).epsilon(1e-6));
  CHECK(static_cast<double>(r[11]) == doctest::Approx(4.572824967389486).epsilon(1e-6));
  CHECK(static_cast<double>(r[12]) == doctest::Approx(-0.70710678).epsilon(1e-6));
  CHECK(r[13] == 0);
  for (size_t n = 14; n < 22; ++n) {
    const bool is_least = n == 16 || n == 17 || n >= 19;
    CAPTURE(n);
    CHECK(r[n] == 0);
    CHECK(std::signbit(r[n]) == is_least);
  }
}

TEST_CASE("snippets: complex functions against the C++ library") {
  const std::vector<std::string> names = {"exp",  "log",  "sqrt",  "sin",   "cos",
                                          "tan",  "asin", "acos",  "atan",  "sinh",
                                          "cosh", "tanh", "asinh", "acosh", "atanh"};
  std::string body =
      "extern \"C\" __global__ void k(complex<double>* out, const complex<double>* in, int n) {\n"
      "  for (int i = threadIdx.x; i < n; i += blockDim.x) {\n    complex<double> z = in[i];\n"
      "    complex<double>* row = out + i * 20;\n";
  for (size_t f = 0; f < names.size(); ++f) {
    body += "    row[" + std::to_string(f) + "] = " + names[f] + "(z);\n";
  }
  body +=
      "    row[15] = complex<double>(2.5, -1.5) / z;\n    row[16] = pow(z, complex<double>(0.3, "
      "-0.7));\n"
      "    row[17] = log1p(z);\n    row[18] = expm1(z);\n    row[19] = complex<double>(abs(z), "
      "arg(z));\n  }\n}\n";
  auto kernel = compileWith({"complex.cuh"}, body);
  using C = std::complex<double>;
  std::vector<C> in;
  std::mt19937_64 random(9);
  std::normal_distribution<double> normal;
  for (double scale : {1e-3, 0.3, 1.0, 3.0, 20.0}) {
    for (int i = 0; i < 60; ++i) {
      in.emplace_back(scale * normal(random), scale * normal(random));
    }
  }
  for (double a : {0.5, 2.0, -0.5, -2.0}) {
    in.emplace_back(a, 0.0);
    in.emplace_back(a, -0.0);
    in.emplace_back(0.0, a);
  }
  Buffer<C> in_buffer(in), out(in.size() * 20);
  int n = static_cast<int>(in.size());
  launch(*kernel, {.block = {64, 1, 1}}, {out.argument(), in_buffer.argument(), &n});
  std::vector<C> got = out.host();
  using F = C (*)(const C&);
  const F functions[] = {std::exp, std::log, std::sqrt, std::sin, std::cos, std::tan};
  for (size_t i = 0; i < in.size(); ++i) {
    C z = in[i];
    C expected[20];
    for (size_t f = 0; f < 6; ++f) {
      expected[f] = functions[f](z);
    }
    expected[6] = std::asin(z);
    expected[7] = std::acos(z);
    expected[8] = std::atan(z);
    expected[9] = std::sinh(z);
    expected[10] = std::cosh(z);
    expected[11] = std::tanh(z);
    expected[12] = std::asinh(z);
    expected[13] = std::acosh(z);
    expected[14] = std::atanh(z);
    expected[15] = C(2.5, -1.5) / z;
    expected[16] = std::exp(C(0.3, -0.7) * std::log(z));
    expected[17] = C(std::log1p((2 + z.real()) * z.real() + z.imag() * z.imag()) / 2,
                     std::atan2(z.imag(), 1 + z.real()));
    expected[18] = std::exp(z) - 1.0;
    expected[19] = C(std::abs(z), std::arg(z));
    for (size_t f = 0; f < 20; ++f) {
      C g = got[i * 20 + f];
      double size = std::max(std::abs(expected[f]), 1e-9);
      bool close = std::abs(g - expected[f]) <= 1e-12 * size + ((f == 17 || f == 18) ? 1e-14 : 0);
      if (!close) {
        CAPTURE(f);
        CAPTURE(z.real());
        CAPTURE(z.imag());
        CAPTURE(g.real());
        CAPTURE(g.imag());
        CAPTURE(expected[f].real());
        CAPTURE(expected[f].imag());
        CHECK(close);
      }
    }
  }
}
