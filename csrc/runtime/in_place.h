/// When a kernel may write an output straight to the storage of an input that the output reuses
/// (`Fusion::aliasOutputToInput`). Otherwise it writes memory of its own, which is copied there
/// when all kernels of the call have run.
///
///   p' = p - lr · g               every element of p is read where p' is written: in place
///   x' = x - broadcast(x[0])      row 0 is read by all rows: a copy
#pragma once

#include <ir/fusion.h>
#include <runtime/executor_kernel_arg.h>

namespace nvfuser {

/// Whether `part`, computed element by element in one loop nest (as the pointwise scheduler does),
/// reads each element of `in` only to compute results at the same place, of which `out` is one.
bool readsOnlyWhereItWrites(const Fusion& part, const TensorView* in, const TensorView* out);

/// Whether the memory of the tensor at `position` is also that of another argument, in part.
bool overlapsAnother(const KernelArgumentHolder& args, size_t position);

}  // namespace nvfuser
