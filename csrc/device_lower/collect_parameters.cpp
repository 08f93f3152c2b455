#include <device_lower/collect_parameters.h>

#include <algorithm>
#include <map>
#include <set>

#include <kernel_ir/scalars_of.h>

namespace nvfuser {

using kir::Scalar;

namespace {

kir::Param tensorParameter(const kir::Buffer* buffer) {
  kir::Param param;
  param.kind = kir::ParamKind::TensorArg;
  param.name = buffer->name;
  param.dtype = buffer->dtype;
  param.buffer = buffer;
  return param;
}

void passTensor(const kir::Buffer* buffer, kir::BufferRole role, kir::Kernel& kernel) {
  const bool is_passed =
      std::any_of(kernel.params.begin(), kernel.params.end(),
                  [&](const kir::Param& param) { return param.buffer == buffer; });
  if (buffer->role == role && buffer->memory == MemoryType::Global &&
      (buffer->read || buffer->written) && !is_passed) {
    kernel.params.push_back(tensorParameter(buffer));
  }
}

void passTensors(const Fusion& fusion, const Allocations& allocations, kir::Kernel& kernel) {
  for (kir::BufferRole role :
       {kir::BufferRole::Input, kir::BufferRole::Output, kir::BufferRole::Intermediate}) {
    if (role == kir::BufferRole::Input) {
      for (const Val* val : fusion.inputs()) {
        if (val->isA<TensorView>()) {
          passTensor(allocations.of(val->as<TensorView>()).buffer, role, kernel);
        }
      }
    }
    for (const auto& buffer : kernel.buffers) {
      passTensor(buffer.get(), role, kernel);
    }
  }
}

/// The table that accesses are checked with, behind the tensors that it tells of.
void passBounds(kir::Kernel& kernel) {
  const auto tensors = static_cast<int64_t>(kernel.params.size());
  kir::Buffer buffer;
  buffer.name = "bounds";
  buffer.dtype = DataType::Int;
  buffer.memory = MemoryType::Global;
  buffer.elements = kernel.pool->constant(kir::Kernel::kBoundsReport + 2 * tensors);
  buffer.read = buffer.written = true;
  kernel.bounds = kernel.addBuffer(std::move(buffer));
  kernel.params.push_back(tensorParameter(kernel.bounds));
}

void passMaps(kir::Kernel& kernel) {
  for (const auto& map : kernel.tensor_maps) {
    kir::Param param;
    param.kind = kir::ParamKind::MapArg;
    param.name = map->name;
    param.dtype = map->buffer->dtype;
    param.map = map.get();
    kernel.params.push_back(std::move(param));
  }
}

/// In order of the fusion's scalars, strides behind them.
void passSizes(const Symbols& symbols, kir::Kernel& kernel) {
  std::map<std::pair<int64_t, int>, Scalar> used;
  const auto note = [&](Scalar a) {
    for (Scalar symbol : a != nullptr ? kir::ScalarPool::symbolsOf(a) : std::vector<Scalar>()) {
      const auto source = symbols.sources().find(symbol);
      if (source != symbols.sources().end()) {
        const Val* val = source->second.val;
        used[{val != nullptr ? val->name() : INT64_MAX, symbol->id}] = symbol;
      }
    }
  };
  kir::forEach(kernel.body, [&](const kir::Stmt& stmt) { kir::forEachScalar(stmt, note); });
  for (const auto& buffer : kernel.buffers) {
    note(buffer->shared_offset);
  }
  for (const kir::Kernel::IndexRead& read : kernel.index_reads) {
    note(read.extent);
  }
  for (const auto& [order, symbol] : used) {
    kir::Param param;
    param.kind = kir::ParamKind::IndexArg;
    param.name = symbol->name;
    param.dtype = kernel.index_type;
    param.symbol = symbol;
    param.val = symbols.sources().at(symbol).val;
    kernel.params.push_back(std::move(param));
  }
}

void passScalars(const std::vector<const Val*>& operands, kir::Kernel& kernel) {
  for (const Val* val : operands) {
    kir::Param param;
    param.kind = kir::ParamKind::ScalarArg;
    param.name = text("s_", val->toString());
    param.dtype = val->dtype() == DataType::Index ? DataType(DataType::Int) : val->dtype();
    param.val = val;
    kernel.params.push_back(std::move(param));
  }
}

void passSeed(kir::Kernel& kernel) {
  std::set<std::string> wanted;
  const auto note = [&](const kir::Operand& operand) {
    if (auto* param = std::get_if<kir::ParamRef>(&operand)) {
      wanted.insert(param->name);
    }
  };
  kir::forEach(kernel.body, [&](const kir::Stmt& stmt) {
    if (auto* random = std::get_if<kir::Random>(&stmt.node)) {
      note(random->seed);
      note(random->offset);
    }
  });
  for (const char* name : {"philox_seed", "philox_offset"}) {
    if (wanted.count(name) == 0) {
      continue;
    }
    kir::Param param;
    param.kind = kir::ParamKind::ScalarArg;
    param.name = name;
    param.dtype = DataType::Int;
    kernel.params.push_back(std::move(param));
  }
}

}  // namespace

void collectParameters(const Fusion& fusion, const Allocations& allocations, const Symbols& symbols,
                       const std::vector<const Val*>& scalar_operands, bool checked,
                       kir::Kernel& kernel) {
  passTensors(fusion, allocations, kernel);
  if (checked) {
    passBounds(kernel);
  }
  passMaps(kernel);
  passSizes(symbols, kernel);
  passScalars(scalar_operands, kernel);
  passSeed(kernel);
  kernel.sources = symbols.sources();
}

}  // namespace nvfuser
