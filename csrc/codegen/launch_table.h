/// Many launches of one kernel as one: their arguments are a table, which is the only parameter,
/// and each block looks up which launch it belongs to.
///
///   ends      [ 3,  8, 9, ~0, …]      blocks of the launches up to each one
///   entries   [{T0, T1, i0, grid}, …]  the arguments of each, and its blocks in x, y and z
///
///   block 5 belongs to launch 1, as its block 2
///
/// Kernels whose blocks wait for each other have no table: they ask the device for their block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <codegen/generate.h>

namespace nvfuser {

/// Where things are in a table, in bytes.
struct LaunchTableForm {
  struct Field {
    size_t offset;  ///< in an entry
    size_t bytes;
  };
  std::vector<Field> params;  ///< of the kernel, in order
  size_t grid = 0;            ///< in an entry: three 32-bit numbers
  size_t entry_bytes = 0;
  size_t entries = 0;    ///< where they begin, behind the ends (32 bits each)
  int64_t capacity = 0;  ///< launches that a table holds
  size_t bytes() const { return entries + entry_bytes * static_cast<size_t>(capacity); }
};

/// The form of a kernel's table; nothing where its parameters are too many or too wide for one.
std::optional<LaunchTableForm> launchTableForm(const kir::Kernel& kernel);

/// CUDA C++: the kernel under another name with a table for its parameters.
GeneratedKernel generateForTable(const kir::Kernel& kernel, std::string name);

}  // namespace nvfuser
