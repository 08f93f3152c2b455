/// One element of a kernel's memory while the interpreter computes with it, and what the operation
/// table and the reductions make of such elements.
///
/// A number is held as the reference holds it: floats as double, integers and Bool as int64,
/// complex numbers in both parts; which of these counts is told by the dtype that goes with it.
#pragma once

#include <cstdint>
#include <span>

#include <ir/polymorphic_value.h>
#include <kernel_ir/kernel.h>

namespace nvfuser::fuzz {

struct Number {
  double real = 0;
  double imaginary = 0;
  int64_t integer = 0;
};

/// Of memory that need not be aligned.
Number load(const void* at, DataType dtype);
void store(void* at, DataType dtype, const Number& number);
/// A cast, as generated kernels do it: to narrow floats by way of Float.
Number converted(const Number& number, DataType from, DataType to);
Number numberOf(const PolymorphicValue& value, DataType dtype);

/// Whether the first operand is a truth value, whatever the others are.
bool selects(const kir::PointwiseType& op);
/// `op` on operands that are numbers of `compute` (the condition of `where`: of Bool),
/// as a number of `out`.
Number computed(const kir::PointwiseType& op, DataType compute, DataType out,
                std::span<Number> operands);

/// What a part of a reduction's state computes in.
DataType computeTypeOf(DataType dtype);
/// a = a ∘ b, part by part of numbers of the monoid's dtypes. Throws `UserError` for Welford of
/// complex numbers, which kernels do not have either.
void combine(const kir::Monoid& monoid, std::span<Number> a, std::span<const Number> b);

}  // namespace nvfuser::fuzz
