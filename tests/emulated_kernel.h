/// Kernels written as text, and vectors for them, on the emulated device.
#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include <runtime/emulated/emulated.h>
#include <runtime/emulated/errors.h>
#include <snippet_text.h>

namespace nvfuser {

/// A vector in the device's memory.
template <typename T>
class DeviceVector {
 public:
  explicit DeviceVector(size_t count)
      : count_(count), data_(emulatedDevice().allocate(count * sizeof(T), nullptr)) {}
  explicit DeviceVector(const std::vector<T>& values) : DeviceVector(values.size()) {
    emulatedDevice().copyFromHost(data_, values.data(), count_ * sizeof(T), nullptr);
  }
  ~DeviceVector() { emulatedDevice().release(data_, nullptr); }
  DeviceVector(const DeviceVector&) = delete;
  DeviceVector& operator=(const DeviceVector&) = delete;

  std::vector<T> host() const {
    std::vector<T> values(count_);
    emulatedDevice().copyToHost(values.data(), data_, count_ * sizeof(T), nullptr);
    return values;
  }
  void** argument() { return &data_; }
  T* data() const { return static_cast<T*>(data_); }

 private:
  size_t count_;
  void* data_;
};

inline std::unique_ptr<LoadedKernel> compileText(const std::string& text,
                                                 const std::string& entry = "k") {
  return emulatedDevice().compile({.entry = entry, .text = text, .options = {}});
}

/// The same behind files of the device-side library, and what these need.
inline std::unique_ptr<LoadedKernel> compileWith(const std::vector<std::string>& files,
                                                 const std::string& body,
                                                 const std::string& entry = "k") {
  std::string text;
  std::set<std::string> seen;
  for (const std::string& file : files) {
    addSnippet(file, seen, text);
  }
  return compileText(text + body, entry);
}

inline void launch(const LoadedKernel& kernel, const LaunchShape& shape,
                   const std::vector<void*>& args) {
  emulatedDevice().launch(kernel, shape, args, nullptr, nullptr);
}

/// What the launch is found to do wrong; nothing when it is right.
inline std::vector<EmulationFinding> findings(const LoadedKernel& kernel, const LaunchShape& shape,
                                              const std::vector<void*>& args) {
  try {
    launch(kernel, shape, args);
  } catch (const EmulationError& error) {
    return error.findings();
  }
  return {};
}

inline bool has(const std::vector<EmulationFinding>& all, EmulationFinding::Kind kind,
                const std::string& words = "") {
  for (const EmulationFinding& finding : all) {
    if (finding.kind == kind && finding.message.find(words) != std::string::npos) {
      return true;
    }
  }
  return false;
}

/// Runs `body` in every order; the settings are as before afterwards.
template <typename Body>
void inEveryOrder(Body body) {
  EmulationSettings before = emulationSettings();
  for (EmulationOrder order :
       {EmulationOrder::Forward, EmulationOrder::Reverse, EmulationOrder::Random}) {
    for (uint64_t seed = 0; seed < (order == EmulationOrder::Random ? 3u : 1u); ++seed) {
      CAPTURE(static_cast<int>(order));
      CAPTURE(seed);
      setEmulationSettings({.order = order, .seed = seed});
      body();
    }
  }
  setEmulationSettings(before);
}

/// Small whole numbers in no order.
inline std::vector<float> ramp(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) {
    values[i] = static_cast<float>(static_cast<int>(i * 7 % 23) - 11);
  }
  return values;
}

/// `text` with the first `from` replaced.
inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace nvfuser
