#include <fuzz/library/stages.h>

#include <exception>

#include <fuzz/kernel_interpreter/interpreting_device.h>
#include <runtime/cpu/cpu_device.h>
#include <support/text.h>

namespace nvfuser::fuzz {

std::vector<Device*> devicesOf(const RunOptions& options) {
  return options.interpret ? std::vector<Device*>{&interpretingCpu(), &interpretingCuda()}
                           : std::vector<Device*>{&cpuDevice(), &emulatedDevice()};
}

std::string nameOf(const Device& device) {
  return device.kind() == DeviceKind::Cpu ? "cpu" : "emulated";
}

void Stages::run(const std::string& name, const std::function<void()>& act) {
  progress_(name);
  try {
    act();
  } catch (const std::exception& e) {
    outcome.failures.push_back({false, name, e.what()});
  }
}

void Stages::onDevices(std::string_view kind,
                       const std::function<void(Device&, const std::string&)>& act) {
  for (Device* device : devicesOf(options_)) {
    const std::string name = text(kind, " ", nameOf(*device));
    if (options_.only.empty() || options_.only == name) {
      run(name, [&] { act(*device, name); });
    }
  }
}

}  // namespace nvfuser::fuzz
