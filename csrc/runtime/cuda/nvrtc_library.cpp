#include <runtime/cuda/nvrtc_library.h>

#include <dlfcn.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>

#include <runtime/cuda/driver.h>
#include <runtime/cuda/nvrtc_search.h>
#include <runtime/kernel_cache/process_cache.h>
#include <support/error.h>
#include <support/options.h>

namespace nvfuser::cuda {
namespace {

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

}  // namespace

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

const Nvrtc* findNvrtc(int architecture) { return collection().find(architecture); }

std::string missingNvrtc(const std::string& arch) { return collection().missing(arch); }

const std::string& nvrtcIdentity() { return collection().identity(); }

}  // namespace nvfuser::cuda
