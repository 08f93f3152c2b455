#include <codegen/launch_table.h>

#include <algorithm>

#include <codegen/cuda_emitter.h>

namespace nvfuser {

namespace {

constexpr size_t kMostBytes = 4000;  ///< a kernel's parameters have at most 4096
constexpr int64_t kMostEntries = 64;
constexpr int64_t kLeastEntries = 4;
constexpr size_t kEndBytes = sizeof(uint32_t);

size_t roundedUp(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

/// As C++ lays out a member of this type, whose alignment is its size.
std::optional<size_t> bytesOf(const kir::Param& param, const kir::Kernel& kernel) {
  if (param.kind == kir::ParamKind::MapArg) {
    return std::nullopt;  // many bytes, and each launch has its own
  }
  if (param.kind == kir::ParamKind::IndexArg) {
    return kernel.index_type == DataType::Int32 ? sizeof(int32_t) : sizeof(int64_t);
  }
  if (param.kind == kir::ParamKind::TensorArg && !param.buffer->by_value) {
    return sizeof(void*);
  }
  if (isComplexType(param.dtype)) {
    return std::nullopt;  // aligned otherwise
  }
  return static_cast<size_t>(dataTypeSizeByte(param.dtype));
}

}  // namespace

std::optional<LaunchTableForm> launchTableForm(const kir::Kernel& kernel) {
  LaunchTableForm form;
  size_t end = 0;
  for (const kir::Param& param : kernel.params) {
    const std::optional<size_t> bytes = bytesOf(param, kernel);
    if (!bytes) {
      return std::nullopt;
    }
    form.params.push_back({roundedUp(end, *bytes), *bytes});
    end = form.params.back().offset + *bytes;
  }
  form.grid = roundedUp(end, kEndBytes);
  form.entry_bytes = roundedUp(form.grid + 3 * kEndBytes, sizeof(void*));
  form.capacity =
      std::min(static_cast<int64_t>(kMostBytes / (form.entry_bytes + kEndBytes)), kMostEntries);
  form.entries = roundedUp(static_cast<size_t>(form.capacity) * kEndBytes, sizeof(void*));
  if (form.capacity < kLeastEntries) {
    return std::nullopt;
  }
  return form;
}

GeneratedKernel generateForTable(const kir::Kernel& kernel, std::string name) {
  const std::optional<LaunchTableForm> form = launchTableForm(kernel);
  check(form.has_value(), "a kernel with a table has a form of it");
  codegen::CudaEmitter emitter(kernel, form->capacity);
  emitter.rename(std::move(name));
  return emitter.generate();
}

namespace codegen {

/// The structs before the function, and its signature.
void CudaEmitter::tableSignature(TextWriter& out) {
  out.directive("/// The arguments of one launch.");
  out.directive(text("struct ", name_, "_entry {"));
  TextWriter members(1);
  for (const kir::Param& param : kernel_.params) {
    members.line(text(memberType(param), " ", param.name, ";"));
  }
  members.line("unsigned int grid_x, grid_y, grid_z;");
  out.raw(members.take());
  out.directive("};");
  out.directive(text("struct ", name_, "_table {"));
  TextWriter arrays(1);
  arrays.line(text("unsigned int ends[", table_entries_, "];"), "blocks of the launches up to it");
  arrays.line(text(name_, "_entry entries[", table_entries_, "];"));
  out.raw(arrays.take());
  out.directive("};");
  out.directive(text("extern \"C\" __global__ void ", launchBounds(), name_, "(const ", name_,
                     "_table table) {"));
}

/// Which launch the block belongs to, and the names that the kernel's statements use.
void CudaEmitter::tableEntry(TextWriter& out) {
  TextWriter top(1);
  top.line("int at = 0;", "the first launch that ends behind this block");
  int64_t step = 1;
  while (2 * step < table_entries_) {
    step *= 2;
  }
  top.line(text("for (int step = ", step, "; step > 0; step /= 2) {"));
  top.line(
      text("  if (at + step < ", table_entries_, " && blockIdx.x >= table.ends[at + step - 1]) {"));
  top.line("    at += step;");
  top.line("  }");
  top.line("}");
  top.line(text("const ", name_, "_entry& entry = table.entries[at];"));
  for (const kir::Param& param : kernel_.params) {
    top.line(text(parameterType(param), " ", param.name, " = entry.", param.name, ";"),
             param.kind == kir::ParamKind::TensorArg ? comment(*bufferOf(param)) : "");
  }
  top.line("const unsigned int block = blockIdx.x - (at == 0 ? 0 : table.ends[at - 1]);");
  out.raw(top.take());
}

std::string CudaEmitter::memberType(const kir::Param& param) {
  std::string type = parameterType(param);
  for (const std::string_view word : {" __restrict__", "const "}) {
    const size_t at = type.find(word);
    const bool is_of_pointer = word[0] == 'c' && type.find('*') != std::string::npos;
    if (at != std::string::npos && !is_of_pointer) {
      type.erase(at, word.size());
    }
  }
  return type;
}

std::string CudaEmitter::launchSymbol(std::string_view symbol) const {
  if (table_entries_ > 0) {
    if (symbol == "blockIdx.x") {
      return "block % entry.grid_x";
    }
    if (symbol == "blockIdx.y") {
      return "block / entry.grid_x % entry.grid_y";
    }
    if (symbol == "blockIdx.z") {
      return "block / entry.grid_x / entry.grid_y";
    }
    if (symbol.starts_with("gridDim.")) {
      return text("entry.grid_", symbol.substr(symbol.size() - 1));
    }
  }
  return std::string(symbol);
}

}  // namespace codegen
}  // namespace nvfuser
