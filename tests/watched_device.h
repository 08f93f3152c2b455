/// A device that lets another one do everything, and counts: for tests of who compiles and
/// allocates what, and when.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include <runtime/device.h>

namespace nvfuser {

class WatchedDevice final : public Device {
 public:
  /// Never destroyed: its kernels stay in the process's table, under its address.
  static WatchedDevice& over(Device& inner) {
    static std::mutex mutex;
    static auto* all = new std::vector<std::unique_ptr<WatchedDevice>>;
    const std::lock_guard<std::mutex> lock(mutex);
    all->push_back(std::make_unique<WatchedDevice>(inner));
    return *all->back();
  }
  explicit WatchedDevice(Device& inner) : inner_(inner) {}

  std::atomic<int> texts{0};    ///< that were compiled
  std::atomic<int> kernels{0};  ///< in them
  std::atomic<int> allocations{0};
  std::atomic<int> launches{0};
  std::atomic<int> held{0};  ///< blocks of memory

  /// What it is asked to do.
  enum class Ask : uint8_t { Allocate, Copy, Compile, Launch };
  /// Called before it does it; may throw instead.
  std::function<void(Ask)> before;

  using Compile = std::function<std::vector<std::unique_ptr<LoadedKernel>>(
      const KernelSource& source, std::span<const std::string> entries)>;
  /// Instead of the other device's compiler.
  Compile compiler;
  /// What it says it is, instead of what the other one is.
  std::optional<DeviceKind> played_kind;
  std::atomic<Stream> last_stream{nullptr};  ///< of a launch

  /// The most compilations that ran at the same time.
  int mostAtOnce() const { return most_at_once_; }
  /// Those that run now.
  int atOnce() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return at_once_;
  }
  /// From now on each compilation waits for another to begin beside it, for two seconds at most.
  void waitForCompany() { company_ = true; }
  /// From now on nothing stops its compiler at a deadline.
  void ignoreDeadlines() { obeys_deadline_ = false; }
  bool obeysDeadline() const override { return obeys_deadline_; }
  /// From now on compilations wait until the gate is opened.
  void closeGate() { gate_closed_ = true; }
  void openGate() {
    const std::lock_guard<std::mutex> lock(mutex_);
    gate_closed_ = false;
    changed_.notify_all();
  }

  DeviceKind kind() const override { return played_kind.value_or(inner_.kind()); }
  int index() const override { return inner_.index(); }
  const DeviceProperties& properties() const override { return inner_.properties(); }
  void* allocate(size_t bytes, Stream stream) override {
    ask(Ask::Allocate);
    ++allocations;
    void* const data = inner_.allocate(bytes, stream);
    held += data != nullptr;
    return data;
  }
  void release(void* data, Stream stream) override {
    held -= data != nullptr;
    inner_.release(data, stream);
  }
  void copyFromHost(void* dst, const void* src, size_t bytes, Stream stream) override {
    ask(Ask::Copy);
    inner_.copyFromHost(dst, src, bytes, stream);
  }
  void copyToHost(void* dst, const void* src, size_t bytes, Stream stream) override {
    ask(Ask::Copy);
    inner_.copyToHost(dst, src, bytes, stream);
  }
  void copyWithin(void* dst, const void* src, size_t bytes, Stream stream) override {
    ask(Ask::Copy);
    inner_.copyWithin(dst, src, bytes, stream);
  }
  void fillBytes(void* dst, unsigned char value, size_t bytes, Stream stream) override {
    ask(Ask::Copy);
    inner_.fillBytes(dst, value, bytes, stream);
  }
  void synchronize(Stream stream) override { inner_.synchronize(stream); }
  std::unique_ptr<LoadedKernel> compile(const KernelSource& source) override {
    return std::move(compileEntries(source, std::span(&source.entry, 1)).front());
  }
  std::vector<std::unique_ptr<LoadedKernel>> compileEntries(
      const KernelSource& source, std::span<const std::string> entries) override {
    ask(Ask::Compile);
    ++texts;
    kernels += static_cast<int>(entries.size());
    {
      std::unique_lock<std::mutex> lock(mutex_);
      most_at_once_ = std::max(most_at_once_.load(), ++at_once_);
      changed_.notify_all();
      if (company_) {
        changed_.wait_for(lock, std::chrono::seconds(2), [&] { return most_at_once_ > 1; });
      }
      changed_.wait(lock, [&] { return !gate_closed_; });
    }
    struct Leave {
      WatchedDevice& device;
      ~Leave() {
        const std::lock_guard<std::mutex> lock(device.mutex_);
        --device.at_once_;
      }
    } leave{*this};
    return compiler ? compiler(source, entries) : inner_.compileEntries(source, entries);
  }
  void launch(const LoadedKernel& kernel, const LaunchShape& shape, std::span<void* const> args,
              Stream stream, Cancellation* cancellation) override {
    ask(Ask::Launch);
    ++launches;
    last_stream = stream;
    inner_.launch(kernel, shape, args, stream, cancellation);
  }

 private:
  void ask(Ask what) {
    if (before) {
      before(what);
    }
  }

  Device& inner_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int at_once_ = 0;
  std::atomic<int> most_at_once_{0};
  std::atomic<bool> obeys_deadline_{true};
  std::atomic<bool> company_{false};
  std::atomic<bool> gate_closed_{false};
};

/// New ones over the devices that need no GPU.
inline std::vector<WatchedDevice*> watchedDevices() {
  return {&WatchedDevice::over(cpuDevice()), &WatchedDevice::over(emulatedDevice())};
}

/// Does `work`(0), …, `work`(count − 1) at the same time.
inline void onThreads(int count, const std::function<void(int)>& work) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back(work, i);
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

}  // namespace nvfuser
