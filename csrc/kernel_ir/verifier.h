/// The rules of the kernel IR, checked: what every pass that changes a kernel has to keep.
///
///   - a symbol is defined before it is used: by a loop around it, a Let or LoadIndex before it, or
///     as a size, stride or thread index;
///   - a register buffer is declared in a scope around its uses, once;
///   - a buffer belongs to the kernel, and one in shared memory has its place once places are
///   given;
///   - accesses have an index and a positive width; loops and branches have a body.
#pragma once

#include <kernel_ir/kernel.h>

namespace nvfuser::kir {

/// Throws `InternalError` naming the statement that breaks a rule. `sources`: the symbols that
/// stand for sizes and strides (the kernel's own are known only when its parameters have been
/// collected).
void verify(const Kernel& kernel, const std::unordered_map<Scalar, SymbolSource>& sources);

}  // namespace nvfuser::kir
