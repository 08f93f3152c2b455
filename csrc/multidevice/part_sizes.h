/// The sizes of the devices' parts.
///
///   i0 of T0, cut by two devices, is 2 · i3 in the local Fusion: a part of it has i3 elements, a
///   part of i0 · i1 has ceilDiv(2 · i3 · i1, 2)
#pragma once

#include <unordered_map>

#include <ir/interface_nodes.h>

namespace nvfuser::multidevice {

class PartSizes {
 public:
  void setMesh(const DeviceMesh& mesh) { mesh_ = mesh; }
  /// What stands for the extent of a whole axis: as many parts of `part` elements.
  Val* wholeOf(Val* part, ParallelType mesh_axis);
  /// The extent of a part of axis `axis` of `tv`. Throws `UserError` for a constant that is no
  /// multiple of the devices.
  Val* partOf(Val* whole, ParallelType mesh_axis, const TensorView* tv, size_t axis) const;

 private:
  struct Part {
    int64_t devices;
    Val* extent;
  };
  DeviceMesh mesh_;
  std::unordered_map<const Val*, Part> part_of_;  ///< of the extent of a whole axis
};

}  // namespace nvfuser::multidevice
