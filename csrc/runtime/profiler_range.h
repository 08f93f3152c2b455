/// Ranges in the timeline of a profiler (NVTX, version 3's protocol): calls, plans, compilations.
///
/// A profiler that is attached names its library in NVTX_INJECTION64_PATH when the process starts;
/// that library fills in functions to push and pop. Without one, or with NVFUSER_DISABLE=nvtx, a
/// range is nothing, and its name is not even made.
#pragma once

#include <string>
#include <string_view>

namespace nvfuser {

class ProfilerRange {
 public:
  /// `what`: "run", "plan" or "compile"; `name()`: of what.
  template <typename Name>
  ProfilerRange(std::string_view what, const Name& name) : is_open_(isWanted()) {
    if (is_open_) {
      push(what, name());
    }
  }
  ~ProfilerRange() {
    if (is_open_) {
      pop();
    }
  }
  ProfilerRange(const ProfilerRange&) = delete;
  ProfilerRange& operator=(const ProfilerRange&) = delete;

 private:
  static bool isWanted();
  static void push(std::string_view what, const std::string& name);
  static void pop();

  const bool is_open_;
};

}  // namespace nvfuser
