/// How near the functions of all devices come to what they mean, where that is not said by units in
/// the last place of their results.
#pragma once

#include <ir/op_types.h>
#include <ir/type.h>

namespace nvfuser {

/// The size of what is rounded on the way to the result for `x`, where that may be greater than the
/// result: terms that cancel. 0: no greater than the result.
using RoundedTerms = double (*)(double x, DataType compute);

/// Of a function some device's form of which cancels; null for all others. A device whose form does
/// not is held to more by its own tests (tests/numerics), but what a program's value may be is the
/// same for all.
RoundedTerms roundedTerms(UnaryOpType type);

}  // namespace nvfuser
