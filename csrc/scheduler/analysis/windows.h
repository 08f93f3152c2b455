/// Windows: slices and pads of a Fusion's inputs, which are read where they lie.
///
///   T1 = slice(T0, {0, i1/2}, {i0, i1})
///   T2 = pad(T0, {0, 0}, {n, 0})
///
/// A thread that computes the elements 8k … 8k + 7 of a row of T1 can read them in one access where
/// i1/2 is a multiple of 8; of T2 where n is, and all of them are T0's.
#pragma once

#include <vector>

#include <scheduler/runtime_info.h>

namespace nvfuser {

/// Whether a tensor is a slice or pad of an input and no output: what a kernel reads of the input.
bool isWindow(const TensorView* tv);

/// Results of slices and pads of inputs, in order of definition.
std::vector<TensorView*> windowsOfInputs(const Fusion& fusion);

/// Elements of the input from one element of each of the window's axes to the next; how far apart
/// they lie, if it goes backwards.
std::vector<int64_t> windowStrides(const TensorView* window, SchedulerRuntimeInfo& info);

/// Whether an input is read through windows alone.
bool readThroughWindows(const TensorView* input);

/// Tensors at a kernel's border; instead of inputs of which windows and selected parts alone are
/// read, these: they have the axes of its loops.
std::vector<TensorView*> withWindows(const std::vector<TensorView*>& border);

/// The largest power of two of elements that one access of what `window` reads can move, if a
/// thread goes along its logical axis `along`.
int64_t windowWidth(const TensorView* window, const IterDomain* along, SchedulerRuntimeInfo& info);

}  // namespace nvfuser
