/// nvfuser_direct's Fusion, and which one functions outside of a FusionDefinition define.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "nodes.h"

namespace nvfuser::python {

struct IrFusion {
  DefinitionPtr definition;
};

/// The innermost FusionGuard's of this thread; throws `UserError` without one.
const DefinitionPtr& activeDefinition(const char* what);

/// Makes the fusion the active one from `enter` to `leave`, which happens at the end of its life at
/// the latest.
class Guard {
 public:
  explicit Guard(const IrFusion& fusion);
  ~Guard();
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  void leave();

 private:
  DefinitionPtr definition_;
};

/// How a tensor of these sizes and strides lies in memory. Contiguity has an entry for each axis in
/// memory order, outermost first (none for broadcast and expanded ones); stride_order[i] is the
/// position of axis i from the innermost. `what` asks.
struct TensorDescriptor {
  std::vector<std::optional<bool>> contiguity;
  std::vector<int64_t> stride_order;
};
TensorDescriptor describeTensor(const std::vector<int64_t>& sizes,
                                const std::vector<int64_t>& strides, std::string_view what);

}  // namespace nvfuser::python
