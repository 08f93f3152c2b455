/// DLPack's public layout, versions 0.8 and 1.x: how frameworks lend tensors to each other. Facts
/// of the ABI, declared here so that nothing needs its header; in our namespace, so that both can
/// be included.
#pragma once

#include <cstdint>

namespace nvfuser {

struct DLDevice {
  int32_t device_type;
  int32_t device_id;
};
inline constexpr int32_t kDLCPU = 1;
inline constexpr int32_t kDLCUDA = 2;
inline constexpr int32_t kDLCUDAHost = 3;
inline constexpr int32_t kDLCUDAManaged = 13;

struct DLDataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};
inline constexpr uint8_t kDLInt = 0;
inline constexpr uint8_t kDLUInt = 1;
inline constexpr uint8_t kDLFloat = 2;
inline constexpr uint8_t kDLBfloat = 4;
inline constexpr uint8_t kDLComplex = 5;
inline constexpr uint8_t kDLBool = 6;
inline constexpr uint8_t kDLFloat8_e4m3fn = 10;
inline constexpr uint8_t kDLFloat8_e5m2 = 12;

struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;  ///< in elements; null: row-major
  uint64_t byte_offset;
};

/// The form of version 0.8; its consumer calls the deleter.
struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor* self);
};

struct DLPackVersion {
  uint32_t major;
  uint32_t minor;
};
inline constexpr uint64_t kDLFlagReadOnly = 1;
inline constexpr uint64_t kDLFlagIsCopied = 2;

/// The form since version 1.0.
struct DLManagedTensorVersioned {
  DLPackVersion version;
  void* manager_ctx;
  void (*deleter)(DLManagedTensorVersioned* self);
  uint64_t flags;
  DLTensor dl_tensor;
};

}  // namespace nvfuser
