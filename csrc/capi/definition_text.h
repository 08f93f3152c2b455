/// A definition as the Python text that makes it again. Values are named by their ids: T0 a tensor,
/// S1 a scalar.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <capi/operations.h>

namespace nvfuser::capi {

/// "T3", or "S3" for a scalar.
std::string valueText(const std::vector<Val*>& values, int64_t id);
/// "T0 = fd.define_tensor(symbolic_sizes=[-1, 1], contiguous=[True, True], dtype=DataType.Float)"
std::string defineTensorText(int64_t id, std::span<const int64_t> sizes,
                             const std::vector<bool>& contiguous, DataType dtype);
/// "S2 = fd.define_scalar(dtype=DataType.Double)"
std::string defineScalarText(int64_t id, DataType dtype);
/// "S2 = fd.define_constant(3.00000)"
std::string defineConstantText(int64_t id, const PolymorphicValue& value);
/// "T5 = fd.ops.sum(T4, axes=[-1], keepdim=False, dtype=DataType.Float)": operands by position, the
/// others by name, those alone that were given.
std::string operationText(const Operation& operation, const Call& call,
                          std::span<const int64_t> ids);
/// The function around the statements.
std::string definitionText(int64_t fusion_id, const std::vector<std::string>& statements);

}  // namespace nvfuser::capi
