/// The borders of a Fusion: copies of its inputs and outputs on the chip, and the memory of all
/// tensors.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include <ir/fusion.h>

namespace nvfuser::scheduler_utils {

/// A copy behind each input that is read element by element, for the loads to be unrolled or
/// vectorized. Reads through an index, slices and pads read the input itself. Nothing happens
/// unless `unroll`. With `group`, uses for which it gives different numbers get copies of their
/// own: the input is then read again for each.
std::vector<TensorView*> cacheInputs(
    Fusion* fusion, bool unroll,
    const std::function<int64_t(const TensorView*, const Expr*)>& group = {});

/// Outputs that are read inside the Fusion are forked; with `unroll` each computed output gets a
/// copy before it. Pairs of (copy, output).
std::vector<std::pair<TensorView*, TensorView*>> cacheAndForkOutputs(Fusion* fusion, bool unroll);

/// `with` is an output in place of `output`, in the same order in memory; `output` stays on the
/// chip, where it has none.
void handOverOutput(Fusion* fusion, TensorView* output, TensorView* with);

/// If a tensor is a copy, what is copied is not wanted in the caches: an output is written past
/// them, and what is read of an input is the first to leave them.
void streamCopy(TensorView* copied);

/// The copy that defines `copied` becomes one of another kind.
void recopy(TensorView* copied, LoadStoreOpType type, CacheOp cache);

/// Inputs and outputs in Global memory, all else in Local: what a scheduler starts from.
void clearMemorySpace(Fusion* fusion);

}  // namespace nvfuser::scheduler_utils
