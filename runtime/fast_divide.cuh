// Division and modulo by a divisor that is known at launch, by one multiplication.
//
// The host makes a FastDivide with `makeFastDivide(d)`, 1 ≤ d < 2^31, and passes it by value. For 0
// ≤ n < 2^31:
//   f.div(n) == n / d,  f.mod(n) == n % d,  f.divmod(n, q, r)
// With l = ceil(log2 d) and magic = floor(2^32 (2^l − d) / d) + 1: n / d = (mulhi(n, magic) + n) >>
// l, and the sum stays below 2^32 because mulhi(n, magic) ≤ n < 2^31 (Granlund and Montgomery,
// 1994).
//
// needs: basics.cuh
struct FastDivide {
  u32 divisor;
  u32 magic;
  u32 shift;

  __device__ __forceinline__ u32 div(u32 n) const { return (__umulhi(n, magic) + n) >> shift; }
  __device__ __forceinline__ u32 mod(u32 n) const { return n - div(n) * divisor; }
  __device__ __forceinline__ void divmod(u32 n, u32& quotient, u32& remainder) const {
    quotient = div(n);
    remainder = n - quotient * divisor;
  }
};

__host__ __device__ constexpr FastDivide makeFastDivide(u32 divisor) {
  u32 shift = 0;
  while (((u64)1 << shift) < divisor) {
    ++shift;
  }
  return {divisor, (u32)((((u64)1 << 32) * (((u64)1 << shift) - divisor)) / divisor + 1), shift};
}
