/// The memory of an interpreted kernel: where each element lies, and whether it does.
#pragma once

#include <cstddef>
#include <vector>

#include <fuzz/kernel_interpreter/kernel_interpreter.h>
#include <fuzz/kernel_interpreter/lane_scalars.h>
#include <fuzz/kernel_interpreter/number.h>

namespace nvfuser::fuzz {

class KernelMemory {
 public:
  /// `lanes` threads at a time, `threads` of them in a block.
  KernelMemory(const kir::Kernel& kernel, int64_t lanes, int64_t threads, int64_t shared_bytes,
               std::span<void* const> args, const BytesAt& bytesAt);

  /// Bytes of registers that a thread has, of all buffers.
  static size_t registerBytes(const kir::Kernel& kernel);

  /// Before blocks run: nothing is in shared memory, whose buffers lie where `scalars` say.
  void beginBlocks(LaneScalars& scalars);
  void declare(const kir::Buffer& buffer, int64_t lane);
  /// Where an element lies. Throws `InternalError` where that is outside the buffer.
  std::byte* at(const kir::Buffer& buffer, int64_t lane, int64_t index);
  Number load(const kir::Buffer& buffer, int64_t lane, int64_t index) {
    return fuzz::load(at(buffer, lane, index), buffer.dtype);
  }
  void store(const kir::Buffer& buffer, int64_t lane, int64_t index, const Number& number) {
    fuzz::store(at(buffer, lane, index), buffer.dtype, number);
  }

 private:
  /// Of one buffer: a place for each group of lanes.
  struct Place {
    std::byte* first = nullptr;
    size_t bytes = 0;   ///< of one group
    size_t step = 0;    ///< from one group's place to the next one's
    int64_t group = 1;  ///< lanes of one; 0: all share the place
    size_t element_bytes = 0;
  };

  const kir::Kernel& kernel_;
  int64_t threads_;
  size_t shared_bytes_;
  std::vector<std::byte> registers_;
  std::vector<std::byte> shared_;
  std::vector<Place> places_;  ///< by the buffer's id
};

}  // namespace nvfuser::fuzz
