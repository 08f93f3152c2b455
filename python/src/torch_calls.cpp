#include "torch_calls.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "torch_arrays.h"
#include <support/error.h>

namespace nvfuser::python {

namespace {

/// The interpreter's lock, given to others as soon as that is worth it.
class LentLock {
 public:
  LentLock() = default;
  ~LentLock() { take(); }
  LentLock(const LentLock&) = delete;
  LentLock& operator=(const LentLock&) = delete;

  void give() {
    if (state_ == nullptr) {
      state_ = PyEval_SaveThread();
    }
  }
  void take() {
    if (state_ != nullptr) {
      PyEval_RestoreThread(std::exchange(state_, nullptr));
    }
  }

 private:
  PyThreadState* state_ = nullptr;
};

/// A kernel on the CPU that reads and writes no more elements takes less time than to hand the lock
/// over.
constexpr int64_t kFewElements = 1024;

int64_t elements(std::span<const int64_t> sizes) {
  int64_t count = 1;
  for (int64_t size : sizes) {
    count *= size;
  }
  return count;
}

/// Outputs that are PyTorch's tensors from the start.
class TorchOutputs final : public OutputMaker {
 public:
  TorchOutputs(const TorchShim& shim, LentLock& lock) : shim_(shim), lock_(lock) {}
  ~TorchOutputs() override {
    for (size_t i = taken_; i < made_.size(); ++i) {
      shim_.release(made_[i]);
    }
  }
  TorchOutputs(const TorchOutputs&) = delete;
  TorchOutputs& operator=(const TorchOutputs&) = delete;

  bool make(size_t, const Allocator::Form& form, Device& device, Stream, void** data) override {
    const int64_t count = elements(form.sizes);
    if (count > kFewElements || device.kind() == DeviceKind::Cuda) {
      lock_.give();
    }
    const auto bytes = static_cast<size_t>(count * dataTypeSizeByte(form.dtype));
    if (device.kind() != DeviceKind::Cuda && bytes >= TorchAllocator::kLargeBytes) {
      return false;  // the library keeps such blocks, PyTorch does not
    }
    const TorchShim::Handle tensor = shim_.empty(form, device);
    if (tensor == nullptr) {
      return false;
    }
    made_.push_back(tensor);
    *data = shim_.dataOf(tensor);
    return true;
  }

  nb::object toList() {
    auto list = nb::steal(PyList_New(static_cast<Py_ssize_t>(made_.size())));
    if (!list.is_valid()) {
      throw nb::python_error();
    }
    while (taken_ < made_.size()) {
      const size_t i = taken_++;  // taken over even where it fails
      PyList_SetItem(list.ptr(), static_cast<Py_ssize_t>(i),
                     shim_.toObject(made_[i]).release().ptr());
    }
    return list;
  }

 private:
  const TorchShim& shim_;
  LentLock& lock_;
  std::vector<TorchShim::Handle> made_;
  size_t taken_ = 0;  ///< of them, by Python
};

/// A number that is exactly of Python's types; false for what `Inputs` has to look at.
bool lendNumber(PyObject* object, LentArgument& lent) {
  if (PyBool_Check(object)) {
    lent = PolymorphicValue(object == Py_True);
  } else if (PyFloat_CheckExact(object)) {
    lent = PolymorphicValue(PyFloat_AsDouble(object));
  } else if (PyLong_CheckExact(object)) {
    int overflow = 0;
    const long long integer = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (overflow != 0) {
      return false;
    }
    lent = PolymorphicValue(static_cast<int64_t>(integer));
  } else {
    return false;
  }
  return true;
}

}  // namespace

nb::object repeatTorchCall(FusionExecutorCache& executor, nb::handle inputs) {
  const Torch* torch = importedTorch();
  if (!executor.canRepeat() || torch == nullptr || torch->table == nullptr ||
      torch->shim == nullptr || executor.numDraws() > 0 ||
      !(PyList_CheckExact(inputs.ptr()) || PyTuple_CheckExact(inputs.ptr()))) {
    return {};
  }
  // The items as they are now: PyTorch's functions let other threads run.
  const auto items = nb::steal(PySequence_Tuple(inputs.ptr()));
  if (!items.is_valid()) {
    throw nb::python_error();
  }
  const auto count = static_cast<size_t>(PyTuple_Size(items.ptr()));
  ShortList<DLTensor, 8> tensors(count);
  ShortList<LentArgument, 8> arguments(count);
  const Device* device = nullptr;
  int64_t most_elements = 0;
  for (size_t i = 0; i < count; ++i) {
    PyObject* item = PyTuple_GetItem(items.ptr(), static_cast<Py_ssize_t>(i));
    if (Py_TYPE(item) != torch->tensor && Py_TYPE(item) != torch->parameter) {
      if (!lendNumber(item, arguments[i])) {
        return {};
      }
      continue;
    }
    if (torch->table->borrow(item, &tensors[i]) != 0) {
      PyErr_Clear();  // the way of every call says it again
      return {};
    }
    if (needsResolving(*torch, item, tensors[i].dtype) || !lend(tensors[i], arguments[i])) {
      return {};
    }
    const LentTensor& tensor = *arguments[i].tensor();
    device = tensor.device;
    most_elements = std::max(most_elements, elements(tensor.sizes));
  }
  if (device == nullptr) {
    return {};
  }
  const bool on_cuda = device->kind() == DeviceKind::Cuda;
  const RunContext context{on_cuda ? currentStream(*torch, device->index()) : nullptr,
                           torch->allocator};
  LentLock lock;
  TorchOutputs outputs(*torch->shim, lock);
  if (on_cuda || most_elements > kFewElements) {
    lock.give();
  }
  if (!executor.repeat(arguments.span(), context, outputs, Options::current())) {
    return {};
  }
  lock.take();
  return outputs.toList();
}

}  // namespace nvfuser::python
