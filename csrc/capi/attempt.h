/// Definitions that fail leave nothing behind.
#pragma once

#include <ir/fusion.h>

namespace nvfuser::capi {

/// What `define` gives. If it throws, the graph is as it was before.
template <typename Define>
auto attempt(Fusion& graph, const Define& define) {
  const Fusion::Mark before = graph.mark();
  try {
    return define();
  } catch (...) {
    graph.rollBack(before);
    throw;
  }
}

}  // namespace nvfuser::capi
