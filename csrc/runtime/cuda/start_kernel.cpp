#include <runtime/cuda/start_kernel.h>

#include <support/error.h>

namespace nvfuser::cuda {

namespace {

/// The shape as the driver takes it.
struct Extents {
  unsigned grid[3], block[3];
  unsigned shared;

  explicit Extents(const LaunchShape& shape) : shared(static_cast<unsigned>(shape.shared_bytes)) {
    for (int axis = 0; axis < 3; axis++) {
      grid[axis] = static_cast<unsigned>(shape.grid[axis]);
      block[axis] = static_cast<unsigned>(shape.block[axis]);
    }
  }
};

void startPlain(const Driver& driver, const CudaKernel& kernel, const LaunchShape& shape,
                void** args, StreamHandle stream) {
  const auto [grid, block, shared] = Extents(shape);
  Result status =
      shape.cooperative
          ? driver.LaunchCooperativeKernel(kernel.function(), grid[0], grid[1], grid[2], block[0],
                                           block[1], block[2], shared, stream, args)
          : driver.LaunchKernel(kernel.function(), grid[0], grid[1], grid[2], block[0], block[1],
                                block[2], shared, stream, args, nullptr);
  throwIfFailed(driver, status, shape.cooperative ? "cuLaunchCooperativeKernel" : "cuLaunchKernel",
                kernel.name());
}

}  // namespace

void startKernel(const Driver& driver, const CudaKernel& kernel, const LaunchShape& shape,
                 std::span<void* const> arguments, StreamHandle stream) {
  void** args = const_cast<void**>(arguments.data());
  int64_t cluster_blocks = shape.cluster[0] * shape.cluster[1] * shape.cluster[2];
  const bool dependent = shape.dependent && driver.LaunchKernelEx != nullptr;
  if (cluster_blocks == 1 && !dependent) {
    startPlain(driver, kernel, shape, args, stream);
    return;
  }
  const auto [grid, block, shared] = Extents(shape);
  if (!driver.LaunchKernelEx) {
    userError("launch of ", kernel.name(), ": clusters need a driver of CUDA 11.8 or later");
  }
  if (cluster_blocks > 8) {
    kernel.allowLargeClusters();
  }
  LaunchAttribute attributes[3] = {};
  unsigned count = 0;
  if (cluster_blocks > 1) {
    LaunchAttribute& cluster = attributes[count++];
    cluster.id = LaunchAttributeId::ClusterDimension;
    for (int axis = 0; axis < 3; axis++) {
      cluster.value.cluster[axis] = static_cast<unsigned>(shape.cluster[axis]);
    }
  }
  if (shape.cooperative) {
    attributes[count].id = LaunchAttributeId::Cooperative;
    attributes[count++].value.cooperative = 1;
  }
  if (dependent) {
    attributes[count].id = LaunchAttributeId::ProgrammaticStreamSerialization;
    attributes[count++].value.dependent = 1;
  }
  LaunchConfig config{{grid[0], grid[1], grid[2]},
                      {block[0], block[1], block[2]},
                      shared,
                      stream,
                      attributes,
                      count};
  throwIfFailed(driver, driver.LaunchKernelEx(&config, kernel.function(), args, nullptr),
                "cuLaunchKernelEx", kernel.name());
}

}  // namespace nvfuser::cuda
