/// The reference interpreter: the meaning of a whole Fusion, computed on the host, one operation
/// after the other. It looks at logical shapes alone, so a schedule cannot change its result: that
/// makes it the oracle of every test, and the fallback where nothing else runs.
///
/// Numbers. Integers are exact in their own width and wrap. Floats are double, complex numbers
/// complex<double>; sums, products and moments are accumulated in long double. By default a result
/// is rounded to its dtype only where rounding is part of the program: inputs, casts, random
/// numbers and outputs. So the result is the program's true value but for these roundings, which is
/// what an error bound refers to. `Rounding::EveryOperation` rounds after each operation, as
/// kernels do; use it where a comparison or a conversion to an integer hangs on the last bit.
/// `Rounding::Disturbed` moves every result of arithmetic by a unit of rounding of its compute
/// dtype, and sums as far as their additions may add up to, in directions that `disturbance`
/// chooses: how far outputs move tells how the program treats rounding errors, in Double too. Every
/// second pair of opposite disturbances rounds what was moved, so that numbers that rounding may
/// make equal are. A number beside a place where a function jumps, has a pole or a zero meets it,
/// or lies beyond. A sum or a product of which some order leaves the range on the way, or loses all
/// that is small beside what cancels, may be any number: in the second pair it is an *undetermined*
/// one, a NaN that is told apart from others, as is what is computed of it; comparisons of it come
/// to either truth value.
#pragma once

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include <evaluator/expression_evaluator.h>
#include <evaluator/host_tensor.h>
#include <ir/fusion.h>
#include <ir/tensor_ref.h>

namespace nvfuser {

/// One argument: a tensor (in host memory where it is interpreted) or a scalar.
using InterpreterInput = std::variant<TensorRef, PolymorphicValue>;

enum class Rounding : uint8_t { CastsAndOutputs, EveryOperation, Disturbed };

struct InterpreterOptions {
  Rounding rounding = Rounding::CastsAndOutputs;
  uint64_t disturbance = 0;  ///< seed of `Rounding::Disturbed`; 2k and 2k + 1 move oppositely
  uint64_t philox_seed = 0;
  uint64_t philox_offset = 0;  ///< in units of 4 of the framework's generator
};

/// Whether an element of a result is undetermined; such an element.
bool isUndetermined(double number);
double undetermined();

/// An evaluator in which the scalars and the extents of all tensors are bound to those of actual
/// inputs. Throws `UserError` where number, kind, dtype, rank, sizes or layout of the inputs do not
/// fit the Fusion.
ExpressionEvaluator bindInputs(const Fusion& fusion, std::span<const InterpreterInput> inputs);

/// The outputs of `fusion`, in its order; a scalar output is a 0-dim tensor. Throws `UserError` as
/// `bindInputs` does, and where an operation has no result for these values (an index out of
/// range).
std::vector<HostTensor> interpret(const Fusion& fusion, std::span<const InterpreterInput> inputs,
                                  const InterpreterOptions& options = {});

}  // namespace nvfuser
