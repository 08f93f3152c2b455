#include <runtime/cuda/cuda_device.h>

#include <memory>
#include <mutex>
#include <unordered_map>

#include <runtime/cuda/cubin_cache.h>
#include <runtime/cuda/cuda_kernel.h>
#include <runtime/cuda/device_properties.h>
#include <runtime/cuda/driver.h>
#include <runtime/cuda/driver_scopes.h>
#include <runtime/cuda/encode_tensor_map.h>
#include <runtime/cuda/start_kernel.h>
#include <runtime/kernel_cache/process_cache.h>
#include <runtime/launch_help.h>
#include <support/error.h>

namespace nvfuser {

using cuda::ContextScope;
using cuda::DeviceAttribute;
using cuda::DevicePointer;
using cuda::Driver;
using cuda::EventPair;
using cuda::StreamHandle;
using cuda::throwIfFailed;

namespace {

constexpr size_t kMostStanding = 64;  ///< streams whose words are kept: a program may make many
constexpr size_t kPoolKeepsOneIn =
    16;  ///< the pool keeps up to this part of the card for the next allocation

DevicePointer pointer(const void* data) { return reinterpret_cast<DevicePointer>(data); }
StreamHandle handle(Stream stream) { return static_cast<StreamHandle>(stream); }

class CudaDevice final : public Device {
 public:
  CudaDevice(const Driver& driver, int index) : driver_(driver), index_(index) {
    throwIfFailed(driver, driver.DeviceGet(&id_, index), "cuDeviceGet");
    properties_ = cuda::readProperties(driver, id_);
    // The primary context is the one that the CUDA runtime, and so PyTorch, uses: pointers and
    // streams are shared. It is never released: kernels and memory may live as long as the process.
    throwIfFailed(driver, driver.DevicePrimaryCtxRetain(&context_, id_),
                  "cuDevicePrimaryCtxRetain");
    makePool();
  }

  DeviceKind kind() const override { return DeviceKind::Cuda; }
  int index() const override { return index_; }
  const DeviceProperties& properties() const override { return properties_; }

  /// In the order of the stream, from a pool of our own, where the driver has pools; such memory
  /// may be allocated while the stream is captured into a graph. Otherwise cuMemAlloc and
  /// cuMemFree, which wait for the whole device.
  void* allocate(size_t bytes, Stream stream) override {
    if (bytes == 0) {
      return nullptr;
    }
    ContextScope scope(driver_, context_);
    DevicePointer result = 0;
    cuda::Result status = allocateOnce(&result, bytes, stream);
    if (status == cuda::kErrorOutOfMemory && pool_ && !capturing(stream)) {
      driver_.CtxSynchronize();  // releases that the device has not come to yet
      driver_.MemPoolTrimTo(pool_, 0);
      status = allocateOnce(&result, bytes, stream);
    }
    if (status == cuda::kErrorOutOfMemory) {
      userError("allocate: no memory left on ", properties_.name, " for ", bytes, " bytes (",
                properties_.memory_bytes, " in all); ", describe(driver_, status));
    }
    throwIfFailed(driver_, status, pool_ ? "cuMemAllocFromPoolAsync" : "cuMemAlloc");
    return reinterpret_cast<void*>(result);
  }

  void* standingWords(Stream stream) override {
    ContextScope scope(driver_, context_);
    unsigned long long id = 0;
    if (driver_.StreamGetId == nullptr || capturing(stream) ||
        driver_.StreamGetId(handle(stream), &id) != cuda::kSuccess) {
      return nullptr;
    }
    const std::lock_guard lock(standing_mutex_);
    const auto found = standing_.find(id);
    if (found != standing_.end()) {
      return found->second;
    }
    if (standing_.size() == kMostStanding) {
      return nullptr;
    }
    void* words = allocate(2 * kStandingBytes, stream);
    fillBytes(words, 0, 2 * kStandingBytes, stream);
    return standing_[id] = words;
  }

  void release(void* data, Stream stream) override {
    if (!data) {
      return;
    }
    ContextScope scope(driver_, context_);
    cuda::Result status = pool_ ? driver_.MemFreeAsync(pointer(data), handle(stream))
                                : driver_.MemFree(pointer(data));
    if (status == cuda::kErrorDeinitialized) {
      return;  // the process is ending
    }
    throwIfFailed(driver_, status, pool_ ? "cuMemFreeAsync" : "cuMemFree");
  }

  void copyFromHost(void* dst, const void* src, size_t bytes, Stream stream) override {
    if (bytes == 0) {
      return;
    }
    ContextScope scope(driver_, context_);
    throwIfFailed(driver_, driver_.MemcpyHtoDAsync(pointer(dst), src, bytes, handle(stream)),
                  "cuMemcpyHtoDAsync");
  }
  /// The bytes are there on return.
  void copyToHost(void* dst, const void* src, size_t bytes, Stream stream) override {
    if (bytes == 0) {
      return;
    }
    ContextScope scope(driver_, context_);
    throwIfFailed(driver_, driver_.MemcpyDtoHAsync(dst, pointer(src), bytes, handle(stream)),
                  "cuMemcpyDtoHAsync");
    throwIfFailed(driver_, driver_.StreamSynchronize(handle(stream)), "cuStreamSynchronize");
  }
  void copyWithin(void* dst, const void* src, size_t bytes, Stream stream) override {
    if (bytes == 0) {
      return;
    }
    ContextScope scope(driver_, context_);
    throwIfFailed(driver_,
                  driver_.MemcpyDtoDAsync(pointer(dst), pointer(src), bytes, handle(stream)),
                  "cuMemcpyDtoDAsync");
  }
  void fillBytes(void* dst, unsigned char value, size_t bytes, Stream stream) override {
    if (bytes == 0) {
      return;
    }
    ContextScope scope(driver_, context_);
    throwIfFailed(driver_, driver_.MemsetD8Async(pointer(dst), value, bytes, handle(stream)),
                  "cuMemsetD8Async");
  }
  void synchronize(Stream stream) override {
    ContextScope scope(driver_, context_);
    throwIfFailed(driver_, driver_.StreamSynchronize(handle(stream)), "cuStreamSynchronize");
  }

  bool obeysDeadline() const override { return false; }  // NVRTC has no way to be stopped

  std::unique_ptr<LoadedKernel> compile(const KernelSource& source) override {
    return std::move(compileEntries(source, std::span(&source.entry, 1)).front());
  }

  std::vector<std::unique_ptr<LoadedKernel>> compileEntries(
      const KernelSource& source, std::span<const std::string> entries) override {
    const std::string arch = cudaArchitecture(properties_, source.specific);
    DiskCache* cache = source.cached ? processDiskCache() : nullptr;
    const cuda::CompiledCubin compiled = cachedCubin(source, arch, cache);
    if (compiled.from_cache) {
      try {
        return loadAll(compiled, entries);
      } catch (const std::exception&) {  // the driver refuses what it once took: a miss
      }
      return loadAll(cachedCubin(source, arch, cache, /*lookup=*/false), entries);
    }
    return loadAll(compiled, entries);
  }

  std::unique_ptr<CudaKernel> load(const KernelSource& source, std::string_view cubin,
                                   std::string ptx) {
    ContextScope scope(driver_, context_);
    return std::make_unique<CudaKernel>(driver_, context_, source.entry, std::string(cubin),
                                        std::move(ptx));
  }

  void describeTensor(TensorMapArgument& map) override {
    map.fits = map.fits != 0 && properties_.major >= 9 && cuda::encodeTensorMap(driver_, map);
  }

  void launch(const LoadedKernel& kernel, const LaunchShape& shape, std::span<void* const> args,
              Stream stream, Cancellation*) override {
    const auto& loaded = static_cast<const CudaKernel&>(kernel);
    check(loaded.context() == context_, "a kernel is launched on the device it was compiled for");
    if (!checkLaunch(loaded, properties_, shape)) {
      return;
    }
    ContextScope scope(driver_, context_);
    loaded.allowSharedBytes(shape.shared_bytes);
    if (shape.cooperative) {
      checkResident(loaded, shape);
    }
    cuda::startKernel(driver_, loaded, shape, args, handle(stream));
  }

  std::vector<double> timeEach(const std::function<void()>& work, int repeats,
                               Stream stream) override {
    ContextScope scope(driver_, context_);
    std::vector<std::unique_ptr<EventPair>> events;
    for (int i = 0; i < repeats; i++) {
      events.push_back(std::make_unique<EventPair>(driver_));
    }
    for (auto& pair : events) {
      throwIfFailed(driver_, driver_.EventRecord(pair->begin, handle(stream)), "cuEventRecord");
      work();
      throwIfFailed(driver_, driver_.EventRecord(pair->end, handle(stream)), "cuEventRecord");
    }
    std::vector<double> times;
    for (auto& pair : events) {
      throwIfFailed(driver_, driver_.EventSynchronize(pair->end), "cuEventSynchronize");
      float ms = 0;
      throwIfFailed(driver_, driver_.EventElapsedTime(&ms, pair->begin, pair->end),
                    "cuEventElapsedTime");
      times.push_back(ms);
    }
    return times;
  }

  int blocksPerMultiprocessor(const CudaKernel& kernel, int threads, int64_t shared_bytes) {
    ContextScope scope(driver_, context_);
    kernel.allowSharedBytes(shared_bytes);
    int blocks = 0;
    throwIfFailed(driver_,
                  driver_.OccupancyMaxActiveBlocksPerMultiprocessor(
                      &blocks, kernel.function(), threads, static_cast<size_t>(shared_bytes)),
                  "cuOccupancyMaxActiveBlocksPerMultiprocessor", kernel.name());
    return blocks;
  }

 private:
  std::vector<std::unique_ptr<LoadedKernel>> loadAll(const cuda::CompiledCubin& compiled,
                                                     std::span<const std::string> entries) {
    std::vector<std::unique_ptr<LoadedKernel>> kernels;
    for (const std::string& entry : entries) {
      KernelSource one;
      one.entry = entry;
      std::unique_ptr<CudaKernel> kernel = load(one, compiled.cubin, compiled.ptx);
      kernel->resources_.compile_ms = compiled.ms;
      kernel->resources_.from_cache = compiled.from_cache;
      if (entries.size() == 1) {  // of several nobody can say whose they are
        kernel->resources_.log = compiled.log;
        if (compiled.spill_bytes >= 0) {
          kernel->resources_.spill_bytes = compiled.spill_bytes;
        }
      }
      kernels.push_back(std::move(kernel));
    }
    return kernels;
  }

  /// Our own pool: changing the threshold of the default one would change what others in the
  /// process see.
  void makePool() {
    int supported = 0;
    if (driver_.DeviceGetAttribute(&supported, DeviceAttribute::MemoryPoolsSupported, id_) !=
            cuda::kSuccess ||
        !supported) {
      return;
    }
    if (!driver_.MemPoolCreate || !driver_.MemAllocFromPoolAsync || !driver_.MemFreeAsync ||
        !driver_.MemPoolSetAttribute || !driver_.MemPoolTrimTo) {
      return;
    }
    cuda::MemoryPoolProperties wanted{};
    wanted.allocation_type = 1;
    wanted.location_type = 1;
    wanted.location_id = index_;
    if (driver_.MemPoolCreate(&pool_, &wanted) != cuda::kSuccess) {
      pool_ = nullptr;
      return;
    }
    uint64_t keep = static_cast<uint64_t>(properties_.memory_bytes) / kPoolKeepsOneIn;
    driver_.MemPoolSetAttribute(pool_, cuda::kPoolAttributeReleaseThreshold, &keep);
  }

  cuda::Result allocateOnce(DevicePointer* result, size_t bytes, Stream stream) {
    return pool_ ? driver_.MemAllocFromPoolAsync(result, bytes, pool_, handle(stream))
                 : driver_.MemAlloc(result, bytes);
  }

  bool capturing(Stream stream) {
    int status = 0;
    return driver_.StreamIsCapturing(handle(stream), &status) != cuda::kSuccess || status != 0;
  }

  /// A grid barrier waits for blocks that are not resident for ever: refuse the launch.
  void checkResident(const CudaKernel& kernel, const LaunchShape& shape) {
    auto threads = static_cast<int>(shape.block[0] * shape.block[1] * shape.block[2]);
    int64_t resident = int64_t{properties_.multiprocessors} *
                       blocksPerMultiprocessor(kernel, threads, shape.shared_bytes);
    int64_t blocks = shape.grid[0] * shape.grid[1] * shape.grid[2];
    if (blocks > resident) {
      launchError("cooperative launch of ", kernel.name(), ": the grid has ", blocks,
                  " blocks, but ", properties_.name, " holds ", resident, " blocks of ", threads,
                  " threads with ", shape.shared_bytes, " bytes of shared memory at a time",
                  launch_help::kResident);
    }
  }

  const Driver& driver_;
  int index_;
  cuda::DeviceId id_ = 0;
  cuda::Context context_ = nullptr;
  cuda::MemoryPool pool_ = nullptr;
  std::mutex standing_mutex_;
  std::unordered_map<unsigned long long, void*> standing_;  ///< by the stream's id; never released
  DeviceProperties properties_;
};

}  // namespace

std::unique_ptr<LoadedKernel> loadCudaBinary(Device& device, const KernelSource& source,
                                             std::string_view cubin, std::string ptx) {
  check(device.kind() == DeviceKind::Cuda, "a cubin is loaded on a CUDA device");
  return static_cast<CudaDevice&>(device).load(source, cubin, std::move(ptx));
}

int cudaBlocksPerMultiprocessor(Device& device, const LoadedKernel& kernel, int threads,
                                int64_t shared_bytes) {
  check(device.kind() == DeviceKind::Cuda, "occupancy is asked of a CUDA device");
  return static_cast<CudaDevice&>(device).blocksPerMultiprocessor(
      static_cast<const CudaKernel&>(kernel), threads, shared_bytes);
}

int cudaDeviceCount() {
  const Driver* driver = cuda::driver();
  int count = 0;
  return driver && driver->DeviceGetCount(&count) == cuda::kSuccess ? count : 0;
}

Device* cudaDevice(int index, std::string* why) {
  const Driver* driver = cuda::driver(why);
  if (!driver) {
    return nullptr;
  }
  int count = cudaDeviceCount();
  if (index < 0 || index >= count) {
    if (why) {
      *why = text("there is no CUDA device ", index, ": the driver has ", count);
    }
    return nullptr;
  }
  struct Slot {
    std::once_flag once;
    std::unique_ptr<CudaDevice> device;
    std::string why;
  };
  static auto* slots = new std::vector<Slot>(static_cast<size_t>(count));
  Slot& slot = (*slots)[static_cast<size_t>(index)];
  std::call_once(slot.once, [&] {
    try {
      slot.device = std::make_unique<CudaDevice>(*driver, index);
    } catch (const UserError& error) {
      slot.why = error.what();
    }
  });
  if (!slot.device && why) {
    *why = slot.why;
  }
  return slot.device.get();
}

}  // namespace nvfuser
