#include <runtime/cuda/driver.h>

#include <dlfcn.h>

#include <support/error.h>

namespace nvfuser::cuda {
namespace {

struct Symbol {
  const char* name;  ///< with the version of its interface: `_v2` has 64-bit sizes and pointers
  void** slot;
  bool optional = false;
};

template <typename Function>
Symbol required(const char* name, Function*& slot) {
  return {name, reinterpret_cast<void**>(&slot)};
}
template <typename Function>
Symbol optional(const char* name, Function*& slot) {
  return {name, reinterpret_cast<void**>(&slot), true};
}

/// Fills the table; the name of a required function that is missing, or null.
const char* resolve(void* library, Driver& d) {
  const Symbol symbols[] = {
      required("cuInit", d.Init),
      required("cuDriverGetVersion", d.DriverGetVersion),
      required("cuGetErrorName", d.GetErrorName),
      required("cuGetErrorString", d.GetErrorString),
      required("cuDeviceGetCount", d.DeviceGetCount),
      required("cuDeviceGet", d.DeviceGet),
      required("cuDeviceGetName", d.DeviceGetName),
      required("cuDeviceGetAttribute", d.DeviceGetAttribute),
      required("cuDeviceTotalMem_v2", d.DeviceTotalMem),
      required("cuDevicePrimaryCtxRetain", d.DevicePrimaryCtxRetain),
      required("cuCtxGetCurrent", d.CtxGetCurrent),
      required("cuCtxSetCurrent", d.CtxSetCurrent),
      required("cuCtxPushCurrent_v2", d.CtxPushCurrent),
      required("cuCtxPopCurrent_v2", d.CtxPopCurrent),
      required("cuCtxSynchronize", d.CtxSynchronize),
      required("cuStreamCreate", d.StreamCreate),
      required("cuStreamCreateWithPriority", d.StreamCreateWithPriority),
      required("cuStreamDestroy_v2", d.StreamDestroy),
      required("cuStreamSynchronize", d.StreamSynchronize),
      required("cuStreamWaitEvent", d.StreamWaitEvent),
      required("cuStreamIsCapturing", d.StreamIsCapturing),
      optional("cuStreamGetId", d.StreamGetId),
      required("cuModuleLoadData", d.ModuleLoadData),
      required("cuModuleUnload", d.ModuleUnload),
      required("cuModuleGetFunction", d.ModuleGetFunction),
      required("cuFuncGetAttribute", d.FuncGetAttribute),
      required("cuFuncSetAttribute", d.FuncSetAttribute),
      required("cuOccupancyMaxActiveBlocksPerMultiprocessor",
               d.OccupancyMaxActiveBlocksPerMultiprocessor),
      required("cuLaunchKernel", d.LaunchKernel),
      required("cuLaunchCooperativeKernel", d.LaunchCooperativeKernel),
      optional("cuLaunchKernelEx", d.LaunchKernelEx),
      optional("cuTensorMapEncodeTiled", d.TensorMapEncodeTiled),
      required("cuMemAlloc_v2", d.MemAlloc),
      required("cuMemFree_v2", d.MemFree),
      optional("cuMemAllocFromPoolAsync", d.MemAllocFromPoolAsync),
      optional("cuMemFreeAsync", d.MemFreeAsync),
      optional("cuMemPoolCreate", d.MemPoolCreate),
      optional("cuMemPoolSetAttribute", d.MemPoolSetAttribute),
      optional("cuMemPoolTrimTo", d.MemPoolTrimTo),
      required("cuMemcpyHtoDAsync_v2", d.MemcpyHtoDAsync),
      required("cuMemcpyDtoHAsync_v2", d.MemcpyDtoHAsync),
      required("cuMemcpyDtoDAsync_v2", d.MemcpyDtoDAsync),
      required("cuMemsetD8Async", d.MemsetD8Async),
      required("cuEventCreate", d.EventCreate),
      required("cuEventDestroy_v2", d.EventDestroy),
      required("cuEventRecord", d.EventRecord),
      required("cuEventSynchronize", d.EventSynchronize),
      required("cuEventQuery", d.EventQuery),
      required("cuEventElapsedTime", d.EventElapsedTime),
  };
  for (const Symbol& symbol : symbols) {
    *symbol.slot = dlsym(library, symbol.name);
    if (!*symbol.slot && !symbol.optional) {
      return symbol.name;
    }
  }
  return nullptr;
}

struct Opened {
  Driver driver{};
  bool usable = false;
  std::string why;
};

Opened open() {
  Opened result;
  // Not opened by an absolute path: containers mount the driver wherever the loader looks.
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* error = dlerror();
    result.why = text("no CUDA driver: ", error ? error : "libcuda.so.1 not found",
                      "; install NVIDIA's driver, or start the container with access to the GPU");
    return result;
  }
  if (const char* missing = resolve(library, result.driver)) {
    result.why = text("the CUDA driver is too old: libcuda.so.1 has no ", missing,
                      "; update NVIDIA's driver");
    return result;
  }
  Result status = result.driver.Init(0);
  if (status != kSuccess) {
    result.why = text("the CUDA driver does not start: cuInit: ", describe(result.driver, status));
    if (status == kErrorNoDevice) {
      result.why += "; CUDA_VISIBLE_DEVICES may hide the devices";
    }
    return result;
  }
  result.driver.DriverGetVersion(&result.driver.version);
  result.usable = true;
  return result;
}

/// Errors after which the context, with all its memory, cannot be used any more.
bool isSticky(Result error) {
  constexpr Result kSticky[] = {
      214,  // ECC uncorrectable
      700,  // illegal address
      702,  // launch timeout
      709,  // context is destroyed
      710,  // assert
      714,  // hardware stack error
      715,  // illegal instruction
      716,  // misaligned address
      717,  // invalid address space
      718,  // invalid program counter
      719,  // launch failed
      721,  // tensor memory leak
  };
  for (Result sticky : kSticky) {
    if (error == sticky) {
      return true;
    }
  }
  return false;
}

}  // namespace

const Driver* driver(std::string* why) {
  static const Opened* opened = new Opened(open());
  if (opened->usable) {
    return &opened->driver;
  }
  if (why) {
    *why = opened->why;
  }
  return nullptr;
}

std::string describe(const Driver& driver, Result error) {
  const char* name = nullptr;
  const char* meaning = nullptr;
  if (driver.GetErrorName(error, &name) != kSuccess || !name) {
    name = "unknown error";
  }
  if (driver.GetErrorString(error, &meaning) != kSuccess || !meaning) {
    meaning = "no description";
  }
  std::string result = text(name, " ", error, " (", meaning, ")");
  if (isSticky(error)) {
    result +=
        "\n  note: this error stays: the process's context on the device is lost, and every later "
        "CUDA call of this "
        "process fails with it, whoever makes it"
        "\n  help: the cause may be any kernel launched before; run with CUDA_LAUNCH_BLOCKING=1 or "
        "compute-sanitizer";
  }
  return result;
}

void throwIfFailed(const Driver& driver, Result result, const char* call,
                   const std::string& subject) {
  if (result == kSuccess) {
    return;
  }
  userError(call, subject.empty() ? "" : " of ", subject, ": ", describe(driver, result));
}

}  // namespace nvfuser::cuda
