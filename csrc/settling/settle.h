/// A Fusion whose axes are settled for calls of one form (form.h).
///
/// What: no axis is Symbolic; extents of no and of one element become constants; a declared or
/// computed axis of one element becomes a broadcast axis, which goes with any other; a reshape,
/// slice, pad, join, squeeze or expand gets the form that these sizes need. Names of inputs, and of
/// what does not change, stay.
///
/// Why here: planning, lowering and the kernels ask an axis for its kind, and take it for the
/// truth.
///
///   defined:  T0[i0, i1]   T1[?min(1, i0), i1] = slice(T0)
///             T2[?where(min(1, i0) == 1, i0, …), i1] = T0 * T1
///   settled   (min(1, i0) is one, the others many):
///             T0[i0, i1]   T3[i1] = select(T0, 0)   T4[b, i1] = broadcast(T3)   T5[i0, i1] = T0 *
///             T4
///
/// It does not check that sizes fit each other (evaluator/shape_inference.h).
#pragma once

#include <memory>
#include <string>

#include <settling/form.h>

namespace nvfuser::settling {

/// `answers`: of `questions`, which are of `defined`. Throws `UserError` where no sizes of this
/// form fit, or where a size is said by an axis that is stretched.
std::unique_ptr<Fusion> settle(const Fusion& defined, const FormQuestions& questions,
                               const std::string& answers);

}  // namespace nvfuser::settling
