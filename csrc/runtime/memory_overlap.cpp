#include <runtime/memory_overlap.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include <ir/type.h>

namespace nvfuser {

MemoryReach memoryReach(std::span<const int64_t> sizes, std::span<const int64_t> strides,
                        DataType dtype) {
  int64_t first = 0;
  int64_t last = 0;
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    if (sizes[axis] == 0) {
      return {};
    }
    const int64_t reach = (sizes[axis] - 1) * strides[axis];
    (reach < 0 ? first : last) += reach;
  }
  const int64_t width = dataTypeSizeByte(dtype);
  return {first * width, (last + 1) * width};
}

MemoryRange memoryRange(const Tensor& tensor) {
  if (tensor.data() == nullptr || tensor.numel() == 0) {
    return {};
  }
  const MemoryReach reach = memoryReach(tensor.sizes(), tensor.strides(), tensor.dtype());
  const auto* data = static_cast<const std::byte*>(tensor.data());
  return {data + reach.first, data + reach.end};
}

bool rangesMeet(const Tensor& a, const Tensor& b) {
  const MemoryRange first = memoryRange(a);
  const MemoryRange second = memoryRange(b);
  return first.begin < second.end && second.begin < first.end;
}

// An axis whose stride is beyond all that the axes of smaller strides reach tells its index from
// the place alone, and can be left out. Of what remains, every place is visited.
bool overlapsItself(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides) {
  struct Axis {
    int64_t stride;
    int64_t last;  ///< index
  };
  std::vector<Axis> axes;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) {
      return false;
    }
    if (sizes[i] > 1) {
      axes.push_back({std::abs(strides[i]), sizes[i] - 1});
    }
  }
  std::sort(axes.begin(), axes.end(),
            [](const Axis& a, const Axis& b) { return a.stride < b.stride; });
  auto reach = [&] {
    return std::accumulate(axes.begin(), axes.end(), int64_t{0}, [](int64_t sum, const Axis& axis) {
      return sum + axis.stride * axis.last;
    });
  };
  while (!axes.empty()) {
    const Axis widest = axes.back();
    axes.pop_back();
    if (widest.stride <= reach()) {
      axes.push_back(widest);
      break;
    }
  }
  if (axes.empty()) {
    return false;
  }
  if (axes.front().stride == 0) {
    return true;
  }
  const int64_t places = reach() + 1;
  int64_t elements = 1;
  for (const Axis& axis : axes) {
    elements *= axis.last + 1;
    if (elements > places) {
      return true;
    }
  }
  std::vector<bool> taken(static_cast<size_t>(places), false);
  std::vector<int64_t> index(axes.size(), 0);
  int64_t place = 0;
  for (int64_t element = 0; element < elements; ++element) {
    if (taken[static_cast<size_t>(place)]) {
      return true;
    }
    taken[static_cast<size_t>(place)] = true;
    for (size_t i = 0; i < axes.size(); ++i) {
      if (index[i] < axes[i].last) {
        ++index[i];
        place += axes[i].stride;
        break;
      }
      place -= axes[i].stride * index[i];
      index[i] = 0;
    }
  }
  return false;
}

OccupiedMemory::OccupiedMemory(const std::vector<const Tensor*>& tensors) {
  pieces_.reserve(tensors.size());
  for (const Tensor* tensor : tensors) {
    if (tensor != nullptr) {
      add(*tensor);
    }
  }
  join();
}

OccupiedMemory::OccupiedMemory(const KernelArgumentHolder& args) {
  pieces_.reserve(args.size());
  for (const KernelArgument& argument : args) {
    if (argument.isTensor()) {
      add(argument.tensor());
    }
  }
  join();
}

void OccupiedMemory::add(const Tensor& tensor) {
  const MemoryRange range = memoryRange(tensor);
  if (range.begin != range.end) {
    pieces_.push_back({range, 1});
  }
}

void OccupiedMemory::join() {
  std::sort(pieces_.begin(), pieces_.end(),
            [](const Piece& a, const Piece& b) { return a.range.begin < b.range.begin; });
  size_t last = 0;
  for (size_t i = 1; i < pieces_.size(); ++i) {
    const Piece next = pieces_[i];
    Piece& piece = pieces_[last];
    if (next.range.begin < piece.range.end) {
      piece.range.end = std::max(piece.range.end, next.range.end);
      piece.tensors += next.tensors;
    } else {
      pieces_[++last] = next;
    }
  }
  pieces_.resize(std::min(pieces_.size(), last + 1));
}

size_t OccupiedMemory::tensorsAt(const Tensor& tensor) const {
  const MemoryRange range = memoryRange(tensor);
  if (range.begin == range.end) {
    return 0;
  }
  auto piece = std::partition_point(pieces_.begin(), pieces_.end(), [&](const Piece& other) {
    return other.range.end <= range.begin;
  });
  size_t count = 0;
  for (; piece != pieces_.end() && piece->range.begin < range.end; ++piece) {
    count += piece->tensors;
  }
  return count;
}

}  // namespace nvfuser
