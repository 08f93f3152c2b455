/// The border between the compiler and a machine: what every device can do, and nothing about
/// fusions.
///
/// Three implementations live in folders beside this file: `cpu/` (generated host C++, the
/// caller's threads), `emulated/` (the very CUDA text, run on the host with checks) and `cuda/`
/// (the driver and NVRTC, opened at run time).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

// Before `Stream` below: GCC says of ParallelType::Stream, if it comes later, that it shadows it.
#include <ir/type.h>
#include <support/device_properties.h>

namespace nvfuser {

class Cancellation;
struct TensorMapArgument;

namespace kir {
class Kernel;
}

/// A stream of the device; null is its default stream. For CUDA a `CUstream`, unused elsewhere.
using Stream = void*;

/// Extents of one launch. On the CPU `grid` are the tasks and `block` is all ones.
struct LaunchShape {
  int64_t grid[3] = {1, 1, 1};
  int64_t block[3] = {1, 1, 1};
  int64_t cluster[3] = {1, 1, 1};
  int64_t shared_bytes = 0;  ///< dynamic shared memory
  bool cooperative = false;  ///< all blocks resident at once (grid barriers)
  bool dependent = false;    ///< may start before the kernel in front of it in the stream has ended
  int64_t bytes = -1;        ///< of its tensors, whether threads are worth their start; −1: unknown
};

/// One kernel as text. CUDA text defines `extern "C" __global__ void entry(params…)`; host text
/// defines `extern "C" void entry(void* const* args, const long* grid, long first, long last)`,
/// which runs the blocks with linear index first ≤ b < last of a grid of grid[0] × grid[1] ×
/// grid[2] (x fastest).
struct KernelSource {
  std::string entry;
  std::string text;
  int max_registers = 0;             ///< 0: the compiler's choice
  int64_t max_threads = 0;           ///< largest block it will be launched with; 0: unknown
  std::vector<std::string> options;  ///< further compiler options
  bool specific = false;             ///< whether it has instructions of this architecture alone
  bool cached = true;                ///< whether compiled code may come from the disk, and go there
  double deadline_s = 120;           ///< for compiling it; 0: none
  /// Set when nobody wants it any more; null: that does not happen.
  std::shared_ptr<const std::atomic<bool>> unwanted = nullptr;
};

/// What the compiler said about a kernel; −1 where the device cannot tell.
struct KernelResources {
  int registers = -1;
  int64_t static_shared_bytes = -1;
  int64_t spill_bytes = -1;
  double compile_ms = 0;    ///< 0 if it was not compiled
  bool from_cache = false;  ///< compiled by an earlier process, or earlier in this one
  std::string log;
};

/// A kernel loaded on one device. Immutable; may be launched from several threads at once.
class LoadedKernel {
 public:
  virtual ~LoadedKernel() = default;
  virtual const KernelResources& resources() const = 0;
  /// Device assembly ("ptx", "sass"), empty where there is none.
  virtual std::string assembly(const std::string& kind) const = 0;
};

constexpr size_t kStandingBytes = 16384;

/// A device. All members may be called from several threads. Failures are thrown: `UserError` where
/// the caller can do something about it (launch shape beyond the limits, out of memory),
/// `CompileError` with the compiler's own words.
class Device {
 public:
  virtual ~Device() = default;
  virtual DeviceKind kind() const = 0;
  virtual int index() const = 0;
  virtual const DeviceProperties& properties() const = 0;

  /// Memory aligned to 256 bytes; `bytes` 0 gives a null pointer.
  virtual void* allocate(size_t bytes, Stream stream) = 0;
  /// Words that all launches of a stream share, since each leaves them as it found them
  /// (kir::Buffer::zeroed): `kStandingBytes` of tickets, and behind them as many of grid barriers.
  /// Null: this launch needs words of its own. So it does where the stream is captured: the graph
  /// may run beside other work of it.
  virtual void* standingWords(Stream) { return nullptr; }
  virtual void release(void* data, Stream stream) = 0;
  virtual void copyFromHost(void* device_dst, const void* host_src, size_t bytes,
                            Stream stream) = 0;
  virtual void copyToHost(void* host_dst, const void* device_src, size_t bytes, Stream stream) = 0;
  virtual void copyWithin(void* dst, const void* src, size_t bytes, Stream stream) = 0;
  virtual void fillBytes(void* dst, unsigned char value, size_t bytes, Stream stream) = 0;
  virtual void synchronize(Stream stream) = 0;

  /// Whether compiling ends by itself at the deadline, with a `CompileError`. Where it does not,
  /// a call that cannot wait leaves it behind (compile_kernels.h).
  virtual bool obeysDeadline() const { return true; }
  virtual std::unique_ptr<LoadedKernel> compile(const KernelSource& source) = 0;
  /// The kernel as a device takes it that runs the IR itself instead of its text; it refers to
  /// `kernel`. Null: text is compiled. (tests/fuzz/kernel_interpreter has such devices.)
  virtual std::shared_ptr<const LoadedKernel> loadIr(const kir::Kernel&) { return nullptr; }
  /// Whether it has kernels that exist as text alone, such as those of the device-side library.
  virtual bool takesText() const { return true; }
  /// Where kernels of one text are found on the disk each by itself: the kernel, if an earlier
  /// process compiled it, beside whatever others. Null: it is to be compiled.
  virtual std::unique_ptr<LoadedKernel> find(const KernelSource&) { return nullptr; }
  /// So that `find` finds it later; `source` is the kernel's own, whatever it was compiled with.
  virtual void keep(const KernelSource&, const LoadedKernel&) {}
  /// The kernels `entries` (instead of `source.entry`) of one text, from one run of the compiler.
  virtual std::vector<std::unique_ptr<LoadedKernel>> compileEntries(
      const KernelSource& source, std::span<const std::string> entries) = 0;
  /// `args[i]` points to the value of the i-th parameter (a pointer, an int32, an int64, a float,
  /// …). Asynchronous on CUDA; done on return elsewhere, where `cancellation` (null: none) may end
  /// it earlier.
  virtual void launch(const LoadedKernel& kernel, const LaunchShape& shape,
                      std::span<void* const> args, Stream stream, Cancellation* cancellation) = 0;

  /// Makes the descriptor of a tensor that the copy engine takes (`fits`), or says that it does
  /// not.
  virtual void describeTensor(TensorMapArgument&) {}

  /// Milliseconds of each of `repeats` runs, one after the other, of what `work` puts on the
  /// stream: by the device's own clock where it has one.
  virtual std::vector<double> timeEach(const std::function<void()>& work, int repeats,
                                       Stream stream);
};

/// The CPU of this process.
Device& cpuDevice();
/// The emulated CUDA device. See emulated/README.md for what it checks.
Device& emulatedDevice();
/// Number of CUDA devices; 0 without a driver.
int cudaDeviceCount();
/// The CUDA device, or null where there is none; `why` (if given) then says what is missing.
Device* cudaDevice(int index, std::string* why = nullptr);

}  // namespace nvfuser
