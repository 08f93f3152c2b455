/// NVIDIA's run-time compiler, opened at run time. Works without a GPU and without a driver: CUDA
/// text becomes a cubin for any architecture that the library at hand knows.
///
/// Where it is looked for, in this order: NVFUSER_NVRTC_PATH (a library, or a folder that has one);
/// the wheels `nvidia-cuda-nvrtc*` in the virtual environment, in the folders of PYTHONPATH, and
/// beside or above our own library; the libraries inside PyTorch there; CUDA_HOME and
/// /usr/local/cuda*; the loader's own path. Among those whose major version the driver can run, the
/// newest that knows the architecture is used; a library named by NVFUSER_NVRTC_PATH is used
/// whatever its version.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace nvfuser::cuda {

/// What came out of a compilation.
struct CompiledCubin {
  std::string cubin;
  std::string ptx;
  std::string log;          ///< warnings; empty when there are none
  double ms = 0;            ///< of compiling; 0 from the disk cache
  bool from_cache = false;  ///< see cubin_cache.h
  int registers = -1;       ///< as the assembler reports them for the kernel, −1 unknown
  int64_t static_shared_bytes = -1;
  int64_t spill_bytes = -1;  ///< stores and loads
};

struct CubinOptions {
  int max_registers = 0;   ///< 0: the compiler's choice
  bool line_info = false;  ///< for profilers
  std::vector<std::string> more;
};

/// A library that was found.
struct NvrtcLibrary {
  std::string path;
  int major = 0;  ///< CUDA version, e.g. 13
  int minor = 0;
};

/// Compiles `text` for `arch` ("sm_90", "sm_90a"). `name` is the file's name in messages.
/// `CompileError` with the compiler's log for text that it refuses; `UserError` when there is no
/// NVRTC for this architecture. Thread-safe.
CompiledCubin compileToCubin(const std::string& text, const std::string& name,
                             const std::string& arch, const CubinOptions& options = {});

/// The library used for `arch` (empty: any), or one with an empty path; `why` then says what is
/// missing.
NvrtcLibrary nvrtcLibrary(const std::string& arch = "", std::string* why = nullptr);

/// "13.0 (path)" of the library that is used; empty when there is none.
std::string nvrtcVersion(const std::string& arch = "");

/// Which NVRTC it would be, as part of cache keys: all candidates in their order, with what tells
/// their files apart. Opens none of them, which would cost more than all the rest of a cache's hit.
/// Empty when nothing looks like NVRTC.
const std::string& nvrtcIdentity();

/// What that library compiles for: {"sm_75", "sm_80", …}. Empty when there is none.
std::vector<std::string> supportedArchitectures();

/// The command line for NVRTC that `compileToCubin` uses; part of cache keys.
std::vector<std::string> nvrtcOptions(const std::string& arch, const CubinOptions& options);

}  // namespace nvfuser::cuda
