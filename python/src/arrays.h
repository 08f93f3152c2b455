/// The arguments of one call, of any framework, and its outputs as arrays of the same kind: of
/// PyTorch (torch_arrays.h), CuPy (cupy_arrays.h), or through __dlpack__ (dlpack_capsules.h).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <runtime/executor_kernel_arg.h>
#include <runtime/run_context.h>

namespace nvfuser::python {

namespace nb = nanobind;

class Inputs {
 public:
  /// A sequence of tensors and numbers; lists and tuples in it are flattened. Throws
  /// `nb::type_error` for what is neither, `UserError` for tensors that cannot be read (fake,
  /// sparse, of two frameworks). The memory of the tensors in `holder` is there as long as this
  /// lives.
  explicit Inputs(nb::handle inputs);

  const KernelArgumentHolder& holder() const { return holder_; }
  /// The stream that the framework's own work goes to at this moment, and its memory. `device`:
  /// where a call without tensors runs; null for the default.
  RunContext context(const Device* device = nullptr) const;
  /// Whether the framework queues its work, and gives its memory away again, in that stream's
  /// order: JAX does neither, and of a framework that only speaks DLPack nothing is known.
  bool keepsStreamOrder() const {
    return framework_ != Framework::Jax && framework_ != Framework::Other;
  }
  /// Returns when what is queued there is done, for who reads the tensors himself.
  void waitFor(const RunContext& context) const;
  /// A tensor of the framework that the first input tensor belongs to; without one, of PyTorch if
  /// that was imported, else of NumPy. `context`: of the run that made the output. What lies in
  /// memory that must not be written is copied first.
  nb::object toFramework(Tensor output, const RunContext& context) const;
  /// Throws `UserError` if an input that `fusion` writes to cannot be written.
  void requireWritable(const Fusion& fusion) const;

 private:
  enum class Framework : uint8_t { None, Torch, Numpy, Jax, Cupy, Other };

  void add(nb::handle input);
  bool addNumber(nb::handle input);
  void addTensor(nb::handle input);
  void addTorch(nb::handle input);
  void addForeign(nb::handle input);
  void settle(Framework framework, nb::handle input);
  void protect(const Tensor& tensor, const char* why);
  Framework outputFramework() const;
  const Device* cudaDeviceOf(const Device* without_tensors) const;

  KernelArgumentHolder holder_;
  Framework framework_ = Framework::None;
  std::string framework_name_;
  /// Positions of inputs that must not be written, and why.
  std::vector<std::pair<size_t, const char*>> read_only_;
  /// Positions of inputs whose memory is only lent, and the objects that have it.
  std::vector<std::pair<size_t, nb::object>> lent_;
};

}  // namespace nvfuser::python
