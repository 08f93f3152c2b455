/// Enumerations of nvfuser_direct that name more than the core has.
#pragma once

#include <cstdint>

#include <ir/type.h>

namespace nvfuser::python {

enum class LoadStoreName : uint8_t { Set, LoadMatrix, CpAsync, Tma };
enum class MemoryName : uint8_t { Local, Shared, Global, Tensor, Symmetric };

/// Throw Python's NotImplementedError for what the core does not have.
LoadStoreOpType toLoadStore(LoadStoreName name);
MemoryType toMemory(MemoryName name);
ParallelType requireParallel(ParallelType type);

}  // namespace nvfuser::python
