/// NVRTC's libraries on this machine: found once, opened when first needed. Internal to
/// `runtime/cuda/`; `nvrtc.h` is what others use.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <runtime/cuda/nvrtc.h>

namespace nvfuser::cuda {

using NvrtcProgram = struct NvrtcProgramOpaque*;
using NvrtcStatus = int;  ///< nvrtcResult

/// One opened library. Never closed.
struct Nvrtc {
  NvrtcLibrary library;
  std::vector<int> architectures;  ///< 80 for sm_80

  NvrtcStatus (*Version)(int*, int*);
  const char* (*GetErrorString)(NvrtcStatus);
  NvrtcStatus (*GetNumSupportedArchs)(int*);
  NvrtcStatus (*GetSupportedArchs)(int*);
  NvrtcStatus (*CreateProgram)(NvrtcProgram*, const char* source, const char* name, int headers,
                               const char* const* texts, const char* const* names);
  NvrtcStatus (*DestroyProgram)(NvrtcProgram*);
  NvrtcStatus (*CompileProgram)(NvrtcProgram, int count, const char* const* options);
  NvrtcStatus (*GetProgramLogSize)(NvrtcProgram, size_t*);
  NvrtcStatus (*GetProgramLog)(NvrtcProgram, char*);
  NvrtcStatus (*GetCUBINSize)(NvrtcProgram, size_t*);
  NvrtcStatus (*GetCUBIN)(NvrtcProgram, char*);
  NvrtcStatus (*GetPTXSize)(NvrtcProgram, size_t*);
  NvrtcStatus (*GetPTX)(NvrtcProgram, char*);
};

/// The number in "sm_90a"; 0 for an empty text. `UserError` for anything else.
int architectureNumber(const std::string& arch);

/// The newest library that compiles for `architecture` (0: any); null when there is none.
const Nvrtc* findNvrtc(int architecture);
/// What is missing where there is none for `arch`, and what to do.
std::string missingNvrtc(const std::string& arch);

}  // namespace nvfuser::cuda
