/// The CUDA driver, opened at run time: our own declarations of the few types and functions that we
/// use, and a table of function pointers from libcuda.so.1. No CUDA header is needed to build, no
/// driver to start.
///
/// Names follow the driver's; members of `Driver` leave out the prefix `cu`. Values are part of the
/// driver's ABI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace nvfuser::cuda {

using Result = int;  ///< CUresult
using DeviceId = int;
using DevicePointer = unsigned long long;
using Context = struct ContextOpaque*;
using Module = struct ModuleOpaque*;
using Function = struct FunctionOpaque*;
using StreamHandle = struct StreamOpaque*;
using Event = struct EventOpaque*;
using MemoryPool = struct MemoryPoolOpaque*;

constexpr Result kSuccess = 0;
constexpr Result kErrorInvalidValue = 1;
constexpr Result kErrorOutOfMemory = 2;
constexpr Result kErrorDeinitialized = 4;  ///< the process is ending
constexpr Result kErrorNoDevice = 100;
constexpr Result kErrorNotReady = 600;

enum class DeviceAttribute : int {
  MaxThreadsPerBlock = 1,
  MaxBlockDimX = 2,  // Y and Z follow
  MaxGridDimX = 5,   // Y and Z follow
  MaxSharedMemoryPerBlock = 8,
  WarpSize = 10,
  MultiprocessorCount = 16,
  L2CacheSize = 38,
  MaxThreadsPerMultiprocessor = 39,
  ComputeCapabilityMajor = 75,
  ComputeCapabilityMinor = 76,
  MaxSharedMemoryPerMultiprocessor = 81,
  MaxRegistersPerMultiprocessor = 82,
  CooperativeLaunch = 95,
  MaxSharedMemoryPerBlockOptin = 97,
  MemoryPoolsSupported = 115,
  ClusterLaunch = 120,
};

enum class FunctionAttribute : int {
  MaxThreadsPerBlock = 0,
  SharedSizeBytes = 1,
  LocalSizeBytes = 3,
  NumRegs = 4,
  MaxDynamicSharedSizeBytes = 8,
  NonPortableClusterSizeAllowed = 14,
};

constexpr unsigned kStreamNonBlocking = 1;
constexpr unsigned kEventDefault = 0;
constexpr unsigned kEventDisableTiming = 2;
constexpr int kPoolAttributeReleaseThreshold = 4;

enum class LaunchAttributeId : int {
  Cooperative = 2,
  ClusterDimension = 4,
  ProgrammaticStreamSerialization = 6,
};

/// CUlaunchAttribute: an id and a union of 64 bytes.
struct LaunchAttribute {
  LaunchAttributeId id;
  char padding[4];
  union {
    char bytes[64];
    int cooperative;
    unsigned cluster[3];
    int dependent;
  } value;
};
static_assert(sizeof(LaunchAttribute) == 72);

/// CUlaunchConfig.
struct LaunchConfig {
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
  StreamHandle stream;
  LaunchAttribute* attributes;
  unsigned attribute_count;
};
static_assert(sizeof(LaunchConfig) == 56);

/// CUmemPoolProps.
struct MemoryPoolProperties {
  int allocation_type;  ///< 1: pinned device memory
  int handle_types;     ///< 0: not shared with other processes
  int location_type;    ///< 1: a device
  int location_id;
  void* security_attributes;
  size_t max_size;
  unsigned short usage;
  unsigned char reserved[54];
};
static_assert(sizeof(MemoryPoolProperties) == 88);

/// The functions. Those marked optional are null with drivers older than the version named.
struct Driver {
  Result (*Init)(unsigned flags);
  Result (*DriverGetVersion)(int* version);
  Result (*GetErrorName)(Result, const char**);
  Result (*GetErrorString)(Result, const char**);
  Result (*DeviceGetCount)(int*);
  Result (*DeviceGet)(DeviceId*, int ordinal);
  Result (*DeviceGetName)(char*, int length, DeviceId);
  Result (*DeviceGetAttribute)(int*, DeviceAttribute, DeviceId);
  Result (*DeviceTotalMem)(size_t*, DeviceId);
  Result (*DevicePrimaryCtxRetain)(Context*, DeviceId);
  Result (*CtxGetCurrent)(Context*);
  Result (*CtxSetCurrent)(Context);
  Result (*CtxPushCurrent)(Context);
  Result (*CtxPopCurrent)(Context*);
  Result (*CtxSynchronize)();
  Result (*StreamCreate)(StreamHandle*, unsigned flags);
  Result (*StreamCreateWithPriority)(StreamHandle*, unsigned flags, int priority);
  Result (*StreamDestroy)(StreamHandle);
  Result (*StreamSynchronize)(StreamHandle);
  Result (*StreamWaitEvent)(StreamHandle, Event, unsigned flags);
  Result (*StreamIsCapturing)(StreamHandle, int* status);
  /// Null before CUDA 12. Unlike a handle, an id is never another stream's.
  Result (*StreamGetId)(StreamHandle, unsigned long long* id);
  Result (*ModuleLoadData)(Module*, const void* image);
  Result (*ModuleUnload)(Module);
  Result (*ModuleGetFunction)(Function*, Module, const char* name);
  Result (*FuncGetAttribute)(int*, FunctionAttribute, Function);
  Result (*FuncSetAttribute)(Function, FunctionAttribute, int);
  Result (*OccupancyMaxActiveBlocksPerMultiprocessor)(int*, Function, int block_threads,
                                                      size_t shared);
  Result (*LaunchKernel)(Function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                         unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                         StreamHandle, void** args, void** extra);
  Result (*LaunchCooperativeKernel)(Function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                    unsigned block_x, unsigned block_y, unsigned block_z,
                                    unsigned shared, StreamHandle, void** args);
  Result (*LaunchKernelEx)(const LaunchConfig*, Function, void** args,
                           void** extra);  ///< optional: 11.8
  /// CUtensorMap, data type, rank, address, sizes, strides from the second axis on, box, steps,
  /// interleave, swizzle, promotion to L2, fill. Optional: 12.0
  Result (*TensorMapEncodeTiled)(void* map, int data_type, unsigned rank, void* address,
                                 const uint64_t* sizes, const uint64_t* strides,
                                 const uint32_t* box, const uint32_t* steps, int interleave,
                                 int swizzle, int promotion, int fill);
  Result (*MemAlloc)(DevicePointer*, size_t);
  Result (*MemFree)(DevicePointer);
  Result (*MemAllocFromPoolAsync)(DevicePointer*, size_t, MemoryPool,
                                  StreamHandle);                          ///< optional: 11.2
  Result (*MemFreeAsync)(DevicePointer, StreamHandle);                    ///< optional: 11.2
  Result (*MemPoolCreate)(MemoryPool*, const MemoryPoolProperties*);      ///< optional: 11.2
  Result (*MemPoolSetAttribute)(MemoryPool, int attribute, void* value);  ///< optional: 11.2
  Result (*MemPoolTrimTo)(MemoryPool, size_t keep);                       ///< optional: 11.2
  Result (*MemcpyHtoDAsync)(DevicePointer, const void*, size_t, StreamHandle);
  Result (*MemcpyDtoHAsync)(void*, DevicePointer, size_t, StreamHandle);
  Result (*MemcpyDtoDAsync)(DevicePointer, DevicePointer, size_t, StreamHandle);
  Result (*MemsetD8Async)(DevicePointer, unsigned char, size_t, StreamHandle);
  Result (*EventCreate)(Event*, unsigned flags);
  Result (*EventDestroy)(Event);
  Result (*EventRecord)(Event, StreamHandle);
  Result (*EventSynchronize)(Event);
  Result (*EventQuery)(Event);
  Result (*EventElapsedTime)(float* ms, Event begin, Event end);

  int version = 0;  ///< CUDA version of the driver, 1000 × major + 10 × minor
};

/// The driver, opened and initialised with the first call; null without one, and `why` then says
/// what is missing.
const Driver* driver(std::string* why = nullptr);

/// "CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered)". For errors that end a
/// context it adds that every later call fails as well.
std::string describe(const Driver& driver, Result error);

/// Throws `UserError` for an error, naming the call and its `subject` (a kernel's name, or empty).
void throwIfFailed(const Driver& driver, Result result, const char* call,
                   const std::string& subject = "");

}  // namespace nvfuser::cuda
