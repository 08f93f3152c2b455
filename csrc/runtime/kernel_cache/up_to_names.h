/// The text of a kernel up to the names in it: kernels that differ in their own name, the numbers
/// of tensors and scalars, or comments alone are one kernel, compiled once in a process.
///
///   out = up to names of  void f_0_1(float* T4, Index i7) { T4[i7 - 1] = T9; }  // T9 of f
///       = void @(float* T#0, Index i#0) { T#0[i#0 - 1] = T#1; }
#pragma once

#include <string>
#include <string_view>

namespace nvfuser {

/// The text with `entry` as "@", comments left out, spaces and line ends as one space (but for
/// those around directives), and the numbers of tensors (T4), scalars (i7, s_f3), loops (k2), named
/// values (n0), sums (acc4) and what else has a node's number (block_work4, tickets4, barrier12),
/// also within longer names (end_k2), in order of first appearance. Texts with equal ones compile
/// to the same code.
std::string upToNames(std::string_view text, std::string_view entry);

}  // namespace nvfuser
