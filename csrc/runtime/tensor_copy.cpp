/// Elements of a tensor moved between devices and layouts, filled and read.
#include <algorithm>

#include <evaluator/element_codec.h>
#include <evaluator/strided_loop.h>
#include <runtime/memory_overlap.h>
#include <runtime/strided_copy.h>
#include <runtime/tensor.h>
#include <runtime/tensor_layout.h>

namespace nvfuser {

HostTensor Tensor::toHostTensor(Stream stream) const {
  HostTensor host(dtype_, sizes_);
  if (numel() == 0) {
    return host;
  }
  Device& from = device();
  if (from.kind() == DeviceKind::Cpu) {
    return HostTensor::copyOf(ref());
  }
  if (isContiguous()) {
    from.copyToHost(host.data(), data(), host.sizeBytes(), stream);
    from.synchronize(stream);
    return host;
  }
  // The whole stretch of memory, gaps included, then the elements out of it.
  const MemoryRange range = memoryRange(*this);
  std::vector<std::byte> bytes(static_cast<size_t>(range.end - range.begin));
  from.copyToHost(bytes.data(), range.begin, bytes.size(), stream);
  from.synchronize(stream);
  TensorRef stretch = ref();
  stretch.data = bytes.data() + (static_cast<std::byte*>(data()) - range.begin);
  return HostTensor::copyOf(stretch);
}

Tensor Tensor::copyTo(Device& target) const {
  if (numel() == 0) {
    return empty(sizes_, dtype_, target);
  }
  if (!isContiguous() && elementSpan(sizes_, strides_) == numel()) {
    // A permutation: the stretch is copied as it is.
    Tensor flat = asStrided({numel()}, {1}, offset_).copyTo(target);
    return flat.asStrided(sizes_, strides_, 0);
  }
  return fromHostTensor(toHostTensor(), target);
}

void Tensor::copyFrom(const Tensor& source, Stream stream) {
  if (source.dtype() != dtype_ || source.sizes() != sizes_) {
    userError("copyFrom: ", source, " cannot be written to ", *this,
              "; dtype and sizes have to be the same");
  }
  if (numel() == 0) {
    return;
  }
  const MemoryRange range = memoryRange(*this);
  const bool fills = range.end - range.begin == numel() * dataTypeSizeByte(dtype_) &&
                     !overlapsItself(sizes_, strides_);
  const bool is_apart = &source.device() == &device() && !rangesMeet(*this, source);
  if (is_apart && fills && source.strides() == strides_) {
    device().copyWithin(const_cast<std::byte*>(range.begin), memoryRange(source).begin,
                        static_cast<size_t>(range.end - range.begin), stream);
    return;
  }
  if (is_apart && !overlapsItself(sizes_, strides_) && copyStridedOnDevice(source, *this, stream)) {
    return;
  }
  copyFrom(source.toHostTensor(stream), stream);
}

void Tensor::copyFrom(const HostTensor& host, Stream stream) {
  if (host.dtype() != dtype_ || host.sizes() != sizes_) {
    userError("copyFrom: a tensor ", host.dtype(), "[", join(host.sizes(), ", "),
              "] of the host cannot be written to ", *this,
              "; dtype and sizes have to be the same");
  }
  if (numel() == 0) {
    return;
  }
  const int64_t width = dataTypeSizeByte(dtype_);
  Device& target = device();
  if (isContiguous()) {
    target.copyFromHost(data(), host.data(), host.sizeBytes(), stream);
    target.synchronize(stream);
    return;
  }
  // What stands in the gaps has to stay. A device's stretch is read, changed and written back.
  const MemoryRange range = memoryRange(*this);
  std::vector<std::byte> bytes;
  auto* to = static_cast<std::byte*>(data());
  const auto before = to - range.begin;  // strides may be negative
  if (target.kind() != DeviceKind::Cpu) {
    bytes.resize(static_cast<size_t>(range.end - range.begin));
    target.copyToHost(bytes.data(), range.begin, bytes.size(), stream);
    target.synchronize(stream);
    to = bytes.data() + before;
  }
  forEachRun<2>(
      sizes_, {strides_, rowMajorStrides(sizes_)}, {0, 0},
      [&](int64_t length, const std::array<int64_t, 2>& start, const std::array<int64_t, 2>& step) {
        for (int64_t i = 0; i < length; ++i) {
          std::memcpy(to + (start[0] + i * step[0]) * width,
                      host.data() + (start[1] + i * step[1]) * width, static_cast<size_t>(width));
        }
      });
  if (!bytes.empty()) {
    target.copyFromHost(static_cast<std::byte*>(data()) - before, bytes.data(), bytes.size(),
                        stream);
    target.synchronize(stream);
  }
}

Tensor Tensor::contiguous() const {
  return isContiguous() ? *this : fromHostTensor(toHostTensor(), device());
}

void Tensor::fill(const PolymorphicValue& value) {
  if (numel() == 0) {
    return;
  }
  const auto width = static_cast<size_t>(dataTypeSizeByte(dtype_));
  std::array<std::byte, 16> element{};
  storeElement(element.data(), dtype_, value);
  const bool one_byte = std::all_of(element.begin(), element.begin() + static_cast<int>(width),
                                    [&](std::byte byte) { return byte == element[0]; });
  if (one_byte && isContiguous()) {
    device().fillBytes(data(), static_cast<unsigned char>(element[0]),
                       static_cast<size_t>(numel()) * width, nullptr);
    device().synchronize(nullptr);
    return;
  }
  HostTensor host(dtype_, sizes_);
  for (int64_t i = 0; i < host.numel(); ++i) {
    std::memcpy(host.data() + i * static_cast<int64_t>(width), element.data(), width);
  }
  copyFrom(fromHostTensor(host, cpuDevice()));
}

PolymorphicValue Tensor::item() const {
  if (numel() != 1) {
    userError("item: ", *this, " has ", numel(), " elements, not one");
  }
  return loadElement(toHostTensor().data(), dtype_);
}

}  // namespace nvfuser
