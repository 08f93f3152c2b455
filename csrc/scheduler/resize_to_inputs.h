/// Slices, pads and concatenations of computed tensors, read from the inputs instead.
///
///   T1 = float(T0)
///   T2 = slice(T1, h, n)
///   T3 = slice(T1, 0, h)
///   T6 = cat({-T2, T3})
///   T7 = T1 * c + T6 * s
///
/// becomes
///
///   T4 = pad(T0, -h, h)                              T0 at j + h, 0 beyond its end
///   T5 = float(T4)
///   T6[j] = j < h ? -T5[j] : float(pad(T0, h, -h))
///   T7 = T1 * c + T6 * s
///
/// A loop computes a tensor at one element; a tensor that is read at several is computed again for
/// each, from inputs, which can be read anywhere. Then a slice, a pad or a concatenation is a
/// matter of indices, and what surrounds it stays one kernel.
///
/// What: every slice, pad or concatenation whose operands are computed is computed from *windows*
/// of the inputs, one for all resizes on the way: element j of the result is element j + start of
/// the tensor. Outside its range a window is zero; a condition on j then chooses (a concatenation's
/// part, a pad's value).
///
/// A read of an input at an index (select, a gather of rows) has a window along the axes that are
/// not the index's itself: its result's logical axis is a resize of its root axis, as a pad's is,
/// and it gives 0 beyond the input.
///
/// Left alone: ways to the inputs over reductions along a resized axis, reshapes that make it of
/// axes that a window cuts (`resize_windows.h`), random numbers, other reads at an index; and what
/// would be more work done again than there is work: in a chain of T + shifted T, each step needs
/// the one before it at one place more. No scheduler takes the group then, and it is cut.
#pragma once

#include <ir/fusion.h>

namespace nvfuser::scheduler_tools {

/// Whether a slice, pad or concatenation reads what the fusion computes.
bool resizesComputed(const Fusion& fusion);

/// Changes the fusion as described. Inputs and outputs keep their places; tensors and sizes that
/// are there keep their names. `reads_at_indices`: whether reads at an index are ways, too.
void propagateResizeToInputs(Fusion* fusion, bool reads_at_indices);

}  // namespace nvfuser::scheduler_tools
