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
  emulatedDevice().launch(kernel, shape, args, nullptr);
}

}  // namespace nvfuser
