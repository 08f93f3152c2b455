/// What this CPU is, for schedulers, cache keys and reports.
#pragma once

#include <cstdint>
#include <string>

namespace nvfuser {

struct CpuInfo {
  std::string name;      ///< as /proc/cpuinfo has it
  int64_t l1_bytes = 0;  ///< data cache of one core
  int64_t l2_bytes = 0;  ///< of one core
  int64_t l3_bytes = 0;  ///< of the processor this thread runs on, shared between cores
  int64_t line_bytes = 64;
  int64_t memory_bytes = 0;
  int64_t vector_bytes = 16;  ///< of the widest registers that -march=native may use
};

/// Read once.
const CpuInfo& cpuInfo();

}  // namespace nvfuser
