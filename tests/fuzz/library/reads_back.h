/// The text of a Fusion is the Fusion: read back, it prints the same and is equal.
#pragma once

#include <memory>

#include <ir/fusion.h>

namespace nvfuser::fuzz {

/// The Fusion that its text reads back as. Throws `InternalError` where that is another one.
std::unique_ptr<Fusion> readBack(const Fusion& fusion);

}  // namespace nvfuser::fuzz
