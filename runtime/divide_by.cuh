// Quotients by a constant without a division.
//
//   divideBy(x, c, r)   x / c, correctly rounded, where r is 1 / c, rounded, and c is a positive
//                       number far from both ends of the range. (Where the quotient is subnormal, or
//                       x less than 2^24 times the least normal number, to 1 ulp.)
//
// The product x r is less than two units off; what it leaves of x is known exactly, and the second
// step rounds once (Markstein, Computation of elementary functions on the IBM RISC System/6000,
// 1990). A division by the processor is some ten instructions with a branch.
//
// needs:
__device__ __forceinline__ float divideBy(float x, float c, float r) {
  const float quotient = x * r;
  const float nearer = fmaf(-fmaf(quotient, c, -x), r, quotient);
  return nearer == nearer ? nearer : quotient;  // of an infinity nothing is left
}
