#include "graph_plan/values.h"

#include <algorithm>
#include <utility>

#include <nanobind/nanobind.h>
#include <support/error.h>

namespace nvfuser::python {

namespace {

PyObject* numberObject(const TorchValue& value) {
  switch (value.kind) {
    case TorchValue::Kind::Bool:
      return PyBool_FromLong(static_cast<long>(value.word.integer));
    case TorchValue::Kind::Double:
      return PyFloat_FromDouble(value.word.real);
    case TorchValue::Kind::Integer:
    case TorchValue::Kind::Tensor:
      break;
  }
  return PyLong_FromLongLong(value.word.integer);
}

}  // namespace

void Values::setObject(SlotIndex index, PyObject* object) {
  Slot& slot = slots_[index];
  slot.state = State::Unread;
  slot.object = object;
}

void Values::setTensor(SlotIndex index, TorchShim::Handle tensor) {
  Slot& slot = slots_[index];
  slot.handle = tensor;
  slot.owns_handle = true;
  setFormOf(slot, index);
}

void Values::setInteger(SlotIndex index, int64_t integer) {
  Slot& slot = slots_[index];
  slot.state = State::Number;
  slot.value.kind = TorchValue::Kind::Integer;
  slot.value.word.integer = integer;
}

void Values::setView(SlotIndex index, SlotIndex source, const ViewForm& form) {
  const Slot& from = slots_[source];
  Slot& slot = slots_[index];
  slot.state = State::Tensor;
  slot.root = from.root;
  slot.value = from.value;
  slot.form = form;
  const int64_t moved = (form.offset - from.form.offset) * dataTypeSizeByte(from.value.dtype);
  slot.value.word.address = static_cast<std::byte*>(from.value.word.address) + moved;
}

/// Of a slot that has a handle. Of lazily negated and conjugated ones the memory says something
/// else than they are.
void Values::setFormOf(Slot& slot, SlotIndex index) {
  TorchValue& value = slot.value;
  if (torch_->inside && !torch_->inside->isPlain(slot.handle)) {
    slot.state = State::Opaque;
    return;
  }
  readTensor(*torch_, slot.handle, value);
  if (value.sizes.size() > kMostAxes || value.dtype == DataType::Null ||
      (value.word.address == nullptr && value.numel() != 0)) {
    slot.state = State::Opaque;
    return;
  }
  slot.state = State::Tensor;
  slot.root = index;
  slot.form.rank = value.sizes.size();
  slot.form.offset = 0;
  std::copy(value.sizes.begin(), value.sizes.end(), slot.form.sizes.begin());
  std::copy(value.strides.begin(), value.strides.end(), slot.form.strides.begin());
}

void Values::look(Slot& slot, SlotIndex index) {
  if (slot.state != State::Unread) {
    return;
  }
  if (torch_ == nullptr) {
    slot.state = State::Opaque;
  } else if (isPlainTensor(*torch_, slot.object)) {
    slot.handle = torch_->inside->handleOf(slot.object);
    setFormOf(slot, index);
  } else {
    lock_->take();
    slot.state = readValue(*torch_, slot.object, slot.value) ? State::Number : State::Opaque;
  }
}

const ViewForm* Values::form(SlotIndex index) {
  Slot& slot = slots_[index];
  look(slot, index);
  return slot.state == State::Tensor ? &slot.form : nullptr;
}

bool Values::read(SlotIndex index, TorchValue& value) {
  Slot& slot = slots_[index];
  look(slot, index);
  if (slot.state != State::Tensor && slot.state != State::Number) {
    return false;
  }
  value = slot.value;
  value.sizes = slot.form.sizeSpan();
  value.strides = slot.form.strideSpan();
  return true;
}

bool Values::integer(SlotIndex index, int64_t& value) {
  Slot& slot = slots_[index];
  look(slot, index);
  value = slot.value.word.integer;
  return slot.state == State::Number && slot.value.kind == TorchValue::Kind::Integer;
}

TorchShim::Handle Values::handle(SlotIndex index) {
  Slot& slot = slots_[index];
  look(slot, index);
  if (slot.state != State::Tensor) {
    return nullptr;
  }
  if (slot.handle == nullptr) {
    slot.handle = torch_->shim->view(
        slots_[slot.root].handle, {slot.form.sizeSpan(), slot.form.strideSpan()}, slot.form.offset);
    slot.owns_handle = true;
  }
  return slot.handle;
}

PyObject* Values::object(SlotIndex index) {
  Slot& slot = slots_[index];
  if (slot.object != nullptr) {
    return slot.object;
  }
  check(slot.state != State::Empty, "a step of a plan reads what was made before it");
  lock_->take();
  if (slot.state == State::Number) {
    slot.object = numberObject(slot.value);
    if (slot.object == nullptr) {
      throw nanobind::python_error();
    }
    return slot.object;
  }
  if (slot.state == State::Tensor) {
    handle(index);
  }
  slot.owns_handle = false;
  slot.object = torch_->shim->toObject(std::exchange(slot.handle, nullptr)).release().ptr();
  slot.handle = torch_->inside->handleOf(slot.object);
  return slot.object;
}

void Values::drop(SlotIndex index) {
  Slot& slot = slots_[index];
  if (slot.state == State::Empty) {
    return;
  }
  slot.state = State::Empty;
  if (slot.owns_handle) {
    torch_->shim->release(slot.handle);
    slot.owns_handle = false;
  }
  slot.handle = nullptr;
  if (slot.object != nullptr) {
    dropObject(std::exchange(slot.object, nullptr));
  }
}

/// Others may run: the lock is not taken for what nobody waits for, an object that stays.
void Values::dropObject(PyObject* object) {
  if (lock_->isGiven() && Py_REFCNT(object) > 1) {
    dropped_.push_back(object);
  } else {
    lock_->take();
    Py_DECREF(object);
  }
}

void Values::clear() {
  while (!dropped_.empty()) {
    PyObject* object = dropped_.back();
    dropped_.pop_back();
    Py_DECREF(object);
  }
  for (SlotIndex slot = 0; slot < slots_.size(); ++slot) {
    drop(slot);
  }
}

}  // namespace nvfuser::python
