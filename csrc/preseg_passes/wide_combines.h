/// Pass `wide-combines`, for GPUs: scans, and scatters that accumulate, of numbers that threads
/// neither exchange nor add in memory are done in a dtype for which they do:
///
///   T3_g___half[i0] = scatter(T0___half[i0], T1[i1], T2___half[i1], add)
/// becomes
///   T4_l_float[i0] = cast(T0)
///   T5_l_float[i1] = cast(T2)
///   T6_l_float[i0] = scatter(T4, T1, T5, add)
///   T3_g___half[i0] = cast(T6)
///
///   Half, BFloat16, Float8   scatters in Float, scans of Float8 too (those of Half and BFloat16
///                            have kernels as they are)
///   8 and 16 bits            in Int32: what is cut off at the end makes no difference before
///   UInt32, UInt64           in Int; UInt64 sums and products only
///   complex sums             the real parts, and the imaginary parts
///
/// So they have kernels, with what is around them, and sums in half precision are rounded once. A
/// scatter of one number gets a source that is filled with it, for the same reason.
///
/// Left alone: Bool; products of complex numbers, and scatters of one of them.
#pragma once

#include <ir/fusion.h>

namespace nvfuser::preseg_passes {

void widenCombines(Fusion& fusion);

}  // namespace nvfuser::preseg_passes
