#include <runtime/cuda/nvrtc.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include <runtime/cuda/nvrtc_library.h>
#include <support/error.h>

namespace nvfuser::cuda {
namespace {

constexpr NvrtcStatus kCompilation = 6;  ///< the text is wrong

/// A program, destroyed at the end of a scope.
struct ProgramHandle {
  const Nvrtc& nvrtc;
  NvrtcProgram program = nullptr;
  explicit ProgramHandle(const Nvrtc& library) : nvrtc(library) {}
  ~ProgramHandle() {
    if (program) {
      nvrtc.DestroyProgram(&program);
    }
  }
  ProgramHandle(const ProgramHandle&) = delete;
  ProgramHandle& operator=(const ProgramHandle&) = delete;
};

void throwIfFailed(const Nvrtc& nvrtc, NvrtcStatus status, const char* call,
                   const std::string& name) {
  if (status != 0) {
    throw CompileError(text(call, " of ", name, ": ", nvrtc.GetErrorString(status)), "");
  }
}

/// Bytes that come as a size and a copy.
std::string fetch(const Nvrtc& nvrtc, NvrtcProgram program,
                  NvrtcStatus (*size_of)(NvrtcProgram, size_t*),
                  NvrtcStatus (*copy)(NvrtcProgram, char*), const std::string& name) {
  size_t size = 0;
  throwIfFailed(nvrtc, size_of(program, &size), "nvrtc", name);
  std::string bytes(size, '\0');
  if (size > 0) {
    throwIfFailed(nvrtc, copy(program, bytes.data()), "nvrtc", name);
  }
  return bytes;
}

std::string withoutFinalZero(std::string bytes) {
  while (!bytes.empty() && bytes.back() == '\0') {
    bytes.pop_back();
  }
  return bytes;
}

/// The number before `unit` in `line`, as in "Used 32 registers"; −1 when it is not there.
int64_t numberBefore(std::string_view line, std::string_view unit) {
  size_t at = line.find(unit);
  if (at == std::string_view::npos || at == 0) {
    return -1;
  }
  size_t begin = at;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') {
    begin--;
  }
  return begin == at ? -1 : std::atoll(std::string(line.substr(begin, at - begin)).c_str());
}

/// The assembler reports resources on lines of the log that begin with "ptxas info" and one
/// indented below; they become numbers, and the log keeps what a reader should see.
void readResources(const std::string& full, CompiledCubin& result) {
  size_t at = 0;
  while (at < full.size()) {
    size_t end = std::min(full.find('\n', at), full.size());
    std::string_view line(full.data() + at, end - at);
    at = end + 1;
    bool resources = line.find("ptxas info") != std::string_view::npos;
    if (int64_t stores = numberBefore(line, " bytes spill stores"); stores >= 0) {
      result.spill_bytes = stores + std::max<int64_t>(0, numberBefore(line, " bytes spill loads"));
      resources = true;
    }
    if (int64_t used = numberBefore(line, " registers"); used >= 0 && resources) {
      result.registers = static_cast<int>(used);
      result.static_shared_bytes = std::max<int64_t>(0, numberBefore(line, " bytes smem"));
    }
    if (!resources && !line.empty()) {
      result.log += text(line, "\n");
    }
  }
}

}  // namespace

std::vector<std::string> nvrtcOptions(const std::string& arch, const CubinOptions& options) {
  std::vector<std::string> result = {
      "--gpu-architecture=" + arch,
      "--std=c++17",
      "--device-as-default-execution-space",
      "--fmad=false",  // a product is one number for all its readers (docs/numerics.md)
      "--ftz=false",
      "--diag-suppress=177",  // a snippet's function that this kernel does not call
      "--ptxas-options=-v",
  };
  if (options.max_registers > 0) {
    result.push_back(text("--maxrregcount=", options.max_registers));
  }
  if (options.line_info) {
    result.emplace_back("--generate-line-info");
  }
  // NVRTC refuses an option given twice: what the caller says replaces what we say.
  for (const std::string& more : options.more) {
    std::string key = more.substr(0, more.find('='));
    auto same = [&](const std::string& ours) {
      return key != "--diag-suppress" && ours.substr(0, ours.find('=')) == key;
    };
    result.erase(std::remove_if(result.begin(), result.end(), same), result.end());
  }
  result.insert(result.end(), options.more.begin(), options.more.end());
  return result;
}

CompiledCubin compileToCubin(const std::string& text_, const std::string& name,
                             const std::string& arch, const CubinOptions& options) {
  auto begin = std::chrono::steady_clock::now();
  const Nvrtc* found = findNvrtc(architectureNumber(arch));
  if (!found) {
    userError(missingNvrtc(arch));
  }
  const Nvrtc& nvrtc = *found;
  ProgramHandle handle(nvrtc);
  throwIfFailed(
      nvrtc, nvrtc.CreateProgram(&handle.program, text_.c_str(), name.c_str(), 0, nullptr, nullptr),
      "nvrtcCreateProgram", name);
  std::vector<std::string> words = nvrtcOptions(arch, options);
  // NVRTC 13 may keep compiled text on the disk by itself; one cache is enough, and it is
  // kernel_cache/.
  if (nvrtc.library.major >= 13 &&
      std::find(words.begin(), words.end(), "--no-cache") == words.end()) {
    words.emplace_back("--no-cache");
  }
  std::vector<const char*> pointers;
  for (const std::string& word : words) {
    pointers.push_back(word.c_str());
  }
  NvrtcStatus status =
      nvrtc.CompileProgram(handle.program, static_cast<int>(pointers.size()), pointers.data());
  std::string log;
  size_t log_size = 0;
  if (nvrtc.GetProgramLogSize(handle.program, &log_size) == 0 && log_size > 0) {
    log.resize(log_size);
    nvrtc.GetProgramLog(handle.program, log.data());
    log = withoutFinalZero(std::move(log));
  }
  if (status != 0) {
    std::string library = text(nvrtc.library.major, ".", nvrtc.library.minor);
    throw CompileError(
        text("nvrtc ", library, status == kCompilation ? " refused " : " failed on ", name, " (",
             nvrtc.GetErrorString(status), "), options ", join(words, " ")),
        log);
  }
  CompiledCubin result;
  readResources(log, result);
  result.cubin = fetch(nvrtc, handle.program, nvrtc.GetCUBINSize, nvrtc.GetCUBIN, name);
  result.ptx = withoutFinalZero(fetch(nvrtc, handle.program, nvrtc.GetPTXSize, nvrtc.GetPTX, name));
  result.ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

NvrtcLibrary nvrtcLibrary(const std::string& arch, std::string* why) {
  const Nvrtc* nvrtc = findNvrtc(architectureNumber(arch));
  if (!nvrtc && why) {
    *why = missingNvrtc(arch);
  }
  return nvrtc ? nvrtc->library : NvrtcLibrary{};
}

std::string nvrtcVersion(const std::string& arch) {
  NvrtcLibrary library = nvrtcLibrary(arch);
  return library.path.empty() ? ""
                              : text(library.major, ".", library.minor, " (", library.path, ")");
}

std::vector<std::string> supportedArchitectures() {
  std::vector<std::string> result;
  if (const Nvrtc* nvrtc = findNvrtc(0)) {
    for (int number : nvrtc->architectures) {
      result.push_back(text("sm_", number));
    }
  }
  return result;
}

}  // namespace nvfuser::cuda
