#include <runtime/fusion_executor_cache.h>

#include <algorithm>
#include <map>

#include <evaluator/interpreter.h>
#include <ir/builder.h>
#include <ir/cloner.h>
#include <ir/internal_nodes.h>
#include <runtime/compile_batch.h>
#include <runtime/launch_values.h>
#include <scheduler/naive/naive.h>
#include <segmenter/trees.h>
#include <support/dump.h>

namespace nvfuser {

/// One tree as a fusion of its own, scheduled.
struct FusionExecutorCache::Segment {
  std::unique_ptr<Fusion> fusion;
  std::unique_ptr<KernelExecutor> executor;
  bool has_kernel = true;          ///< false: it is interpreted
  std::vector<const Val*> inputs;  ///< of the whole fusion's values
  std::vector<const Val*> outputs;
};

FusionExecutorCache::FusionExecutorCache(std::unique_ptr<Fusion> fusion, int64_t fusion_id, bool)
    : fusion_(std::move(fusion)), fusion_id_(fusion_id) {
  if (fusion_ == nullptr) {
    userError("FusionExecutorCache: the fusion is null");
  }
  fusion_->verify();
  // Draws keep the numbers that they have in the whole fusion.
  std::map<int64_t, int64_t> draws;
  int64_t next = 0;
  for (Expr* expr : fusion_->exprs()) {
    if (expr->isA<RNGOp>() && expr->as<RNGOp>()->seed() == nullptr) {
      draws[expr->name()] = next++;
    }
  }
  fusion_->manage("random_draws", draws);
  const Options& options = Options::current();
  if (options.dumps(DebugDumpOption::FusionIrOriginal)) {
    dump(options, name(), "fusion_ir_original", fusion_->toString());
  }
  segment(options);
}

FusionExecutorCache::~FusionExecutorCache() = default;

namespace {

/// A tensor between two segments is for its reader an input like any other: dense, without the
/// reductions and the history that made it.
void becomePlainInput(TensorView* tv) {
  std::vector<IterDomain*> axes =
      IterDomain::clone(TensorDomain::noReductions(tv->getLogicalDomain()));
  auto* domain = IrBuilder::createInContainer<TensorDomain>(
      tv->fusion(), axes, TensorDomain::getContiguityFilledWith(axes, true));
  ReplaceDomain::set(tv, domain);
}

}  // namespace

std::unique_ptr<FusionExecutorCache::Segment> FusionExecutorCache::makeSegment(
    const Tree& tree, const Options& options) {
  auto segment = std::make_unique<Segment>();
  segment->fusion = std::make_unique<Fusion>();
  IrCloner cloner = Fusion::copy(fusion_.get(), segment->fusion.get());
  Fusion& part = *segment->fusion;
  for (Val* output : std::vector<Val*>(part.outputs())) {
    part.removeOutput(output);
  }
  for (Val* input : std::vector<Val*>(part.inputs())) {
    if (input->isA<TensorView>()) {
      part.removeInput(input);
    }
  }
  // Scalars stay inputs, in front.
  for (Val* input : fusion_->inputs()) {
    if (!input->isA<TensorView>()) {
      segment->inputs.push_back(input);
    }
  }
  for (TensorView* in : tree.inputs) {
    TensorView* copy = cloner.clone(in);
    if (!in->isFusionInput()) {
      becomePlainInput(copy);
    }
    part.addInput(copy);
    segment->inputs.push_back(in);
  }
  for (TensorView* out : tree.outputs) {
    part.addOutput(cloner.clone(out));
    segment->outputs.push_back(out);
  }
  const std::string subject = text(name(), "_", segments_.size() + 1);
  if (options.dumps(DebugDumpOption::FusionIrPresched)) {
    dump(options, subject, "fusion_ir_presched", part.toString());
  }
  FusionGuard guard(&part);
  if (!scheduleNaive(cloner.clone(tree.outputs[0])) && tree.exprs.size() > 1) {
    return nullptr;
  }
  if (options.dumps(DebugDumpOption::SchedulerParams)) {
    dump(options, subject, "scheduler_params",
         text("scheduler naive: a thread for each element of ", cloner.clone(tree.outputs[0]),
              ", reductions serial, producers inlined"));
  }
  segment->executor = std::make_unique<KernelExecutor>(fusion_id_, 0, 0,
                                                       static_cast<int64_t>(segments_.size()) + 1);
  segment->executor->adopt(part);
  segment->has_kernel = KernelExecutor::supported(&part);
  return segment;
}

std::string FusionExecutorCache::name() const { return text("nvfuser_", fusion_id_); }

void FusionExecutorCache::segment(const Options& options) {
  if (options.dumps(DebugDumpOption::FusionIrPreseg)) {
    dump(options, name(), "fusion_ir_preseg", fusion_->toString());
  }
  for (const Tree& tree : cutIntoTrees(*fusion_)) {
    if (auto whole = makeSegment(tree, options)) {
      segments_.push_back(std::move(whole));
      continue;
    }
    for (const Tree& single : cutIntoSingles(tree)) {
      auto part = makeSegment(single, options);
      check(part != nullptr, "a single operation has nothing to inline");
      segments_.push_back(std::move(part));
    }
  }
  if (options.dumps(DebugDumpOption::SegmentedFusion)) {
    std::string lines;
    auto names = [](const std::vector<const Val*>& vals) {
      return join(vals, ", ", [](const Val* val) { return val->toInlineString(); });
    };
    for (size_t i = 0; i < segments_.size(); ++i) {
      append(lines,
             text("kernel ", i + 1, ": (", names(segments_[i]->inputs), ") -> (",
                  names(segments_[i]->outputs), ")\n", segments_[i]->fusion->mathString(), "\n"));
    }
    dump(options, name(), "segmented_fusion", lines);
  }
}

namespace {

/// A segment without a kernel, on the host.
KernelArgumentHolder interpretSegment(const Fusion& fusion, const KernelArgumentHolder& args,
                                      Device& device) {
  KernelArgumentHolder on_host;
  for (const KernelArgument& argument : args) {
    on_host.push(argument.isTensor() ? KernelArgument(argument.tensor().copyTo(cpuDevice()))
                                     : argument);
  }
  KernelArgumentHolder results;
  for (const HostTensor& result : interpret(fusion, on_host.inputs())) {
    results.push(Tensor::fromHostTensor(result, device));
  }
  return results;
}

}  // namespace

void FusionExecutorCache::compileForHost(const CompileParams& params) {
  Device& device = params.device != nullptr ? *params.device : defaultDevice();
  if (compiled_for_host_ || device.kind() != DeviceKind::Cpu || segments_.size() < 2) {
    return;
  }
  constexpr size_t kMost = 32;  // kernels in one text: its compilation has a deadline
  std::vector<KernelExecutor*> all;
  for (const auto& segment : segments_) {
    // Those that have a kernel were compiled by the caller, in a batch of its own.
    if (segment->has_kernel && segment->executor->compiledKernel() == nullptr) {
      all.push_back(segment->executor.get());
    }
  }
  for (size_t begin = 0; begin < all.size(); begin += kMost) {
    const size_t count = std::min(kMost, all.size() - begin);
    compileBatch(std::span(all).subspan(begin, count), device, PrimDataType::Int, params);
  }
  compiled_for_host_ = true;
}

KernelArgumentHolder FusionExecutorCache::runFusionWithInputs(
    const KernelArgumentHolder& args, std::optional<PrimDataType> forced_index_type,
    Device* device) {
  std::lock_guard<std::mutex> lock(mutex_);
  const std::vector<Val*>& inputs = fusion_->inputs();
  // All sizes of the whole fusion, for segments whose own inputs do not tell them.
  ExpressionEvaluator evaluator = bindAllInputs(*fusion_, args);
  std::vector<std::pair<std::string, PolymorphicValue>> sizes;
  for (const auto& val : fusion_->vals()) {
    if (!val->isScalar() || val->isConst() || val->definition() != nullptr) {
      continue;
    }
    PolymorphicValue value = evaluator.evaluate(val.get());
    if (value.hasValue()) {
      sizes.emplace_back(val->toString(), value);
    }
  }
  std::map<const Val*, KernelArgument> known;
  CompileParams params;
  params.options = Options::current();
  if (params.options->dumps(DebugDumpOption::FusionArgs)) {
    dump(*params.options, name(), "fusion_args", args.toString());
  }
  params.index_type = forced_index_type;
  params.device = device;
  for (size_t i = 0; i < inputs.size(); ++i) {
    known[inputs[i]] = args[i];
    if (args[i].isTensor() && !args[i].tensor().isMeta()) {
      params.device = &args[i].tensor().device();
    }
  }
  compileForHost(params);
  for (const auto& segment : segments_) {
    KernelArgumentHolder segment_args;
    for (const Val* input : segment->inputs) {
      segment_args.push(known.at(input));
    }
    segment->executor->setRandomState(seed_, offset_);
    segment->executor->setKnownScalars(sizes);
    KernelArgumentHolder results =
        segment->has_kernel
            ? segment->executor->run(segment_args, {}, LaunchParams(), params)
            : interpretSegment(*segment->executor->fusion(), segment_args,
                               params.device != nullptr ? *params.device : defaultDevice());
    for (size_t i = 0; i < segment->outputs.size(); ++i) {
      known[segment->outputs[i]] = results[i];
    }
  }
  if (fusion_->hasManaged("random_draws")) {
    offset_ += fusion_->getManaged<std::map<int64_t, int64_t>>("random_draws").size();
  }
  // In-place outputs go to their input's storage when nobody reads it any more.
  KernelArgumentHolder results;
  for (Val* output : fusion_->outputs()) {
    const AliasInfo& alias = fusion_->getOutputAlias(output);
    if (alias.aliased_io != nullptr && alias.type == AllocationType::ReuseBuffer) {
      Tensor target = known.at(alias.aliased_io).tensor();
      if (target.numel() > 0) {
        target.copyFrom(known.at(output).tensor());
      }
      if (alias.visibility == OutputVisibility::kHidden) {
        continue;
      }
      results.push(target);
      continue;
    }
    results.push(known.at(output));
  }
  return results;
}

bool FusionExecutorCache::isCompiled(const KernelArgumentHolder&) {
  std::lock_guard<std::mutex> lock(mutex_);
  return std::all_of(segments_.begin(), segments_.end(), [](const auto& s) {
    return !s->has_kernel || s->executor->compiledKernel() != nullptr;
  });
}

std::vector<std::string> FusionExecutorCache::getMostRecentCode() const {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::string> code;
  for (const auto& segment : segments_) {
    if (const CompiledKernel* kernel = segment->executor->compiledKernel()) {
      code.push_back(kernel->kernelString());
    }
  }
  return code;
}

std::vector<KernelExecutor*> FusionExecutorCache::executors() const {
  std::vector<KernelExecutor*> executors;
  for (const auto& segment : segments_) {
    executors.push_back(segment->executor.get());
  }
  return executors;
}

size_t FusionExecutorCache::numKernels() const { return segments_.size(); }

void FusionExecutorCache::setRandomState(uint64_t seed, uint64_t offset) {
  std::lock_guard<std::mutex> lock(mutex_);
  seed_ = seed;
  offset_ = offset;
}

}  // namespace nvfuser
