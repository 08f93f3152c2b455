/// Constants as C++ text, exact to the last bit.
#pragma once

#include <string>

#include <kernel_ir/kernel.h>

namespace nvfuser::codegen {

/// Text whose type is that of `dtype` (Index: not accepted; say Int or Int32) and whose value is
/// `value` converted to it. Infinities and NaN are calls of `infinity<T>()` and `quietNan<T>()`,
/// integer types are named: both need the snippet basics.cuh, and then `*needs_basics` becomes
/// true.
std::string literalText(const PolymorphicValue& value, DataType dtype, bool* needs_basics);

/// The constant brought to `dtype` beforehand, where that is exact or rounds as the target would;
/// false otherwise.
bool foldLiteral(const kir::Literal& literal, DataType dtype, PolymorphicValue* folded);

}  // namespace nvfuser::codegen
