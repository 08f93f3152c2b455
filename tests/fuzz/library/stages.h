/// The stages of a program's run: what one throws is a failure that has its name.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <fuzz/library/run_programs.h>
#include <runtime/device.h>

namespace nvfuser::fuzz {

/// The CPU and the emulated device, or those that interpret kernels in their places.
std::vector<Device*> devicesOf(const RunOptions& options);
/// "cpu" or "emulated".
std::string nameOf(const Device& device);

class Stages {
 public:
  Stages(const RunOptions& options, const std::function<void(std::string_view)>& progress)
      : options_(options), progress_(progress) {}

  void run(const std::string& name, const std::function<void()>& act);
  /// Each device is a stage, "calls cpu", say. Where options ask for one stage, it is the only one.
  void onDevices(std::string_view kind,
                 const std::function<void(Device& device, const std::string& name)>& act);
  bool isClean() const { return outcome.failures.empty(); }

  Outcome outcome;

 private:
  const RunOptions& options_;
  const std::function<void(std::string_view)>& progress_;
};

}  // namespace nvfuser::fuzz
