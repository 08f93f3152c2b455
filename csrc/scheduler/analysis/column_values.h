/// Values that the rows of a task of the CPU share: what has no axis of the loop over rows is
/// computed in front of it, once, and held in an array.
///
///   T3[b0, i1] = cos(T2)          for i1: T3 = cos(T2)
///   T4[i0, i1] = T1 * T3     →    for i0:
///                                   for i1: T4 = T1 * T3
///
/// Inlined as far as it goes, the cosine would be taken for each row again.
#pragma once

#include <unordered_map>
#include <vector>

#include <ir/interface_nodes.h>

namespace nvfuser {

class Expr;
class Fusion;

/// Adds the computed tensors without an axis among the loops at the places `rows`, ascending, that
/// rows read: those to hold in front of the first of these (`MaxPosCalculator`), where computing
/// them again costs more than reading them from an array, and their loops may be their own. Not
/// more than a few.
void holdColumnValues(const Fusion& fusion, const TensorView* reference,
                      const std::vector<TensorView*>& tensors, const std::vector<int64_t>& rows,
                      std::unordered_map<const TensorView*, int64_t>& held);

/// What an operation takes for an element, in additions; 0 for what is a matter of indices.
int64_t costOfElement(const Expr* expr);

/// Elements of a row of which a few arrays stay in a core's nearest cache.
constexpr int64_t kMostHeldColumns = 1024;

}  // namespace nvfuser
