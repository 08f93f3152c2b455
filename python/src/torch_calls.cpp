#include "torch_calls.h"

#include <memory>

#include <support/options.h>

namespace nvfuser::python {

namespace {

/// The items of a list or tuple as they are now: other threads, which may run meanwhile, cannot
/// drop them.
class Items {
 public:
  explicit Items(PyObject* sequence) : items_(sizeOf(sequence)) {
    const bool is_list = PyList_CheckExact(sequence);
    for (size_t i = 0; i < items_.span().size(); ++i) {
      const auto place = static_cast<Py_ssize_t>(i);
      items_[i] = is_list ? PyList_GetItem(sequence, place) : PyTuple_GetItem(sequence, place);
      Py_INCREF(items_[i]);
    }
  }
  ~Items() {
    for (PyObject* item : items_.span()) {
      Py_DECREF(item);
    }
  }
  Items(const Items&) = delete;
  Items& operator=(const Items&) = delete;

  std::span<PyObject* const> span() { return items_.span(); }

 private:
  static size_t sizeOf(PyObject* sequence) {
    return static_cast<size_t>(PyList_CheckExact(sequence) ? PyList_Size(sequence)
                                                           : PyTuple_Size(sequence));
  }

  ShortList<PyObject*, 8> items_;
};

nb::object listOf(TorchKnownCall& call, const Torch& torch) {
  auto list = nb::steal(PyList_New(static_cast<Py_ssize_t>(call.numOutputs())));
  if (!list.is_valid()) {
    throw nb::python_error();
  }
  for (size_t i = 0; i < call.numOutputs(); ++i) {
    PyList_SetItem(list.ptr(), static_cast<Py_ssize_t>(i),
                   torch.shim->toObject(call.takeOutput(i)).release().ptr());
  }
  return list;
}

}  // namespace

const Torch* TorchCalls::torchFor(FusionExecutorCache& executor) {
  if (!executor.canRepeat() || executor.numDraws() > 0 ||
      &Options::current() != &Options::ofEnvironment()) {
    return nullptr;
  }
  const Torch* torch = importedTorch();
  return torch != nullptr && torch->inside ? torch : nullptr;
}

nb::object TorchCalls::repeat(FusionExecutorCache& executor, nb::handle inputs) {
  const Torch* torch = torchFor(executor);
  if (torch == nullptr || !(PyList_CheckExact(inputs.ptr()) || PyTuple_CheckExact(inputs.ptr()))) {
    return {};
  }
  Items items(inputs.ptr());
  ShortList<TorchValue, 8> values(items.span().size());
  for (size_t i = 0; i < items.span().size(); ++i) {
    if (!readValue(*torch, items.span()[i], values[i])) {
      return {};
    }
  }
  nb::object outputs;
  InterpreterLock lock;
  repeat(executor, values.span(), {}, lock, [&](TorchKnownCall& call) {
    lock.take();
    outputs = listOf(call, *torch);
  });
  return outputs;
}

}  // namespace nvfuser::python
