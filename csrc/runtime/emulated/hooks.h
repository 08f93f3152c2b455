/// The functions that a kernel's code calls, bound to the engine that runs it.
#pragma once

#include <runtime/emulated/hook_table.h>

namespace nvfuser::emulated {

class Engine;

const NvfHooks& hookTable();

/// The engine whose kernel runs.
Engine& engineInUse();

/// Makes an engine the one in use for as long as this object lives.
class EngineInUse {
 public:
  explicit EngineInUse(Engine& engine);
  ~EngineInUse();
  EngineInUse(const EngineInUse&) = delete;
  EngineInUse& operator=(const EngineInUse&) = delete;
};

}  // namespace nvfuser::emulated
