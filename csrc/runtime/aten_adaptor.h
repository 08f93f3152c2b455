/// `at::Tensor` as `Tensor` and back, without copying. Header-only, for users who compile against
/// PyTorch; the library itself knows nothing of it.
#pragma once

#include <ATen/ATen.h>
#include <runtime/tensor.h>

namespace nvfuser {

inline DataType fromScalarType(at::ScalarType type) {
  switch (type) {
    case at::kDouble:
      return DataType::Double;
    case at::kFloat:
      return DataType::Float;
    case at::kHalf:
      return DataType::Half;
    case at::kBFloat16:
      return DataType::BFloat16;
    case at::kFloat8_e4m3fn:
      return DataType::Float8_e4m3fn;
    case at::kFloat8_e5m2:
      return DataType::Float8_e5m2;
    case at::kChar:
      return DataType::Char;
    case at::kShort:
      return DataType::Short;
    case at::kInt:
      return DataType::Int32;
    case at::kLong:
      return DataType::Int;
    case at::kByte:
      return DataType::Byte;
    case at::kBool:
      return DataType::Bool;
    case at::kComplexFloat:
      return DataType::ComplexFloat;
    case at::kComplexDouble:
      return DataType::ComplexDouble;
    default:
      userError("PyTorch's dtype ", at::toString(type), " is not supported");
  }
}

inline at::ScalarType toScalarType(DataType dtype) {
  for (at::ScalarType type : {at::kDouble, at::kFloat, at::kHalf, at::kBFloat16, at::kFloat8_e4m3fn,
                              at::kFloat8_e5m2, at::kChar, at::kShort, at::kInt, at::kLong,
                              at::kByte, at::kBool, at::kComplexFloat, at::kComplexDouble}) {
    if (fromScalarType(type) == dtype) {
      return type;
    }
  }
  userError("PyTorch has no dtype for ", dataTypeName(dtype));
}

/// Shares the memory; the PyTorch tensor is kept alive.
inline Tensor fromAten(const at::Tensor& tensor) {
  TensorRef ref{.data = tensor.data_ptr(),
                .dtype = fromScalarType(tensor.scalar_type()),
                .sizes = tensor.sizes().vec(),
                .strides = tensor.strides().vec()};
  Device* device = &cpuDevice();
  if (tensor.is_cuda()) {
    std::string why;
    device = cudaDevice(tensor.get_device(), &why);
    if (device == nullptr) {
      userError("a tensor on CUDA device ", tensor.get_device(), " cannot be used: ", why);
    }
  } else if (!tensor.is_cpu()) {
    userError("nvfuser only supports cuda or meta device, found: ", tensor.device().str());
  }
  return Tensor::fromRef(ref, *device, std::make_shared<at::Tensor>(tensor));
}

/// Shares the memory; our storage is kept alive.
inline at::Tensor toAten(const Tensor& tensor) {
  auto options = at::TensorOptions().dtype(toScalarType(tensor.dtype()));
  options = tensor.device().kind() == DeviceKind::Cuda
                ? options.device(at::kCUDA, static_cast<at::DeviceIndex>(tensor.device().index()))
                : options.device(at::kCPU);
  return at::from_blob(
      tensor.data(), tensor.sizes(), tensor.strides(), [keep = tensor](void*) {}, options);
}

}  // namespace nvfuser
