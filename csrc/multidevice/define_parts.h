/// One operation of the global Fusion, defined again on the device's parts of its operands.
///
///   T2[6, 4] = reshape(T1[24]), DIDx of 2 cuts axis 0     T9[3, 4] = reshape(T8[12])
#pragma once

#include <vector>

#include <multidevice/part_sizes.h>
#include <multidevice/sharding.h>

namespace nvfuser::multidevice {

/// `expr` has the parts as its operands by now; `in` (null: none) and `out` are its first operand
/// and result as the global Fusion has them, `sharding` how `out` is cut. `sums_parts`: the result
/// is to be added to that of other devices, so that a bias is left out.
std::vector<TensorView*> defineParts(Expr* expr, const TensorView* in, const TensorView* out,
                                     const Sharding& sharding, bool sums_parts,
                                     const PartSizes& sizes);

}  // namespace nvfuser::multidevice
