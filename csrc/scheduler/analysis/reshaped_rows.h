/// Axes that a reshape makes the axes of rows of.
///
///   T1[n, g, c/g, h·w] = reshape(T0[n, c, h, w])      c, h and w of T0, where T1 is reduced over
///   T2[n, g] = sum(T1 over c/g and h·w)               c/g and h·w
#pragma once

#include <set>

#include <id_model/id_graph.h>

namespace nvfuser {

/// Classes of `permissive`; `reduced`: classes, too. None at all where no input has these axes, or
/// a tensor in front of a reshape is read along two of them, as coordinates of a grid are: what is
/// computed of it for an element of a row is at two of its own elements.
std::set<int> axesInFrontOfRows(const Fusion& fusion, const IdGraph& permissive,
                                const std::set<int>& reduced);

}  // namespace nvfuser
