/// Python's operators on the frontend's tensors and scalars: `-a`, `a + 2.0`, `1 / s`, `a > s`.
#pragma once

#include "frontend.h"

namespace nvfuser::python {

/// Each is the operation of that meaning in Python, and a statement of the definition like a call
/// of `fd.ops`. Equality compares elements while the fusion is being defined, and the values
/// themselves later; they stay usable as keys.
template <typename ValueClass>
void bindValueOperators(nb::class_<ValueClass>& value);
extern template void bindValueOperators(nb::class_<FrontendTensor>& value);
extern template void bindValueOperators(nb::class_<FrontendScalar>& value);

}  // namespace nvfuser::python
