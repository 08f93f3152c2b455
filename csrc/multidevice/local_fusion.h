/// What each device of a mesh runs: a Fusion over its own parts of the tensors.
///
///   global   T0[i0, i1] cut along axis 0, T1[i1, i2] whole, T2 = matmul(T0, T1) whole
///   local    T0[i3, i1]  T3 = matmul(T0, T1)  T4[2, i3, i2] = allgather(T3)  T2 = reshape(T4)
///            i0 is 2 · i3 wherever it is asked for
///
/// Operations compute their results in parts where they can, cut as propagate.h says; operands that
/// are cut in another way are exchanged first (reshard.h). The result is the same text on all
/// devices: a device's own place in the mesh is an input.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <ir/fusion.h>
#include <multidevice/sharding.h>

namespace nvfuser::multidevice {

struct LocalFusion {
  std::unique_ptr<Fusion> fusion;
  DeviceMesh mesh;
  /// Scalar inputs behind those of the global Fusion: the device's place along these axes.
  std::vector<ParallelType> coordinates;
  /// How each input has to be cut, and each output is; of scalars nothing.
  std::vector<Sharding> inputs, outputs;
  /// How each input would have to be cut for all that read it to have what they need; as whole
  /// where some need all of it.
  std::vector<Sharding> wanted;
  /// A line for each exchange: what, of which tensor, and which operation wants it.
  std::vector<std::string> exchanges;
};

/// `global` is scheduled for devices alone. Throws `UserError` where no tensor has a mesh, tensors
/// have unlike meshes, loops are no shardings (sharding.h), or an axis of a constant size cannot be
/// cut into equal parts.
LocalFusion makeLocal(const Fusion& global);

}  // namespace nvfuser::multidevice
