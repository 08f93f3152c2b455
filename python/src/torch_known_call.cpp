#include "torch_known_call.h"

#include <tuple>
#include <utility>

#include "interruptible.h"
#include "torch_arrays.h"
#include <support/options.h>

namespace nvfuser::python {

namespace {

/// The interpreter's lock, given to others for a while.
class LentLock {
 public:
  LentLock() = default;
  ~LentLock() { take(); }
  LentLock(const LentLock&) = delete;
  LentLock& operator=(const LentLock&) = delete;

  void give() { state_ = PyEval_SaveThread(); }
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

bool isTensor(const Torch& torch, PyObject* object) {
  return Py_TYPE(object) == torch.tensor || Py_TYPE(object) == torch.parameter;
}

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

bool lendTensor(const Torch& torch, PyObject* object, DLTensor& tensor, LentArgument& lent) {
  if (torch.table->borrow(object, &tensor) != 0) {
    PyErr_Clear();  // the way of every call says it again
    return false;
  }
  return !torch.inside->isLazy(object) && lend(tensor, lent);
}

}  // namespace

std::unique_ptr<TorchKnownCall> TorchKnownCall::make(FusionExecutorCache& executor,
                                                     const Torch& torch,
                                                     std::span<PyObject* const> inputs) {
  ShortList<DLTensor, 8> tensors(inputs.size());
  ShortList<LentArgument, 8> arguments(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!(isTensor(torch, inputs[i]) ? lendTensor(torch, inputs[i], tensors[i], arguments[i])
                                     : lendNumber(inputs[i], arguments[i]))) {
      return nullptr;
    }
  }
  std::unique_ptr<TorchKnownCall> call(new TorchKnownCall(torch));
  call->launch_ = executor.repeatedLaunch(arguments.span(), Options::current());
  if (call->launch_ == nullptr) {
    return nullptr;
  }
  call->on_cuda_ = call->launch_->device().kind() == DeviceKind::Cuda;
  call->others_run_ = call->on_cuda_;
  if (!call->setOutputs()) {
    return nullptr;
  }
  for (PyObject* input : inputs) {
    call->addInput(input);
  }
  return call;
}

bool TorchKnownCall::setOutputs() {
  made_.resize(launch_->numOutputs());
  addresses_.resize(launch_->numOutputs());
  for (size_t i = 0; i < launch_->numOutputs(); ++i) {
    const Allocator::Form form = launch_->outputForm(i);
    const int64_t count = elements(form.sizes);
    const auto bytes = static_cast<size_t>(count * dataTypeSizeByte(form.dtype));
    if (!torch_.shim->knows(form.dtype) || (!on_cuda_ && bytes >= TorchAllocator::kLargeBytes)) {
      return false;
    }
    others_run_ |= count > kFewElements;
  }
  return true;
}

void TorchKnownCall::addInput(PyObject* given) {
  words_.emplace_back();
  Input& input = inputs_.emplace_back();
  if (isTensor(torch_, given)) {
    const TorchShim::Handle tensor = torch_.inside->handleOf(given);
    input.keys = torch_.inside->keysOf(given);
    input.dtype = torch_.shim->dtypeOf(tensor);
    std::tie(input.sizes, input.strides) = torch_.shim->formOf(tensor);
    input.is_empty = elements(input.sizes) == 0;
    others_run_ |= elements(input.sizes) > kFewElements;
  } else if (PyBool_Check(given)) {
    input.kind = Kind::Bool;
  } else if (PyFloat_CheckExact(given)) {
    input.kind = Kind::Double;
  } else {
    input.kind = Kind::Integer;
    input.integer = PyLong_AsLongLong(given);
  }
}

bool TorchKnownCall::readTensor(const Input& input, PyObject* given, LentWord& word) const {
  // Keys first: where there are others, a tensor may have no sizes or no memory.
  if (!isTensor(torch_, given) || torch_.inside->keysOf(given) != input.keys) {
    return false;
  }
  const TorchShim::Handle tensor = torch_.inside->handleOf(given);
  if (torch_.shim->dtypeOf(tensor) != input.dtype ||
      (on_cuda_ && torch_.shim->deviceIndexOf(tensor) != launch_->device().index()) ||
      !torch_.shim->isOfForm(tensor, input.sizes, input.strides)) {
    return false;
  }
  word.address = torch_.shim->dataOf(tensor);
  return word.address != nullptr || input.is_empty;  // its storage may have been given up
}

/// Whether what is given is like the input; its word is then set.
bool TorchKnownCall::read(const Input& input, PyObject* given, LentWord& word) const {
  switch (input.kind) {
    case Kind::Tensor:
      return readTensor(input, given, word);
    case Kind::Double:
      word.real = PyFloat_CheckExact(given) ? PyFloat_AsDouble(given) : 0;
      return PyFloat_CheckExact(given);
    case Kind::Bool:
      word.integer = given == Py_True ? 1 : 0;
      return PyBool_Check(given);
    case Kind::Integer: {
      int overflow = 0;
      word.integer = input.integer;
      return PyLong_CheckExact(given) &&
             PyLong_AsLongLongAndOverflow(given, &overflow) == input.integer && overflow == 0;
    }
  }
  return false;
}

/// The outputs of one call: PyTorch's tensors from the start.
struct TorchKnownCall::Outputs {
  explicit Outputs(TorchKnownCall& its_call) : call(its_call) {}
  ~Outputs() {
    for (; begin < end; ++begin) {
      call.torch_.shim->release(call.made_[begin]);
    }
  }
  Outputs(const Outputs&) = delete;
  Outputs& operator=(const Outputs&) = delete;

  /// False where PyTorch fails: the way of every call then does, too, with words of its own.
  bool make() {
    const TorchShim& shim = *call.torch_.shim;
    for (; end < call.made_.size(); ++end) {
      call.made_[end] = shim.empty(call.launch_->outputForm(end), call.launch_->device());
      if (call.made_[end] == nullptr) {
        return false;
      }
      call.addresses_[end] = shim.dataOf(call.made_[end]);
    }
    return true;
  }

  nb::object toList() {
    auto list = nb::steal(PyList_New(static_cast<Py_ssize_t>(end)));
    if (!list.is_valid()) {
      throw nb::python_error();
    }
    while (begin < end) {
      const size_t i = begin++;  // taken over even where it fails
      PyList_SetItem(list.ptr(), static_cast<Py_ssize_t>(i),
                     call.torch_.shim->toObject(call.made_[i]).release().ptr());
    }
    return list;
  }

  TorchKnownCall& call;
  size_t begin = 0, end = 0;  ///< those that are ours
};

nb::object TorchKnownCall::run(std::span<PyObject* const> inputs) {
  if (inputs.size() != inputs_.size()) {
    return {};
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!read(inputs_[i], inputs[i], words_[i])) {
      return {};
    }
  }
  if (!launch_->take(words_.data())) {
    return {};
  }
  Interruptible call;
  RunContext context;
  context.cancellation = call.cancellation();
  if (on_cuda_) {
    context.stream = currentStream(torch_, launch_->device().index());
  }
  if (launch_->allocates()) {
    context.allocator = torch_.allocator;
  }
  Outputs outputs(*this);
  LentLock lock;
  if (others_run_) {
    lock.give();
  }
  if (!outputs.make()) {
    return {};
  }
  call.run([&] { launch_->run(addresses_.data(), context); });
  lock.take();
  return outputs.toList();
}

}  // namespace nvfuser::python
