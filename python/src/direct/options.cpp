// The options of one call.

#include <algorithm>
#include <string_view>

#include "direct/executors.h"
#include <support/error.h>

namespace nvfuser::python {

namespace {

/// Options of nvFuser that ask for something that is not here.
constexpr struct {
  std::string_view name;
  std::string_view instead;
} kRefused[] = {{"kernel_profile",
                 "kernels are not instrumented; `with PythonProfiler()` measures them, a profiler "
                 "of the device looks into them"}};

/// Those of the names that switch something here.
std::string effective(const std::vector<std::string>& names, OptionKind kind,
                      std::string_view list) {
  std::string result;
  for (const std::string& name : names) {
    const std::string_view plain = std::string_view(name).substr(0, name.find('('));
    const auto& table = optionsTable();
    for (const auto& refused : kRefused) {
      if (plain == refused.name) {
        userError(list, "_option ", name, " is not supported: ", refused.instead);
      }
    }
    const auto known = std::find_if(table.begin(), table.end(), [&](const OptionInfo& info) {
      return info.kind == kind && info.name == plain;
    });
    if (known == table.end()) {
      userError("Unrecognized ", list, "_option: ", name, "; docs/options.md lists them");
    }
    if (known->layer != OptionLayer::None) {
      append(result, text(result.empty() ? "" : ",", name));
    }
  }
  return result;
}

}  // namespace

std::optional<Options> optionsOf(const std::vector<std::string>& enable,
                                 const std::vector<std::string>& disable) {
  const std::string on = effective(enable, OptionKind::Enable, "enable");
  const std::string off = effective(disable, OptionKind::Disable, "disable");
  if (on.empty() && off.empty()) {
    return std::nullopt;
  }
  Options options = Options::current();
  options = on.empty() ? options : options.enable(on);
  return off.empty() ? options : options.disable(off);
}

}  // namespace nvfuser::python
