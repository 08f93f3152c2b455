/// Tensors of other frameworks, in and out, through DLPack.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <capi/nvfuser_c.h>
#include <nanobind/nanobind.h>
#include <runtime/dlpack.h>

namespace nvfuser::python {

namespace nb = nanobind;

struct FreeManaged {
  void operator()(DLManagedTensor* tensor) const {
    if (tensor->deleter != nullptr) {
      tensor->deleter(tensor);
    }
  }
};
using Managed = std::unique_ptr<DLManagedTensor, FreeManaged>;

/// An output for frameworks that have no own way in: it only speaks DLPack.
class Array {
 public:
  explicit Array(Managed tensor) : tensor_(std::move(tensor)) {}
  /// A capsule, once. Versioned if the consumer takes version 1 or later.
  nb::object dlpack(bool versioned);
  nb::tuple device() const;

 private:
  Managed tensor_;
};

/// The arguments of one execution.
class Inputs {
 public:
  explicit Inputs(const nb::sequence& inputs);
  Inputs(const Inputs&) = delete;
  Inputs& operator=(const Inputs&) = delete;

  /// Executes, with the interpreter's lock released; hands the inputs over, so it works once.
  std::vector<Managed> run(nvf_fusion* fusion, int64_t output_count);
  /// A tensor of the framework that the first input tensor belongs to; without one, of PyTorch if
  /// that was imported, else of NumPy.
  nb::object toFramework(Managed output) const;

 private:
  void add(nb::handle input);

  std::vector<nvf_argument> arguments_;
  std::vector<nb::object> capsules_;
  std::string framework_;
};

}  // namespace nvfuser::python
