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

}  // namespace

nb::object TorchCalls::repeat(FusionExecutorCache& executor, nb::handle inputs) {
  const Torch* torch = importedTorch();
  if (!executor.canRepeat() || torch == nullptr || torch->table == nullptr || !torch->inside ||
      executor.numDraws() > 0 || &Options::current() != &Options::ofEnvironment() ||
      !(PyList_CheckExact(inputs.ptr()) || PyTuple_CheckExact(inputs.ptr()))) {
    return {};
  }
  Items items(inputs.ptr());
  nb::object outputs;
  if (known_.useOne([&](TorchKnownCall& call) {
        outputs = call.run(items.span());
        return outputs.is_valid();
      })) {
    return outputs;
  }
  if (std::unique_ptr<TorchKnownCall> call = TorchKnownCall::make(executor, *torch, items.span())) {
    outputs = call->run(items.span());
    if (outputs.is_valid()) {
      known_.keep(std::move(call));
    }
  }
  return outputs;
}

}  // namespace nvfuser::python
