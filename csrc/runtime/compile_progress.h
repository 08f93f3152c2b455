/// A line on the terminal while kernels are compiled for long:
///
///   nvfuser: compiling kernels, 3 of 8 done, 12 s
///
/// It stands there from the third second on, and is wiped out at the end. Where standard error is
/// no terminal nothing is written at all.
#pragma once

#include <chrono>
#include <cstddef>

namespace nvfuser {

class CompileProgress {
 public:
  using Clock = std::chrono::steady_clock;

  explicit CompileProgress(size_t kernels);
  ~CompileProgress();
  CompileProgress(const CompileProgress&) = delete;
  CompileProgress& operator=(const CompileProgress&) = delete;

  /// When `show` has something new to say; never, if nothing is to be shown.
  Clock::time_point next() const { return next_; }
  /// To be called at that time or earlier, as often as one likes.
  void show(size_t done);

 private:
  const size_t kernels_;
  const Clock::time_point begin_;
  Clock::time_point next_;
  bool is_shown_ = false;
};

}  // namespace nvfuser
