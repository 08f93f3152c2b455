/// What ends a product of matrices, on numbers in Float.
#pragma once

#include <cstdint>

#include <ir/external_ops.h>

namespace nvfuser::external {

void applyEpilogue(Epilogue epilogue, float* numbers, int64_t count);

}  // namespace nvfuser::external
