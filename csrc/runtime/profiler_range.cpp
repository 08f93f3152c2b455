#include <runtime/profiler_range.h>

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include <support/dump.h>
#include <support/options.h>
#include <support/text.h>

namespace nvfuser {

namespace {

// The protocol, as far as it is needed. The profiler's library has one function,
// InitializeInjectionNvtx2, which is given another one that hands out tables by number. The table
// of callbacks gives it, for the module of the core functions, the places where it puts its own.

using Function = void (*)();
using PushFunction = int (*)(const char* message);
using PopFunction = int (*)();

constexpr uint32_t kCallbacksTable = 1;
constexpr uint32_t kVersionTable = 3;
constexpr int kCoreModule = 1;
constexpr size_t kRangePush = 9;  // with a message of bytes
constexpr size_t kRangePop = 11;
constexpr size_t kCoreFunctions = 16;

Function core_functions[kCoreFunctions] = {};

int giveFunctionTable(int module, Function*** table, unsigned* size) {
  static Function* places[kCoreFunctions + 1] = {};
  if (module != kCoreModule) {
    return 0;
  }
  for (size_t i = 0; i < kCoreFunctions; ++i) {
    places[i] = &core_functions[i];
  }
  *table = places;  // ends with null
  if (size != nullptr) {
    *size = kCoreFunctions;
  }
  return 1;
}

struct CallbacksTable {
  size_t size = sizeof(CallbacksTable);
  int (*function_table)(int module, Function*** table, unsigned* size) = &giveFunctionTable;
};

struct VersionTable {
  size_t size = sizeof(VersionTable);
  uint32_t version = 3;
  uint32_t reserved = 0;
  void (*set_profilers_version)(uint32_t) = [](uint32_t) {};
};

const void* giveTable(uint32_t number) {
  static const CallbacksTable callbacks;
  static const VersionTable version;
  return number == kCallbacksTable ? static_cast<const void*>(&callbacks)
         : number == kVersionTable ? &version
                                   : nullptr;
}

/// Whether a profiler's library was found and gave what is needed.
bool attach() {
  const char* path = std::getenv("NVTX_INJECTION64_PATH");
  if (path == nullptr || *path == '\0') {
    return false;
  }
  void* library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);  // stays: its functions are called
  if (library == nullptr) {
    const char* why = dlerror();
    warn(text("ranges for the profiler that NVTX_INJECTION64_PATH names are left out: ",
              why != nullptr ? why : "its library cannot be loaded"));
    return false;
  }
  using Initialize = int (*)(const void* (*)(uint32_t));
  auto* initialize = reinterpret_cast<Initialize>(dlsym(library, "InitializeInjectionNvtx2"));
  return initialize != nullptr && initialize(&giveTable) != 0 &&
         core_functions[kRangePush] != nullptr && core_functions[kRangePop] != nullptr;
}

bool isAttached() {
  static const bool attached = attach();
  return attached;
}

}  // namespace

bool ProfilerRange::isWanted() {
  return isAttached() && !Options::current().isDisabled(DisableOption::Nvtx);
}

void ProfilerRange::push(std::string_view what, const std::string& name) {
  const std::string message = text("nvfuser ", what, " ", name);
  reinterpret_cast<PushFunction>(core_functions[kRangePush])(message.c_str());
}

void ProfilerRange::pop() { reinterpret_cast<PopFunction>(core_functions[kRangePop])(); }

}  // namespace nvfuser
