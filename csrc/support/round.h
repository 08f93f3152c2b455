/// Numbers of elements, rounded to what holds them.
///
///   ceilDiv(10, 4) = 3    ceilPow2(10) = 16    floorPow2(10) = 8
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace nvfuser {

/// The parts of at most `b` that hold `a`; both at least 0, `b` not 0.
constexpr int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Smallest power of two from `value` on, at least 1.
constexpr int64_t ceilPow2(int64_t value) {
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(value, 1))));
}

/// Largest power of two up to `value`, at least 1.
constexpr int64_t floorPow2(int64_t value) {
  return static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(std::max<int64_t>(value, 1))));
}

}  // namespace nvfuser
