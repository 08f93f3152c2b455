/// Which tensors share memory: with each other, and with themselves.
///
///   x[0:6], x[2:8]              share a part of one storage
///   x of strides [0] or [1, 1]  several elements of one tensor are one place in memory
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <runtime/executor_kernel_arg.h>
#include <runtime/tensor.h>

namespace nvfuser {

/// From the first byte of a tensor to the one behind its last; nothing for one without elements.
struct MemoryRange {
  const std::byte* begin = nullptr;
  const std::byte* end = nullptr;
};
MemoryRange memoryRange(const Tensor& tensor);

/// The same in bytes from where a tensor's first element is; both 0 for one without elements.
struct MemoryReach {
  int64_t first = 0;  ///< strides may be negative
  int64_t end = 0;
};
MemoryReach memoryReach(std::span<const int64_t> sizes, std::span<const int64_t> strides,
                        DataType dtype);

/// Whether their ranges meet. Tensors that lie in each other's gaps count as well.
bool rangesMeet(const Tensor& a, const Tensor& b);

/// Whether two elements are one place in memory. Exact; takes time by the elements only where no
/// order of the axes shows that there are none.
bool overlapsItself(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides);

/// The ranges of many tensors, those that meet joined; asking takes logarithmic time.
class OccupiedMemory {
 public:
  /// Null pointers are passed over.
  explicit OccupiedMemory(const std::vector<const Tensor*>& tensors);
  /// The tensors among arguments.
  explicit OccupiedMemory(const KernelArgumentHolder& args);

  /// How many of the tensors lie where `tensor` does, or in one piece with those.
  size_t tensorsAt(const Tensor& tensor) const;

 private:
  void add(const Tensor& tensor);
  void join();

  struct Piece {
    MemoryRange range;
    size_t tensors;
  };
  std::vector<Piece> pieces_;  ///< in order of addresses
};

}  // namespace nvfuser
