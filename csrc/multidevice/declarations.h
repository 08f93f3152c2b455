/// What a global Fusion says of devices: the mesh, and how tensors are cut.
///
///   T0 on DeviceMesh{0 1}, loops [didx.x{2}, i0 / 2, i1]     shardings: T0: DIDx cuts axis 0
///   (afterwards) T0, loops [i0, i1]
#pragma once

#include <ir/fusion.h>
#include <multidevice/propagate.h>

namespace nvfuser::multidevice {

struct Declarations {
  DeviceMesh mesh;
  Shardings shardings;  ///< of tensors on the mesh, and of inputs, which are whole otherwise
  /// What is declared along axes of the mesh that have one device, where a part is the whole.
  Shardings of_one;
};

/// The tensors lose them: their loops and their order in memory are of logical axes afterwards.
/// Throws `UserError` for tensors on unlike meshes, none on any, an order in memory of other axes,
/// and what `shardingOf` refuses.
Declarations takeDeclarations(Fusion& fusion);

}  // namespace nvfuser::multidevice
