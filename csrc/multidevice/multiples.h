/// Which sizes the devices of a mesh can share equally, by what is known before a call: constants,
/// what a declared sharding says, and products of these.
///
///   T0[i0, i1], DIDx of 2 cuts axis 0:   i0, i0 · i1 and 6 are multiples of 2; 5 and i1 are not
#pragma once

#include <set>
#include <utility>

#include <multidevice/sharding.h>

namespace nvfuser::multidevice {

class Multiples {
 public:
  explicit Multiples(DeviceMesh mesh) : mesh_(std::move(mesh)) {}
  /// `tv` is declared to be shared so.
  void add(const TensorView* tv, const Sharding& sharding);
  bool holds(const Val* extent, ParallelType mesh_axis) const;

 private:
  DeviceMesh mesh_;
  std::set<std::pair<const Val*, ParallelType>> declared_;
};

}  // namespace nvfuser::multidevice
