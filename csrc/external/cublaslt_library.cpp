// cuBLASLt as it is found at run time: its functions by name, and one handle for each device.
#include <dlfcn.h>

#include <map>
#include <mutex>

#include <external/cublaslt.h>

namespace nvfuser::external {

using namespace cublaslt;

namespace {

template <typename Function>
bool resolve(void* library, const char* name, Function*& slot, std::string* why) {
  slot = reinterpret_cast<Function*>(dlsym(library, name));
  if (slot == nullptr) {
    *why = text("cuBLASLt is too old: it has no ", name, "; install a newer one");
  }
  return slot != nullptr;
}

bool fill(void* library, Table& t, std::string* why) {
  return resolve(library, "cublasLtCreate", t.Create, why) &&
         resolve(library, "cublasLtMatmulDescCreate", t.MatmulDescCreate, why) &&
         resolve(library, "cublasLtMatmulDescDestroy", t.MatmulDescDestroy, why) &&
         resolve(library, "cublasLtMatmulDescSetAttribute", t.MatmulDescSetAttribute, why) &&
         resolve(library, "cublasLtMatrixLayoutCreate", t.MatrixLayoutCreate, why) &&
         resolve(library, "cublasLtMatrixLayoutDestroy", t.MatrixLayoutDestroy, why) &&
         resolve(library, "cublasLtMatrixLayoutSetAttribute", t.MatrixLayoutSetAttribute, why) &&
         resolve(library, "cublasLtMatmulPreferenceCreate", t.MatmulPreferenceCreate, why) &&
         resolve(library, "cublasLtMatmulPreferenceDestroy", t.MatmulPreferenceDestroy, why) &&
         resolve(library, "cublasLtMatmulPreferenceSetAttribute", t.MatmulPreferenceSetAttribute,
                 why) &&
         resolve(library, "cublasLtMatmulAlgoGetHeuristic", t.MatmulAlgoGetHeuristic, why) &&
         resolve(library, "cublasLtMatmulAlgoConfigGetAttribute", t.MatmulAlgoConfigGetAttribute,
                 why) &&
         resolve(library, "cublasLtMatmul", t.Matmul, why);
}

struct Library {
  std::mutex mutex;
  std::vector<std::string> folders;
  int most_major = 13;
  bool tried = false;
  bool usable = false;
  std::string why;
  Table table{};
  std::map<int, Handle> handles;  ///< by device
};

Library& library() {
  static auto* one = new Library;  // never destroyed: kernels may run until the process ends
  return *one;
}

/// One that the process already has comes first (PyTorch's), then the newest.
void* openAny(const Library& l) {
  for (int flags : {RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD, RTLD_NOW | RTLD_LOCAL}) {
    for (int major = l.most_major; major >= 11; --major) {
      const std::string name = text("libcublasLt.so.", major);
      if (void* opened = dlopen(name.c_str(), flags)) {
        return opened;
      }
      for (const std::string& folder : l.folders) {
        if (void* opened = dlopen((folder + "/" + name).c_str(), flags)) {
          return opened;
        }
      }
    }
  }
  return nullptr;
}

void open(Library& l) {
  l.tried = true;
  void* opened = openAny(l);
  if (opened == nullptr) {
    l.why =
        text("cuBLASLt (libcublasLt.so.", l.most_major,
             " or older) was not found; install the wheel nvidia-cublas, a CUDA toolkit, or set "
             "LD_LIBRARY_PATH");
    return;
  }
  l.usable = fill(opened, l.table, &l.why);
}

}  // namespace

void setCublasLtSearch(std::vector<std::string> folders, int most_major) {
  Library& l = library();
  const std::lock_guard<std::mutex> lock(l.mutex);
  if (!l.tried) {
    l.folders = std::move(folders);
    l.most_major = most_major;
  }
}

namespace cublaslt {

Opened openCublasLt(int device, std::string* why) {
  Library& l = library();
  const std::lock_guard<std::mutex> lock(l.mutex);
  if (!l.tried) {
    open(l);
  }
  if (!l.usable) {
    *why = l.why;
    return {};
  }
  Handle& own = l.handles[device];
  if (own == nullptr) {
    const Status status = l.table.Create(&own);
    if (status != kSuccess) {
      own = nullptr;
      *why = text("cublasLtCreate failed with status ", status);
      return {};
    }
  }
  return {&l.table, own};
}

}  // namespace cublaslt

}  // namespace nvfuser::external
