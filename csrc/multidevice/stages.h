/// A Fusion over several meshes, as one over a single mesh after another.
///
///   T0, T1 = exp(T0) on {0 1}    T2 = neg(T1) on {2 3}
///
///   stage 0 on {0 1}   T0 → T1
///   handed over        T1: 0 → 2 and 1 → 3, part by part
///   stage 1 on {2 3}   T1 → T2
///
/// What the second mesh gets is cut as all those that read it there want it, else it is whole; each
/// device receives what it lacks of that (handover.h).
#pragma once

#include <string>
#include <vector>

#include <multidevice/handover.h>
#include <multidevice/local_fusion.h>

namespace nvfuser::multidevice {

struct Stage {
  LocalFusion local;
  std::vector<Handover> handovers;  ///< before it
  /// Slots, places of values among all of a call's; of the local Fusion's but the coordinates.
  std::vector<size_t> inputs, outputs;
};

struct Stages {
  std::vector<Stage> stages;  ///< in the order in which they run
  /// The global Fusion's inputs have the first slots.
  size_t slots = 0;
  std::vector<size_t> outputs;  ///< slots of the global Fusion's
  /// Where each of its inputs has to be and each output is, and how it is cut; of numbers nothing.
  struct Place {
    DeviceMesh mesh;  ///< none: on all devices
    Sharding sharding;
  };
  std::vector<Place> of_inputs, of_outputs;

  /// All devices of all meshes, those that only hand something over among them, in order.
  std::vector<int64_t> devices() const;
};

/// Tensors that nothing is said of are on the mesh of the first operand that has one. Throws what
/// `makeLocal` does, and `UserError` for a stage that computes with a size of tensors which its
/// mesh has not.
Stages makeStages(const Fusion& global);

}  // namespace nvfuser::multidevice
