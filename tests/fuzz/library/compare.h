/// Does a result agree with what the program means?
#pragma once

#include <string>
#include <vector>

#include <evaluator/host_tensor.h>
#include <fuzz/library/build.h>

namespace nvfuser::fuzz {

/// One output as the interpreter has it: exactly but for the roundings that the program asks for,
/// rounded after each operation, disturbed (evaluator/interpreter.h), and with noise of a few
/// roundings on each operation (pairs with opposite signs). In exact mode all of them are equal,
/// and the first alone is given.
struct Expected {
  std::vector<HostTensor> references;
  double operations = 0;  ///< of `Value`
  double reduced = 1;
  double unit = 0;
};

struct Comparison {
  int64_t elements = 0;
  /// Elements whose value is not determined well enough to compare: a reference is of another class
  /// (NaN, infinity, finite, undetermined) or another integer, or the tolerance is more than a
  /// tenth of the value, or that is below 128 times the least normal Float. Values of one sign that
  /// lie apart by factors (powers, exponentials) are also as near as 8 times the references'
  /// largest distance in logarithms, infinities counting as the greatest number: such elements are
  /// skipped, too.
  int64_t skipped = 0;
  std::string mismatch;  ///< empty: they agree
};

/// An element passes if |got − v| is at most
///
///     2·u_out·|v|  +  u·g·(|v| + m)  +  8·s  +  the least normal number of the dtype
///
/// with v the first reference, s its largest distance to another one, u_out half an ulp of 1 of the
/// output's dtype, u that of the widest dtype computed in, g = 8 + 4·operations + 4·√(elements
/// combined), and m the root mean square of v where something is reduced. The noise measures the
/// program's own conditioning. NaN is equal to NaN; infinities, integers and truth values have to
/// be equal.
Comparison compareOutput(const HostTensor& got, const Expected& expected);

}  // namespace nvfuser::fuzz
