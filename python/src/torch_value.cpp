#include "torch_value.h"

namespace nvfuser::python {

namespace {

bool readNumber(PyObject* object, TorchValue& value) {
  if (PyBool_Check(object)) {
    value.kind = TorchValue::Kind::Bool;
    value.word.integer = object == Py_True ? 1 : 0;
  } else if (PyFloat_CheckExact(object)) {
    value.kind = TorchValue::Kind::Double;
    value.word.real = PyFloat_AsDouble(object);
  } else if (PyLong_CheckExact(object)) {
    int overflow = 0;
    value.kind = TorchValue::Kind::Integer;
    value.word.integer = PyLong_AsLongLongAndOverflow(object, &overflow);
    return overflow == 0;
  } else {
    return false;
  }
  return true;
}

}  // namespace

int64_t TorchValue::numel() const {
  int64_t count = 1;
  for (int64_t size : sizes) {
    count *= size;
  }
  return count;
}

bool isPlainTensor(const Torch& torch, PyObject* object) {
  // The class first: objects of others have no tensor in that place.
  return torch.inside && (Py_TYPE(object) == torch.tensor || Py_TYPE(object) == torch.parameter) &&
         torch.inside->isPlain(torch.inside->handleOf(object));
}

void readTensor(const Torch& torch, TorchShim::Handle tensor, TorchValue& value) {
  const TorchShim::Form form = torch.shim->formOf(tensor);
  value.kind = TorchValue::Kind::Tensor;
  value.dtype = torch.shim->dtypeOf(tensor);
  value.cuda_index = torch.shim->cudaIndexOf(tensor);
  value.sizes = form.sizes;
  value.strides = form.strides;
  value.word.address = torch.shim->dataOf(tensor);
}

bool readValue(const Torch& torch, PyObject* object, TorchValue& value) {
  if (isPlainTensor(torch, object)) {
    readTensor(torch, torch.inside->handleOf(object), value);
    return true;
  }
  return readNumber(object, value);
}

bool lend(const TorchValue& value, LentArgument& lent) {
  switch (value.kind) {
    case TorchValue::Kind::Bool:
      lent = PolymorphicValue(value.word.integer != 0);
      return true;
    case TorchValue::Kind::Integer:
      lent = PolymorphicValue(value.word.integer);
      return true;
    case TorchValue::Kind::Double:
      lent = PolymorphicValue(value.word.real);
      return true;
    case TorchValue::Kind::Tensor:
      break;
  }
  Device* device = value.cuda_index >= 0 ? cudaDevice(value.cuda_index) : &cpuDevice();
  if (device == nullptr || value.dtype == DataType::Null ||
      (value.word.address == nullptr && value.numel() != 0)) {
    return false;
  }
  lent = LentTensor{value.word.address, value.dtype, value.sizes, value.strides, device};
  return true;
}

}  // namespace nvfuser::python
