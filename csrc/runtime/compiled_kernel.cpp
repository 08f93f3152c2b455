#include <runtime/compiled_kernel.h>

#include <chrono>

#include <runtime/dump_kernel.h>
#include <runtime/kernel_override.h>
#include <support/dump.h>

namespace nvfuser {

LowerOptions lowerOptionsFor(const Device& device, DataType index_type, const Options& options) {
  LowerOptions lowering;
  lowering.index_type = index_type;
  if (device.kind() == DeviceKind::Cpu) {
    lowering.target = LowerTarget::Cpu;
    lowering.index_type = DataType::Int;
    lowering.compute_capability = 0;
  } else {
    lowering.compute_capability = device.properties().major * 10 + device.properties().minor;
  }
  lowering.index_hoist = !options.isDisabled(DisableOption::IndexHoist);
  lowering.predicate_elimination = !options.isDisabled(DisableOption::PredicateElimination);
  lowering.unroll_with_rng = !options.isDisabled(DisableOption::UnrollWithRng);
  lowering.skip_passes = options.list(Setting::SkipPass);
  lowering.verify = options.flag(Setting::Verify);
  return lowering;
}

std::vector<std::string> compilerOptionsFor(const Device& device, const Options& options) {
  std::vector<std::string> words;
  auto add = [&](const char* cpu, const char* cuda) {
    const char* word = device.kind() == DeviceKind::Cpu ? cpu : cuda;
    if (device.kind() != DeviceKind::Emulated) {  // never contracts, always has line numbers
      words.emplace_back(word);
    }
  };
  if (const int64_t level = options.number(Setting::HostOptLevel);
      level != 2 && device.kind() == DeviceKind::Cpu) {
    words.push_back(text("-O", level));
  }
  if (options.isDisabled(DisableOption::Fma)) {
    add("-ffp-contract=off", "--fmad=false");
  }
  if (options.isEnabled(EnableOption::KernelLineinfo)) {
    add("-g1", "--generate-line-info");
  }
  if (options.isEnabled(EnableOption::KernelDebug)) {
    add("-g", "--device-debug");
  }
  return words;
}

CompiledKernel::CompiledKernel(const Fusion& fusion, std::string name, Device& device,
                               DataType index_type, const CompileParams& params)
    : fusion_(std::make_unique<Fusion>(fusion)),
      device_(device),
      options_(params.options ? *params.options : Options::current()),
      verbose_(params.enable_ptxas_verbose) {
  dumpFusion(options_, name, *fusion_);
  const auto start = std::chrono::steady_clock::now();
  LoweringDump lowering_dump(options_, name);
  lowering_ =
      lower(fusion_.get(), lowerOptionsFor(device, index_type, options_), lowering_dump.observer());
  lowering_.kernel.name = std::move(name);
  if (!options_.features().empty()) {
    lowering_.kernel.header.push_back("options: " + options_.features());
  }
  const auto lowered = std::chrono::steady_clock::now();
  generate();
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
  source_.options = compilerOptionsFor(device, options_);
  source_.cached = !options_.isDisabled(DisableOption::NvrtcCaching);
}

void CompiledKernel::generate() {
  generated_ = device_.kind() == DeviceKind::Cpu ? generateHost(lowering_.kernel)
                                                 : generateCuda(lowering_.kernel);
}

void CompiledKernel::rename(std::string name) {
  check(!isLoaded() && !overridden_, "a kernel is renamed before it is compiled");
  lowering_.kernel.name = std::move(name);
  generate();
  source_.entry = generated_.entry;
  source_.text = generated_.text;
}

void CompiledKernel::load() {
  if (!isLoaded()) {
    dumpCompileParams(options_, kernelName(), device_, source_);
    setLoaded(device_.compile(source_));
  }
}

void CompiledKernel::setLoaded(std::unique_ptr<LoadedKernel> loaded) {
  loaded_ = std::move(loaded);
  dumpLoaded(options_, kernelName(), *loaded_, verbose_);
}

const LoadedKernel& CompiledKernel::loaded() const {
  check(loaded_ != nullptr, "this kernel was lowered but not compiled");
  return *loaded_;
}

}  // namespace nvfuser
