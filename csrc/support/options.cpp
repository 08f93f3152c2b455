#include <support/options.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <span>

#include <support/dump.h>
#include <support/error.h>

namespace nvfuser {

namespace {

enum class Key : bool { No, Yes };
/// What a setting may hold.
enum class SettingType : uint8_t {
  Text,
  Path,
  Flag,
  Count,
  Megabytes,
  Seconds,
  Registers,
  Level,
  Order
};

constexpr auto kDumps = std::to_array<OptionInfo>({
#define NVFUSER_DUMP_OPTION(id, name, arguments, layer, meaning) \
  {OptionKind::Dump, name, arguments, "", OptionLayer::layer, false, meaning},
#include <support/options.def>
});
constexpr auto kEnables = std::to_array<OptionInfo>({
#define NVFUSER_ENABLE_OPTION(id, name, arguments, layer, key, meaning) \
  {OptionKind::Enable, name, arguments, "", OptionLayer::layer, (key) == Key::Yes, meaning},
#include <support/options.def>
});
constexpr auto kDisables = std::to_array<OptionInfo>({
#define NVFUSER_DISABLE_OPTION(id, name, arguments, layer, key, meaning) \
  {OptionKind::Disable, name, arguments, "", OptionLayer::layer, (key) == Key::Yes, meaning},
#include <support/options.def>
});
constexpr auto kSettings = std::to_array<OptionInfo>({
#define NVFUSER_SETTING(id, name, type, fallback, key, meaning) \
  {OptionKind::Setting, name, "", fallback, OptionLayer::Core, (key) == Key::Yes, meaning},
#include <support/options.def>
});
constexpr auto kSettingTypes = std::to_array<SettingType>({
#define NVFUSER_SETTING(id, name, type, ...) SettingType::type,
#include <support/options.def>
});
constexpr auto kSystem = std::to_array<OptionInfo>({
#define NVFUSER_SYSTEM_VARIABLE(name, meaning) \
  {OptionKind::System, name, "", "", OptionLayer::Core, false, meaning},
#include <support/options.def>
});

/// One of the three lists, and what a program asked of it.
struct ListKind {
  std::string_view variable;
  std::span<const OptionInfo> table;
};
const ListKind kLists[] = {{"DUMP", kDumps}, {"ENABLE", kEnables}, {"DISABLE", kDisables}};

std::string_view trimmed(std::string_view part) {
  const size_t begin = part.find_first_not_of(" \t\n");
  if (begin == std::string_view::npos) {
    return {};
  }
  return part.substr(begin, part.find_last_not_of(" \t\n") + 1 - begin);
}

/// Parts between commas that are in no parentheses.
std::vector<std::string> parts(std::string_view list) {
  std::vector<std::string> result;
  std::string part;
  int depth = 0;
  auto end = [&] {
    if (std::string_view word = trimmed(part); !word.empty()) {
      result.emplace_back(word);
    }
    part.clear();
  };
  for (char c : list) {
    depth += (c == '(') - (c == ')');
    if (c == ',' && depth == 0) {
      end();
    } else {
      part += c;
    }
  }
  end();
  return result;
}

std::string namesOf(std::span<const OptionInfo> table) {
  return join(table, ", ", [](const OptionInfo& info) { return info.name; });
}

std::optional<int64_t> integer(std::string_view value) {
  int64_t number = 0;
  auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size()) {
    return {};
  }
  return number;
}

/// Why `value` is not what the setting needs; empty if it is.
std::string refusal(SettingType type, std::string_view value) {
  const std::optional<int64_t> number = integer(value);
  switch (type) {
    case SettingType::Text:
    case SettingType::Path:
      return "";
    case SettingType::Flag:
      return value == "0" || value == "1" ? "" : "0 or 1";
    case SettingType::Count:
      return number && *number >= 0 && *number <= 1024 ? "" : "an integer, 0…1024";
    case SettingType::Megabytes:
      return number && *number >= 0 && *number <= 1'000'000 ? "" : "an integer, 0…1000000";
    case SettingType::Seconds:
      return number && *number >= 0 && *number <= 86'400 ? "" : "an integer, 0…86400";
    case SettingType::Registers:
      return number && *number >= 0 && *number <= 255 ? "" : "an integer, 0…255";
    case SettingType::Level:
      return number && *number >= 0 && *number <= 3 ? "" : "an integer, 0…3";
    case SettingType::Order: {
      const bool seeded =
          value.starts_with("random:") && integer(value.substr(7)).value_or(-1) >= 0;
      return value == "forward" || value == "reverse" || value == "random" || seeded
                 ? ""
                 : "forward, reverse, random or random:seed";
    }
  }
  return "";
}

}  // namespace

struct Options::Data {
  /// Of each option that is on, its arguments; one map for each of `kLists`.
  std::array<std::map<uint8_t, std::vector<std::string>>, 3> on;
  std::array<std::string, kSettings.size()> settings;
  std::shared_ptr<DumpSink> sink = std::make_shared<DumpSink>();
  std::string features;
  std::string code_key;

  Data() {
    for (size_t i = 0; i < kSettings.size(); ++i) {
      settings[i] = kSettings[i].fallback;
    }
  }

  /// Turns on what `list` names; the first thing wrong with it, or nothing.
  std::string turnOn(size_t kind, std::string_view list) {
    std::string wrong;
    for (const std::string& part : parts(list)) {
      const size_t open = part.find('(');
      const std::string_view name = trimmed(std::string_view(part).substr(0, open));
      const std::span<const OptionInfo> table = kLists[kind].table;
      auto row =
          std::find_if(table.begin(), table.end(), [&](const auto& r) { return r.name == name; });
      if (row == table.end()) {
        wrong += nvfuser::text(wrong.empty() ? "" : ", ", "'", name, "'");
        continue;
      }
      std::vector<std::string> arguments;
      if (open != std::string::npos) {
        std::string_view inside = std::string_view(part).substr(open + 1);
        arguments = parts(inside.substr(0, inside.rfind(')')));
      }
      on[kind][static_cast<uint8_t>(row - table.begin())] = std::move(arguments);
    }
    if (wrong.empty()) {
      return "";
    }
    return nvfuser::text("NVFUSER_", kLists[kind].variable, ": there is no ", wrong, "; known are ",
                         namesOf(kLists[kind].table));
  }

  std::string assign(size_t setting, std::string_view value) {
    const std::string needed = refusal(kSettingTypes[setting], value);
    if (!needed.empty()) {
      return nvfuser::text("NVFUSER_", kSettings[setting].name, ": '", value,
                           "' does not fit, needed is ", needed);
    }
    settings[setting] = value;
    return "";
  }

  void finish() {
    if (settings[static_cast<size_t>(Setting::DisableFallback)] == "1") {
      on[2][static_cast<uint8_t>(DisableOption::Fallback)];
    }
    features.clear();
    for (size_t kind : {size_t{1}, size_t{2}}) {
      std::string names;
      for (const auto& [option, arguments] : on[kind]) {
        if (const OptionInfo& row = kLists[kind].table[option]; row.in_code) {
          names += nvfuser::text(names.empty() ? "" : ",", row.name);
        }
      }
      if (!names.empty()) {
        features +=
            nvfuser::text(features.empty() ? "" : " ", kind == 1 ? "enable=" : "disable=", names);
      }
    }
    code_key = features;
    for (size_t i = 0; i < kSettings.size(); ++i) {
      if (kSettings[i].in_code && settings[i] != kSettings[i].fallback) {
        code_key += nvfuser::text(code_key.empty() ? "" : " ", kSettings[i].name, "=", settings[i]);
      }
    }
  }

  static Options changed(const Options& from, const std::function<std::string(Data&)>& change) {
    auto data = std::make_shared<Data>(*from.data_);
    if (std::string wrong = change(*data); !wrong.empty()) {
      throw UserError("options: " + wrong);
    }
    data->finish();
    return Options(std::move(data));
  }
};

Options::Options() {
  static const auto* nothing = new std::shared_ptr<const Data>(std::make_shared<Data>());
  data_ = *nothing;
}

Options Options::read(const std::function<const char*(const char*)>& lookup,
                      std::string* warnings) {
  auto data = std::make_shared<Data>();
  std::string wrong;
  auto note = [&](std::string words) {
    if (!words.empty()) {
      wrong += std::move(words) + "\n";
    }
  };
  auto valueOf = [&](std::string_view name) {
    const char* value = lookup(nvfuser::text("NVFUSER_", name).c_str());
    return value != nullptr ? value : lookup(nvfuser::text("PYTORCH_NVFUSER_", name).c_str());
  };
  for (size_t kind = 0; kind < std::size(kLists); ++kind) {
    // Both spellings of a list add up.
    for (const char* prefix : {"NVFUSER_", "PYTORCH_NVFUSER_"}) {
      if (const char* list = lookup(nvfuser::text(prefix, kLists[kind].variable).c_str())) {
        note(data->turnOn(kind, list));
      }
    }
  }
  for (size_t i = 0; i < kSettings.size(); ++i) {
    const char* value = valueOf(kSettings[i].name);
    if (value != nullptr && *value != '\0') {
      note(data->assign(i, value));
    }
  }
  data->finish();
  if (warnings != nullptr) {
    *warnings = std::move(wrong);
  }
  return Options(std::move(data));
}

const Options& Options::ofEnvironment() {
  static const Options* options = [] {
    std::string warnings;
    auto* read =
        new Options(Options::read([](const char* name) { return secure_getenv(name); }, &warnings));
    while (!warnings.empty() && warnings.back() == '\n') {
      warnings.pop_back();
    }
    if (!warnings.empty()) {
      warn(warnings);
    }
    return read;
  }();
  return *options;
}

// ---- what is set ----

bool Options::dumps(DebugDumpOption option) const {
  if (data_->on[0].count(static_cast<uint8_t>(option)) != 0) {
    return true;
  }
  // A folder alone asks for one file for each stage.
  const bool stage = option == DebugDumpOption::FusionIr || option == DebugDumpOption::KernelIr ||
                     option == DebugDumpOption::LowerVerbose ||
                     option == DebugDumpOption::CudaToFile;
  return stage && data_->on[0].empty() && !text(Setting::DumpDir).empty();
}

bool Options::isEnabled(EnableOption option) const {
  return data_->on[1].count(static_cast<uint8_t>(option)) != 0;
}

bool Options::isDisabled(DisableOption option) const {
  return data_->on[2].count(static_cast<uint8_t>(option)) != 0;
}

namespace {
const std::vector<std::string>& argumentsIn(
    const std::map<uint8_t, std::vector<std::string>>& options, uint8_t option) {
  static const std::vector<std::string> kNone;
  auto found = options.find(option);
  return found != options.end() ? found->second : kNone;
}
}  // namespace

const std::vector<std::string>& Options::arguments(DebugDumpOption option) const {
  return argumentsIn(data_->on[0], static_cast<uint8_t>(option));
}

const std::vector<std::string>& Options::arguments(EnableOption option) const {
  return argumentsIn(data_->on[1], static_cast<uint8_t>(option));
}

const std::vector<std::string>& Options::arguments(DisableOption option) const {
  return argumentsIn(data_->on[2], static_cast<uint8_t>(option));
}

const std::string& Options::text(Setting setting) const {
  return data_->settings[static_cast<size_t>(setting)];
}

int64_t Options::number(Setting setting) const {
  const std::optional<int64_t> value = integer(text(setting));
  check(value.has_value(), "only settings that are numbers are asked for one");
  return *value;
}

std::vector<std::string> Options::list(Setting setting) const { return parts(text(setting)); }

DumpSink& Options::sink() const { return *data_->sink; }

const std::string& Options::features() const { return data_->features; }

const std::string& Options::codeKey() const { return data_->code_key; }

// ---- copies that differ ----

Options Options::dump(std::string_view list) const {
  return Data::changed(*this, [&](Data& data) { return data.turnOn(0, list); });
}

Options Options::enable(std::string_view list) const {
  return Data::changed(*this, [&](Data& data) { return data.turnOn(1, list); });
}

Options Options::disable(std::string_view list) const {
  return Data::changed(*this, [&](Data& data) { return data.turnOn(2, list); });
}

Options Options::set(std::string_view name, std::string_view value) const {
  return Data::changed(*this, [&](Data& data) {
    for (size_t i = 0; i < kSettings.size(); ++i) {
      if (kSettings[i].name == name) {
        return data.assign(i, value);
      }
    }
    return nvfuser::text("there is no setting '", name, "'; known are ", namesOf(kSettings));
  });
}

Options Options::to(std::shared_ptr<DumpSink> sink) const {
  check(sink != nullptr, "dumps go somewhere");
  return Data::changed(*this, [&](Data& data) {
    data.sink = std::move(sink);
    return std::string();
  });
}

// ---- the edge ----

namespace {
thread_local const OptionsGuard* innermost_guard = nullptr;
}

OptionsGuard::OptionsGuard(Options options)
    : options_(std::move(options)), outer_(innermost_guard) {
  innermost_guard = this;
}

OptionsGuard::~OptionsGuard() { innermost_guard = outer_; }

const Options& Options::current() {
  return innermost_guard != nullptr ? innermost_guard->options_ : ofEnvironment();
}

const char* systemVariable(const char* name) {
  const bool known = std::any_of(kSystem.begin(), kSystem.end(),
                                 [&](const OptionInfo& row) { return row.name == name; });
  check(known, "variables of the system that are looked at are in options.def");
  return secure_getenv(name);  // a program with raised rights does not trust its caller's
}

// ---- the table ----

const std::vector<OptionInfo>& optionsTable() {
  static const auto* table = [] {
    auto* all = new std::vector<OptionInfo>;
    for (std::span<const OptionInfo> rows :
         {std::span<const OptionInfo>(kDumps), std::span<const OptionInfo>(kEnables),
          std::span<const OptionInfo>(kDisables), std::span<const OptionInfo>(kSettings),
          std::span<const OptionInfo>(kSystem)}) {
      all->insert(all->end(), rows.begin(), rows.end());
    }
    return all;
  }();
  return *table;
}

}  // namespace nvfuser
