/// How scalars are written: definitions share parts, so that one of a long chain of operations may
/// be exponentially long when it is spelled out. Those beyond a limit have their name alone, in
/// text and in kernels, which take them as parameters.
#pragma once

#include <ir/base_nodes.h>

namespace nvfuser {

/// Whether the definition, spelled out, has at most some 40 operations. Looks at no more of them.
bool isSpelledOut(const Val* scalar);

}  // namespace nvfuser
