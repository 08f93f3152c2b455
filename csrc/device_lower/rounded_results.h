/// Values whose last digits no result shows.
///
///   T5 = exp(T4)   T6 = sum(T5)   T8 = T5 / T6   T9 = (bfloat16)T8        T5, T6 and T8: 8
///
/// bfloat16 keeps 8 digits of a float's 24, half precision 11. A value that only gets there by
/// products, quotients, roots, and sums of what is never negative keeps its relative error on the
/// way, so an error of 1e-5 (an exponential's) changes a bfloat16's last digit once in some 400
/// times at the most, one of 1e-4 (a sigmoid's) once in 40, and one of 2 ulp (a quotient's) once in
/// 10^4, a half's once in 2000. A difference on the way could make any error large: there the value
/// is computed as well as ever.
#pragma once

#include <unordered_map>

#include <ir/fusion.h>

namespace nvfuser {

/// How many binary digits results show of the values that only 16-bit floats show.
std::unordered_map<const TensorView*, int> digitsShown(const Fusion& fusion);

}  // namespace nvfuser
