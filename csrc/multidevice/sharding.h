/// How devices share a tensor: each axis of the mesh cuts one logical axis of the tensor into equal
/// parts, or none (then every device along it has all).
///
///   T0[i0, i1] on DeviceMesh{0 1}, loops [didx.x{2}, i0 / 2, i1]: DIDx cuts axis 0
#pragma once

#include <array>
#include <optional>
#include <string>

#include <ir/interface_nodes.h>

namespace nvfuser::multidevice {

inline constexpr size_t kNumMeshAxes = 3;
/// Place of DIDx, DIDy, DIDz in the lists below.
inline size_t placeOf(ParallelType axis) {
  return axis == ParallelType::DIDx ? 0 : axis == ParallelType::DIDy ? 1 : 2;
}

struct Sharding {
  /// For x, y, z: the place of the axis that is cut, among the logical axes without reductions.
  std::array<std::optional<size_t>, kNumMeshAxes> cut;

  /// The axis of the mesh that cuts this one. An axis is cut by at most one.
  std::optional<ParallelType> of(size_t axis) const {
    for (const ParallelType mesh_axis : kMeshAxes) {
      if (cut[placeOf(mesh_axis)] == axis) {
        return mesh_axis;
      }
    }
    return std::nullopt;
  }
  std::optional<size_t>& operator[](ParallelType mesh_axis) { return cut[placeOf(mesh_axis)]; }
  const std::optional<size_t>& operator[](ParallelType mesh_axis) const {
    return cut[placeOf(mesh_axis)];
  }
  friend bool operator==(const Sharding&, const Sharding&) = default;
  /// "DIDx cuts axis 0"; "whole".
  std::string toString() const;
};

/// What the loops of `tv` say. Throws `UserError` for a device axis that is not the outer part of a
/// logical axis, or has another number of parts than the mesh has devices, an axis that is cut
/// twice, or a mesh axis that is used twice.
Sharding shardingOf(const TensorView* tv);

}  // namespace nvfuser::multidevice
