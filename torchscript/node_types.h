/// PyTorch's rules for dtypes, which the rules of the tables follow: operands are converted to the
/// type in which PyTorch computes, results to the type that was profiled.
#pragma once

#include <initializer_list>

#include "node_call.h"

namespace nvfuser::torchscript {

bool isFloating(int32_t dtype);
bool isComplex(int32_t dtype);
bool isIntegral(int32_t dtype);  ///< with Bool
/// In which PyTorch computes what is stored as `dtype`: Float for the shorter ones.
nvf_dtype computeType(int32_t dtype);
/// Of a binary operation of two tensors with axes.
nvf_dtype promoted(int32_t a, int32_t b);
/// Of an operation of tensors with axes, tensors without, and numbers, which count less in this
/// order.
nvf_dtype commonType(std::initializer_list<Operand> operands);

/// A tensor of this dtype.
Term cast(NodeCall& node, const Term& term, int32_t dtype);
/// A tensor is converted; a number becomes what the tensors of the operation are.
Operand cast(NodeCall& node, const Operand& operand, int32_t dtype);
/// The result as it was profiled.
void finish(NodeCall& node, const Term& term, size_t number = 0);

/// An operand or tensor in the type in which the node's result is computed.
Operand computed(NodeCall& node, const char* name);
/// The same where PyTorch's kernels read a number beside half precision as it is: products,
/// divisors and weights.
Operand computedExactly(NodeCall& node, const char* name);
/// In half precision, if that is `dtype`: PyTorch makes a tensor of it of each operand, so `x ==
/// 0.1` is true for what 0.1 is rounded to.
Operand rounded(NodeCall& node, const Operand& operand, int32_t dtype);
Term computedTensor(NodeCall& node, const char* name);

/// Whether it is the number, known while defining.
bool isNumber(const Operand& operand, double value);

}  // namespace nvfuser::torchscript
