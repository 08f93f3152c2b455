/// Devices without a compiler: kernels are lowered as for the CPU or for (emulated) CUDA, and
/// interpreted.
///
/// They stand where a `Device` does, so that executors, caches and plans work as with any other.
/// Memory is filled with bytes of ones where it is allocated.
#pragma once

#include <runtime/device.h>

namespace nvfuser::fuzz {

/// Lowers as `cpuDevice()` does.
Device& interpretingCpu();
/// Lowers as `emulatedDevice()` does.
Device& interpretingCuda();

}  // namespace nvfuser::fuzz
