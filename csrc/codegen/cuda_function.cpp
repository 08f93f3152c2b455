/// The CUDA function around the statements: signature, launch bounds, shared memory, names of
/// thread indices.
#include <algorithm>

#include <codegen/cuda_emitter.h>

namespace nvfuser {

GeneratedKernel generateCuda(const kir::Kernel& kernel) {
  return codegen::CudaEmitter(kernel).generate();
}

GeneratedKernel generateCuda(const kir::Kernel& kernel, std::string name) {
  codegen::CudaEmitter emitter(kernel);
  emitter.rename(std::move(name));
  return emitter.generate();
}

namespace codegen {

CudaEmitter::CudaEmitter(const kir::Kernel& kernel, int64_t table_entries)
    : Emitter(kernel, Target::Cuda,
              kernel.index_type == DataType::Int32 ? DataType::Int32 : DataType::Int),
      table_entries_(table_entries) {
  auto note = [&](const kir::Ref& ref) {
    if (ref.buffer->memory == MemoryType::Local && ref.width > 1) {
      vectors_.insert(ref.buffer);
    }
  };
  kir::forEach(kernel.body, [&](const kir::Stmt& stmt) {
    if (auto* copy = std::get_if<kir::CopyVector>(&stmt.node)) {
      note(copy->dst);
      note(copy->src);
    } else if (auto* guarded = std::get_if<kir::Guarded>(&stmt.node)) {
      note(guarded->dst);
      if (auto* src = std::get_if<kir::Ref>(&guarded->src)) {
        note(*src);
      }
    } else if (auto* combine = std::get_if<kir::CombineAt>(&stmt.node)) {
      if (auto* value = std::get_if<kir::Ref>(&combine->value)) {
        note(*value);
      }
    }
  });
}

std::string CudaEmitter::launchBounds() const {
  auto bounds = [&](int64_t threads) {
    // Threads exchange registers only where a block's number of them is known.
    const bool says_blocks = kernel_.least_blocks > 1 || kernel_.roles;
    return text(
        "__launch_bounds__(", threads,
        says_blocks ? text(", ", std::max<int64_t>(kernel_.least_blocks, 1)) : std::string(), ") ");
  };
  int64_t threads = 1;
  for (kir::Scalar extent : kernel_.block) {
    if (extent == nullptr) {
      continue;
    }
    if (!extent->isConstant()) {
      return kernel_.most_threads > 0 ? bounds(kernel_.most_threads) : "";
    }
    threads *= extent->value;
  }
  return bounds(threads);
}

constexpr int64_t kFewIterations = 16;  ///< of a loop that compilers write out unasked

void CudaEmitter::loopPragma(const kir::For& loop) {
  if (loop.kind != kir::LoopKind::Serial) {
    out_.directive("#pragma unroll");
  } else if (loop.extent->isConstant() && loop.extent->value <= kFewIterations) {
    out_.directive("#pragma unroll 1");  // the compiler would write it out, whatever it loads
  }
}

int64_t CudaEmitter::alignmentOf(const kir::Buffer& buffer) const {
  return std::max<int64_t>(vectors_.count(&buffer) != 0 ? kMaxVectorBytes : 0, buffer.alignment);
}

void CudaEmitter::signature(TextWriter& out) {
  out.directive(text("extern \"C\" __global__ void ", launchBounds(), name_, "("));
  TextWriter parameters(2);
  for (size_t i = 0; i < kernel_.params.size(); ++i) {
    const kir::Param& param = kernel_.params[i];
    const bool last = i + 1 == kernel_.params.size();
    parameters.line(text(parameterType(param), " ", param.name, last ? ") {" : ","),
                    param.kind == kir::ParamKind::TensorArg ? comment(*bufferOf(param))
                    : param.kind == kir::ParamKind::MapArg  ? comment(*param.map->buffer)
                                                            : "");
  }
  if (kernel_.params.empty()) {
    parameters.line(") {");
  }
  out.raw(parameters.take());
}

void CudaEmitter::function(TextWriter& out, const std::string& body) {
  if (table_entries_ > 0) {
    tableSignature(out);
    tableEntry(out);
  } else {
    signature(out);
  }
  TextWriter top(1);
  const bool shared =
      std::any_of(kernel_.buffers.begin(), kernel_.buffers.end(),
                  [](const auto& buffer) { return buffer->memory == MemoryType::Shared; });
  if (shared) {
    int64_t alignment = 16;
    for (const auto& buffer : kernel_.buffers) {
      alignment = std::max(alignment, buffer->memory == MemoryType::Shared ? buffer->alignment : 0);
    }
    top.line(text("extern __shared__ __align__(", alignment, ") unsigned char smem[];"));
  }
  for (const auto& buffer : kernel_.buffers) {
    if (buffer->memory != MemoryType::Shared) {
      continue;
    }
    check(buffer->shared_offset != nullptr,
          text("the place of ", buffer->name, " in shared memory is decided"));
    const std::string type = typeName(buffer->dtype);
    top.line(text(type, "* const ", buffer->name, " = reinterpret_cast<", type, "*>(smem + ",
                  scalar_.operand(buffer->shared_offset), ");"),
             comment(*buffer));
  }
  if (kernel_.roles) {
    snippets_.add("block_part.cuh");
    const kir::Kernel::WarpRoles& roles = *kernel_.roles;
    top.line(text("using Computing = BlockPart<1, 0, ",
                  join(roles.computing, ", ", [](int64_t extent) { return text(extent); }), ">;"));
    top.line(
        text("using Loading = BlockPart<2, ", roles.firstLoading(), ", ", roles.loading, ">;"));
    top.line(
        text("const bool ", kir::kComputes, " = threadOfBlock() < ", roles.firstLoading(), ";"));
  }
  TextWriter indices(1);
  for (const LaunchIndex& index : kLaunchIndices) {
    if (scalar_.uses(index)) {
      indices.line(text("const Index ", index.name, " = ", launchSymbol(index.symbol), ";"));
    }
  }
  out.raw(indices.take());
  out.raw(top.take());
  out.raw(body);
  out.directive("}");
}

}  // namespace codegen
}  // namespace nvfuser
