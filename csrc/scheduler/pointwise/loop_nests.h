/// Which outputs of an element-wise Fusion one loop nest can compute.
///
///   T2[i0, i1] = f(T0)   T3[i0, i1] = g(T0)     one nest: their axes are the same
///   T5[i2, i1] = f(T4, T1)                      another nest, which may share inputs alone
///
/// Nests of one rank can be one kernel: each block does its part of each, and small nests (queries
/// and keys under one rotation, the parts of a tensor) cost one launch.
#pragma once

#include <unordered_set>
#include <vector>

#include <ir/fusion.h>

namespace nvfuser::pointwise {

/// Positions among the Fusion's outputs.
struct LoopNest {
  size_t reference = 0;  ///< whose loops all of it gets
  std::vector<size_t> outputs;
};

/// The first is that of the output that has most axes; then in order of their references.
std::vector<LoopNest> loopNests(const Fusion& fusion);

/// What the outputs of a nest are computed from, its outputs included.
std::unordered_set<TensorView*> tensorsOf(const Fusion& fusion, const LoopNest& nest);

/// Every computed tensor belongs to one nest afterwards: what several need is computed in each.
/// False if that cannot be: random numbers, say. Then the fusion may be changed in parts.
bool separate(Fusion* fusion, const std::vector<LoopNest>& nests);

}  // namespace nvfuser::pointwise
