// Philox-4x32-10 (Salmon et al., 2011) and what random operations make of it.
//
// key = seed. counter = (draw block, 64 bits, low words; offset + k, 64 bits, high words): `offset`
// counts in units of four of the framework's generator, k is the index of the random operation in
// its Fusion. e, the row-major logical index of an element, chooses block and words:
//   up to 32 bits   block e div 4, word e mod 4
//   f64             block e div 2, words 2(e mod 2) (low) and 2(e mod 2) + 1 (high)
//   normal          as above; a pair (e, e xor 1) shares one Box–Muller: radius from the even one's
//                   bits, angle from the odd one's; the even element takes the cosine
//   dropout         block e div 8, half-word e mod 8 (low half first) against the upper 16 bits of
//                   p; when equal, the upper half of word e mod 4 of block e div 4 at offset + k +
//                   2^31 against the lower 16 bits
// A value depends on (seed, offset, k, e) alone. Bits, uniforms and masks agree on all devices bit
// for bit; normals within 4 ulp.
//
//   u32x4 philox(seed, offset_plus_k, block)        .w[0…3]
//   uniformFromBits<Digits>(w)                      [0, 1), multiples of 2^-Digits: 24 for float,
//                                                   11 half, 8 bfloat16
//   uniformF64FromBits(lo, hi)                      [0, 1), multiples of 2^-53
//   normalFromBits(even, odd, is_odd)               float
//   normalF64FromBits(block, is_odd)                double
//   randomBits / uniformF32 / uniformF64 / normalF32 / normalF64 (seed, offset_plus_k, e): one
//     element by itself
//   uniformF32 / normalF32 (seed, offset_plus_k, block, word): the same, block = e div 4, word = e
//   mod 4 probabilityBits(p)                              p in [0, 1] as a multiple of 2^-32
//   dropoutKeep(block8, e, p_bits, seed, offset_plus_k)   true with probability p; block8 =
//                                                         philox(…, e div 8)
//   uniformOfThreads<Index>(seed, offset, block, word, threads, width)   in (0, 1]: of this block
//     and word, as a kernel of `threads` threads draws them: each from a sequence of its own,
//     `width` neighbours at a time
//
// needs: basics.cuh
struct u32x4 {
  u32 w[4];
};

// The upper word of a product. (Of the plain product of a constant and a word NVRTC makes one of
// 64 bits; of assembly it would not see that two are equal.)
__device__ __forceinline__ u32 upperProduct(u32 a, u32 b) {
#ifdef __CUDA_ARCH__
  return __umulhi(a, b);
#else
  return (u32)(((u64)a * b) >> 32);
#endif
}

__device__ __forceinline__ u32x4 philox(u64 seed, u64 offset_plus_k, u64 block) {
  u32 k0 = (u32)seed, k1 = (u32)(seed >> 32);
  u32 c0 = (u32)block, c1 = (u32)(block >> 32), c2 = (u32)offset_plus_k,
      c3 = (u32)(offset_plus_k >> 32);
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    u32 a = 0xD2511F53u * c0, a_upper = upperProduct(0xD2511F53u, c0);
    u32 b = 0xCD9E8D57u * c2, b_upper = upperProduct(0xCD9E8D57u, c2);
    c0 = b_upper ^ c1 ^ k0;
    c1 = b;
    c2 = a_upper ^ c3 ^ k1;
    c3 = a;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}

// Picks a word without indexing registers.
__device__ __forceinline__ u32 philoxWord(const u32x4& r, int i) {
  u32 low = (i & 1) ? r.w[1] : r.w[0];
  u32 high = (i & 1) ? r.w[3] : r.w[2];
  return (i & 2) ? high : low;
}

template <int Digits = 24>
__device__ __forceinline__ float uniformFromBits(u32 w) {
  return (float)(w >> (32 - Digits)) * (1.0f / (float)(1u << Digits));
}
__device__ __forceinline__ double uniformF64FromBits(u32 lo, u32 hi) {
  return (double)((((u64)hi << 32) | lo) >> 11) * (1.0 / 9007199254740992.0);
}
__device__ __forceinline__ float normalFromBits(u32 even, u32 odd, bool is_odd) {
  // (even + 1/2) / 2^32 in (0, 1]: the logarithm is finite and never positive.
  float u = (float)even * 2.3283064365386963e-10f + 1.1641532182693481e-10f;
  float radius = sqrtf(-2.0f * logf(u));
  float angle = (float)(odd >> 8) * (1.0f / 8388608.0f);  // in half turns
  float s, c;
  sincospif(angle, &s, &c);
  return radius * (is_odd ? s : c);
}
__device__ __forceinline__ double normalF64FromBits(const u32x4& r, bool is_odd) {
  double u = 1.0 - uniformF64FromBits(r.w[0], r.w[1]);
  double radius = sqrt(-2.0 * log(u));
  double angle = 2.0 * uniformF64FromBits(r.w[2], r.w[3]);
  double s, c;
  sincospi(angle, &s, &c);
  return radius * (is_odd ? s : c);
}

// Of a word of a block: neighbours in an unrolled loop share the block's rounds.
template <int Digits = 24>
__device__ __forceinline__ float uniformF32(u64 seed, u64 offset_plus_k, u64 block, int word) {
  return uniformFromBits<Digits>(philoxWord(philox(seed, offset_plus_k, block), word));
}
__device__ __forceinline__ float normalF32(u64 seed, u64 offset_plus_k, u64 block, int word) {
  u32x4 r = philox(seed, offset_plus_k, block);
  return (word & 2) ? normalFromBits(r.w[2], r.w[3], word & 1)
                    : normalFromBits(r.w[0], r.w[1], word & 1);
}

__device__ __forceinline__ u32 randomBits(u64 seed, u64 offset_plus_k, u64 e) {
  return philoxWord(philox(seed, offset_plus_k, e / 4), (int)(e % 4));
}
template <int Digits = 24>
__device__ __forceinline__ float uniformF32(u64 seed, u64 offset_plus_k, u64 e) {
  return uniformFromBits<Digits>(randomBits(seed, offset_plus_k, e));
}
__device__ __forceinline__ double uniformF64(u64 seed, u64 offset_plus_k, u64 e) {
  u32x4 r = philox(seed, offset_plus_k, e / 2);
  return (e & 1) ? uniformF64FromBits(r.w[2], r.w[3]) : uniformF64FromBits(r.w[0], r.w[1]);
}
__device__ __forceinline__ float normalF32(u64 seed, u64 offset_plus_k, u64 e) {
  u32x4 r = philox(seed, offset_plus_k, e / 4);
  return (e & 2) ? normalFromBits(r.w[2], r.w[3], e & 1) : normalFromBits(r.w[0], r.w[1], e & 1);
}
__device__ __forceinline__ double normalF64(u64 seed, u64 offset_plus_k, u64 e) {
  return normalF64FromBits(philox(seed, offset_plus_k, e / 2), e & 1);
}

template <typename Index>  // of elements: one of 32 bits makes the divisions cheap
__device__ __forceinline__ float uniformOfThreads(u64 seed, u64 offset, u64 block, int word,
                                                  u64 threads, u64 width) {
  const u64 blocks = width / 4;  // that a thread draws at a time
  const bool is_short = sizeof(Index) == 4;
  const u64 taken = is_short ? (u64)((u32)block / (u32)blocks) : block / blocks;
  const u64 turn = is_short ? (u64)((u32)taken / (u32)threads) : taken / threads;
  const u64 counter = offset + turn * blocks + (block - taken * blocks);
  const u32 w = philoxWord(philox(seed, taken - turn * threads, counter), word);
  return (float)w * 2.3283064365386963e-10f + 1.1641532182693481e-10f;
}
template <typename Index>
__device__ __forceinline__ float uniformOfThreads(u64 seed, u64 offset, u64 e, u64 threads,
                                                  u64 width) {
  return uniformOfThreads<Index>(seed, offset, e / 4, (int)(e % 4), threads, width);
}

__host__ __device__ constexpr u64 probabilityBits(double p) {
  return p <= 0 ? 0 : p >= 1 ? (u64)1 << 32 : (u64)(p * 4294967296.0 + 0.5);
}
__device__ __forceinline__ bool dropoutKeep(const u32x4& block8, u64 e, u64 p_bits, u64 seed,
                                            u64 offset_plus_k) {
  u32 half = (philoxWord(block8, (int)(e % 8) / 2) >> (16 * (e & 1))) & 0xffffu;
  u32 upper = (u32)(p_bits >> 16);
  if (half != upper) {
    return half < upper;
  }
  u32 tie = randomBits(seed, offset_plus_k + ((u64)1 << 31), e) >> 16;
  return tie < (u32)(p_bits & 0xffffu);
}
