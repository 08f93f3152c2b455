/// Types of tensors that were not profiled, from those that were: PyTorch profiles the inputs of
/// some operators alone.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

namespace nvfuser::torchscript {

/// Runs operators whose tensors are typed, and whose other arguments are constants, on tensors
/// without data.
void inferTypes(torch::jit::Graph& graph);

/// Whether PyTorch is to profile the inputs of all operators that we have rules for. Its own fuser
/// would then take them, too, so it may only be where that is off.
void profileOurOperators(bool wanted);
bool profilesOurOperators();

}  // namespace nvfuser::torchscript
