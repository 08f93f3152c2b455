/// Operations of a library by PyTorch: what each is in ATen. Where PyTorch is loaded, providers
/// (external/providers.h) run them on the device, on the stream of the call, without copies to the
/// host.
#pragma once

#include <span>
#include <string_view>

#include "aten/aten_program.h"

namespace nvfuser::python {

struct LibraryOperation {
  const char* operation;  ///< as providers are registered
  const char* overloads;  ///< of ATen, for readers
  /// Whether on the CPU, too, it is faster than the portable code, by one thread.
  bool is_faster_on_cpu;
  /// On CUDA after cuBLASLt.
  bool is_for_the_rest;
  /// False, having written nothing, for a call that ATen does not take, or would take with another
  /// result (`declined` says why).
  bool (*run)(const AtenProgram& aten);
};

std::span<const LibraryOperation> libraryOperations();

// library_orders.cpp
bool runArgsort(const AtenProgram& aten);
bool runTopK(const AtenProgram& aten);
bool runScan(const AtenProgram& aten);
// library_scatter.cpp
bool runScatter(const AtenProgram& aten);
// library_products.cpp
bool runProduct(const AtenProgram& aten);
bool runScaledProduct(const AtenProgram& aten);
bool runGroupedProduct(const AtenProgram& aten);
// library_attention.cpp
bool runAttention(const AtenProgram& aten);
bool runAttentionBackward(const AtenProgram& aten);

/// Which library operations of the CPU are PyTorch's.
enum class OnCpu : uint8_t { None, Faster, All };

/// Registers PyTorch once, when it was seen first.
void registerLibrary(const Torch& torch);
/// From now on, for calls of any thread.
void setLibraryOnCpu(OnCpu which);

}  // namespace nvfuser::python
