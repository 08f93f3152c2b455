/// What the library has: its version, dtypes and operations; and what a fusion is, as text.
#include <capi/nvfuser_c.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include <capi/fusion_handle.h>
#include <capi/guarded.h>
#include <capi/operations.h>
#include <support/options.h>

using namespace nvfuser;
using namespace nvfuser::capi;

namespace {

void giveText(const std::string& given, char** out) {
  requirePointer(out, "text");
  *out = static_cast<char*>(std::malloc(given.size() + 1));
  if (*out == nullptr) {
    throw std::bad_alloc();
  }
  std::memcpy(*out, given.c_str(), given.size() + 1);
}

/// Whether the list of options names one: 1 or 0; −1 if there is no such list or option.
int isNamed(std::string_view variable, std::string_view option) {
  const OptionKind kind = variable == "DUMP"      ? OptionKind::Dump
                          : variable == "ENABLE"  ? OptionKind::Enable
                          : variable == "DISABLE" ? OptionKind::Disable
                                                  : OptionKind::System;
  const Options& options = Options::current();
  uint8_t number = 0;  // an enumerator is its place among those of its kind
  for (const OptionInfo& info : optionsTable()) {
    if (info.kind != kind) {
      continue;
    }
    if (info.name == option) {
      switch (kind) {
        case OptionKind::Dump:
          return options.dumps(static_cast<DebugDumpOption>(number)) ? 1 : 0;
        case OptionKind::Enable:
          return options.isEnabled(static_cast<EnableOption>(number)) ? 1 : 0;
        case OptionKind::Disable:
          return options.isDisabled(static_cast<DisableOption>(number)) ? 1 : 0;
        case OptionKind::Setting:
        case OptionKind::System:
          return -1;
      }
    }
    ++number;
  }
  return -1;
}

}  // namespace

extern "C" {

const char* nvf_version(void) { return NVFUSER_VERSION; }
const char* nvf_last_error(void) { return lastError(); }

const char* nvf_dtype_name(int32_t dtype) {
  static constexpr const char* kNames[NVF_DTYPE_COUNT] = {
      "Null",   "Double", "Float", "Half",         "BFloat16",     "Float8_e4m3fn", "Float8_e5m2",
      "Char",   "Short",  "Int32", "Int",          "Byte",         "UInt16",        "UInt32",
      "UInt64", "Index",  "Bool",  "ComplexFloat", "ComplexDouble"};
  return dtype >= 0 && dtype < NVF_DTYPE_COUNT ? kNames[dtype] : nullptr;
}

int64_t nvf_op_count(void) {
  int64_t count = -1;
  guarded([&] { count = static_cast<int64_t>(operations().size()); });
  return count;
}

const char* nvf_op_name(int64_t index) {
  return index >= 0 && index < nvf_op_count()
             ? operations()[static_cast<size_t>(index)].name.c_str()
             : nullptr;
}

const char* nvf_op_doc(int64_t index) {
  return index >= 0 && index < nvf_op_count() ? operations()[static_cast<size_t>(index)].doc.c_str()
                                              : nullptr;
}

const char* nvf_op_signature(int64_t index) {
  const char* signature = nullptr;
  guarded([&] {
    static const std::vector<std::string> kSignatures = [] {
      std::vector<std::string> all;
      for (const Operation& operation : operations()) {
        all.push_back(operation.signature());
      }
      return all;
    }();
    if (index >= 0 && index < static_cast<int64_t>(kSignatures.size())) {
      signature = kSignatures[static_cast<size_t>(index)].c_str();
    }
  });
  return signature;
}

int nvf_print(nvf_fusion* fusion, char** text) {
  return guarded([&] {
    requirePointer(fusion, "the fusion");
    giveText(fusion->graph.toString(false), text);
  });
}

int nvf_definition(nvf_fusion* fusion, int64_t fusion_id, char** text) {
  return guarded([&] {
    requirePointer(fusion, "the fusion");
    giveText(fusion->pythonText(nvfuser::text("nvfuser_fusion_id", fusion_id)), text);
  });
}

int nvf_option(const char* variable, const char* option) {
  int named = -1;
  guarded([&] {
    requirePointer(variable, "the variable");
    requirePointer(option, "the option");
    named = isNamed(variable, option);
  });
  return named;
}

int nvf_dumps_definition(void) {
  bool dumps = false;
  guarded([&] { dumps = Options::current().dumps(DebugDumpOption::PythonDefinition); });
  return dumps ? 1 : 0;
}

int nvf_kernels(nvf_fusion* fusion, char** text) {
  return guarded([&] {
    requirePointer(fusion, "the fusion");
    giveText(join(executorOf(*fusion).getMostRecentCode(), "\n"), text);
  });
}

void nvf_free_text(char* text) { std::free(text); }

}  // extern "C"
