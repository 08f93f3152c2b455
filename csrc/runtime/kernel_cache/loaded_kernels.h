/// Kernels of this process by all that they were compiled from, so that what several fusions or
/// threads ask for is compiled once.
///
///   LoadedKernels::Ticket ticket = kernels.claim(key);
///   if (ticket.mine) { …compile…; kernels.finish(ticket, kernel); }   // or fail(ticket, error)
///   kernel = kernels.wait(ticket);
///
/// The first call to claim a key compiles it; the others wait for that call. A failure is told to
/// the calls that wait and then forgotten: the next claim tries again. `Cancelled` is the wish of
/// the compiling call alone: the calls that wait claim the key again. Where a compilation is given
/// up but cannot be stopped, all claims get the error until it ends after all; then they get the
/// kernel.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include <runtime/device.h>

namespace nvfuser {

/// All members may be called from several threads.
class LoadedKernels {
 public:
  using Kernel = std::shared_ptr<const LoadedKernel>;
  struct Slot;
  struct Ticket {
    std::shared_ptr<Slot> slot;
    bool mine = false;  ///< then `finish` or `fail` is due
  };

  /// Of the kernels that are not in use it keeps the `most_unused` that were used last.
  explicit LoadedKernels(size_t most_unused) : most_unused_(most_unused) {}

  Ticket claim(const std::string& key);
  /// A ticket of this call alone, for a kernel that is to be compiled anew.
  static Ticket claimAlone();
  void finish(const Ticket& ticket, Kernel kernel);
  void fail(const Ticket& ticket, std::exception_ptr error);
  /// Before `finish` or `fail`, which are still due.
  void giveUp(const Ticket& ticket, std::exception_ptr error);
  /// The kernel, when it is there; throws the error if it failed, and what `cancellation` (null:
  /// none) throws meanwhile.
  Kernel wait(const Ticket& ticket, Cancellation* cancellation);

  /// Number of kernels that are kept or being compiled.
  size_t size() const;

 private:
  void dropUnused();

  const size_t most_unused_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::unordered_map<std::string, std::shared_ptr<Slot>> slots_;
  uint64_t clock_ = 0;
};

/// Those of this process. Never destroyed: threads may still compile when it ends.
LoadedKernels& processLoadedKernels();

}  // namespace nvfuser
