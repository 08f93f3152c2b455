/// `testValidate`: do the results of a run agree with what the Fusion means?
///
/// The Fusion is interpreted (evaluator/interpreter.h) exactly but for the roundings that the
/// program asks for, which gives the expected value v, and again in several ways that a correct
/// kernel could have computed, values w: rounding after each operation, and with disturbances,
/// which move each result of arithmetic by a unit of rounding of its dtype (of the terms that
/// cancel in a function: ops/table/accuracy.h), and each sum of n terms by √n/2 units of the
/// largest sum on the way, in directions chosen by seeds. An element passes if |got − v| is at most
///
///     2·u_out·|v|  +  u·(8 + 4·k)·|v|  +  8·(D + d)
///
/// with
///
/// - u_out: half an ulp of 1 in the output's dtype: its own rounding, and the one that flips
///   because of a tiny error.
/// - u: the same of the widest rounding inside: Float's (2⁻²⁴), Double's where all of it is Double,
///   that of a narrower type where an intermediate is cast to it.
/// - k: operations on the longest path. The term stands for libm's ulps.
/// - D: the largest |v − w| of the element; d: its root mean square over the output. So the measure
///   follows the program's own conditioning (cancellation, exp of large numbers) and the lengths of
///   its reductions, in every dtype and for a single sum that cancels, too.
///
/// NaN equals NaN; infinities have to be equal. Where v is finite and a w is not, that value passes
/// as well. Integers and truth values have to equal v, or the w that is rounded after each
/// operation.
#pragma once

#include <string>

#include <ir/fusion.h>
#include <runtime/executor_kernel_arg.h>

namespace nvfuser {

/// Results that differ from what is expected. The message names the output, and of the worst
/// element its index, what was found and expected, the error and the tolerance, and how many
/// elements are wrong.
class ValidationError : public UserError {
 public:
  using UserError::UserError;
};

/// Compares `outputs` with the interpreted `fusion`; hidden outputs (aliases of inputs) may be left
/// out. The inputs have to hold what they held before the run. `line` and `file` say in the message
/// which test it was. `options`: the seed and offset of random operations.
void testValidate(Fusion* fusion, const KernelArgumentHolder& outputs,
                  const KernelArgumentHolder& inputs, int line, const char* file,
                  const std::string& message = "", const InterpreterOptions& options = {});

/// The same with expected values computed elsewhere, in order of the outputs; D is that of the
/// interpreted values.
void testValidate(Fusion* fusion, const KernelArgumentHolder& outputs,
                  const KernelArgumentHolder& inputs, const KernelArgumentHolder& expected,
                  int line, const char* file, const std::string& message = "");

}  // namespace nvfuser
