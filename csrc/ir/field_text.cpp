#include <ir/field_text.h>

#include <algorithm>

#include <ir/text_cursor.h>

namespace nvfuser {

std::string_view valueName(UnaryOpType value) { return opName(value); }
std::string_view valueName(BinaryOpType value) { return opName(value); }
std::string_view valueName(TernaryOpType value) { return opName(value); }
std::string_view valueName(ParallelType value) { return parallelTypeName(value); }
std::string_view valueName(IterType value) { return iterTypeName(value); }
std::string_view valueName(CommunicationType value) { return communicationName(value); }

std::string_view valueName(LoadStoreOpType value) {
  static constexpr std::string_view kNames[] = {"set", "segmenter_set", "cp_async", "cp_async_bulk",
                                                "cp_async_bulk_tensor_tile"};
  return kNames[static_cast<size_t>(value)];
}

std::string_view valueName(CacheOp value) {
  static constexpr std::string_view kNames[] = {"unspecified", "all_levels", "streaming", "global"};
  return kNames[static_cast<size_t>(value)];
}

std::string_view valueName(RNGOpType value) {
  static constexpr std::string_view kNames[] = {"rand", "uniform", "randn", "normal",
                                                "uniform_of_threads"};
  return kNames[static_cast<size_t>(value)];
}

std::string_view valueName(SwizzleType value) {
  static constexpr std::string_view kNames[] = {"none", "xor", "cyclic_shift"};
  return kNames[static_cast<size_t>(value)];
}

std::string_view valueName(SwizzleMode value) {
  static constexpr std::string_view kNames[] = {"none", "data", "loop"};
  return kNames[static_cast<size_t>(value)];
}

std::string fieldText(const std::vector<bool>& flags) {
  return text("{", join(flags, ", ", [](bool flag) { return fieldText(flag); }), "}");
}

std::string fieldText(const CircularBufferOptions& options) {
  std::string kind;
  if (const auto* special = std::get_if<WarpSpecialized>(&options.type)) {
    kind = text(", by threads of ", valueName(special->on));
    if (special->num_registers) {
      kind += text(" with ", special->num_registers->first, " registers to ",
                   special->num_registers->second);
    }
  } else if (std::get<Pipelined>(options.type).uses_mbarrier_for_war) {
    kind = ", mbarrier";
  }
  return text(options.stage, " stages, ", options.prefetch, " ahead", kind);
}

void readField(TextCursor& at, bool& value) {
  value = at.take("true");
  if (!value && !at.take("false")) {
    at.fail("'true' or 'false'");
  }
}

void readField(TextCursor& at, int64_t& value) { value = at.takeInteger("an integer"); }

void readField(TextCursor& at, std::vector<bool>& flags) {
  at.expect("{", "before flags");
  flags.clear();
  while (!at.take("}")) {
    bool flag = false;
    readField(at, flag);
    flags.push_back(flag);
    if (!at.take(",") && !at.sees("}")) {
      at.fail("',' or '}' behind a flag");
    }
  }
}

void readField(TextCursor& at, CircularBufferOptions& options) {
  options.stage = at.takeInteger("the number of stages");
  at.expect("stages,", "behind their number");
  options.prefetch = at.takeInteger("how many stages loads are ahead");
  at.expect("ahead", "behind the number of stages");
  if (!at.take(", by threads of")) {
    options.type = Pipelined(at.take(", mbarrier"));
    return;
  }
  ParallelType on = ParallelType::Serial;
  readField(at, on);
  WarpSpecialized special(on);
  if (at.take("with")) {
    const int64_t loading = at.takeInteger("registers of a thread that loads");
    at.expect("registers to", "behind the registers of a thread that loads");
    special.num_registers = {loading, at.takeInteger("registers of a thread that computes")};
  }
  options.type = special;
}

// Rows of a mesh are apart by "|", its planes by "||"; a mesh of more axes but one row, or one
// plane, begins with that sign.
void readField(TextCursor& at, DeviceMesh& mesh) {
  at.expect("DeviceMesh{", "before devices");
  std::vector<int64_t> devices;
  int64_t rows = 1;
  int64_t planes = 1;
  bool has_rows = false;
  bool has_planes = false;
  while (!at.take("}")) {
    if (at.take("||")) {
      has_planes = true;
      planes += devices.empty() ? 0 : 1;
      rows += devices.empty() ? 0 : 1;
    } else if (at.take("|")) {
      has_rows = true;
      rows += devices.empty() ? 0 : 1;
    } else {
      devices.push_back(at.takeInteger("a device, '|' or '}'"));
    }
  }
  if (devices.empty()) {
    at.refuse("a mesh has at least one device");
  }
  std::vector<int64_t> shape;
  if (has_planes) {
    shape.push_back(planes);
  }
  if (has_planes || has_rows) {
    shape.push_back(rows / planes);
  }
  shape.push_back(static_cast<int64_t>(devices.size()) / rows);
  mesh = DeviceMesh(std::move(devices), std::move(shape));
}

}  // namespace nvfuser
