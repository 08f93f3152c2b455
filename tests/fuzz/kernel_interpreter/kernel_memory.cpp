#include <fuzz/kernel_interpreter/kernel_memory.h>

#include <cstring>

namespace nvfuser::fuzz {

namespace {

constexpr std::byte kNothing{0xFF};

bool isRegister(const kir::Buffer& buffer) {
  return buffer.memory == MemoryType::Local && buffer.role == kir::BufferRole::Intermediate;
}
size_t bytesOf(const kir::Buffer& buffer) {
  return static_cast<size_t>(buffer.elements->value * dataTypeSizeByte(buffer.dtype));
}

}  // namespace

size_t KernelMemory::registerBytes(const kir::Kernel& kernel) {
  size_t bytes = 0;
  for (const auto& buffer : kernel.buffers) {
    bytes += isRegister(*buffer) && buffer->elements != nullptr ? bytesOf(*buffer) : 0;
  }
  return bytes;
}

KernelMemory::KernelMemory(const kir::Kernel& kernel, int64_t lanes, int64_t threads,
                           int64_t shared_bytes, std::span<void* const> args,
                           const BytesAt& bytesAt)
    : kernel_(kernel),
      threads_(threads),
      shared_bytes_(static_cast<size_t>(shared_bytes)),
      registers_(static_cast<size_t>(lanes) * registerBytes(kernel)),
      shared_(static_cast<size_t>(lanes / threads) * shared_bytes_),
      places_(kernel.buffers.size()) {
  std::byte* next = registers_.data();
  for (const auto& buffer : kernel.buffers) {
    Place& place = places_.at(static_cast<size_t>(buffer->id));
    place.element_bytes = static_cast<size_t>(dataTypeSizeByte(buffer->dtype));
    if (isRegister(*buffer) && buffer->elements != nullptr) {
      place.first = next;
      place.bytes = place.step = bytesOf(*buffer);
      next += static_cast<size_t>(lanes) * place.bytes;
    }
  }
  for (size_t i = 0; i < kernel.params.size(); ++i) {
    if (kernel.params[i].kind != kir::ParamKind::TensorArg) {
      continue;
    }
    const kir::Buffer& buffer = *kernel.params[i].buffer;
    Place& place = places_.at(static_cast<size_t>(buffer.id));
    place.group = 0;
    if (buffer.by_value) {
      place.first = static_cast<std::byte*>(args[i]);
      place.bytes = place.element_bytes;
    } else {
      std::memcpy(&place.first, args[i], sizeof(place.first));
      const bool of_call = &buffer == kernel.index_report || &buffer == kernel.bounds;
      place.bytes = of_call ? bytesOf(buffer) : bytesAt(place.first);
    }
  }
}

void KernelMemory::beginBlocks(LaneScalars& scalars) {
  std::fill(shared_.begin(), shared_.end(), kNothing);
  for (const auto& buffer : kernel_.buffers) {
    if (buffer->memory != MemoryType::Shared || buffer->shared_offset == nullptr) {
      continue;
    }
    Place& place = places_[static_cast<size_t>(buffer->id)];
    const auto offset = static_cast<size_t>(scalars.uniform(buffer->shared_offset));
    // (Sizes that only the host needs are no parameters.)
    const size_t bytes =
        scalars.isKnown(buffer->elements)
            ? static_cast<size_t>(scalars.uniform(buffer->elements)) * place.element_bytes
            : shared_bytes_ - offset;
    check(offset + bytes <= shared_bytes_,
          text(buffer->name, " lies within the shared memory that was asked for"));
    place.first = shared_.data() + offset;
    place.bytes = bytes;
    place.step = shared_bytes_;
    place.group = threads_;
  }
}

void KernelMemory::declare(const kir::Buffer& buffer, int64_t lane) {
  const Place& place = places_[static_cast<size_t>(buffer.id)];
  std::memset(place.first + static_cast<size_t>(lane) * place.step, static_cast<int>(kNothing),
              place.bytes);
}

std::byte* KernelMemory::at(const kir::Buffer& buffer, int64_t lane, int64_t index) {
  const Place& place = places_[static_cast<size_t>(buffer.id)];
  const auto elements = static_cast<int64_t>(place.bytes / place.element_bytes);
  const int64_t element = buffer.by_value ? 0 : index;
  if (element < 0 || element >= elements) {
    throw InternalError(text("an access to ", buffer.name, "[", index, "], which has ", elements,
                             " elements, by thread ", lane));
  }
  const size_t group = place.group == 0 ? 0 : static_cast<size_t>(lane / place.group);
  return place.first + group * place.step + static_cast<size_t>(element) * place.element_bytes;
}

}  // namespace nvfuser::fuzz
