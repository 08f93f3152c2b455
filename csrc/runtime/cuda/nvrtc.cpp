#include <runtime/cuda/nvrtc.h>

#include <dlfcn.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <mutex>

#include <runtime/cuda/driver.h>
#include <runtime/cuda/nvrtc_search.h>
#include <runtime/kernel_cache/process_cache.h>
#include <support/error.h>
#include <support/options.h>

namespace nvfuser::cuda {
namespace {

using Program = struct ProgramOpaque*;
using Status = int;  ///< nvrtcResult
constexpr Status kCompilation = 6;

/// One opened library. Never closed.
struct Nvrtc {
  NvrtcLibrary library;
  std::vector<int> architectures;  ///< 80 for sm_80

  Status (*Version)(int*, int*);
  const char* (*GetErrorString)(Status);
  Status (*GetNumSupportedArchs)(int*);
  Status (*GetSupportedArchs)(int*);
  Status (*CreateProgram)(Program*, const char* source, const char* name, int headers,
                          const char* const* texts, const char* const* names);
  Status (*DestroyProgram)(Program*);
  Status (*CompileProgram)(Program, int count, const char* const* options);
  Status (*GetProgramLogSize)(Program, size_t*);
  Status (*GetProgramLog)(Program, char*);
  Status (*GetCUBINSize)(Program, size_t*);
  Status (*GetCUBIN)(Program, char*);
  Status (*GetPTXSize)(Program, size_t*);
  Status (*GetPTX)(Program, char*);
};

template <typename Function>
bool resolve(void* library, const char* name, Function*& slot) {
  slot = reinterpret_cast<Function*>(dlsym(library, name));
  return slot != nullptr;
}

/// Opens a candidate; null when it is not usable.
const Nvrtc* open(const NvrtcCandidate& candidate) {
  // NVRTC opens its builtins by bare name when it first compiles and fails with error 7 when the
  // loader does not find them. Opened here by full path, they are found by name.
  if (!candidate.builtins.empty()) {
    dlopen(candidate.builtins.c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  void* opened = dlopen(candidate.path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!opened) {
    return nullptr;
  }
  auto nvrtc = new Nvrtc{};
  Nvrtc& n = *nvrtc;
  bool whole = resolve(opened, "nvrtcVersion", n.Version) &&
               resolve(opened, "nvrtcGetErrorString", n.GetErrorString) &&
               resolve(opened, "nvrtcGetNumSupportedArchs", n.GetNumSupportedArchs) &&
               resolve(opened, "nvrtcGetSupportedArchs", n.GetSupportedArchs) &&
               resolve(opened, "nvrtcCreateProgram", n.CreateProgram) &&
               resolve(opened, "nvrtcDestroyProgram", n.DestroyProgram) &&
               resolve(opened, "nvrtcCompileProgram", n.CompileProgram) &&
               resolve(opened, "nvrtcGetProgramLogSize", n.GetProgramLogSize) &&
               resolve(opened, "nvrtcGetProgramLog", n.GetProgramLog) &&
               resolve(opened, "nvrtcGetCUBINSize", n.GetCUBINSize) &&
               resolve(opened, "nvrtcGetCUBIN", n.GetCUBIN) &&
               resolve(opened, "nvrtcGetPTXSize", n.GetPTXSize) &&
               resolve(opened, "nvrtcGetPTX", n.GetPTX);
  int count = 0;
  if (!whole || n.Version(&n.library.major, &n.library.minor) != 0 ||
      n.GetNumSupportedArchs(&count) != 0) {
    delete nvrtc;
    return nullptr;
  }
  n.library.path = candidate.path;
  n.architectures.resize(static_cast<size_t>(count));
  n.GetSupportedArchs(n.architectures.data());
  return nvrtc;
}

/// The number in "sm_90a"; 0 for an empty text.
int architectureNumber(const std::string& arch) {
  if (arch.empty()) {
    return 0;
  }
  int number = arch.substr(0, 3) == "sm_" ? std::atoi(arch.c_str() + 3) : 0;
  if (number == 0) {
    userError("nvrtc: architecture '", arch, "' is not of the form sm_90");
  }
  return number;
}

/// What was found on this machine; libraries are opened when first needed.
class Collection {
 public:
  Collection() {
    std::vector<std::string> folders;
    const std::string& named = Options::ofEnvironment().text(Setting::NvrtcPath);
    if (!named.empty()) {
      addNamed(named);
      identity_ = identityOf(candidates_);
      return;
    }
    Dl_info self;
    std::string own_path;
    if (dladdr(reinterpret_cast<void*>(&compileToCubin), &self) != 0 && self.dli_fname) {
      own_path = absolute(self.dli_fname);
    }
    std::string ignored;
    const Driver* installed = driver(&ignored);
    int newest_major = installed ? installed->version / 1000 : 1000;
    for (NvrtcCandidate& candidate : nvrtcCandidates(nvrtcFolders(own_path))) {
      if (candidate.major <= newest_major) {
        candidates_.push_back(std::move(candidate));
      } else if (candidate.path[0] == '/') {
        notes_ += text("\n  note: ", candidate.path, " is too new for the driver (CUDA ",
                       newest_major, ")");
      }
    }
    identity_ = identityOf(candidates_);
  }

  const std::string& identity() const { return identity_; }

  /// The newest library that compiles for `architecture` (0: any); null when there is none.
  const Nvrtc* find(int architecture) {
    std::lock_guard<std::mutex> lock(mutex_);
    for (const Nvrtc* nvrtc : opened_) {
      if (serves(*nvrtc, architecture)) {
        return nvrtc;
      }
    }
    while (next_ < candidates_.size()) {
      const Nvrtc* nvrtc = open(candidates_[next_++]);
      if (!nvrtc) {
        continue;
      }
      opened_.push_back(nvrtc);
      if (serves(*nvrtc, architecture)) {
        return nvrtc;
      }
    }
    return nullptr;
  }

  std::string missing(const std::string& arch) {
    std::lock_guard<std::mutex> lock(mutex_);
    std::string result = "nvrtc: ";
    if (opened_.empty()) {
      result +=
          "NVIDIA's run-time compiler was not found; install it with 'pip install "
          "nvidia-cuda-nvrtc' (or "
          "nvidia-cuda-nvrtc-cu12 for a CUDA 12 driver), or set NVFUSER_NVRTC_PATH to the folder "
          "of libnvrtc.so";
    } else {
      result += text("no library compiles for ", arch,
                     "; install another NVRTC or set NVFUSER_NVRTC_PATH to it");
      for (const Nvrtc* nvrtc : opened_) {
        result += text("\n  note: ", nvrtc->library.path, " (", nvrtc->library.major, ".",
                       nvrtc->library.minor, ") knows sm_", join(nvrtc->architectures, ", sm_"));
      }
    }
    return result + notes_;
  }

 private:
  static bool serves(const Nvrtc& nvrtc, int architecture) {
    const auto& known = nvrtc.architectures;
    return architecture == 0 || std::find(known.begin(), known.end(), architecture) != known.end();
  }

  static std::string absolute(const char* path) {
    char* resolved = realpath(path, nullptr);
    std::string result = resolved ? resolved : path;
    std::free(resolved);
    return result;
  }

  void addNamed(const std::string& named) {
    struct stat info;
    if (stat(named.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) {
      candidates_ = nvrtcInFolder(named);
    } else {
      size_t slash = named.rfind('/');
      NvrtcCandidate candidate;
      candidate.path = named;
      if (slash != std::string::npos) {
        for (const NvrtcCandidate& beside : nvrtcInFolder(named.substr(0, slash))) {
          if (beside.path == named) {
            candidate.builtins = beside.builtins;
          }
        }
      }
      candidates_.push_back(candidate);
    }
    notes_ = text("\n  note: NVFUSER_NVRTC_PATH is '", named, "'; nothing else was tried");
  }

  /// A bare name is what the loader finds: in LD_LIBRARY_PATH, else in its own list of libraries.
  static std::string identityOf(const std::vector<NvrtcCandidate>& candidates) {
    std::string result;
    bool bare = false;
    for (const NvrtcCandidate& candidate : candidates) {
      append(result, text(candidate.path, " ", candidate.major, ".", candidate.minor));
      if (candidate.path.find('/') != std::string::npos) {
        append(result, text(" ", fileIdentity(candidate.path), ", ", candidate.builtins, " ",
                            fileIdentity(candidate.builtins)));
      } else {
        bare = true;
        for (const std::string& folder : loaderFolders()) {
          append(result, text(" ", fileIdentity(text(folder, "/", candidate.path))));
        }
      }
      result += '\n';
    }
    return bare ? text(result, "loader ", fileIdentity("/etc/ld.so.cache")) : result;
  }

  static std::vector<std::string> loaderFolders() {
    const char* variable = systemVariable("LD_LIBRARY_PATH");
    std::vector<std::string> folders;
    std::string_view left = variable ? variable : "";
    while (!left.empty()) {
      folders.emplace_back(left.substr(0, left.find(':')));
      left.remove_prefix(std::min(left.size(), folders.back().size() + 1));
    }
    return folders;
  }

  std::mutex mutex_;
  std::string identity_;
  std::vector<NvrtcCandidate> candidates_;
  size_t next_ = 0;
  std::vector<const Nvrtc*> opened_;
  std::string notes_;
};

Collection& collection() {
  static auto* all = new Collection;
  return *all;
}

/// A program, destroyed at the end of a scope.
struct ProgramHandle {
  const Nvrtc& nvrtc;
  Program program = nullptr;
  explicit ProgramHandle(const Nvrtc& library) : nvrtc(library) {}
  ~ProgramHandle() {
    if (program) {
      nvrtc.DestroyProgram(&program);
    }
  }
  ProgramHandle(const ProgramHandle&) = delete;
  ProgramHandle& operator=(const ProgramHandle&) = delete;
};

void throwIfFailed(const Nvrtc& nvrtc, Status status, const char* call, const std::string& name) {
  if (status != 0) {
    throw CompileError(text(call, " of ", name, ": ", nvrtc.GetErrorString(status)), "");
  }
}

/// Bytes that come as a size and a copy.
std::string fetch(const Nvrtc& nvrtc, Program program, Status (*size_of)(Program, size_t*),
                  Status (*copy)(Program, char*), const std::string& name) {
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
      options.fmad ? "--fmad=true" : "--fmad=false",
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
  const Nvrtc* found = collection().find(architectureNumber(arch));
  if (!found) {
    userError(collection().missing(arch));
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
  Status status =
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
  const Nvrtc* nvrtc = collection().find(architectureNumber(arch));
  if (!nvrtc && why) {
    *why = collection().missing(arch);
  }
  return nvrtc ? nvrtc->library : NvrtcLibrary{};
}

std::string nvrtcVersion(const std::string& arch) {
  NvrtcLibrary library = nvrtcLibrary(arch);
  return library.path.empty() ? ""
                              : text(library.major, ".", library.minor, " (", library.path, ")");
}

const std::string& nvrtcIdentity() { return collection().identity(); }

std::vector<std::string> supportedArchitectures() {
  std::vector<std::string> result;
  if (const Nvrtc* nvrtc = collection().find(0)) {
    for (int number : nvrtc->architectures) {
      result.push_back(text("sm_", number));
    }
  }
  return result;
}

}  // namespace nvfuser::cuda
