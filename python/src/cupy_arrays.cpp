#include "cupy_arrays.h"

#include "interpreter_lock.h"
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <support/error.h>

namespace nvfuser::python {

namespace {

/// A block's handle is a cupy.cuda.MemoryPointer, of which the block holds a reference.
class CupyAllocator final : public Allocator {
 public:
  Block allocate(size_t bytes, Device&, Stream) override {
    const LockHeld held;
    nb::object memory = nb::module_::import_("cupy.cuda").attr("alloc")(bytes);
    auto* data = reinterpret_cast<void*>(nb::cast<uintptr_t>(memory.attr("ptr")));
    return {data, memory.release().ptr()};
  }
  void release(const Block& block, Device&, Stream) noexcept override {
    const LockHeld held;
    nb::handle(static_cast<PyObject*>(block.handle)).dec_ref();
  }
};

const std::shared_ptr<Allocator>& cupyAllocator() {
  static const auto* allocator = new std::shared_ptr<Allocator>(std::make_shared<CupyAllocator>());
  return *allocator;
}

/// As NumPy names it; null for what it does not have.
const char* numpyName(DataType dtype) {
  switch (dtype.type) {
    case PrimDataType::Double:
      return "float64";
    case PrimDataType::Float:
      return "float32";
    case PrimDataType::Half:
      return "float16";
    case PrimDataType::Char:
      return "int8";
    case PrimDataType::Short:
      return "int16";
    case PrimDataType::Int32:
      return "int32";
    case PrimDataType::Int:
      return "int64";
    case PrimDataType::Byte:
      return "uint8";
    case PrimDataType::UInt16:
      return "uint16";
    case PrimDataType::UInt32:
      return "uint32";
    case PrimDataType::UInt64:
      return "uint64";
    case PrimDataType::Bool:
      return "bool";
    case PrimDataType::ComplexDouble:
      return "complex128";
    case PrimDataType::ComplexFloat:
      return "complex64";
    default:
      return nullptr;
  }
}

}  // namespace

RunContext cupyContext() {
  const nb::object stream = nb::module_::import_("cupy.cuda").attr("get_current_stream")();
  const auto pointer = nb::cast<uintptr_t>(stream.attr("ptr"));
  return {pointer <= 1 ? nullptr : reinterpret_cast<void*>(pointer), cupyAllocator()};
}

nb::object makeCupy(const Tensor& output) {
  const Allocator::Block* block = output.blockOf(cupyAllocator().get());
  const char* dtype = numpyName(output.dtype());
  if (block == nullptr || dtype == nullptr) {
    return {};
  }
  const int64_t bytes = dataTypeSizeByte(output.dtype());
  std::vector<int64_t> strides = output.strides();
  for (int64_t& stride : strides) {
    stride *= bytes;
  }
  const nb::handle memory = static_cast<PyObject*>(block->handle);
  return nb::module_::import_("cupy").attr("ndarray")(
      nb::tuple(nb::cast(output.sizes())), dtype,
      memory.attr("__add__")(output.storageOffset() * bytes), nb::tuple(nb::cast(strides)));
}

}  // namespace nvfuser::python
