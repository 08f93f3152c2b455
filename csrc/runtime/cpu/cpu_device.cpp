#include <runtime/cpu/cpu_device.h>

#include <atomic>
#include <cstring>

#include <runtime/cpu/cpu_info.h>
#include <runtime/cpu/cpu_threads.h>
#include <runtime/cpu/memory.h>
#include <runtime/host_compiler/cached_object.h>
#include <runtime/kernel_cache/process_cache.h>
#include <support/error.h>

namespace nvfuser {
namespace {

using Entry = void (*)(void* const* args, const long* grid, long first, long last);

constexpr size_t kParallelCopyBytes = size_t{1} << 20;  ///< below, one thread is as fast as all
/// Of the tensors of a launch. A region costs 0.2 – 4 µs while its threads are awake, about the
/// time that one thread takes for so much in its cache (docs/performance.md).
constexpr int64_t kParallelBytes = int64_t{128} << 10;
constexpr size_t kCopyTaskBytes = size_t{256} << 10;

std::atomic<CpuTaskOrder> task_order = CpuTaskOrder::Parallel;

class CpuKernel final : public LoadedKernel {
 public:
  explicit CpuKernel(HostKernel code)
      : code_(std::move(code)),
        entry_(reinterpret_cast<Entry>(code_.object->symbol(code_.symbol))) {
    resources_.compile_ms = code_.compile_ms;
    resources_.from_cache = code_.from_cache;
    resources_.log = code_.log;
  }

  const KernelResources& resources() const override { return resources_; }
  std::string assembly(const std::string&) const override { return ""; }
  Entry entry() const { return entry_; }
  const std::string& name() const { return code_.symbol; }
  const HostKernel& code() const { return code_; }

 private:
  HostKernel code_;
  Entry entry_;
  KernelResources resources_;
};

/// Calls `run(offset, size)` over pieces of `bytes`, on all threads when it pays.
template <typename Run>
void overBytes(size_t bytes, Run run) {
  if (bytes < kParallelCopyBytes) {
    return run(size_t{0}, bytes);
  }
  auto tasks = static_cast<int64_t>((bytes + kCopyTaskBytes - 1) / kCopyTaskBytes);
  cpuThreads().parallelFor(tasks, [&](int64_t first, int64_t last) {
    size_t begin = static_cast<size_t>(first) * kCopyTaskBytes;
    size_t end = std::min(bytes, static_cast<size_t>(last) * kCopyTaskBytes);
    run(begin, end - begin);
  });
}

void copyBytes(void* dst, const void* src, size_t bytes) {
  if (bytes == 0) {
    return;
  }
  overBytes(bytes, [&](size_t offset, size_t size) {
    std::memcpy(static_cast<char*>(dst) + offset, static_cast<const char*>(src) + offset, size);
  });
}

/// Number of tasks; `UserError` for a shape that no host kernel can have.
int64_t tasksOf(const LaunchShape& shape, const std::string& kernel) {
  int64_t tasks = 1;
  for (int axis = 0; axis < 3; axis++) {
    char name = "xyz"[axis];
    if (shape.block[axis] != 1 || shape.cluster[axis] != 1) {
      userError("launch of ", kernel, ": on the CPU a block has one thread, got block ", name,
                " = ", shape.block[axis], ", cluster ", name, " = ", shape.cluster[axis]);
    }
    if (shape.grid[axis] < 0 || __builtin_mul_overflow(tasks, shape.grid[axis], &tasks)) {
      userError("launch of ", kernel, ": grid ", name, " = ", shape.grid[axis], " is out of range");
    }
  }
  return tasks;
}

std::vector<std::string> compileFlags(const KernelSource& source) {
  std::vector<std::string> flags = hostFlags(hostCompiler());
  flags.insert(flags.end(), source.options.begin(), source.options.end());  // the later flag wins
  return flags;
}

HostCompileRequest compileRequest(const KernelSource& source) {
  HostCompileRequest request;
  request.text = source.text;
  request.flags = compileFlags(source);
  request.deadline_s = source.deadline_s;
  request.unwanted = source.unwanted;
  return request;
}

class CpuDevice final : public Device {
 public:
  CpuDevice() {
    const CpuInfo& info = cpuInfo();
    properties_.name = info.name;
    properties_.multiprocessors = cpuThreads().threads();
    properties_.warp_size = 1;
    properties_.max_threads_per_block = 1;
    properties_.max_threads_per_multiprocessor = 1;
    for (int64_t& extent : properties_.max_block) {
      extent = 1;
    }
    for (int64_t& extent : properties_.max_grid) {
      extent = INT64_MAX;
    }
    properties_.shared_bytes_per_block =
        info.l2_bytes / 2;  // scratch of one task: on its stack, in its L2
    properties_.shared_bytes_per_block_optin = info.l2_bytes / 2;
    properties_.shared_bytes_per_multiprocessor = info.l2_bytes / 2;
    properties_.registers_per_multiprocessor = info.vector_bytes >= 64 ? 32 : 16;
    properties_.vector_bytes = info.vector_bytes;
    properties_.l2_bytes = info.l2_bytes;
    properties_.l3_bytes = info.l3_bytes;
    properties_.memory_bytes = info.memory_bytes;
  }

  DeviceKind kind() const override { return DeviceKind::Cpu; }
  int index() const override { return 0; }
  const DeviceProperties& properties() const override { return properties_; }

  void* allocate(size_t bytes, Stream) override { return memory_.allocate(bytes); }
  void release(void* data, Stream) override { memory_.release(data); }
  void copyFromHost(void* dst, const void* src, size_t bytes, Stream) override {
    copyBytes(dst, src, bytes);
  }
  void copyToHost(void* dst, const void* src, size_t bytes, Stream) override {
    copyBytes(dst, src, bytes);
  }
  void copyWithin(void* dst, const void* src, size_t bytes, Stream) override {
    copyBytes(dst, src, bytes);
  }
  void fillBytes(void* dst, unsigned char value, size_t bytes, Stream) override {
    if (bytes == 0) {
      return;
    }
    overBytes(bytes, [&](size_t offset, size_t size) {
      std::memset(static_cast<char*>(dst) + offset, value, size);
    });
  }
  void synchronize(Stream) override {}

  std::unique_ptr<LoadedKernel> compile(const KernelSource& source) override {
    std::unique_ptr<LoadedKernel> kernel = find(source);
    if (kernel == nullptr) {
      kernel = std::move(compileEntries(source, {&source.entry, 1}).front());
      keep(source, *kernel);
    }
    return kernel;
  }

  std::unique_ptr<LoadedKernel> find(const KernelSource& source) override {
    std::optional<HostKernel> found =
        findHostKernel(hostCompiler(), compileRequest(source), source.entry, cacheFor(source));
    return found ? std::make_unique<CpuKernel>(*std::move(found)) : nullptr;
  }

  void keep(const KernelSource& source, const LoadedKernel& kernel) override {
    if (DiskCache* cache = cacheFor(source)) {
      keepHostKernel(hostCompiler(), compileRequest(source), source.entry,
                     static_cast<const CpuKernel&>(kernel).code(), *cache);
    }
  }

  std::vector<std::unique_ptr<LoadedKernel>> compileEntries(
      const KernelSource& source, std::span<const std::string> entries) override {
    std::vector<std::unique_ptr<LoadedKernel>> kernels;
    for (HostKernel& code :
         compileHostKernels(hostCompiler(), compileRequest(source), entries, cacheFor(source))) {
      kernels.push_back(std::make_unique<CpuKernel>(std::move(code)));
    }
    return kernels;
  }

  void launch(const LoadedKernel& kernel, const LaunchShape& shape, std::span<void* const> args,
              Stream, Cancellation* cancellation) override {
    const auto& loaded = static_cast<const CpuKernel&>(kernel);
    int64_t tasks = tasksOf(shape, loaded.name());
    const long grid[3] = {shape.grid[0], shape.grid[1], shape.grid[2]};
    if (task_order.load(std::memory_order_relaxed) == CpuTaskOrder::Reverse) {
      for (int64_t task = tasks; task-- > 0;) {
        loaded.entry()(args.data(), grid, task, task + 1);
      }
      return;
    }
    auto run = [&](int64_t first, int64_t last) { loaded.entry()(args.data(), grid, first, last); };
    if (shape.bytes >= 0 && shape.bytes < kParallelBytes) {
      return run(0, tasks);
    }
    cpuThreads().parallelFor(tasks, run, cancellation);
  }

 private:
  static DiskCache* cacheFor(const KernelSource& source) {
    return source.cached ? processDiskCache() : nullptr;
  }

  DeviceProperties properties_;
  CpuMemory memory_;
};

}  // namespace

std::string cpuBinaryKey(const KernelSource& source) {
  return text(hostCompiler().identity, "\n", join(compileFlags(source), " "), "\n", cpuIdentity());
}

std::string compileCpuBinary(const KernelSource& source, std::string* log) {
  return compileHostText(hostCompiler(), compileRequest(source), log);
}

std::unique_ptr<LoadedKernel> loadCpuBinary(const KernelSource& source, std::string_view bytes) {
  HostKernel code;
  code.object = std::make_shared<SharedObject>(loadSharedObject(bytes));
  code.symbol = source.entry;
  return std::make_unique<CpuKernel>(std::move(code));
}

void setCpuTaskOrder(CpuTaskOrder order) { task_order.store(order, std::memory_order_relaxed); }

Device& cpuDevice() {
  static CpuDevice* device =
      new CpuDevice;  // never destroyed: other static objects may still hold its memory
  return *device;
}

}  // namespace nvfuser
