// One template, compiled for each width of vectors. All of a block's sums stay in registers:
//
//   for p in k:  columns of b in kVectors registers; each of kRows numbers of a times these
#include <external/gemm_kernel.h>

#include <cstring>

namespace nvfuser::external {

namespace {

template <typename T, int kBytes, int kRows, int kVectors>
[[gnu::always_inline]] inline void block(const T* a, const T* b, int64_t k, T* c, int64_t stride) {
  typedef T Vector __attribute__((vector_size(kBytes)));
  constexpr int kLanes = kBytes / static_cast<int>(sizeof(T));
  Vector sums[kRows][kVectors] = {};
  for (int64_t p = 0; p < k; ++p) {
    Vector column[kVectors];
    std::memcpy(column, b, sizeof column);
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j) {
        sums[i][j] += a[i] * column[j];
      }
    }
    a += kRows;
    b += kVectors * kLanes;
  }
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) {
      T* at = c + i * stride + j * kLanes;
      Vector old;
      std::memcpy(&old, at, sizeof old);
      old += sums[i][j];
      std::memcpy(at, &old, sizeof old);
    }
  }
}

#if defined(__x86_64__)
template <typename T>
__attribute__((target("avx512f"))) void block512(const T* a, const T* b, int64_t k, T* c,
                                                 int64_t stride) {
  block<T, 64, 12, 2>(a, b, k, c, stride);
}
template <typename T>
__attribute__((target("avx2,fma"))) void block256(const T* a, const T* b, int64_t k, T* c,
                                                  int64_t stride) {
  block<T, 32, 6, 2>(a, b, k, c, stride);
}
#endif

template <typename T>
void block128(const T* a, const T* b, int64_t k, T* c, int64_t stride) {
  block<T, 16, 4, 2>(a, b, k, c, stride);
}

template <typename T>
GemmKernel<T> choose() {
  constexpr int64_t kSize = sizeof(T);
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) {
    return {12, 128 / kSize, block512<T>};
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return {6, 64 / kSize, block256<T>};
  }
#endif
  return {4, 32 / kSize, block128<T>};
}

}  // namespace

template <typename T>
const GemmKernel<T>& gemmKernel() {
  static const GemmKernel<T> kernel = choose<T>();
  return kernel;
}
template const GemmKernel<float>& gemmKernel();
template const GemmKernel<double>& gemmKernel();

}  // namespace nvfuser::external
