// exp(x) = 2^n · exp(r) with n = round(x / ln 2) and |r| <= ln 2 / 2; ln 2 is taken off in two
// parts, so that r is exact to Float's digits, and exp(r) is a polynomial. Adding 1.5·2^23 rounds
// to a whole number, which then stands in the lowest bits.
#include <external/exponential.h>

#include <cstring>
#include <limits>

namespace nvfuser::external {

namespace {

constexpr float kRounder = 12582912.0f;
constexpr float kLowest = -87.33654f;  ///< ln 2^-126
constexpr float kHighest = 88.37626f;

/// Calls `body(numbers)` for vectors along the row; the last one is filled up with -inf.
template <typename Vector, typename Body>
[[gnu::always_inline]] inline void forVectors(float* row, int64_t count, const Body& body) {
  constexpr int64_t kLanes = sizeof(Vector) / sizeof(float);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    Vector x;
    std::memcpy(&x, row + i, sizeof x);
    if (body(x)) {
      std::memcpy(row + i, &x, sizeof x);
    }
  }
  if (i < count) {
    const auto bytes = static_cast<size_t>(count - i) * sizeof(float);
    Vector x = Vector{} - std::numeric_limits<float>::infinity();
    std::memcpy(&x, row + i, bytes);
    if (body(x)) {
      std::memcpy(row + i, &x, bytes);
    }
  }
}

template <int kBytes>
[[gnu::always_inline]] inline float greatestOf(const float* row, int64_t count) {
  typedef float Floats __attribute__((vector_size(kBytes)));
  constexpr float kLeast = -std::numeric_limits<float>::infinity();
  Floats most = Floats{} + kLeast;
  forVectors<Floats>(const_cast<float*>(row), count, [&](Floats& x) __attribute__((always_inline)) {
    most = x > most ? x : most;
    return false;
  });
  float lanes[kBytes / 4];
  std::memcpy(lanes, &most, sizeof most);
  float all = kLeast;
  for (float lane : lanes) {
    all = lane > all ? lane : all;
  }
  return all;
}

template <int kBytes>
[[gnu::always_inline]] inline float exponentialsOf(float* row, int64_t count, float shift) {
  typedef float Floats __attribute__((vector_size(kBytes)));
  typedef int32_t Ints __attribute__((vector_size(kBytes)));
  Floats sums{};
  forVectors<Floats>(row, count, [&](Floats& x) __attribute__((always_inline)) {
    const Floats zero{};
    x -= shift;
    const Ints vanishes = x < kLowest;
    x = x > kHighest ? zero + kHighest : x;
    const Floats t = x * 1.44269504f + kRounder;
    const Floats n = t - kRounder;
    const Floats r = x - n * 0.693359375f - n * -2.12194440e-4f;
    Floats y = zero + 1.9875691500e-4f;
    y = y * r + 1.3981999507e-3f;
    y = y * r + 8.3334519073e-3f;
    y = y * r + 4.1665795894e-2f;
    y = y * r + 1.6666665459e-1f;
    y = y * r + 5.0000001201e-1f;
    y = y * (r * r) + r + 1.0f;
    Ints power;
    std::memcpy(&power, &t, sizeof power);
    power = (power + 127) << 23;
    Floats scale;
    std::memcpy(&scale, &power, sizeof scale);
    x = vanishes ? zero : y * scale;
    sums += x;
    return true;
  });
  float lanes[kBytes / 4];
  std::memcpy(lanes, &sums, sizeof sums);
  float sum = 0;
  for (float lane : lanes) {
    sum += lane;
  }
  return sum;
}

#if defined(__x86_64__)
__attribute__((target("avx512f"))) float greatest512(const float* row, int64_t count) {
  return greatestOf<64>(row, count);
}
__attribute__((target("avx512f"))) float exponentials512(float* row, int64_t count, float shift) {
  return exponentialsOf<64>(row, count, shift);
}
__attribute__((target("avx2,fma"))) float greatest256(const float* row, int64_t count) {
  return greatestOf<32>(row, count);
}
__attribute__((target("avx2,fma"))) float exponentials256(float* row, int64_t count, float shift) {
  return exponentialsOf<32>(row, count, shift);
}
#endif

float greatest128(const float* row, int64_t count) { return greatestOf<16>(row, count); }
float exponentials128(float* row, int64_t count, float shift) {
  return exponentialsOf<16>(row, count, shift);
}

RowFunctions choose() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) {
    return {greatest512, exponentials512};
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return {greatest256, exponentials256};
  }
#endif
  return {greatest128, exponentials128};
}

}  // namespace

const RowFunctions& rowFunctions() {
  static const RowFunctions functions = choose();
  return functions;
}

}  // namespace nvfuser::external
