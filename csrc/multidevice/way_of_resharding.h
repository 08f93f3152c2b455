/// The steps by which a tensor gets from one sharding to another, chosen by what each device
/// receives.
///
///   2 × 2, DIDx cuts axis 0, DIDy cuts axis 1 → DIDx cuts axis 2
///     DIDx: 0 → 2   alltoall of a quarter     an eighth of the tensor
///     DIDy: 1 → –   allgather                 a quarter
///   (the other way about the alltoall would be of a half, and bring a quarter)
///
/// An axis of a tensor is cut by one axis of the mesh at a time, so some steps have to come before
/// others, and of two axes in each other's place one lets go.
#pragma once

#include <compare>
#include <vector>

#include <ir/device_mesh.h>
#include <multidevice/sharding.h>

namespace nvfuser::multidevice {

/// Of ways that bring a device as much, the one of fewer exchanges is cheaper.
struct ExchangeCost {
  int64_t received = 0;  ///< by each device, in parts of the tensor: `partsOf` make all of it
  int64_t exchanges = 0;

  /// So many that each device's part of any step is a whole number of them.
  static int64_t partsOf(const DeviceMesh& mesh);
  friend auto operator<=>(const ExchangeCost&, const ExchangeCost&) = default;
};

struct WayOfResharding {
  struct Step {
    ParallelType mesh_axis;
    std::optional<size_t> to;  ///< what it cuts afterwards
    friend bool operator==(const Step&, const Step&) = default;
  };
  std::vector<Step> steps;
  ExchangeCost cost;
};

WayOfResharding cheapestWay(const DeviceMesh& mesh, const Sharding& from, const Sharding& to);

}  // namespace nvfuser::multidevice
