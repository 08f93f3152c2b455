/// Tensors of other frameworks, in and out, through DLPack: PyTorch's exchange table (2.10 and
/// later) where there is one, __dlpack__ otherwise.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <runtime/executor_kernel_arg.h>

namespace nvfuser::python {

namespace nb = nanobind;

/// An output for frameworks that have no own way in: it only speaks DLPack.
class Array {
 public:
  explicit Array(Tensor tensor) : tensor_(std::move(tensor)) {}
  /// A capsule; versioned if the consumer takes version 1 or later.
  nb::object dlpack(bool versioned) const;
  nb::tuple device() const;

 private:
  Tensor tensor_;
};

/// The arguments of one call. They are kept alive by the tensors in `holder`.
class Inputs {
 public:
  /// A sequence of tensors and numbers; lists and tuples in it are flattened. Throws
  /// `nb::type_error` for what is neither, `UserError` for tensors that cannot be read (fake,
  /// sparse, of two frameworks).
  explicit Inputs(nb::handle inputs);

  const KernelArgumentHolder& holder() const { return holder_; }
  /// A tensor of the framework that the first input tensor belongs to; without one, of PyTorch if
  /// that was imported, else of NumPy. What lies in read-only memory is copied first.
  nb::object toFramework(const Tensor& output) const;
  /// Throws `UserError` if an input that `fusion` writes to cannot be written.
  void requireWritable(const Fusion& fusion) const;
  /// Before and after the call: work of PyTorch's current stream is finished first, and ours is
  /// before PyTorch goes on, unless that stream is the device's default one.
  void waitForProducers() const;
  void finish() const;

 private:
  enum class Framework : uint8_t { None, Torch, Numpy, Jax, Cupy, Other };

  void add(nb::handle input);
  bool addNumber(nb::handle input);
  void addTensor(nb::handle input);
  void addTorch(nb::handle input);
  void addForeign(nb::handle input);
  void settle(Framework framework, nb::handle input);
  void protect(const Tensor& tensor, const char* why);

  KernelArgumentHolder holder_;
  Framework framework_ = Framework::None;
  std::string framework_name_;
  /// Positions of inputs that must not be written, and why.
  std::vector<std::pair<size_t, const char*>> read_only_;
  Device* other_stream_ =
      nullptr;  ///< the device, where PyTorch's current stream is not its default
};

}  // namespace nvfuser::python
