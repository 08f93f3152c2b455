/// What NCCL takes for the elements of a tensor: its name of their type, and how many there are.
#pragma once

#include <cstddef>
#include <string_view>

#include <external/communicator.h>
#include <ir/op_types.h>

namespace nvfuser::cuda::nccl {

/// How NCCL reads the elements of a tensor.
struct Elements {
  int kind;
  size_t count;
};

/// Data that are only moved.
Elements asBytes(const external::ExchangedTensor& tensor);

/// Data that are combined. Throws `UserError` for what NCCL does not combine.
Elements asNumbers(const external::ExchangedTensor& tensor, BinaryOpType by, std::string_view what,
                   int version);

/// Of truth values a sum says whether any is true, a product whether all are.
int reductionOf(BinaryOpType by, DataType dtype);

}  // namespace nvfuser::cuda::nccl
