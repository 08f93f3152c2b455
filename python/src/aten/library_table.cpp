#include <algorithm>
#include <atomic>

#include "aten/library.h"
#include <external/providers.h>
#include <support/error.h>

namespace nvfuser::python {

namespace {

constexpr LibraryOperation kOperations[] = {
    {"argsort", "sort.values_stable", false, false, runArgsort},
    {"topk", "topk.values", false, false, runTopK},
    {"scan", "cumsum.out, cumprod.out, cummax.out, cummin.out", true, false, runScan},
    {"scatter", "scatter.src_out, scatter_add.out, scatter_reduce.two_out, index_put_", false,
     false, runScatter},
    {"sdpfa_fwd",
     "_scaled_dot_product_cudnn_attention, …_flash_attention, …_efficient_attention, "
     "…_flash_attention_for_cpu, or matmul and _safe_softmax",
     false, false, runAttention},
    {"sdpfa_bwd", "the backward operations of these", false, false, runAttentionBackward},
    {"scaled_mm", "_scaled_mm.out; else matmul.out of scaled operands", false, false,
     runScaledProduct},
    {"grouped_mm", "_grouped_mm", false, false, runGroupedProduct},
    {"matmul", "matmul.out", false, true, runProduct},
    {"linear", "linear.out", false, true, runProduct},
};

std::atomic<OnCpu> on_cpu{OnCpu::Faster};

/// Whether all that the call is about can be tensors of PyTorch.
bool canLend(const Torch& torch, const external::Call& call) {
  const auto fits = [&](const TensorRef& tensor) {
    for (size_t axis = 0; axis < tensor.sizes.size(); ++axis) {
      if (tensor.sizes[axis] > 1 && tensor.strides[axis] < 0) {
        return declined(call, "PyTorch has no negative strides; pass a contiguous tensor");
      }
    }
    return torch.shim->knows(tensor.dtype) ||
           declined(call, text("PyTorch has no ", tensor.dtype, "; cast it"));
  };
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    if (!call.isScalar(i) && !fits(call.input(i))) {
      return false;
    }
  }
  return std::all_of(call.outputs.begin(), call.outputs.end(), fits);
}

/// PyTorch's current stream and device while it lives: those of the call.
class CurrentStream {
 public:
  CurrentStream(const external::Machine& machine) {
    if (machine.kind != DeviceKind::Cuda) {
      return;
    }
    void* current = nullptr;
    if (functions().current(machine.index, &current) == 0 && current == machine.stream) {
      return;
    }
    check(functions().make(machine.stream, machine.index, &guard_) == 0,
          "PyTorch takes a stream as its current one");
  }
  ~CurrentStream() {
    if (guard_ != nullptr) {
      functions().drop(guard_);
    }
  }
  CurrentStream(const CurrentStream&) = delete;
  CurrentStream& operator=(const CurrentStream&) = delete;

  static bool isThere() {
    return functions().current != nullptr && functions().make != nullptr &&
           functions().drop != nullptr;
  }

 private:
  using Status = int32_t;
  struct Functions {
    Status (*current)(int32_t index, void** stream);
    Status (*make)(void* stream, int32_t index, void** guard);
    Status (*drop)(void* guard);
  };
  static const Functions& functions() {
    static const Functions found{
        TorchShim::function<Status (*)(int32_t, void**)>("aoti_torch_get_current_cuda_stream"),
        TorchShim::function<Status (*)(void*, int32_t, void**)>(
            "aoti_torch_create_cuda_stream_guard"),
        TorchShim::function<Status (*)(void*)>("aoti_torch_delete_cuda_stream_guard")};
    return found;
  }

  void* guard_ = nullptr;
};

void registerOn(DeviceKind device, const LibraryOperation& operation, const Torch& torch,
                const TorchDispatcher& dispatcher) {
  const bool is_for_the_rest = operation.is_for_the_rest && device == DeviceKind::Cuda;
  const auto provide = [&torch, &dispatcher, operation, device](const external::Call& call) {
    const OnCpu which = on_cpu.load(std::memory_order_relaxed);
    if (device == DeviceKind::Cpu && which != OnCpu::All &&
        !(which == OnCpu::Faster && operation.is_faster_on_cpu)) {
      return false;
    }
    if (!canLend(torch, call)) {
      return false;
    }
    const CurrentStream stream(*call.machine);
    return operation.run(AtenProgram(torch, dispatcher, call));
  };
  external::registerProvider(operation.operation, device, "PyTorch", provide,
                             is_for_the_rest ? external::Turn::ForTheRest : external::Turn::First,
                             external::Results::Adopted);
}

}  // namespace

std::span<const LibraryOperation> libraryOperations() { return kOperations; }

void setLibraryOnCpu(OnCpu which) { on_cpu.store(which); }

void registerLibrary(const Torch& torch) {
  const TorchDispatcher* dispatcher = torch.shim != nullptr ? TorchDispatcher::find() : nullptr;
  if (dispatcher == nullptr || !AtenProgram::isThere()) {
    return;
  }
  for (const LibraryOperation& operation : kOperations) {
    if (CurrentStream::isThere()) {
      registerOn(DeviceKind::Cuda, operation, torch, *dispatcher);
    }
    registerOn(DeviceKind::Cpu, operation, torch, *dispatcher);
  }
}

}  // namespace nvfuser::python
