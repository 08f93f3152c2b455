/// What a device is, as plain data: read by schedulers, by launch checks and by reports.
#pragma once

#include <cstdint>
#include <string>

namespace nvfuser {

enum class DeviceKind { Cpu, Emulated, Cuda };

/// What schedulers and launch checks need to know. Sizes in bytes.
struct DeviceProperties {
  std::string name;
  int major = 0;  ///< compute capability; 0 on the CPU
  int minor = 0;
  int multiprocessors = 1;  ///< threads of the pool on the CPU
  int warp_size = 32;
  int max_threads_per_block = 1024;
  int max_threads_per_multiprocessor = 2048;
  int64_t max_block[3] = {1024, 1024, 64};
  int64_t max_grid[3] = {2147483647, 65535, 65535};
  int64_t shared_bytes_per_block = 48 * 1024;  ///< without opting in
  int64_t shared_bytes_per_block_optin = 48 * 1024;
  int64_t shared_bytes_per_multiprocessor = 48 * 1024;
  int64_t registers_per_multiprocessor = 65536;
  int64_t l2_bytes = 0;
  int64_t l3_bytes = 0;       ///< of the CPU
  int64_t vector_bytes = 64;  ///< of the CPU's widest registers
  int64_t memory_bytes = 0;
};

}  // namespace nvfuser
