#include <runtime/compiled_kernel.h>

#include <chrono>

#include <ir/exact_numerics.h>
#include <runtime/compile_kernels.h>
#include <runtime/dump_kernel.h>
#include <runtime/kernel_override.h>
#include <support/cancellation.h>
#include <support/dump.h>

namespace nvfuser {

LowerTarget lowerTargetOf(const Device& device) {
  return device.kind() == DeviceKind::Cpu ? LowerTarget::Cpu : LowerTarget::Cuda;
}

LowerOptions lowerOptionsFor(const Device& device, DataType index_type, const Options& options) {
  LowerOptions lowering;
  lowering.index_type = index_type;
  lowering.target = lowerTargetOf(device);
  if (lowering.target == LowerTarget::Cpu) {
    lowering.index_type = DataType::Int;
    lowering.compute_capability = 0;
  } else {
    lowering.compute_capability = device.properties().major * 10 + device.properties().minor;
  }
  lowering.index_hoist = !options.isDisabled(DisableOption::IndexHoist);
  lowering.predicate_elimination = !options.isDisabled(DisableOption::PredicateElimination);
  lowering.unroll_with_rng = !options.isDisabled(DisableOption::UnrollWithRng);
  lowering.dependent_launch = options.isEnabled(EnableOption::DependentLaunch);
  lowering.bounds = options.isEnabled(EnableOption::Bounds);
  lowering.skip_passes = options.list(Setting::SkipPass);
  lowering.verify = options.flag(Setting::Verify);
  return lowering;
}

std::vector<std::string> compilerOptionsFor(const Device& device, const Options& options,
                                            bool exactly) {
  std::vector<std::string> words;
  auto add = [&](const char* cpu, const char* cuda) {
    const char* word = device.kind() == DeviceKind::Cpu ? cpu : cuda;
    if (device.kind() != DeviceKind::Emulated) {  // never contracts, always has line numbers
      words.emplace_back(word);
    }
  };
  // Emulated kernels have level 1, which keeps the accesses of their text, or 0.
  if (const int64_t level = options.number(Setting::HostOptLevel);
      device.kind() == DeviceKind::Cpu ? level != 2
                                       : device.kind() == DeviceKind::Emulated && level == 0) {
    words.push_back(text("-O", level));
  }
  if (!exactly && options.isEnabled(EnableOption::Fma) && !options.isDisabled(DisableOption::Fma)) {
    add("-ffp-contract=fast", "--fmad=true");
  }
  if (!exactly && options.isEnabled(EnableOption::FastMath)) {
    if (device.kind() == DeviceKind::Cpu) {  // infinities and NaN keep their meaning
      words.insert(words.end(), {"-fassociative-math", "-freciprocal-math", "-fno-signed-zeros",
                                 "-fno-trapping-math"});
    } else {
      add("", "--use_fast_math");
    }
  }
  if (options.isEnabled(EnableOption::KernelLineinfo)) {
    add("-g1", "--generate-line-info");
  }
  if (options.isEnabled(EnableOption::KernelDebug)) {
    add("-g", "--device-debug");
  }
  return words;
}

namespace {

/// Whether threads exchange registers, which one architecture alone can do.
bool usesRegisters(const kir::Kernel& kernel) {
  bool found = false;
  kir::forEach(kernel.body, [&](const kir::Stmt& stmt) {
    found |= std::holds_alternative<kir::SetRegisters>(stmt.node);
  });
  return found;
}

}  // namespace

CompiledKernel::CompiledKernel(const Fusion& fusion, std::string name, Device& device,
                               DataType index_type, const CompileParams& params)
    : fusion_(std::make_unique<Fusion>(fusion)),
      device_(device),
      options_(params.options ? *params.options : Options::current()),
      verbose_(params.enable_ptxas_verbose) {
  fusion_->settleAxes();  // a schedule has loops for them
  if (options_.isEnabled(EnableOption::ExactNumerics)) {
    computeExactly(*fusion_);
  }
  dumpFusion(options_, name, *fusion_);
  const auto start = std::chrono::steady_clock::now();
  LoweringDump lowering_dump(options_, name);
  const LoweringObserver observer = [dump = lowering_dump.observer(), &params](
                                        const LoweringPass& pass, const Lowering& lowering,
                                        double milliseconds) {
    checkCancelled(params.cancellation);
    if (dump) {
      dump(pass, lowering, milliseconds);
    }
  };
  lowering_ = lower(fusion_.get(), lowerOptionsFor(device, index_type, options_), observer);
  checkCancelled(params.cancellation);
  lowering_.kernel.name = std::move(name);
  if (!options_.features().empty()) {
    lowering_.kernel.header.push_back("options: " + options_.features());
  }
  const auto lowered = std::chrono::steady_clock::now();
  generated_ = device_.kind() == DeviceKind::Cpu
                   ? generateHost(lowering_.kernel, device_.properties().vector_bytes)
                   : generateCuda(lowering_.kernel);
  const auto end = std::chrono::steady_clock::now();
  using Milliseconds = std::chrono::duration<double, std::milli>;
  lowering_ms_ = Milliseconds(end - start).count();
  lowering_dump.showTimes(Milliseconds(end - lowered).count());
  dumpLowered(options_, lowering_.kernel);
  dumpText(options_, *this);
  if (auto file = kernelOverride(options_, device, kernelName(), generated_.text)) {
    warn(text("kernel ", kernelName(), " is taken from ", file->path));
    generated_.text = std::move(file->text);
    generated_.own_begin = 0;
    generated_.snippets.clear();
    overridden_ = true;
  }
  source_.entry = generated_.entry;
  source_.text = generated_.text;
  const int64_t registers = options_.number(Setting::MaxRegCount);
  source_.max_registers = registers > 0 ? static_cast<int>(registers) : params.maxrregcount;
  source_.options = compilerOptionsFor(device, options_, isComputedExactly(*fusion_));
  source_.deadline_s = static_cast<double>(options_.number(Setting::CompileSeconds));
  source_.specific = usesRegisters(lowering_.kernel);
  source_.cached = !options_.isDisabled(DisableOption::NvrtcCaching);
}

GeneratedKernel CompiledKernel::generatedAs(std::string name) const {
  return device_.kind() == DeviceKind::Cpu
             ? generateHost(lowering_.kernel, std::move(name), device_.properties().vector_bytes)
             : generateCuda(lowering_.kernel, std::move(name));
}

void CompiledKernel::load() {
  CompiledKernel* const self = this;
  if (const std::exception_ptr error = compileKernels({&self, 1}, nullptr).front()) {
    std::rethrow_exception(error);
  }
}

void CompiledKernel::setLoaded(std::shared_ptr<const LoadedKernel> loaded, bool found) {
  std::lock_guard<std::mutex> lock(loading_);
  if (isLoaded()) {
    return;
  }
  loaded_ = std::move(loaded);
  found_ = found;
  is_loaded_.store(true, std::memory_order_release);
  dumpLoaded(options_, *this, verbose_);
}

const LoadedKernel& CompiledKernel::loaded() const {
  check(isLoaded(), "this kernel was lowered but not compiled");
  return *loaded_;
}

const LaunchTable* CompiledKernel::table() const {
  std::call_once(table_asked_, [&] {
    const GeneratedKernel generated = generateForTable(lowering_.kernel, kernelName() + "_table");
    KernelSource source = source_;
    source.entry = generated.entry;
    source.text = generated.text;
    try {
      table_.emplace(LaunchTable{*launchTableForm(lowering_.kernel), device_.compile(source)});
    } catch (const CompileError&) {
      table_.reset();  // launches one by one do the same
    }
  });
  return table_ ? &*table_ : nullptr;
}

KernelResources CompiledKernel::resources() const {
  KernelResources resources = loaded().resources();
  if (found_) {
    resources.from_cache = true;
    resources.compile_ms = 0;
  }
  return resources;
}

}  // namespace nvfuser
