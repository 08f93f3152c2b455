/// `testValidate`: do the results of a run agree with what the Fusion means?
///
/// The Fusion is interpreted twice (evaluator/interpreter.h): exactly but for the roundings that
/// the program asks for, which gives the expected value v, and rounding after each operation, which
/// gives another value w that a correct kernel could have computed. An element passes if |got − v|
/// is at most
///
///     2·u_out·|v|  +  u·g·(|v| + m)  +  8·(|v − w| + d)
///
/// with
///
/// - u_out: half an ulp of 1 in the output's dtype. Twice that is the output's own rounding, and
///   the one that flips because of a tiny error.
/// - u: the same of the widest rounding inside. Float's (2⁻²⁴); Double's where all of it is Double;
///   that of a narrower type where an intermediate is cast to it.
/// - g: 8 + 4·(operations on the longest path) + 4·√n, where reductions on it combine n elements.
///   It covers libm's ulps and the growth of a sum's error, which is as √n for random signs in any
///   order of summation.
/// - m: root mean square of v where a reduction is involved, else 0. What cancels in a sum has that
///   magnitude.
/// - d: root mean square of v − w, which is how much rounding moves a typical element. So the
///   measure follows the program's own conditioning (cancellation, exp of large numbers).
///
/// NaN equals NaN; infinities have to be equal. Where v is finite and w is not, w's value passes as
/// well. Integers and truth values have to equal v or w exactly.
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

/// The same with expected values computed elsewhere, in order of the outputs; tolerances as above,
/// with w = v.
void testValidate(Fusion* fusion, const KernelArgumentHolder& outputs,
                  const KernelArgumentHolder& inputs, const KernelArgumentHolder& expected,
                  int line, const char* file, const std::string& message = "");

}  // namespace nvfuser
