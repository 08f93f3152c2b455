/// A Fusion as the Python statements that define it again, written from its graph: inputs first,
/// then what the outputs need, depth first, in their order.
///
///   tv0 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.Float, ...)
///   tv1 = fd.ops.sum(tv0, dims=[1], dtype=DataType.Float)
///   fd.add_output(tv1)
///
/// Tensors have their numbers of the graph, scalars theirs (c3); constants stand where they are
/// read, unless Python's number would have another dtype. What no output needs is not there. What
/// they define computes the same values in the same memory order; it need not have the same
/// numbers.
///
/// A graph that scheduling has changed (rFactor) is no longer made by operations: a `UserError`.
#pragma once

#include <string>
#include <vector>

#include <ir/fusion.h>

namespace nvfuser::capi {

std::vector<std::string> fusionStatements(const Fusion& fusion);

}  // namespace nvfuser::capi
