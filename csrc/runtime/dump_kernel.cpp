#include <runtime/dump_kernel.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include <device_lower/bank_conflict.h>
#include <ir/axis_map.h>
#include <runtime/cpu/cpu_device.h>
#include <runtime/cuda/cuda_device.h>
#include <runtime/kernel_override.h>
#include <support/decimal.h>
#include <support/dump.h>

namespace nvfuser {

using Dump = DebugDumpOption;

namespace {

/// Bytes that the elements of a tensor occupy; an expanded axis repeats them.
int64_t bytesOf(const Tensor& tensor) {
  int64_t elements = 1;
  for (size_t i = 0; i < tensor.sizes().size(); ++i) {
    elements *=
        tensor.strides()[i] == 0 ? std::min<int64_t>(tensor.sizes()[i], 1) : tensor.sizes()[i];
  }
  return elements * dataTypeSizeByte(tensor.dtype());
}

const KernelArgument& argumentOf(const std::vector<Val*>& declared,
                                 const KernelArgumentHolder& given, const Val* val) {
  const auto at = std::find(declared.begin(), declared.end(), val) - declared.begin();
  return given[static_cast<size_t>(at)];
}

}  // namespace

// ---- the fusion

std::string fusionGraph(const Fusion& fusion) {
  std::string out = "digraph fusion {\n  node [fontname=monospace];\n";
  auto tensor = [](const TensorView* tv) { return text("T", tv->name()); };
  for (const TensorView* tv : fusion.allTvs()) {
    const bool border = tv->isFusionInput() || tv->isFusionOutput();
    append(out, text("  ", tensor(tv), " [shape=", border ? "box" : "ellipse", ", label=\"", tv,
                     "\"];\n"));
  }
  for (const Expr* expr : fusion.exprs()) {
    append(out,
           text("  E", expr->name(), " [shape=plaintext, label=\"", expr->getOpString(), "\"];\n"));
    for (const Val* in : expr->inputs()) {
      if (in->isA<TensorView>()) {
        append(out, text("  ", tensor(in->as<TensorView>()), " -> E", expr->name(), ";\n"));
      }
    }
    for (const Val* result : expr->outputs()) {
      if (result->isA<TensorView>()) {
        append(out, text("  E", expr->name(), " -> ", tensor(result->as<TensorView>()), ";\n"));
      }
    }
  }
  return out + "}\n";
}

void dumpFusion(const Options& options, const std::string& subject, const Fusion& fusion) {
  if (options.dumps(Dump::FusionIrMath)) {
    dump(options, subject, "fusion_ir_math", fusion.mathString());
  }
  if (options.dumps(Dump::FusionIr)) {
    dump(options, subject, "fusion_ir", fusion.toString());
  }
  if (options.dumps(Dump::FusionIrGraph)) {
    dump(options, subject, "fusion_ir_graph", fusionGraph(fusion), "dot");
  }
}

// ---- lowering

LoweringDump::LoweringDump(const Options& options, std::string subject)
    : options_(options), subject_(std::move(subject)) {
  for (const std::string& name : options.arguments(Dump::LowerVerbose)) {
    const auto passes = loweringPasses();
    if (std::none_of(passes.begin(), passes.end(), [&](const auto& p) { return p.name == name; })) {
      dump(options, subject_, "lower_verbose",
           text("there is no pass '", name, "'; passes are ",
                join(passes, ", ", [](const LoweringPass& pass) { return pass.name; })));
    }
  }
}

LoweringObserver LoweringDump::observer() {
  const bool times = options_.dumps(Dump::PassTimes);
  if (!times && !options_.dumps(Dump::LowerVerbose)) {
    return {};
  }
  return [this, times](const LoweringPass& pass, const Lowering& lowering, double milliseconds) {
    if (times) {
      append(times_, text(fixed(milliseconds, 3), " ms  ", pass.name, "\n"));
    }
    ++number_;
    const auto& wanted = options_.arguments(Dump::LowerVerbose);
    if (options_.dumps(Dump::LowerVerbose) &&
        (wanted.empty() || std::find(wanted.begin(), wanted.end(), pass.name) != wanted.end())) {
      dump(options_, subject_, text("lower_verbose ", pass.name), printLowering(lowering), "ir");
    }
  };
}

void LoweringDump::showTimes(double generating_ms) const {
  if (options_.dumps(Dump::PassTimes)) {
    dump(options_, subject_, "pass_times",
         text(times_, fixed(generating_ms, 3), " ms  code generation\n"));
  }
}

void dumpLowered(const Options& options, const kir::Kernel& kernel) {
  if (options.dumps(Dump::ParallelDimensions)) {
    std::string lines;
    auto dimensions = [&](const char* prefix, const kir::Scalar(&extents)[3]) {
      for (int d = 0; d < 3; ++d) {
        append(lines,
               text(prefix, "xyz"[d], " = ",
                    extents[d] != nullptr ? extents[d]->toString() : std::string("1"), "\n"));
      }
    };
    dimensions("BID", kernel.grid);
    dimensions("TID", kernel.block);
    dump(options, kernel.name, "parallel_dimensions", lines);
  }
  if (options.dumps(Dump::DynamicSharedMemory)) {
    std::string lines;
    for (const auto& buffer : kernel.buffers) {
      if (buffer->memory == MemoryType::Shared && buffer->shared_offset != nullptr) {
        append(lines, text("at ", buffer->shared_offset, ": ", buffer->name, ", ", buffer->elements,
                           " of ", buffer->dtype, "\n"));
      }
    }
    append(lines,
           text("in all ",
                kernel.shared_bytes != nullptr ? kernel.shared_bytes->toString() : std::string("0"),
                " bytes\n"));
    dump(options, kernel.name, "dynamic_shared_memory", lines);
  }
  if (options.dumps(Dump::KernelIr)) {
    dump(options, kernel.name, "kernel_ir", kernel.toString(), "ir");
  }
  if (options.dumps(Dump::IndexType)) {
    dump(options, kernel.name, "index_type",
         text("indices are ", kernel.index_type == DataType::Int32 ? "int32" : "int64"));
  }
}

// ---- text and compilation

void dumpText(const Options& options, const CompiledKernel& compiled) {
  const GeneratedKernel& generated = compiled.generated();
  const std::string_view extension = kernelExtension(compiled.device());
  if (options.dumps(Dump::CudaKernel)) {
    dump(options, compiled.kernelName(), "cuda_kernel", generated.ownText(), extension.substr(1));
  }
  if (options.dumps(Dump::CudaFull)) {
    dump(options, compiled.kernelName(), "cuda_full", generated.text, extension.substr(1));
  }
  if (options.dumps(Dump::CudaToFile)) {
    const std::string& folder = options.text(Setting::DumpDir);
    const std::string path =
        options.sink().file(folder.empty() ? "." : folder, text(compiled.kernelName(), extension),
                            overridable(compiled.kernelName(), generated.text));
    if (folder.empty()) {
      options.sink().show(text("---- ", compiled.kernelName(), ": cuda_to_file ", path, " ----\n"));
    }
  }
}

void dumpCompileParams(const Options& options, const std::string& subject, const Device& device,
                       const KernelSource& source) {
  if (!options.dumps(Dump::CompileParams)) {
    return;
  }
  std::string lines;
  switch (device.kind()) {
    case DeviceKind::Cpu:
      // The processor's own lines come last and say nothing about the compiler.
      lines = cpuBinaryKey(source);
      lines = lines.substr(0, lines.find('\n', lines.find('\n') + 1));
      break;
    case DeviceKind::Cuda:
      lines = cudaBinaryKey(source, cudaArchitecture(device.properties(), source.specific));
      break;
    case DeviceKind::Emulated:
      lines = "the host's compiler with checks on every access";
      break;
  }
  dump(options, subject, "compile_params", lines);
}

void dumpLoaded(const Options& options, const CompiledKernel& compiled, bool verbose) {
  const std::string& subject = compiled.kernelName();
  for (auto [option, kind] : {std::pair{Dump::Ptx, "ptx"}, std::pair{Dump::Sass, "sass"}}) {
    if (options.dumps(option)) {
      const std::string assembly = compiled.loaded().assembly(kind);
      dump(options, subject, kind,
           assembly.empty() ? text("this device gives no ", kind, "\n") : assembly, kind);
    }
  }
  const KernelResources resources = compiled.resources();
  auto known = [](int64_t value) { return value < 0 ? std::string("unknown") : text(value); };
  if (options.dumps(Dump::PtxasVerbose) || verbose) {
    dump(options, subject, "ptxas_verbose",
         text("registers ", known(resources.registers), ", static shared memory ",
              known(resources.static_shared_bytes), " bytes, spilled ",
              known(resources.spill_bytes), " bytes, ",
              resources.from_cache ? "from the cache"
                                   : text("compiled in ", fixed(resources.compile_ms, 1), " ms"),
              "\n", resources.log));
  }
  if (options.isEnabled(EnableOption::WarnRegisterSpill)) {
    const auto& limits = options.arguments(EnableOption::WarnRegisterSpill);
    const int64_t limit = limits.empty() ? 0 : std::atoll(limits.front().c_str());
    if (resources.spill_bytes > limit) {
      warn(text("kernel ", subject, " spills ", resources.spill_bytes, " bytes of registers (",
                resources.registers, " registers a thread)"));
    }
  }
}

// ---- launches

namespace {

std::string describeArguments(const CompiledKernel& compiled, LaunchValues& values,
                              const KernelArgumentHolder& args,
                              const KernelArgumentHolder& outputs) {
  const Fusion& fusion = compiled.fusion();
  std::string lines;
  for (const kir::Param& param : compiled.kernel().params) {
    const kir::Buffer* buffer = param.buffer;
    if (param.kind == kir::ParamKind::MapArg) {
      append(lines, text("map    ", param.name, " of ", param.map->buffer->name, "\n"));
    } else if (param.kind != kir::ParamKind::TensorArg) {
      std::string value = "from the random state";
      if (param.symbol != nullptr) {
        value = text(values.of(param.symbol));
      } else if (param.val != nullptr) {
        value = values.of(param.val).toString();
      }
      append(lines, text("scalar ", param.name, " = ", value, "\n"));
    } else if (buffer->role == kir::BufferRole::Input) {
      append(lines, text("input  ", param.name, ": ",
                         argumentOf(fusion.inputs(), args, buffer->tv).tensor(), "\n"));
    } else if (buffer->role == kir::BufferRole::Output) {
      append(lines, text("output ", param.name, ": ",
                         argumentOf(fusion.outputs(), outputs, buffer->tv).tensor(), "\n"));
    } else {
      append(lines, text("buffer ", param.name, ": ", values.of(buffer->elements), " of ",
                         buffer->dtype, buffer->zeroed ? ", zero-initialized" : "", "\n"));
    }
  }
  return lines;
}

}  // namespace

void dumpLaunch(const Options& options, const CompiledKernel& compiled, LaunchValues& values,
                const KernelArgumentHolder& args, const KernelArgumentHolder& outputs,
                const LaunchShape& shape, bool first) {
  const std::string& name = compiled.kernelName();
  if (options.dumps(Dump::LaunchParam)) {
    auto three = [](const int64_t (&d)[3]) { return text("(", d[0], ", ", d[1], ", ", d[2], ")"); };
    dump(options, name, "launch_param",
         text("grid ", three(shape.grid), ", block ", three(shape.block), ", shared memory ",
              shape.shared_bytes, " bytes", shape.cooperative ? ", cooperative" : "", " on ",
              compiled.device().properties().name));
  }
  if (options.dumps(Dump::KernelArgs)) {
    dump(options, name, "kernel_args", describeArguments(compiled, values, args, outputs));
  }
  if (options.dumps(Dump::Occupancy) && compiled.device().kind() == DeviceKind::Cuda) {
    const int64_t threads = shape.block[0] * shape.block[1] * shape.block[2];
    const int blocks = cudaBlocksPerMultiprocessor(compiled.device(), compiled.loaded(),
                                                   static_cast<int>(threads), shape.shared_bytes);
    dump(options, name, "occupancy",
         text(blocks, " blocks of ", threads, " threads a multiprocessor, ", blocks * threads,
              " of ", compiled.device().properties().max_threads_per_multiprocessor, " threads"));
  }
  if (first && options.dumps(Dump::BankConflict)) {
    dump(options, name, "bank_conflict",
         toString(findBankConflicts(compiled.kernel(),
                                    [&](kir::Scalar size) { return values.of(size); })));
  }
}

std::string fixed(double value, int digits) {
  char buffer[64];
  const int size = std::snprintf(buffer, sizeof buffer, "%.*f", digits, value);
  return withPoint(std::string(buffer, static_cast<size_t>(size)));
}

int64_t bytesOfLaunch(const CompiledKernel& compiled, const KernelArgumentHolder& args,
                      const KernelArgumentHolder& outputs) {
  int64_t bytes = 0;
  for (const kir::Param& param : compiled.kernel().params) {
    if (param.kind != kir::ParamKind::TensorArg) {
      continue;
    }
    if (param.buffer->role == kir::BufferRole::Input) {
      const Fusion& fusion = compiled.fusion();
      bytes += bytesOf(argumentOf(fusion.inputs(), args, param.buffer->tv).tensor());
    } else if (param.buffer->role == kir::BufferRole::Output) {
      const Fusion& fusion = compiled.fusion();
      bytes += bytesOf(argumentOf(fusion.outputs(), outputs, param.buffer->tv).tensor());
    }
  }
  return bytes;
}

void dumpBandwidth(const Options& options, const CompiledKernel& compiled,
                   const KernelArgumentHolder& args, const KernelArgumentHolder& outputs,
                   double milliseconds) {
  const int64_t bytes = bytesOfLaunch(compiled, args, outputs);
  dump(options, compiled.kernelName(), "dump_eff_bandwidth",
       text(fixed(milliseconds, 4), " ms, ", bytes, " bytes, ",
            fixed(static_cast<double>(bytes) / milliseconds / 1e6, 2), " GB/s"));
}

}  // namespace nvfuser
