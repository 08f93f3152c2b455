/// Matrices as the innermost loops of a product read them: lines side by side, as numbers.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include <external/elements.h>
#include <external/gemm_kernel.h>

namespace nvfuser::external {

inline int64_t roundUp(int64_t x, int64_t to) { return (x + to - 1) / to * to; }

template <typename From, typename T>
void toNumbers(const From* from, int64_t count, T* to) {
  for (int64_t i = 0; i < count; ++i) {
    to[i] = numberOf(from[i]);
  }
}

/// `count` lines of `depth` elements each as panels of `width` lines: panel[p][line].
template <typename From, typename T>
void pack(const From* from, int64_t line_stride, int64_t depth_stride, int64_t count, int64_t depth,
          int64_t width, T* to) {
  constexpr int64_t kPiece = 256;  // of a line, as numbers
  std::array<T, kPiece> numbers;
  for (int64_t first = 0; first < count; first += width, to += width * depth) {
    const int64_t lines = std::min(width, count - first);
    const From* own = from + first * line_stride;
    if (lines < width) {
      std::fill_n(to, width * depth, T{0});
    }
    if (line_stride == 1) {
      for (int64_t p = 0; p < depth; ++p) {
        for (int64_t line = 0; line < lines; ++line) {
          to[p * width + line] = numberOf(own[p * depth_stride + line]);
        }
      }
    } else if (depth_stride == 1) {
      for (int64_t line = 0; line < lines; ++line) {
        for (int64_t begin = 0; begin < depth; begin += kPiece) {
          const int64_t piece = std::min(kPiece, depth - begin);
          toNumbers(own + line * line_stride + begin, piece, numbers.data());
          for (int64_t p = 0; p < piece; ++p) {
            to[(begin + p) * width + line] = numbers[static_cast<size_t>(p)];
          }
        }
      }
    } else {
      for (int64_t line = 0; line < lines; ++line) {
        for (int64_t p = 0; p < depth; ++p) {
          to[p * width + line] = numberOf(own[line * line_stride + p * depth_stride]);
        }
      }
    }
  }
}

/// C += A · B, from column panels of A and row panels of B, `depth` deep. C is row by row, `stride`
/// apart, with room for whole register blocks.
template <typename T>
void addProduct(const T* panel_a, const T* panel_b, int64_t rows, int64_t columns, int64_t depth,
                T* c, int64_t stride) {
  const GemmKernel<T>& kernel = gemmKernel<T>();
  for (int64_t j = 0; j < columns; j += kernel.columns) {
    for (int64_t i = 0; i < rows; i += kernel.rows) {
      kernel.run(panel_a + i * depth, panel_b + j * depth, depth, c + i * stride + j, stride);
    }
  }
}

}  // namespace nvfuser::external
