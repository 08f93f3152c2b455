// Random numbers of neighbouring elements (philox.cuh says which): 16 blocks of the generator at
// once, of which the loops over lanes take the words.
//
//   PhiloxRun run;                    no blocks yet; one for each random operation of a task
//   u32* run.words(seed, offset_plus_k, e)
//                                     words of elements e … e + 15, drawn unless they are there;
//                                     the pair (e, e xor 1) of the first and the last is there, too
//   simdUniform<Digits, N>(words)     uniformF32<Digits> of the first N of them, N <= 16
//   simdNormal<N>(words, e)           normalF32 of them
//
// The same bits as philox.cuh gives each element by itself.
//
// needs: philox.cuh cpu/simd.h
typedef Simd<u32, kSimdFloats> PhiloxLanes;

/// a * b, each lane by itself: the low half and, in *upper, the high one.
__forceinline__ PhiloxLanes philoxProduct(PhiloxLanes a, u32 b, PhiloxLanes* upper) {
  typedef Simd<u64, kSimdFloats / 2> Wide;
  const Wide even = (Wide)a & 0xffffffffull, odd = (Wide)a >> 32;
  Wide low, high;
#if defined(__AVX512F__) && !defined(__clang__)
  const Simd<i32, 16> factor = (Simd<i32, 16>)(Wide{} + b);
  low = (Wide)__builtin_ia32_pmuludq512_mask((Simd<i32, 16>)even, factor, Simd<long long, 8>{},
                                             (u8)-1);
  high = (Wide)__builtin_ia32_pmuludq512_mask((Simd<i32, 16>)odd, factor, Simd<long long, 8>{},
                                              (u8)-1);
#elif defined(__AVX2__) && !defined(__clang__)
  const Simd<i32, 8> factor = (Simd<i32, 8>)(Wide{} + b);
  low = (Wide)__builtin_ia32_pmuludq256((Simd<i32, 8>)even, factor);
  high = (Wide)__builtin_ia32_pmuludq256((Simd<i32, 8>)odd, factor);
#else
  low = even * (u64)b;
  high = odd * (u64)b;
#endif
  *upper = (PhiloxLanes)(low >> 32 | (high & 0xffffffff00000000ull));
  return (PhiloxLanes)((low & 0xffffffffull) | high << 32);
}

struct PhiloxRun {
  static constexpr int kBlocks = 16;
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
      PhiloxLanes c[4];
      for (int i = 0; i < kSimdFloats; i++) {
        c[0][i] = (u32)(block + first + i);
        c[1][i] = (u32)((block + first + i) >> 32);
      }
      c[2] = PhiloxLanes{} + (u32)offset_plus_k;
      c[3] = PhiloxLanes{} + (u32)(offset_plus_k >> 32);
      for (int round = 0; round < 10; ++round) {
        PhiloxLanes a_upper, b_upper;
        const PhiloxLanes a = philoxProduct(c[0], 0xD2511F53u, &a_upper);
        const PhiloxLanes b = philoxProduct(c[2], 0xCD9E8D57u, &b_upper);
        c[0] = b_upper ^ c[1] ^ k0;
        c[1] = b;
        c[2] = a_upper ^ c[3] ^ k1;
        c[3] = a;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
      }
      for (int i = 0; i < kSimdFloats; i++) {
        for (int w = 0; w < 4; w++) {
          drawn[4 * (first + i) + w] = c[w][i];
        }
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
