/// A definition as the Python text that makes it again, statement by statement as it was entered.
/// Values are named by their ids: T0 a tensor, S1 a scalar. (From the graph: fusion_text.h.)
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <capi/definition.h>
#include <capi/operations.h>

namespace nvfuser::capi {

/// "T3", or "S3" for a scalar.
std::string valueText(const Definition& definition, int64_t id);
/// "DataType.Float"
std::string dtypeText(DataType dtype);
/// "3.00000", "True", "complex(1.00000, 2.00000)": Python's text of a constant.
std::string constantText(const PolymorphicValue& value);
/// "fd.define_tensor(symbolic_sizes=[-1, 1], contiguous=[True, True], dtype=DataType.Float)"
std::string defineTensorText(std::span<const int64_t> sizes, const std::vector<bool>& contiguous,
                             DataType dtype);
/// What `defineTensorText` says of an input tensor of any memory order.
struct InputTensor {
  std::vector<int64_t> shape;
  std::vector<std::optional<bool>> contiguity;  ///< in memory order; none: broadcast
  DataType dtype;
  bool is_cpu = false;
  std::vector<int64_t> stride_order;  ///< empty: row-major
};
/// "fd.define_tensor(shape=[-1, 1], contiguity=[True, None], dtype=DataType.Float, is_cpu=False,
/// stride_order=[0, 1])", the last one where it is given
std::string defineTensorText(const InputTensor& tensor);
/// "fd.define_scalar(dtype=DataType.Double)"
std::string defineScalarText(DataType dtype);
/// "T5 = fd.ops.sum(T4, axes=[-1], keepdim=False, dtype=DataType.Float)": operands by position, the
/// others by name, those alone that were given.
std::string operationText(const Operation& operation, const Call& call,
                          std::span<const int64_t> ids, const Definition& definition);
/// "def nvfuser_fusion_id0(fd : FusionDefinition) -> None :" and the statements.
std::string definitionText(std::string_view function, const std::vector<std::string>& statements);

}  // namespace nvfuser::capi
