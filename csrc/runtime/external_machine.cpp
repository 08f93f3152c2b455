#include <runtime/external_machine.h>

#include <map>
#include <mutex>

#include <external/cublaslt.h>
#include <runtime/cpu/cpu_threads.h>
#include <runtime/cuda/driver.h>
#include <runtime/cuda/nvrtc_search.h>

namespace nvfuser {

namespace {

/// Of an operation's operands and results: less is done by the calling thread before others are
/// awake.
constexpr int64_t kBytesOfOneThread = int64_t{16} << 10;

/// Where cuBLASLt may be: beside NVRTC, or in the wheel that is its neighbour.
void tellWhereLibrariesAre() {
  static std::once_flag once;
  std::call_once(once, [] {
    const cuda::Driver* driver = cuda::driver();
    external::setCublasLtSearch(cuda::libraryFolders("cublas"),
                                driver ? driver->version / 1000 : 13);
  });
}

}  // namespace

external::Machine hostMachine(const RunContext& context, int64_t all_bytes) {
  external::Machine machine;
  machine.allocator = context.allocator.get();
  machine.communicator = context.communicator.get();
  machine.threads = cpuThreads().threads();
  if (all_bytes < kBytesOfOneThread) {
    return machine;
  }
  machine.parallel = [cancellation = context.cancellation](int64_t tasks, const auto& run) {
    cpuThreads().parallelFor(tasks, run, cancellation);
  };
  return machine;
}

external::Machine machineOf(Device& device, const RunContext& context, int64_t all_bytes) {
  if (device.kind() == DeviceKind::Cpu) {
    return hostMachine(context, all_bytes);
  }
  external::Machine machine;
  machine.kind = device.kind();
  machine.index = device.index();
  machine.stream = context.stream;
  machine.allocator = context.allocator.get();
  machine.communicator = context.communicator.get();
  auto blocks = std::make_shared<std::map<void*, DeviceMemory>>();
  machine.allocate = [&device, context, blocks](size_t bytes) {
    DeviceMemory memory(bytes, device, context);
    void* const data = memory.data();
    blocks->insert_or_assign(data, std::move(memory));
    return data;
  };
  machine.release = [blocks](void* data) { blocks->erase(data); };
  if (device.kind() == DeviceKind::Cuda) {
    tellWhereLibrariesAre();
  }
  return machine;
}

}  // namespace nvfuser
