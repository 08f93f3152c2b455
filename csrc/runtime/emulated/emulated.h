/// What tests may ask of the emulated device beyond `Device`. The device itself: `emulatedDevice()`
/// of runtime/device.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <runtime/device.h>

namespace nvfuser {

/// In which order blocks, warps and lanes get their turn. A correct kernel gives the same bits in
/// every order.
enum class EmulationOrder { Forward, Reverse, Random };

struct EmulationSettings {
  EmulationOrder order = EmulationOrder::Forward;
  uint64_t seed = 0;            ///< of the random order
  unsigned char poison = 0xff;  ///< what fresh memory holds; 0xff is NaN in every floating type
  size_t finding_limit = 20;    ///< findings described in one error
};

/// For all later launches. The first settings come from NVFUSER_EMULATION_ORDER (forward, reverse,
/// random or random:<seed>).
void setEmulationSettings(const EmulationSettings& settings);
EmulationSettings emulationSettings();

/// Plans are made for so many from now on, 4 at first. To be called before any plan is made.
void emulateMultiprocessors(int count);

/// Lets kernels use memory that the device did not allocate (say, a tensor of another library),
/// with the same checks. All of it counts as initialised. Forget it before it is freed.
void registerEmulatedMemory(void* data, size_t bytes);
void forgetEmulatedMemory(void* data);

/// Like `compile` on each, in one run of the compiler: a tenth of the time a kernel. Entries may
/// have equal names.
std::vector<std::unique_ptr<LoadedKernel>> compileEmulatedBatch(
    std::span<const KernelSource> sources);

}  // namespace nvfuser
