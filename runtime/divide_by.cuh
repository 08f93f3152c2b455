// Quotients by what is shared: many numbers are divided by one, whose reciprocal the compiler then
// computes once.
//
//   divideBy(x, by)   x / by, correctly rounded where |x| > 2^-100 and |by| < 2^126, unless it is
//                     subnormal; to 1 ulp elsewhere. Zeros, infinities and NaN as x / by.
//
// The product with the rounded reciprocal is less than two units off; what it leaves of x is known
// exactly, and the second step rounds once (Markstein, Computation of elementary functions on the
// IBM RISC System/6000, 1990). A division by the processor is twice as long, with a branch.
//
// needs:
__device__ __forceinline__ float divideBy(float x, float by) {
  // A divisor with a reciprocal beyond all numbers is scaled. Its sign goes to x: where it is
  // positive, a zero keeps the quotient's sign on the way.
  const float scale = copysignf(fabsf(by) < 0x1p-120f ? 0x1p24f : 1.0f, by);
  const float divisor = by * scale;
  const float reciprocal = 1.0f / divisor;
  const float dividend = x * scale;
  const float quotient = dividend * reciprocal;
  const float left = fmaf(quotient, divisor, -dividend);
  const float nearer = fmaf(left, -reciprocal, quotient);
  return nearer == nearer ? nearer : quotient;  // of an infinity nothing is left
}
