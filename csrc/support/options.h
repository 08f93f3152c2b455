/// The one place where behaviour is switched: dumps, optional features, settings. One table
/// (options.def) names them all; docs/options.md is made from it.
///
/// `Options` is an immutable snapshot that travels with a compilation; nothing below the API reads
/// the environment. Changing one means making another:
///
///   params.options = Options::current().dump("kernel_ir").disable("fma,index_hoist");
///   executor.compile(&fusion, args, {}, params);
///
/// Every variable may be spelled NVFUSER_X or PYTORCH_NVFUSER_X. A wrong name there is one warning
/// that lists the known ones; in a call it is a `UserError`.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace nvfuser {

enum class DebugDumpOption : uint8_t {
#define NVFUSER_DUMP_OPTION(id, ...) id,
#include <support/options.def>
};
enum class EnableOption : uint8_t {
#define NVFUSER_ENABLE_OPTION(id, ...) id,
#include <support/options.def>
};
enum class DisableOption : uint8_t {
#define NVFUSER_DISABLE_OPTION(id, ...) id,
#include <support/options.def>
};
enum class Setting : uint8_t {
#define NVFUSER_SETTING(id, ...) id,
#include <support/options.def>
};

enum class OptionKind : uint8_t { Dump, Enable, Disable, Setting, System };
/// Who acts on an option; `None`: accepted, without effect.
enum class OptionLayer : uint8_t { Core, Python, TorchScript, None };

/// A row of the table.
struct OptionInfo {
  OptionKind kind = OptionKind::Dump;
  std::string_view name;       ///< "cuda_kernel"; of settings and the system's the variable's name
  std::string_view arguments;  ///< "pass, …" where the name may be followed by some in parentheses
  std::string_view fallback;   ///< value of a setting that is not given
  OptionLayer layer = OptionLayer::Core;
  bool in_code = false;  ///< a kernel compiled under one value does not serve another
  std::string_view meaning;
};

/// All of them, by kind and then in the order of options.def.
const std::vector<OptionInfo>& optionsTable();
/// docs/options.md.
std::string optionsPage();

class DumpSink;

class Options {
 public:
  /// Nothing is set.
  Options();

  /// The environment as it was when first asked.
  static const Options& ofEnvironment();
  /// Those of the innermost `OptionsGuard` of this thread, else of the environment. For the edge of
  /// the API alone: what is below gets its options from there.
  static const Options& current();
  /// Reads variables through `lookup` (null: not set); `warnings`, one a line, tell what was wrong.
  static Options read(const std::function<const char*(const char*)>& lookup, std::string* warnings);

  bool dumps(DebugDumpOption option) const;
  bool isEnabled(EnableOption option) const;
  bool isDisabled(DisableOption option) const;
  /// What stood in parentheses behind the name.
  const std::vector<std::string>& arguments(DebugDumpOption option) const;
  const std::vector<std::string>& arguments(EnableOption option) const;
  const std::vector<std::string>& arguments(DisableOption option) const;
  /// The setting, or its default.
  const std::string& text(Setting setting) const;
  int64_t number(Setting setting) const;
  bool flag(Setting setting) const { return number(setting) != 0; }
  /// Parts of a setting that are separated by commas.
  std::vector<std::string> list(Setting setting) const;

  // Copies that differ. `list` is what the variable may hold: "kernel_ir,lower_verbose(allocate)".
  // `UserError` for a wrong name or value.
  [[nodiscard]] Options dump(std::string_view list) const;
  [[nodiscard]] Options enable(std::string_view list) const;
  [[nodiscard]] Options disable(std::string_view list) const;
  /// `name` as in the table: "DUMP_DIR".
  [[nodiscard]] Options set(std::string_view name, std::string_view value) const;
  /// Dumps go there.
  [[nodiscard]] Options to(std::shared_ptr<DumpSink> sink) const;

  DumpSink& sink() const;
  /// "enable=kernel_debug disable=fma": features that change a kernel's code; empty if none does.
  const std::string& features() const;
  /// The same with settings: everything that a compiled kernel depends on.
  const std::string& codeKey() const;

 private:
  struct Data;
  explicit Options(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
  std::shared_ptr<const Data> data_;
};

/// Options of all API calls of this thread while it lives; a user's way to reach calls that take no
/// parameters. Nests.
class OptionsGuard {
 public:
  explicit OptionsGuard(Options options);
  ~OptionsGuard();
  OptionsGuard(const OptionsGuard&) = delete;
  OptionsGuard& operator=(const OptionsGuard&) = delete;

 private:
  friend class Options;
  Options options_;
  const OptionsGuard* outer_;
};

/// A variable of the system (one of the table's); null where it is not set. Read anew each time:
/// PATH and its like belong to the process, not to a compilation.
const char* systemVariable(const char* name);

}  // namespace nvfuser
