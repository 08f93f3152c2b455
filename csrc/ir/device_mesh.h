/// Devices that share tensors, as a grid of one to three axes. A device is a rank: the number of a
/// process (or, in one process, of a thread) that runs its part of a Fusion.
///
///   DeviceMesh({0, 1, 2, 3}, {2, 2})     0 1      along DIDx: 0 and 1, 2 and 3
///                                        2 3      along DIDy: 0 and 2, 1 and 3
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ir/type.h>

namespace nvfuser {

class DeviceMesh {
 public:
  /// No devices: a tensor that nothing is said of.
  DeviceMesh() = default;
  /// `devices` in row-major order; without a shape one axis. The last axis is DIDx, the one before
  /// it DIDy, then DIDz. Throws `UserError` for more than three axes, a shape of another number of
  /// devices, a negative device or one that is there twice.
  explicit DeviceMesh(std::vector<int64_t> devices, std::vector<int64_t> shape = {});

  bool empty() const { return devices_.empty(); }
  int64_t size() const { return static_cast<int64_t>(devices_.size()); }
  /// Along one axis: 1 where the mesh has none of that name.
  int64_t size(ParallelType axis) const;
  const std::vector<int64_t>& devices() const { return devices_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  bool has(int64_t device) const;
  /// The place of a device along an axis. None where the device is not there.
  std::optional<int64_t> coordinate(int64_t device, ParallelType axis) const;
  /// The devices that differ from `device` along `axis` alone, it among them, in order. `device`
  /// has to be there.
  std::vector<int64_t> team(int64_t device, ParallelType axis) const;

  friend bool operator==(const DeviceMesh&, const DeviceMesh&) = default;
  /// "DeviceMesh{0 1 | 2 3}": rows apart by "|", planes by "||". A mesh of one row, or one plane,
  /// begins with its sign.
  std::string toString() const;

 private:
  /// Position of the axis in the shape; none where there is none.
  std::optional<size_t> placeOf(ParallelType axis) const;
  /// Devices between neighbours along the axis at a position.
  int64_t strideOf(size_t place) const;

  std::vector<int64_t> devices_;
  std::vector<int64_t> shape_;
};

/// DIDx, DIDy, DIDz.
inline constexpr ParallelType kMeshAxes[] = {ParallelType::DIDx, ParallelType::DIDy,
                                             ParallelType::DIDz};
inline bool isMeshAxis(ParallelType type) {
  return type == ParallelType::DIDx || type == ParallelType::DIDy || type == ParallelType::DIDz;
}

}  // namespace nvfuser
