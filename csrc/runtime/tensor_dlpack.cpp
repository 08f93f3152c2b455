// Tensors lent by and to other frameworks.

#include <algorithm>

#include <ir/tensor_ref.h>
#include <runtime/repeated_call.h>
#include <runtime/tensor.h>

namespace nvfuser {

namespace {

struct DtypePair {
  PrimDataType dtype;
  uint8_t code;
  uint8_t bits;
};

constexpr DtypePair kDtypes[] = {
    {PrimDataType::Double, kDLFloat, 64},
    {PrimDataType::Float, kDLFloat, 32},
    {PrimDataType::Half, kDLFloat, 16},
    {PrimDataType::BFloat16, kDLBfloat, 16},
    {PrimDataType::Float8_e4m3fn, kDLFloat8_e4m3fn, 8},
    {PrimDataType::Float8_e5m2, kDLFloat8_e5m2, 8},
    {PrimDataType::Char, kDLInt, 8},
    {PrimDataType::Short, kDLInt, 16},
    {PrimDataType::Int32, kDLInt, 32},
    {PrimDataType::Int, kDLInt, 64},
    {PrimDataType::Byte, kDLUInt, 8},
    {PrimDataType::UInt16, kDLUInt, 16},
    {PrimDataType::UInt32, kDLUInt, 32},
    {PrimDataType::UInt64, kDLUInt, 64},
    {PrimDataType::Bool, kDLBool, 8},
    {PrimDataType::ComplexDouble, kDLComplex, 128},
    {PrimDataType::ComplexFloat, kDLComplex, 64},
};

/// What a lent tensor points into: the tensor that keeps the storage, and its shape.
struct Lent {
  Tensor tensor;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
};

DLTensor describe(Lent& lent) {
  DLTensor result{};
  result.data = lent.tensor.data();
  result.device = toDLDevice(lent.tensor.device());
  result.ndim = static_cast<int32_t>(lent.sizes.size());
  result.dtype = toDLDataType(lent.tensor.dtype());
  result.shape = lent.sizes.data();
  result.strides = lent.strides.data();
  return result;
}

template <typename Managed>
Managed* lend(const Tensor& tensor) {
  auto lent = std::make_unique<Lent>(Lent{tensor, tensor.sizes(), tensor.strides()});
  auto managed = std::make_unique<Managed>();
  managed->dl_tensor = describe(*lent);
  managed->manager_ctx = lent.release();
  managed->deleter = [](Managed* self) {
    delete static_cast<Lent*>(self->manager_ctx);
    delete self;
  };
  return managed.release();
}

template <typename Managed>
std::shared_ptr<void> ownerOf(Managed* managed) {
  return {managed, [](Managed* self) {
            if (self->deleter != nullptr) {
              self->deleter(self);
            }
          }};
}

Device& deviceOf(DLDevice device) {
  switch (device.device_type) {
    case kDLCPU:
    case kDLCUDAHost:
      return cpuDevice();
    case kDLCUDA:
    case kDLCUDAManaged: {
      std::string why;
      if (Device* cuda = cudaDevice(device.device_id, &why)) {
        return *cuda;
      }
      userError("fromDLPack: the tensor is on CUDA device ", device.device_id,
                ", which cannot be used: ", why);
    }
    default:
      userError("nvfuser only supports cuda or meta device, found: DLPack device type ",
                device.device_type);
  }
}

/// Null where we have none.
DataType knownDtype(DLDataType dtype) {
  for (const DtypePair& pair : kDtypes) {
    if (pair.code == dtype.code && pair.bits == dtype.bits && dtype.lanes == 1) {
      return pair.dtype;
    }
  }
  return DataType::Null;
}

/// Whether there are elements, but no memory that they are in.
bool lacksMemory(const DLTensor& tensor) {
  return tensor.data == nullptr &&
         std::find(tensor.shape, tensor.shape + tensor.ndim, 0) == tensor.shape + tensor.ndim;
}

}  // namespace

bool lend(const DLTensor& tensor, LentArgument& lent) {
  const DataType dtype = knownDtype(tensor.dtype);
  Device* device = tensor.device.device_type == kDLCPU    ? &cpuDevice()
                   : tensor.device.device_type == kDLCUDA ? cudaDevice(tensor.device.device_id)
                                                          : nullptr;
  if (dtype == DataType::Null || device == nullptr || tensor.strides == nullptr ||
      lacksMemory(tensor)) {
    return false;
  }
  const auto rank = static_cast<size_t>(tensor.ndim);
  auto* data = static_cast<std::byte*>(tensor.data);
  lent = LentTensor{.data = data == nullptr ? nullptr : data + tensor.byte_offset,
                    .dtype = dtype,
                    .sizes = {tensor.shape, rank},
                    .strides = {tensor.strides, rank},
                    .device = device};
  return true;
}

DLDevice toDLDevice(const Device& device) {
  return device.kind() == DeviceKind::Cuda ? DLDevice{kDLCUDA, device.index()}
                                           : DLDevice{kDLCPU, 0};
}

DLDataType toDLDataType(DataType dtype) {
  for (const DtypePair& pair : kDtypes) {
    if (pair.dtype == dtype.type) {
      return {pair.code, pair.bits, 1};
    }
  }
  userError("dtype ", dataTypeName(dtype), " has no counterpart in DLPack");
}

DataType fromDLDataType(DLDataType dtype) {
  if (const DataType found = knownDtype(dtype); found != DataType::Null) {
    return found;
  }
  userError("fromDLPack: the dtype with code ", static_cast<int>(dtype.code), ", ",
            static_cast<int>(dtype.bits), " bits and ", static_cast<int>(dtype.lanes),
            " lanes is not supported");
}

Tensor Tensor::fromDLPack(const DLTensor& lent, std::shared_ptr<void> owner) {
  if (lacksMemory(lent)) {
    userError(
        "fromDLPack: the tensor has elements, but no memory: its storage was given up, or it "
        "stands for values that are somewhere else; pass a tensor that has its values");
  }
  TensorRef ref;
  ref.dtype = fromDLDataType(lent.dtype);
  ref.sizes.assign(lent.shape, lent.shape + lent.ndim);
  if (lent.strides != nullptr) {
    ref.strides.assign(lent.strides, lent.strides + lent.ndim);
  } else {
    ref.strides = rowMajorStrides(ref.sizes);
  }
  if (lent.data != nullptr) {
    ref.data = static_cast<std::byte*>(lent.data) + lent.byte_offset;
  }
  return fromRef(std::move(ref), deviceOf(lent.device), std::move(owner));
}

Tensor Tensor::fromDLPack(DLManagedTensor* managed) {
  check(managed != nullptr, "fromDLPack was given no tensor");
  auto owner = ownerOf(managed);
  return fromDLPack(managed->dl_tensor, std::move(owner));
}

Tensor Tensor::fromDLPack(DLManagedTensorVersioned* managed) {
  check(managed != nullptr, "fromDLPack was given no tensor");
  auto owner = ownerOf(managed);  // the deleter's place is fixed for all versions
  if (managed->version.major != 1) {
    userError("fromDLPack: version ", managed->version.major, ".", managed->version.minor,
              " of DLPack is not supported; 1.x is");
  }
  return fromDLPack(managed->dl_tensor, std::move(owner));
}

DLManagedTensor* Tensor::toDLPack() const { return lend<DLManagedTensor>(*this); }

DLManagedTensorVersioned* Tensor::toDLPackVersioned() const {
  auto* managed = lend<DLManagedTensorVersioned>(*this);
  managed->version = {1, 0};
  managed->flags = 0;
  return managed;
}

}  // namespace nvfuser
