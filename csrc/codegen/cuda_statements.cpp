/// Vector copies, functions, asynchronous copies, barriers and updates in memory.
#include <cmath>

#include <codegen/cuda_emitter.h>

namespace nvfuser::codegen {

namespace {

bool inRegisters(const kir::Ref& ref) { return ref.buffer->memory == MemoryType::Local; }

/// Whether all bits of the literal are zero in every real dtype.
bool isZeroBits(const kir::Literal& literal) {
  const PolymorphicValue& value = literal.value;
  if (value.is<double>()) {
    return value.as<double>() == 0 && !std::signbit(value.as<double>());
  }
  return (value.is<int64_t>() && value.as<int64_t>() == 0) ||
         (value.is<bool>() && !value.as<bool>());
}

}  // namespace

std::string CudaEmitter::elementText(const kir::Ref& ref, std::string_view offset, DataType dtype) {
  // Of a vector in registers each element is half of a word.
  const bool is_pair = vectors_.count(ref.buffer) != 0 && ref.buffer->elements->isConstant() &&
                       ref.buffer->elements->value % 2 == 0;
  if (storedAs(*ref.buffer) != DataType::BFloat16 || dtype != DataType::Float || !is_pair) {
    return Emitter::elementText(ref, offset, dtype);
  }
  snippets_.add("bf16.cuh");
  const std::string index = scalar_(ref.index);
  return text("floatAt(", ref.buffer->name, ", ",
              offset.empty()             ? index
              : ref.index->isConstant(0) ? std::string(offset)
                                         : text(scalar_.operand(ref.index), " + ", offset),
              ")");
}

void CudaEmitter::emit(const kir::Assign& assign) {
  const auto* src = std::get_if<kir::Ref>(&assign.src);
  if (assign.cache_op != CacheOp::Streaming || assign.dst.width != 1 || src == nullptr ||
      src->buffer->memory != MemoryType::Global || src->buffer->by_value ||
      !inRegisters(assign.dst) || storedAs(*src->buffer) != storedAs(*assign.dst.buffer)) {
    Emitter::emit(assign);
    return;
  }
  snippets_.addBasics();
  out_.line(text(refText(assign.dst), " = loadStreaming(", addressText(*src), ");"));
}

void CudaEmitter::emit(const kir::CopyVector& copy) {
  check(copy.dst.width == copy.src.width, "a vector is copied to one of its width");
  check(copy.dst.buffer->dtype == copy.src.buffer->dtype, "a vector copy does not convert");
  if (inRegisters(copy.dst) && inRegisters(copy.src)) {
    elementwise(copy.dst, copy.src);
    return;
  }
  snippets_.addBasics();
  if (inRegisters(copy.dst) || inRegisters(copy.src)) {
    snippets_.add("registers.cuh");
  }
  const bool streaming = copy.cache_op == CacheOp::Streaming;
  const int64_t width = copy.dst.width;
  std::string value =
      inRegisters(copy.src)
          ? text("vecAt<", width, ">(", addressText(copy.src), ")")
          : text(streaming && copy.src.buffer->memory == MemoryType::Global ? "loadVecStreaming<"
                                                                            : "loadVec<",
                 width, ">(", addressText(copy.src), ")");
  if (inRegisters(copy.dst)) {
    out_.line(text("vecAt<", width, ">(", addressText(copy.dst), ") = ", value, ";"));
  } else {
    const bool stream_out = streaming && copy.dst.buffer->memory == MemoryType::Global;
    out_.line(text(stream_out ? "storeVecStreaming(" : "storeVec(", addressText(copy.dst), ", ",
                   value, ");"));
  }
}

void CudaEmitter::emit(const kir::Guarded& guarded) {
  // A vector, or zeros: one statement, whose result is one value whatever the condition.
  auto* src = std::get_if<kir::Ref>(&guarded.src);
  auto* otherwise = std::get_if<kir::Literal>(&guarded.otherwise);
  const DataType dtype = guarded.dst.buffer->dtype;
  const bool is_word = guarded.dst.width * dataTypeSizeByte(dtype) % 4 == 0;
  if (guarded.dst.width == 1 || !is_word || src == nullptr || src->buffer->dtype != dtype ||
      inRegisters(*src) || !inRegisters(guarded.dst) || otherwise == nullptr ||
      !isZeroBits(*otherwise)) {
    Emitter::emit(guarded);
    return;
  }
  snippets_.addBasics();
  snippets_.add("registers.cuh");
  out_.line(text("vecAt<", guarded.dst.width, ">(", addressText(guarded.dst), ") = loadVecIf<",
                 guarded.dst.width, ">(", scalar_(guarded.condition), ", ", addressText(*src),
                 ");"));
}

std::string CudaEmitter::fasterText(const kir::Compute& compute,
                                    const std::vector<std::string>& operands) {
  const RoundedFunction function = roundedFunction(compute);
  // (The approximate reciprocal of a constant would be computed at run time.)
  const bool by_constant =
      compute.shares_divisor && std::holds_alternative<kir::Literal>(compute.operands[1]);
  if (by_constant || (compute.shares_divisor && function == RoundedFunction::None)) {
    snippets_.add("divide_by.cuh");
    return text("divideBy(", join(operands, ", "), ")");
  }
  if (function == RoundedFunction::None) {
    return {};
  }
  snippets_.add("rounded.cuh");
  return text(function == RoundedFunction::Exp       ? "expRounded"
              : function == RoundedFunction::Sigmoid ? "sigmoidRounded"
                                                     : "divideRounded",
              "(", join(operands, ", "), ")");
}

void CudaEmitter::emit(const kir::CopyAsync& copy) {
  snippets_.add("async_copy.cuh");
  const int64_t bytes = copy.dst.width * dataTypeSizeByte(copy.dst.buffer->dtype);
  const int64_t piece = bytes % 16 == 0 ? 16 : bytes;
  check(piece == 4 || piece == 8 || piece == 16,
        text("an asynchronous copy to ", copy.dst.buffer->name, " moves 4, 8 or 16 bytes, not ",
             bytes));
  const int64_t step = piece / dataTypeSizeByte(copy.dst.buffer->dtype);
  for (int64_t first = 0; first < copy.dst.width; first += step) {
    const std::string offset = first == 0 ? std::string() : text(first);
    out_.line(text(
        "asyncCopy<", piece, ">(&", refText(copy.dst, offset), ", &", refText(copy.src, offset),
        copy.condition != nullptr ? ", " + scalar_(copy.condition) : std::string(), ");"));
  }
}

std::string_view CudaEmitter::roleName(kir::Role role) {
  return role == kir::Role::Loading ? "Loading" : role == kir::Role::Computing ? "Computing" : "";
}

std::string CudaEmitter::partArgument(kir::Role role) const {
  if (role != kir::Role::All) {
    return text(", ", roleName(role));
  }
  std::string extents;
  for (const kir::Scalar extent : kernel_.block) {
    if (extent != nullptr && !extent->isConstant()) {
      return "";
    }
    append(extents, text(extents.empty() ? "" : ", ", extent == nullptr ? 1 : extent->value));
  }
  return text(", KnownBlock<", extents, ">");
}

namespace {

/// "<Loading>"
std::string asArgument(std::string_view role) {
  return role.empty() ? std::string() : text("<", role, ">");
}

}  // namespace

void CudaEmitter::emit(const kir::BulkCopy& copy) {
  snippets_.add("bulk_copy.cuh");
  check(copy.dst.buffer->dtype == copy.src.buffer->dtype, "a bulk copy does not convert");
  const bool load = copy.barrier.buffer != nullptr;
  out_.line(text(load ? "bulkLoad" : "bulkStore", asArgument(roleName(copy.role)), "(",
                 addressText(copy.dst), ", ", addressText(copy.src), ", ", scalar_(copy.count),
                 load ? ", " + addressText(copy.barrier) : std::string(), ");"));
}

void CudaEmitter::emit(const kir::BoxCopy& copy) {
  snippets_.add("box_copy.cuh");
  const kir::TensorMap& map = *copy.map;
  const std::string_view role = roleName(copy.role);
  const std::string box =
      text("Box<", map.swizzle,
           join(map.axes, "", [](const auto& axis) { return text(", ", axis.box); }), ">",
           role.empty() ? "" : ", ", role);
  std::string at;
  for (kir::Scalar coordinate : copy.at) {
    append(at, text(at.empty() ? "" : ", ", "(int)(", scalar_(coordinate), ")"));
  }
  if (copy.isLoad()) {
    out_.line(text("boxLoad<", box, ">(", addressText(copy.shared), ", ", map.name, ", {", at,
                   "}, ", addressText(copy.barrier), ");"));
  } else {
    out_.line(
        text("boxStore<", box, ">(", map.name, ", {", at, "}, ", addressText(copy.shared), ");"));
  }
}

void CudaEmitter::emit(const kir::AsyncCommit& commit) {
  switch (commit.kind) {
    case kir::AsyncKind::Pieces:
      snippets_.add("async_copy.cuh");
      out_.line("asyncCopyCommit();");
      return;
    case kir::AsyncKind::BulkLoad:
      snippets_.add("bulk_copy.cuh");
      out_.line(text("bulkLoadCommit", asArgument(roleName(commit.role)), "(",
                     addressText(commit.barrier), ");"));
      return;
    case kir::AsyncKind::BulkStore:
      snippets_.add("bulk_copy.cuh");
      out_.line("bulkStoreCommit();");
      return;
  }
}

void CudaEmitter::emit(const kir::AsyncWait& wait) {
  switch (wait.kind) {
    case kir::AsyncKind::Pieces:
      snippets_.add("async_copy.cuh");
      out_.line(text("asyncCopyWait<", wait.pending, ">();"));
      return;
    case kir::AsyncKind::BulkLoad:
      snippets_.add("bulk_copy.cuh");
      out_.line(text("bulkLoadWait(", wait.barrier.buffer->name, ", ", scalar_(wait.barrier.index),
                     ", ", wait.phases.buffer->name, ");"));
      return;
    case kir::AsyncKind::BulkStore:
      snippets_.add("bulk_copy.cuh");
      out_.line(text("bulkStoreWait<", wait.pending, ">();"));
      return;
  }
}

void CudaEmitter::emit(const kir::MBarrierInit& init) {
  snippets_.add("mbarrier.cuh");
  out_.line(text("mbarrierInit(", init.barriers->name, ", ", scalar_(init.barriers->elements),
                 init.arrivals != 1 ? text(", ", init.arrivals) : std::string(), ");"));
}

void CudaEmitter::emit(const kir::MBarrierArrive& arrive) {
  snippets_.add("mbarrier.cuh");
  out_.line(text("mbarrierArrive(", addressText(arrive.barrier), ");"));
}

void CudaEmitter::emit(const kir::SetRegisters& set) {
  snippets_.add("block_part.cuh");
  out_.line(text(set.more ? "takeRegisters<" : "leaveRegisters<", set.count, ">();"));
}

void CudaEmitter::emit(const kir::GridDependency& dependency) {
  snippets_.add("grid_dependency.cuh");
  const bool wait = dependency.kind == kir::GridDependency::Kind::Wait;
  out_.line(wait ? "gridDependencyWait();" : "gridDependencyLaunch();");
}

void CudaEmitter::emit(const kir::FenceAsyncProxy&) {
  snippets_.add("mbarrier.cuh");
  out_.line("fenceAsyncProxy();");
}

void CudaEmitter::emit(const kir::Sync& sync) {
  switch (sync.kind) {
    case kir::SyncKind::WarpBarrier:
      out_.line("__syncwarp();", sync.comment);
      return;
    case kir::SyncKind::BlockBarrier:
      out_.line(
          sync.role == kir::Role::All ? "__syncthreads();" : text(roleName(sync.role), "::sync();"),
          sync.comment);
      return;
    case kir::SyncKind::ClusterArrive:
      snippets_.add("cluster.cuh");
      out_.line("clusterArrive();", sync.comment);
      return;
    case kir::SyncKind::GridBarrier:
      check(sync.tickets != nullptr, "a grid barrier has a counter");
      snippets_.add("grid_sync.cuh");
      out_.line(text("gridSync(", sync.tickets->name, ", gridDim.x * gridDim.y * gridDim.z, ",
                     "blockIdx.x == 0 && blockIdx.y == 0 && blockIdx.z == 0);"),
                sync.comment);
      return;
  }
}

void CudaEmitter::emit(const kir::CombineAt& combine) {
  snippets_.add("combine_at.cuh");
  const DataType dtype = combine.dst.buffer->dtype;
  const std::string place = addressText(combine.dst);
  const bool in_block = combine.dst.buffer->memory == MemoryType::Shared;
  if (in_block) {
    snippets_.add("add_in_block.cuh");
  }
  if (combine.dst.width > 1) {
    const auto* value = std::get_if<kir::Ref>(&combine.value);
    check(combine.op == BinaryOpType::Add && dtype == DataType::Float && value != nullptr &&
              inRegisters(*value),
          "vectors of floats in registers are added in memory");
    snippets_.add("registers.cuh");
    out_.line(text(in_block ? "addVecInBlock(" : "addVecAt(", place, ", vecAt<", value->width, ">(",
                   addressText(*value), "));"));
    return;
  }
  const std::string value = operandText(combine.value, dtype);
  if (!combine.op) {
    out_.line(text("storeAt(", place, ", ", typeName(dtype), "(", value, "));"));
    return;
  }
  if (combine.op == BinaryOpType::Add) {
    out_.line(
        text(in_block ? "addInBlock(" : "addAt(", place, ", ", typeName(dtype), "(", value, "));"));
    return;
  }
  out_.open("{", text(opName(*combine.op), " by whoever comes, in any order"));
  out_.line(text("const ", typeName(dtype), " value = ", value, ";"));
  out_.line(text("combineAt(", place, ", [&](", typeName(dtype), " before) { return ",
                 pointwise(*combine.op, computeOf(dtype), dtype,
                           {converted("before", dtype, computeOf(dtype)),
                            converted("value", dtype, computeOf(dtype))}),
                 "; });"));
  out_.close();
}

}  // namespace nvfuser::codegen
