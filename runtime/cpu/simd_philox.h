// Random numbers of neighbouring elements (philox.cuh says which): 32 blocks of the generator at
// once, of which the loops over lanes take the words.
//
//   PhiloxRun run;                    no blocks yet; one for each random operation of a task
//   u32* run.words(seed, offset_plus_k, e)
//                                     words of elements e … e + 15, drawn unless they are there;
//                                     the pair (e, e xor 1) of the first and the last is there, too
//   simdUniform<Digits, N>(words)     uniformF32<Digits> of the first N of them, N <= 16
//   simdNormal<N>(words, e)           normalF32 of them
//   simdSpread(v, scale, start)       v * scale + start, rounded once on every CPU
//
// The same bits as philox.cuh gives each element by itself.
//
// needs: philox.cuh cpu/simd.h
typedef Simd<u32, kSimdFloats> PhiloxLanes;

/// The high half of a * b, each lane by itself.
__forceinline__ PhiloxLanes philoxUpper(PhiloxLanes a, u32 b) {
  typedef Simd<u64, kSimdFloats / 2> Wide;
  Wide even, odd;
#if defined(__AVX512F__) && !defined(__clang__)
  const Simd<i32, 16> factor = (Simd<i32, 16>)(Wide{} + b);
  even =
      (Wide)__builtin_ia32_pmuludq512_mask((Simd<i32, 16>)a, factor, Simd<long long, 8>{}, (u8)-1);
  odd = (Wide)__builtin_ia32_pmuludq512_mask((Simd<i32, 16>)((Wide)a >> 32), factor,
                                             Simd<long long, 8>{}, (u8)-1);
#elif defined(__AVX2__) && !defined(__clang__)
  const Simd<i32, 8> factor = (Simd<i32, 8>)(Wide{} + b);
  even = (Wide)__builtin_ia32_pmuludq256((Simd<i32, 8>)a, factor);
  odd = (Wide)__builtin_ia32_pmuludq256((Simd<i32, 8>)((Wide)a >> 32), factor);
#else
  even = ((Wide)a & 0xffffffffull) * (u64)b;
  odd = ((Wide)a >> 32) * (u64)b;
#endif
  return (PhiloxLanes)(even >> 32 | (odd & 0xffffffff00000000ull));
}

/// a[0], b[0], a[1], b[1], … of the first half of the lanes, or of the second.
template <int kHalf>
__forceinline__ PhiloxLanes philoxZip(PhiloxLanes a, PhiloxLanes b) {
  constexpr int kFirst = kHalf * (kSimdFloats / 2);
#if defined(__clang__)
  PhiloxLanes zipped;
  for (int i = 0; i < kSimdFloats; i++) {
    zipped[i] = i % 2 == 0 ? a[kFirst + i / 2] : b[kFirst + i / 2];
  }
  return zipped;
#else
  Simd<i32, kSimdFloats> from;
  for (int i = 0; i < kSimdFloats; i++) {
    from[i] = kFirst + i / 2 + i % 2 * kSimdFloats;
  }
  return __builtin_shuffle(a, b, from);
#endif
}

struct PhiloxRun {
  static constexpr int kBlocks = 32;
  u64 begin = (u64)1 << 63;  ///< first element whose word is there; none has this index
  alignas(64) u32 drawn[4 * kBlocks];

  __forceinline__ const u32* words(u64 seed, u64 offset_plus_k, u64 e) {
    if (__builtin_expect(e - begin > 4 * kBlocks - 16, 0)) {
      draw(seed, offset_plus_k, e / 4);
    }
    return drawn + (e - begin);
  }

  __attribute__((noinline)) void draw(u64 seed, u64 offset_plus_k, u64 block) {
    begin = 4 * block;
    for (int first = 0; first < kBlocks; first += kSimdFloats) {
      u32 k0 = (u32)seed, k1 = (u32)(seed >> 32);
      const u32 low = (u32)(block + first);
      PhiloxLanes c[4];
      for (int i = 0; i < kSimdFloats; i++) {
        c[0][i] = (u32)i;
      }
      c[0] += low;
      c[1] = (u32)((block + first) >> 32) - (PhiloxLanes)(c[0] < low);
      c[2] = PhiloxLanes{} + (u32)offset_plus_k;
      c[3] = PhiloxLanes{} + (u32)(offset_plus_k >> 32);
#pragma GCC unroll 10
      for (int round = 0; round < 10; ++round) {
        const PhiloxLanes a_upper = philoxUpper(c[0], 0xD2511F53u);
        const PhiloxLanes b_upper = philoxUpper(c[2], 0xCD9E8D57u);
        const PhiloxLanes a = c[0] * 0xD2511F53u, b = c[2] * 0xCD9E8D57u;
        c[0] = b_upper ^ c[1] ^ k0;
        c[1] = b;
        c[2] = a_upper ^ c[3] ^ k1;
        c[3] = a;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
      }
      // The words of one block lie together.
      const PhiloxLanes even[] = {philoxZip<0>(c[0], c[2]), philoxZip<1>(c[0], c[2])};
      const PhiloxLanes odd[] = {philoxZip<0>(c[1], c[3]), philoxZip<1>(c[1], c[3])};
      for (int half = 0; half < 2; half++) {
        u32* to = drawn + 4 * first + half * (2 * kSimdFloats);
        simdStore(to, philoxZip<0>(even[half], odd[half]));
        simdStore(to + kSimdFloats, philoxZip<1>(even[half], odd[half]));
      }
    }
  }
};

template <int Digits, int N>
__forceinline__ Simd<float, N> simdUniform(const u32* words) {
  const Simd<u32, N> bits = *(const typename SimdOf<u32, N>::anywhere*)words >> (32 - Digits);
  return __builtin_convertvector((Simd<i32, N>)bits, Simd<float, N>) *
         (1.0f / (float)(1u << Digits));
}

template <class V>
__forceinline__ V simdSpread(V v, V scale, V start) {
#if defined(__FMA__)
  if constexpr (sizeof(V) >= 16 && kLanes<V> <= kSimdFloats) {
    return simdMulAdd(v, scale, start);
  }
#endif
  V result;
  for (int i = 0; i < kLanes<V>; i++) {
    result[i] = fmaf(v[i], scale[i], start[i]);
  }
  return result;
}

/// A pair shares its radius and its angle.
template <int N>
__forceinline__ Simd<float, N> simdNormal(const u32* words, u64 e) {
  const int odd = e & 1;
  float pairs[N + 2];
  for (int i = 0; i < N + odd; i += 2) {
    const u32* pair = words - odd + i;
    pairs[i] = normalFromBits(pair[0], pair[1], false);
    pairs[i + 1] = normalFromBits(pair[0], pair[1], true);
  }
  return *(const typename SimdOf<float, N>::anywhere*)(pairs + odd);
}
