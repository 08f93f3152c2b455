// NCCL as it is found at run time: its functions by name.
#include <dlfcn.h>

#include <runtime/cuda/nccl.h>
#include <runtime/cuda/nvrtc_search.h>
#include <support/text.h>

namespace nvfuser::cuda::nccl {

namespace {

constexpr const char* kName = "libnccl.so.2";

template <typename Function>
bool resolve(void* library, const char* name, Function*& slot, std::string* why) {
  slot = reinterpret_cast<Function*>(dlsym(library, name));
  if (slot == nullptr) {
    *why = text("NCCL is too old: ", kName, " has no ", name, "; install 2.14 or newer");
  }
  return slot != nullptr;
}

bool fill(void* library, Table& t, std::string* why) {
  return resolve(library, "ncclGetVersion", t.GetVersion, why) &&
         resolve(library, "ncclGetErrorString", t.GetErrorString, why) &&
         resolve(library, "ncclGetUniqueId", t.GetUniqueId, why) &&
         resolve(library, "ncclCommInitRankConfig", t.CommInitRankConfig, why) &&
         resolve(library, "ncclCommDestroy", t.CommDestroy, why) &&
         resolve(library, "ncclCommAbort", t.CommAbort, why) &&
         resolve(library, "ncclCommGetAsyncError", t.CommGetAsyncError, why) &&
         resolve(library, "ncclGroupStart", t.GroupStart, why) &&
         resolve(library, "ncclGroupEnd", t.GroupEnd, why) &&
         resolve(library, "ncclAllReduce", t.AllReduce, why) &&
         resolve(library, "ncclReduceScatter", t.ReduceScatter, why) &&
         resolve(library, "ncclAllGather", t.AllGather, why) &&
         resolve(library, "ncclBroadcast", t.Broadcast, why) &&
         resolve(library, "ncclSend", t.Send, why) && resolve(library, "ncclRecv", t.Recv, why);
}

void* openAny() {
  for (int flags : {RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD, RTLD_NOW | RTLD_LOCAL}) {
    if (void* opened = dlopen(kName, flags)) {
      return opened;
    }
    for (const std::string& folder : libraryFolders("nccl")) {
      if (void* opened = dlopen(text(folder, "/", kName).c_str(), flags)) {
        return opened;
      }
    }
  }
  return nullptr;
}

struct Opened {
  Table table{};
  bool usable = false;
  std::string why;

  Opened() {
    void* opened = openAny();
    if (opened == nullptr) {
      why = text("NCCL (", kName,
                 ") was not found; install the wheel nvidia-nccl-cu13 (for CUDA 12: -cu12), or set "
                 "LD_LIBRARY_PATH");
      return;
    }
    usable = fill(opened, table, &why);
    if (usable) {
      table.GetVersion(&table.version);
    }
  }
};

}  // namespace

const Table* library(std::string* why) {
  static const auto* one = new Opened;  // never destroyed: kernels may run until the process ends
  if (!one->usable && why != nullptr) {
    *why = one->why;
  }
  return one->usable ? &one->table : nullptr;
}

}  // namespace nvfuser::cuda::nccl
