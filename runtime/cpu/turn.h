// Tiles turned over their diagonal in registers.
//
//   lanesTurn<M, N>(dst, dst_row, src, src_row)   dst[m * dst_row + n] = src[n * src_row + m]
//                                                 for m < M, n < N; the two do not overlap
//
// Squares of B × B lanes are turned in log2(B) steps, each of which exchanges the off-diagonal
// quarters of squares of 2·S:
//
//   S = 1   a b c d      a e c g      S = 2   a e i m
//           e f g h  →   b f d h        →     b f j n
//           i j k l      i m k o              c g k o
//           m n o p      j n l p              d h l p
//
// needs: cpu/simd.h
constexpr int turnFrom(int lanes, int step, bool high, int l) {
  return high ? ((l & step) != 0 ? lanes + l : l + step) : ((l & step) != 0 ? lanes + l - step : l);
}

/// Row i (high: i + S) of a step, from rows i and i + S.
template <int S, bool high, class V>
__forceinline__ V turnRow(V a, V b) {
  constexpr int N = kLanes<V>;
#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define NVFUSER_TURN(l) turnFrom(N, S, high, l)
  if constexpr (N == 16) {
    return __builtin_shufflevector(
        a, b, NVFUSER_TURN(0), NVFUSER_TURN(1), NVFUSER_TURN(2), NVFUSER_TURN(3), NVFUSER_TURN(4),
        NVFUSER_TURN(5), NVFUSER_TURN(6), NVFUSER_TURN(7), NVFUSER_TURN(8), NVFUSER_TURN(9),
        NVFUSER_TURN(10), NVFUSER_TURN(11), NVFUSER_TURN(12), NVFUSER_TURN(13), NVFUSER_TURN(14),
        NVFUSER_TURN(15));
  } else if constexpr (N == 8) {
    return __builtin_shufflevector(a, b, NVFUSER_TURN(0), NVFUSER_TURN(1), NVFUSER_TURN(2),
                                   NVFUSER_TURN(3), NVFUSER_TURN(4), NVFUSER_TURN(5),
                                   NVFUSER_TURN(6), NVFUSER_TURN(7));
  } else if constexpr (N == 4) {
    return __builtin_shufflevector(a, b, NVFUSER_TURN(0), NVFUSER_TURN(1), NVFUSER_TURN(2),
                                   NVFUSER_TURN(3));
  } else {
    return __builtin_shufflevector(a, b, NVFUSER_TURN(0), NVFUSER_TURN(1));
  }
#undef NVFUSER_TURN
#endif
#endif
  V result{};
  for (int l = 0; l < N; ++l) {
    const int from = turnFrom(N, S, high, l);
    result[l] = from < N ? a[from] : b[from - N];
  }
  return result;
}

template <int S, int B, class V>
__forceinline__ void turnStep(V* rows) {
  if constexpr (S < B) {
#pragma GCC unroll 16
    for (int i = 0; i < B; ++i) {
      if ((i & S) == 0) {
        const V low = turnRow<S, false>(rows[i], rows[i + S]);
        rows[i + S] = turnRow<S, true>(rows[i], rows[i + S]);
        rows[i] = low;
      }
    }
    turnStep<2 * S, B>(rows);
  }
}

template <int Bytes>
struct TurnWord {
  typedef u32 lane;
};
template <>
struct TurnWord<8> {
  typedef u64 lane;
};
template <int Bytes>
struct TurnBits {
  typedef u32 type;
};
template <>
struct TurnBits<1> {
  typedef u8 type;
};
template <>
struct TurnBits<2> {
  typedef u16 type;
};
template <>
struct TurnBits<8> {
  typedef u64 type;
};

/// Of 2 bytes: B columns of 2·B rows, which become B rows. Two rows share words on the way.
template <int B>
__forceinline__ void turnPairs(u16* dst, i64 dst_row, const u16* src, i64 src_row) {
  using Half = typename SimdOf<u16, B>::anywhere;
  Simd<u32, B> rows[B];
#pragma GCC unroll 16
  for (int i = 0; i < B; ++i) {
    const Simd<u16, B> even = *(const Half*)(src + 2 * i * src_row);
    const Simd<u16, B> odd = *(const Half*)(src + (2 * i + 1) * src_row);
    rows[i] =
        (Simd<u32, B>)simdFromBf16Bits<B>(odd) | (Simd<u32, B>)simdFromBf16Bits<B>(even) >> 16;
  }
  turnStep<1, B>(rows);
#pragma GCC unroll 16
  for (int i = 0; i < B; ++i) {
    *(typename SimdOf<u32, B>::anywhere*)(dst + i * dst_row) = rows[i];
  }
}

/// One square. Elements narrower than a word take a word each meanwhile.
template <int B, class Bits>
__forceinline__ void turnSquare(Bits* dst, i64 dst_row, const Bits* src, i64 src_row) {
  using Word = typename TurnWord<sizeof(Bits)>::lane;
  Simd<Word, B> rows[B];
#pragma GCC unroll 16
  for (int i = 0; i < B; ++i) {
    const Simd<Bits, B> bits = *(const typename SimdOf<Bits, B>::anywhere*)(src + i * src_row);
    if constexpr (sizeof(Bits) == sizeof(Word)) {
      rows[i] = bits;
    } else {
      rows[i] = __builtin_convertvector(bits, Simd<Word, B>);
    }
  }
  turnStep<1, B>(rows);
#pragma GCC unroll 16
  for (int i = 0; i < B; ++i) {
    auto* to = (typename SimdOf<Bits, B>::anywhere*)(dst + i * dst_row);
    if constexpr (sizeof(Bits) == sizeof(Word)) {
      *to = rows[i];
    } else {
      *to = __builtin_convertvector(rows[i], Simd<Bits, B>);
    }
  }
}

/// Lanes of the largest square within M × N.
template <int M, int N>
constexpr int turnSide(int lanes) {
  while (lanes > M || lanes > N) {
    lanes /= 2;
  }
  return lanes;
}

template <int M, int N, class T>
__forceinline__ void lanesTurn(T* dst, i64 dst_row, const T* src, i64 src_row) {
  constexpr int kBytes = sizeof(T);
  constexpr int B = turnSide<M, N>(kBytes == 8 ? kSimdFloats / 2 : kSimdFloats);
  if constexpr (kBytes == 2 && B == kSimdFloats && M % B == 0 && N % (2 * B) == 0) {
#pragma GCC unroll 1
    for (int m = 0; m < M; m += B) {
#pragma GCC unroll 1
      for (int n = 0; n < N; n += 2 * B) {
        turnPairs<B>((u16*)(dst + m * dst_row + n), dst_row, (const u16*)(src + n * src_row + m),
                     src_row);
      }
    }
  } else if constexpr (kBytes <= 8 && B > 1) {
    using Bits = typename TurnBits<kBytes>::type;
    // The last squares of a side that is no multiple of theirs begin earlier, and do some again.
#pragma GCC unroll 1
    for (int i = 0; i < M; i += B) {
      const int m = M % B == 0 || i + B <= M ? i : M - B;
#pragma GCC unroll 1
      for (int j = 0; j < N; j += B) {
        const int n = N % B == 0 || j + B <= N ? j : N - B;
        turnSquare<B, Bits>((Bits*)(dst + m * dst_row + n), dst_row,
                            (const Bits*)(src + n * src_row + m), src_row);
      }
    }
  } else {
    for (int m = 0; m < M; ++m) {
      for (int n = 0; n < N; ++n) {
        dst[m * dst_row + n] = src[n * src_row + m];
      }
    }
  }
}
