/// One call of a program whose sizes vary, as a program of constant sizes: each tensor is stretched
/// by a call of its own before it meets a larger one, and a scalar is its value. What the front end
/// makes of axes that may have one element plays no part in it, so that the interpreter's results
/// for it are those of the call. Updates are left out: where they are written is no matter of
/// sizes.
///
///   v3 = add(v0, v1)    with v0 [4,1], v1 [1,3]   →   v9 = reshape(v0, [4])
///                                                     v10 = broadcast(v9, [False, True])
///                                                     v11 = expand(v10, [4, 3])
///                                                     …, v3 = add(v11, v14)
#pragma once

#include <fuzz/library/program.h>
#include <fuzz/library/shapes.h>

namespace nvfuser::fuzz {

/// `shapes`: of the call, which is not refused.
Program settled(const Program& program, size_t call, const Shapes& shapes);

}  // namespace nvfuser::fuzz
