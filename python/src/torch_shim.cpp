#include "torch_shim.h"

#include <dlfcn.h>

#include <string>

#include "interpreter_lock.h"
#include <support/error.h>

namespace nvfuser::python {

namespace {

struct Named {
  PrimDataType dtype;
  const char* name;
};

constexpr Named kDtypes[] = {
    {PrimDataType::Double, "aoti_torch_dtype_float64"},
    {PrimDataType::Float, "aoti_torch_dtype_float32"},
    {PrimDataType::Half, "aoti_torch_dtype_float16"},
    {PrimDataType::BFloat16, "aoti_torch_dtype_bfloat16"},
    {PrimDataType::Float8_e4m3fn, "aoti_torch_dtype_float8_e4m3fn"},
    {PrimDataType::Float8_e5m2, "aoti_torch_dtype_float8_e5m2"},
    {PrimDataType::Char, "aoti_torch_dtype_int8"},
    {PrimDataType::Short, "aoti_torch_dtype_int16"},
    {PrimDataType::Int32, "aoti_torch_dtype_int32"},
    {PrimDataType::Int, "aoti_torch_dtype_int64"},
    {PrimDataType::Byte, "aoti_torch_dtype_uint8"},
    {PrimDataType::UInt16, "aoti_torch_dtype_uint16"},
    {PrimDataType::UInt32, "aoti_torch_dtype_uint32"},
    {PrimDataType::UInt64, "aoti_torch_dtype_uint64"},
    {PrimDataType::Bool, "aoti_torch_dtype_bool"},
    {PrimDataType::ComplexFloat, "aoti_torch_dtype_complex64"},
    {PrimDataType::ComplexDouble, "aoti_torch_dtype_complex128"},
};

}  // namespace

template <typename Function>
bool TorchShim::lookUp(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

std::unique_ptr<TorchShim> TorchShim::find(const nb::object& torch) {
  void* library = dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD);  // it stays loaded
  if (library == nullptr) {
    return nullptr;
  }
  std::unique_ptr<TorchShim> shim(new TorchShim);
  int32_t (*cpu)() = nullptr;
  int32_t (*cuda)() = nullptr;
  const bool complete = shim->lookUp(library, "aoti_torch_empty_strided", shim->empty_) &&
                        shim->lookUp(library, "aoti_torch_create_tensor_from_blob", shim->lend_) &&
                        shim->lookUp(library, "aoti_torch_get_data_ptr", shim->data_) &&
                        shim->lookUp(library, "aoti_torch_get_dtype", shim->dtype_) &&
                        shim->lookUp(library, "aoti_torch_get_device_type", shim->device_type_) &&
                        shim->lookUp(library, "aoti_torch_get_device_index", shim->device_index_) &&
                        shim->lookUp(library, "aoti_torch_get_dim", shim->rank_) &&
                        shim->lookUp(library, "aoti_torch_get_sizes", shim->sizes_) &&
                        shim->lookUp(library, "aoti_torch_get_strides", shim->strides_) &&
                        shim->lookUp(library, "aoti_torch__reinterpret_tensor", shim->view_) &&
                        shim->lookUp(library, "aoti_torch_delete_tensor_object", shim->free_) &&
                        shim->lookUp(library, "aoti_torch_device_type_cpu", cpu) &&
                        shim->lookUp(library, "aoti_torch_device_type_cuda", cuda);
  if (!complete) {
    return nullptr;
  }
  shim->cpu_ = cpu();
  shim->cuda_ = cuda();
  shim->dtypes_.fill(-1);
  shim->of_code_.fill(PrimDataType::Null);
  for (const Named& named : kDtypes) {
    int32_t (*code)() = nullptr;
    if (shim->lookUp(library, named.name, code)) {
      shim->dtypes_.at(static_cast<size_t>(named.dtype)) = code();
      shim->of_code_.at(static_cast<size_t>(code())) = named.dtype;
    }
  }
  // The one function without a promise of stability, known by the name that its parameter gives it:
  // a tensor to be taken over, which is cheapest, a reference to one, or one by value, which comes
  // as an address, too. It is tried before anything relies on it.
  void* python_library = dlopen("libtorch_python.so", RTLD_LAZY | RTLD_NOLOAD);
  if (python_library == nullptr ||
      (!shim->lookUp(python_library, "_Z16THPVariable_WrapON2at10TensorBaseE", shim->wrap_) &&
       !shim->lookUp(python_library, "_Z16THPVariable_WrapRKN2at10TensorBaseE", shim->wrap_) &&
       !shim->lookUp(python_library, "_Z16THPVariable_WrapN2at10TensorBaseE", shim->wrap_))) {
    return nullptr;
  }
  try {
    const Handle tensor = shim->empty({DataType::Float, {}, {}}, cpuDevice());
    const nb::object made = tensor != nullptr ? shim->toObject(tensor) : nb::none();
    if (!made.type().is(torch.attr("Tensor")) || Py_REFCNT(made.ptr()) != 1) {
      return nullptr;
    }
  } catch (const nb::python_error&) {
    return nullptr;
  }
  return shim;
}

TorchShim::Handle TorchShim::empty(const Allocator::Form& form, const Device& device) const {
  const int32_t dtype = dtypes_.at(static_cast<size_t>(form.dtype.type));
  const bool on_cuda = device.kind() == DeviceKind::Cuda;
  Handle made = nullptr;
  if (!knows(form.dtype) ||
      empty_(static_cast<int64_t>(form.sizes.size()), form.sizes.data(), form.strides.data(), dtype,
             on_cuda ? cuda_ : cpu_, on_cuda ? device.index() : 0, &made) != 0) {
    return nullptr;
  }
  return made;
}

TorchShim::Handle TorchShim::lend(void* data, const Allocator::Form& form,
                                  const Device& device) const {
  const bool on_cuda = device.kind() == DeviceKind::Cuda;
  Handle made = nullptr;
  check(lend_(data, static_cast<int64_t>(form.sizes.size()), form.sizes.data(), form.strides.data(),
              0, dtypes_.at(static_cast<size_t>(form.dtype.type)), on_cuda ? cuda_ : cpu_,
              on_cuda ? device.index() : 0, &made) == 0,
        "PyTorch makes a tensor of memory");
  return made;
}

void* TorchShim::dataOf(Handle tensor) const {
  void* data = nullptr;
  check(data_(tensor, &data) == 0, "PyTorch tells where a tensor's memory is");
  return data;
}

DataType TorchShim::dtypeOf(Handle tensor) const {
  int32_t code = -1;
  check(dtype_(tensor, &code) == 0, "PyTorch tells a tensor's dtype");
  const auto place = static_cast<size_t>(code);
  return place < of_code_.size() ? of_code_[place] : PrimDataType::Null;
}

int32_t TorchShim::cudaIndexOf(Handle tensor) const {
  int32_t type = -1;
  int32_t index = -1;
  check(device_type_(tensor, &type) == 0, "PyTorch tells a tensor's kind of device");
  check(type != cuda_ || device_index_(tensor, &index) == 0, "PyTorch tells a tensor's device");
  return index;
}

TorchShim::Form TorchShim::formOf(Handle tensor) const {
  int64_t rank = 0;
  int64_t* sizes = nullptr;
  int64_t* strides = nullptr;
  check(rank_(tensor, &rank) == 0 && sizes_(tensor, &sizes) == 0 && strides_(tensor, &strides) == 0,
        "PyTorch tells a tensor's sizes and strides");
  const auto count = static_cast<size_t>(rank);
  return {{sizes, count}, {strides, count}};
}

bool TorchShim::isOfForm(Handle tensor, std::span<const int64_t> sizes,
                         std::span<const int64_t> strides) const {
  const Form own = formOf(tensor);
  if (own.sizes.size() != sizes.size()) {
    return false;
  }
  for (size_t axis = 0; axis < sizes.size(); ++axis) {  // few: a call of memcmp would take longer
    if (own.sizes[axis] != sizes[axis] || own.strides[axis] != strides[axis]) {
      return false;
    }
  }
  return true;
}

TorchShim::Handle TorchShim::view(Handle tensor, const Form& form, int64_t offset) const {
  Handle made = nullptr;
  check(view_(tensor, static_cast<int64_t>(form.sizes.size()), form.sizes.data(),
              form.strides.data(), offset, &made) == 0,
        "PyTorch makes a view of a tensor");
  return made;
}

void* TorchShim::symbol(const char* name) {
  for (const char* file : {"libtorch_cpu.so", "libtorch_cuda.so"}) {
    void* library = dlopen(file, RTLD_LAZY | RTLD_NOLOAD);  // it stays loaded
    void* found = library != nullptr ? dlsym(library, name) : nullptr;
    if (found != nullptr) {
      return found;
    }
  }
  return nullptr;
}

nb::object TorchShim::toObject(Handle tensor) const {
  PyObject* object = wrap_(tensor);
  free_(tensor);
  if (object == nullptr) {
    throw nb::python_error();
  }
  return nb::steal(object);
}

/// Nobody sees it: on the CPU it need not be a tensor.
Allocator::Block TorchAllocator::allocate(size_t bytes, Device& device, Stream stream) {
  if (device.kind() != DeviceKind::Cuda) {
    return {device.allocate(bytes, stream), nullptr};
  }
  const int64_t size[] = {static_cast<int64_t>(bytes)};
  const int64_t stride[] = {1};
  return allocateTensor({DataType(PrimDataType::Byte), size, stride}, bytes, device, stream);
}

namespace {

/// PyTorch's own words about it, its OutOfMemoryError above all.
[[noreturn]] void throwFailure(size_t bytes, const Device& device) {
  const LockHeld held;
  const bool on_cuda = device.kind() == DeviceKind::Cuda;
  nb::module_::import_("torch").attr("empty")(
      bytes, nb::arg("dtype") = nb::module_::import_("torch").attr("uint8"),
      nb::arg("device") = on_cuda ? text("cuda:", device.index()).c_str() : "cpu");
  userError("execute: PyTorch's allocator gave no memory of ", device.properties().name, " for ",
            bytes, " bytes; what it printed says why");
}

}  // namespace

Allocator::Block TorchAllocator::allocateTensor(const Form& form, size_t bytes, Device& device,
                                                Stream stream) {
  const bool large = device.kind() != DeviceKind::Cuda && bytes >= kLargeBytes;
  if (large || !shim_.knows(form.dtype)) {
    return {device.allocate(bytes, stream), nullptr};
  }
  const TorchShim::Handle tensor = shim_.empty(form, device);
  if (tensor == nullptr) {
    throwFailure(bytes, device);
  }
  return {shim_.dataOf(tensor), tensor};
}

void TorchAllocator::release(const Block& block, Device& device, Stream stream) noexcept {
  if (block.handle != nullptr) {
    shim_.release(block.handle);
  } else {
    device.release(block.data, stream);
  }
}

}  // namespace nvfuser::python
