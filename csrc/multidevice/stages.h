/// A Fusion over several meshes, as one over a single mesh after another.
///
///   T0, T1 = exp(T0) on {0 1}    T2 = neg(T1) on {2 3}
///
///   stage 0 on {0 1}   T0 → T1
///   handed over        T1: 0 → 2 and 1 → 3, part by part
///   stage 1 on {2 3}   T1 → T2
///
/// Between meshes of one shape that share no device each part goes to the device at its place;
/// otherwise the tensor is made whole on the first mesh, whose first device sends it to all of the
/// second one. What such a mesh wants in parts, its devices take out of it.
#pragma once

#include <string>
#include <vector>

#include <multidevice/local_fusion.h>

namespace nvfuser::multidevice {

/// A tensor that devices of another mesh get. Slots are places of values among all of a call's.
struct Handover {
  size_t from, to;                          ///< slots
  std::vector<std::vector<int64_t>> teams;  ///< the first device of each has it
  DataType dtype;
  size_t axes;
  std::string what;  ///< for messages
};

struct Stage {
  LocalFusion local;
  std::vector<Handover> handovers;      ///< before it
  std::vector<size_t> inputs, outputs;  ///< slots; of the local Fusion's but the coordinates
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

  /// All devices of all meshes, in order.
  std::vector<int64_t> devices() const;
};

/// Tensors that nothing is said of are on the mesh of the first operand that has one. Throws what
/// `makeLocal` does, and `UserError` for a stage that computes with a size of tensors which its
/// mesh has not.
Stages makeStages(const Fusion& global);

}  // namespace nvfuser::multidevice
