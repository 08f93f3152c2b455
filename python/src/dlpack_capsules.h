/// Tensors in Python's form of DLPack: capsules, and objects with __dlpack__.
#pragma once

#include <utility>

#include <nanobind/nanobind.h>
#include <runtime/tensor.h>

namespace nvfuser::python {

namespace nb = nanobind;

/// The tensor as a capsule that its consumer empties; versioned for one that takes DLPack 1.0 and
/// later.
nb::object capsuleOf(const Tensor& tensor, bool versioned);

/// What a producer's capsule holds; the capsule is empty then.
struct Taken {
  Tensor tensor;
  DLDataType dtype;
  bool read_only;
};
Taken takeCapsule(const nb::object& capsule);
/// Has the memory that an unversioned capsule holds read as another dtype of the same size.
void retypeCapsule(const nb::object& capsule, DataType dtype);

/// An output for frameworks that have no other way in: it only speaks DLPack.
class Array {
 public:
  /// What computes it was queued on `stream`.
  Array(Tensor tensor, Stream stream) : tensor_(std::move(tensor)), stream_(stream) {}
  /// A capsule. `consumer` is DLPack's number of the stream that it will be used on (None: the
  /// default one, -1: the consumer waits himself); another than ours begins when ours has ended.
  nb::object dlpack(nb::handle consumer, bool versioned) const;
  nb::tuple device() const;

 private:
  Tensor tensor_;
  Stream stream_;
};

/// DLPack's number of a CUDA stream: 1 is the default one.
intptr_t streamNumber(Stream stream);

}  // namespace nvfuser::python
