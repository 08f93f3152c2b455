#include <runtime/device.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include <runtime/emulated/emulated.h>
#include <runtime/emulated/engine.h>
#include <runtime/emulated/memory.h>
#include <runtime/emulated/module.h>
#include <runtime/launch_help.h>
#include <support/error.h>
#include <support/options.h>

namespace nvfuser {
namespace emulated {
namespace {

DeviceProperties makeProperties() {
  DeviceProperties properties;
  properties.name = "emulated CUDA (sm_90)";
  properties.major = 9;
  properties.minor = 0;
  properties.multiprocessors = 4;  // so that cooperative grids stay small
  properties.shared_bytes_per_block = 48 * 1024;
  properties.shared_bytes_per_block_optin = 227 * 1024;
  properties.shared_bytes_per_multiprocessor = 228 * 1024;
  properties.l2_bytes = int64_t{50} << 20;
  properties.memory_bytes = int64_t{16} << 30;
  return properties;
}

class EmulatedKernel final : public LoadedKernel {
 public:
  EmulatedKernel(std::shared_ptr<const Module> module, size_t text, std::string name)
      : module_(std::move(module)),
        text_(text),
        name_(std::move(name)),
        entry_(&module_->entry(text, name_)) {
    resources_.static_shared_bytes = static_cast<int64_t>(module_->sharedBytes());
    resources_.compile_ms = module_->compileMilliseconds();
    resources_.from_cache = module_->fromCache();
  }

  const KernelResources& resources() const override { return resources_; }
  std::string assembly(const std::string&) const override { return {}; }

  const Module& module() const { return *module_; }
  size_t textNumber() const { return text_; }
  const std::string& name() const { return name_; }
  const NvfKernelEntry& entry() const { return *entry_; }

 private:
  std::shared_ptr<const Module> module_;
  size_t text_;
  std::string name_;
  const NvfKernelEntry* entry_;
  KernelResources resources_;
};

EmulationSettings settingsOfEnvironment() {
  EmulationSettings settings;
  const std::string& value = Options::ofEnvironment().text(Setting::EmulationOrder);
  if (value == "reverse") {
    settings.order = EmulationOrder::Reverse;
  } else if (value == "random" || value.starts_with("random:")) {
    settings.order = EmulationOrder::Random;
    if (value.size() > 7) {
      settings.seed = std::strtoull(value.c_str() + 7, nullptr, 10);
    }
  }
  return settings;
}

class EmulatedDevice final : public Device {
 public:
  DeviceKind kind() const override { return DeviceKind::Emulated; }
  int index() const override { return 0; }
  const DeviceProperties& properties() const override { return properties_; }
  void setMultiprocessors(int count) { properties_.multiprocessors = count; }

  void* allocate(size_t bytes, Stream) override {
    std::scoped_lock lock(mutex_);
    if (memory_.bytesInUse() + static_cast<int64_t>(bytes) > properties_.memory_bytes) {
      userError("emulated CUDA: out of memory: ", bytes, " bytes asked for, ", memory_.bytesInUse(),
                " of ", properties_.memory_bytes, " in use");
    }
    return memory_.allocate(bytes, settings_.poison);
  }
  void release(void* data, Stream) override {
    std::scoped_lock lock(mutex_);
    memory_.release(data);
  }
  void copyFromHost(void* device_dst, const void* host_src, size_t bytes, Stream) override {
    if (bytes == 0) {
      return;
    }
    std::scoped_lock lock(mutex_);
    Region& region = regionOf(device_dst, bytes, "copy from the host");
    std::memcpy(device_dst, host_src, bytes);
    region.setInit(offsetIn(region, device_dst), bytes, Region::Written);
  }
  void copyToHost(void* host_dst, const void* device_src, size_t bytes, Stream) override {
    if (bytes == 0) {
      return;
    }
    std::scoped_lock lock(mutex_);
    regionOf(device_src, bytes, "copy to the host");
    std::memcpy(host_dst, device_src, bytes);
  }
  void copyWithin(void* dst, const void* src, size_t bytes, Stream) override {
    if (bytes == 0) {
      return;
    }
    std::scoped_lock lock(mutex_);
    Region& from = regionOf(src, bytes, "copy within the device");
    Region& to = regionOf(dst, bytes, "copy within the device");
    std::memmove(dst, src, bytes);
    size_t from_offset = offsetIn(from, src), to_offset = offsetIn(to, dst);
    for (size_t i = 0; i < bytes; ++i) {  // what was not written stays so
      to.setInit(to_offset + i, 1,
                 from.allWritten(from_offset + i, 1) ? Region::Written : Region::Unwritten);
    }
  }
  void fillBytes(void* dst, unsigned char value, size_t bytes, Stream) override {
    if (bytes == 0) {
      return;
    }
    std::scoped_lock lock(mutex_);
    Region& region = regionOf(dst, bytes, "fill");
    std::memset(dst, value, bytes);
    region.setInit(offsetIn(region, dst), bytes, Region::Written);
  }
  void synchronize(Stream) override {}

  std::unique_ptr<LoadedKernel> compile(const KernelSource& source) override {
    return std::make_unique<EmulatedKernel>(moduleOf(source), 0, source.entry);
  }

  std::vector<std::unique_ptr<LoadedKernel>> compileEntries(
      const KernelSource& source, std::span<const std::string> entries) override {
    std::shared_ptr<const Module> module = moduleOf(source);
    std::vector<std::unique_ptr<LoadedKernel>> kernels;
    for (const std::string& entry : entries) {
      kernels.push_back(std::make_unique<EmulatedKernel>(module, 0, entry));
    }
    return kernels;
  }

  std::vector<std::unique_ptr<LoadedKernel>> compileBatch(std::span<const KernelSource> sources) {
    std::vector<std::string> texts;
    bool cached = true;
    for (const KernelSource& source : sources) {
      texts.push_back(source.text);
      cached = cached && source.cached;
    }
    auto module = std::make_shared<const Module>(texts, cached, sources.front());
    std::vector<std::unique_ptr<LoadedKernel>> kernels;
    for (size_t i = 0; i < sources.size(); ++i) {
      kernels.push_back(std::make_unique<EmulatedKernel>(module, i, sources[i].entry));
    }
    return kernels;
  }

  void launch(const LoadedKernel& kernel, const LaunchShape& shape, std::span<void* const> args,
              Stream, Cancellation*) override {
    const auto* emulated = dynamic_cast<const EmulatedKernel*>(&kernel);
    if (!emulated) {
      userError("emulated CUDA: the kernel was loaded by another device");
    }
    checkShape(*emulated, shape, args.size());
    std::scoped_lock lock(mutex_);
    engine_.run({&emulated->module(), emulated->textNumber(), &emulated->entry(), emulated->name(),
                 shape, args},
                settings_);
  }

  void setSettings(const EmulationSettings& settings) {
    std::scoped_lock lock(mutex_);
    settings_ = settings;
  }
  EmulationSettings settings() {
    std::scoped_lock lock(mutex_);
    return settings_;
  }
  void adopt(void* data, size_t bytes) {
    std::scoped_lock lock(mutex_);
    memory_.adopt(data, bytes);
  }
  void forget(void* data) {
    std::scoped_lock lock(mutex_);
    memory_.forget(data);
  }

 private:
  static size_t offsetIn(const Region& region, const void* address) {
    return static_cast<size_t>(static_cast<const char*>(address) - region.data);
  }

  Region& regionOf(const void* address, size_t bytes, const char* what) {
    Region* region = memory_.find(address);
    auto offset = region ? static_cast<const char*>(address) - region->data : 0;
    if (!region || region->freed || offset < 0 || bytes > region->bytes ||
        static_cast<size_t>(offset) > region->bytes - bytes) {
      userError("emulated CUDA: ", what, ": ", bytes, " bytes do not lie in memory of this device");
    }
    return *region;
  }

  /// Modules by text, for as long as a kernel uses them: a text with many kernels compiles once.
  std::shared_ptr<const Module> moduleOf(const KernelSource& source) {
    const std::string& text = source.text;
    {
      std::scoped_lock lock(modules_mutex_);
      auto known = modules_.find(text);
      if (known != modules_.end()) {
        if (auto module = known->second.lock()) {
          return module;
        }
      }
    }
    auto module = std::make_shared<const Module>(std::span(&text, 1), source.cached, source);
    std::scoped_lock lock(modules_mutex_);
    std::erase_if(modules_, [](const auto& entry) { return entry.second.expired(); });
    modules_[text] = module;
    return module;
  }

  void checkShape(const EmulatedKernel& kernel, const LaunchShape& shape, size_t arg_count) const {
    auto refuse = [&](const auto&... why) {
      launchError("launch of ", kernel.name(), ": ", why...);
    };
    int64_t threads = 1, blocks = 1, members = 1;
    for (int axis = 0; axis < 3; ++axis) {
      if (shape.block[axis] < 1 || shape.block[axis] > properties_.max_block[axis]) {
        refuse("block extent ", shape.block[axis], " is outside 1…", properties_.max_block[axis],
               " of threadIdx.", "xyz"[axis],
               launch_help::ofExtent(shape.block[axis], launch_help::kBlockExtent));
      }
      if (shape.grid[axis] < 1 || shape.grid[axis] > properties_.max_grid[axis]) {
        refuse("grid extent ", shape.grid[axis], " is outside 1…", properties_.max_grid[axis],
               " of blockIdx.", "xyz"[axis],
               launch_help::ofExtent(shape.grid[axis], launch_help::kGridExtent));
      }
      if (shape.cluster[axis] < 1 || shape.grid[axis] % shape.cluster[axis] != 0) {
        refuse("cluster extent ", shape.cluster[axis], " does not divide grid extent ",
               shape.grid[axis], " of blockIdx.", "xyz"[axis], launch_help::kCluster);
      }
      threads *= shape.block[axis];
      blocks *= shape.grid[axis];
      members *= shape.cluster[axis];
    }
    if (threads > properties_.max_threads_per_block) {
      refuse(threads, " threads a block, at most ", properties_.max_threads_per_block,
             launch_help::kThreads);
    }
    if (blocks > INT32_MAX) {
      refuse(blocks, " blocks are too many to emulate, at most ", INT32_MAX,
             "; use smaller inputs, or a GPU");
    }
    if (members > 8) {
      refuse(members, " blocks a cluster, at most 8", launch_help::kCluster);
    }
    int64_t shared = shape.shared_bytes + kernel.resources().static_shared_bytes;
    if (shape.shared_bytes < 0 || shared > properties_.shared_bytes_per_block_optin) {
      refuse(shared, " bytes of shared memory, at most ", properties_.shared_bytes_per_block_optin,
             launch_help::kSharedBytes);
    }
    if (shape.cooperative) {
      if (members > 1) {
        refuse("a cooperative launch with clusters is not emulated; use grid barriers or clusters");
      }
      int64_t per_multiprocessor =
          std::min({int64_t{32}, properties_.max_threads_per_multiprocessor / threads,
                    properties_.shared_bytes_per_multiprocessor / (shared + 1024)});
      int64_t resident = per_multiprocessor * properties_.multiprocessors;
      if (blocks > resident) {
        refuse(blocks, " blocks of a cooperative launch, but only ", resident, " can be resident",
               launch_help::kResident);
      }
    }
    if (arg_count != static_cast<size_t>(kernel.entry().parameter_count)) {
      refuse(arg_count, " arguments for ", kernel.entry().parameter_count, " parameters");
    }
  }

  DeviceProperties properties_ = makeProperties();
  std::mutex mutex_;
  EmulationSettings settings_ = settingsOfEnvironment();
  GlobalMemory memory_;
  Engine engine_{memory_};
  std::mutex modules_mutex_;
  std::map<std::string, std::weak_ptr<const Module>> modules_;
};

EmulatedDevice& device() {
  static auto* the_device =
      new EmulatedDevice;  // never destroyed: kernels and buffers may outlive static objects
  return *the_device;
}

}  // namespace
}  // namespace emulated

Device& emulatedDevice() { return emulated::device(); }

void setEmulationSettings(const EmulationSettings& settings) {
  emulated::device().setSettings(settings);
}
void emulateMultiprocessors(int count) { emulated::device().setMultiprocessors(count); }
EmulationSettings emulationSettings() { return emulated::device().settings(); }
void registerEmulatedMemory(void* data, size_t bytes) { emulated::device().adopt(data, bytes); }
void forgetEmulatedMemory(void* data) { emulated::device().forget(data); }
std::vector<std::unique_ptr<LoadedKernel>> compileEmulatedBatch(
    std::span<const KernelSource> sources) {
  return emulated::device().compileBatch(sources);
}

}  // namespace nvfuser
