#include "run_context.h"

#include <dlfcn.h>

#include <mutex>

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>

namespace nvfuser::torchscript {

namespace {

/// The current stream, through the C function that CUDA builds of PyTorch have.
void* currentStream(c10::DeviceIndex device) {
  using Get = int32_t (*)(int32_t device_index, void** stream);
  static const Get kGet = [] {
    void* library = dlopen("libtorch_cuda.so", RTLD_LAZY | RTLD_NOLOAD);
    return library == nullptr
               ? nullptr
               : reinterpret_cast<Get>(dlsym(library, "aoti_torch_get_current_cuda_stream"));
  }();
  void* stream = nullptr;
  TORCH_CHECK(kGet != nullptr && kGet(device, &stream) == 0,
              "nvfuser: this PyTorch does not tell its current CUDA stream");
  return stream;
}

/// Memory is a tensor of bytes: PyTorch's allocator then knows of it as of any other.
int allocate(void*, int64_t bytes, int32_t, int32_t device_id, void*, void** data, void** handle) {
  try {
    const auto device = c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(device_id));
    auto* block = new at::Tensor(at::empty({bytes}, at::dtype(at::kByte).device(device)));
    *data = block->data_ptr();
    *handle = block;
    return 0;
  } catch (const std::exception&) {
    return 1;
  }
}

void release(void*, void*, void* handle, int32_t, int32_t, void*) {
  delete static_cast<at::Tensor*>(handle);
}

constexpr nvf_allocator kMemory = {nullptr, allocate, release};

}  // namespace

RunContext::RunContext(c10::Device device, int64_t draws) {
  if (device.is_cuda()) {
    context_.stream = currentStream(device.index());
    context_.allocator = &kMemory;
  }
  if (draws == 0) {
    return;
  }
  context_.has_random_state = 1;
  at::Generator generator = at::globalContext().defaultGenerator(device);
  std::lock_guard<std::mutex> lock(generator.mutex());
  if (device.is_cuda()) {
    const uint64_t offset = generator.get_offset();
    context_.random_seed = generator.current_seed();
    context_.random_offset = offset / 4;  // a unit of ours is a counter of four numbers
    generator.set_offset(offset + 4 * static_cast<uint64_t>(draws));
  } else {
    context_.random_seed =
        at::get_generator_or_default<at::CPUGeneratorImpl>(std::nullopt, generator)->random64();
  }
}

}  // namespace nvfuser::torchscript
