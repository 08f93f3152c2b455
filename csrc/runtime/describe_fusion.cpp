// FusionExecutorCache::describe: what a call does, for somebody who draws it, and why neighbouring
// steps are not one kernel: the schedulers are asked about both together.
#include <algorithm>
#include <set>

#include <runtime/fusion_description.h>
#include <runtime/launch_values.h>
#include <runtime/loop_origins.h>
#include <runtime/prepared_fusion.h>
#include <segmenter/merge_groups.h>

namespace nvfuser {

namespace {

std::vector<std::string> tensorNames(const std::vector<const Val*>& vals) {
  std::vector<std::string> names;
  for (const Val* val : vals) {
    if (val->isA<TensorView>()) {
      names.push_back(val->toInlineString());
    }
  }
  return names;
}

std::vector<std::string> tensorNames(const std::vector<Val*>& vals) {
  return tensorNames(std::vector<const Val*>(vals.begin(), vals.end()));
}

bool contains(const std::vector<const Val*>& vals, const Val* val) {
  return std::find(vals.begin(), vals.end(), val) != vals.end();
}

/// Tensors of `vals` that are in `others`, too.
std::vector<const Val*> shared(const std::vector<const Val*>& vals,
                               const std::vector<const Val*>& others) {
  std::vector<const Val*> result;
  for (const Val* val : vals) {
    if (val->isA<TensorView>() && contains(others, val)) {
      result.push_back(val);
    }
  }
  return result;
}

/// Expressions of the whole fusion that compute a segment's outputs from its inputs.
void collect(const Val* val, const FusionSegment& segment, std::set<const Expr*>& exprs) {
  const Expr* made = val->definition();
  if (made == nullptr || contains(segment.inputs(), val) || !exprs.insert(made).second) {
    return;
  }
  for (const Val* input : made->inputs()) {
    collect(input, segment, exprs);
  }
}

std::string sizesOf(const TensorView* tv, ExpressionEvaluator& evaluator) {
  std::vector<std::string> sizes;
  for (const IterDomain* id : TensorDomain::noReductions(tv->getLogicalDomain())) {
    const PolymorphicValue size = evaluator.evaluate(id->getMaybeExpandedExtent());
    if (!size.hasValue()) {
      return "";
    }
    sizes.push_back(size.toString());
  }
  return text("[", join(sizes, ", "), "]");
}

/// Steps that have to wait for `from`, itself included.
std::vector<bool> behind(size_t from, const std::vector<std::vector<size_t>>& readers) {
  std::vector<bool> reached(readers.size(), false);
  reached[from] = true;
  for (size_t step = from; step < readers.size(); ++step) {
    for (size_t reader : readers[step]) {
      reached[reader] = reached[reader] || reached[step];
    }
  }
  return reached;
}

constexpr size_t kMostSiblings = 24;  ///< of steps, up to which siblings are asked about

}  // namespace

/// Arguments like those of the call before, in memory of their own: ones, and zeros for integers,
/// which may be indices.
KernelArgumentHolder FusionExecutorCache::argumentsLike(const Asked& asked) {
  KernelArgumentHolder args;
  for (size_t i = 0; i < asked.args.size(); ++i) {
    const KernelArgument& given = asked.args[i];
    if (!given.isTensor()) {
      args.push(given);
      continue;
    }
    const Tensor& like = given.tensor();
    const int64_t bytes = dataTypeSizeByte(like.dtype());
    int64_t elements = like.numel() == 0 ? 0 : 1;
    for (int64_t axis = 0; elements > 0 && axis < like.dim(); ++axis) {
      elements += (like.size(axis) - 1) * like.stride(axis);
    }
    // The address has the alignment of the one before, not more.
    constexpr int64_t kMost = SchedulerRuntimeInfo::kMaxAlignment;
    const int64_t skipped = asked.alignments[i] < kMost ? asked.alignments[i] / bytes : 0;
    Tensor whole = Tensor::empty({elements + skipped}, like.dtype(), *asked.device);
    const bool counts = isIntegralType(like.dtype()) || isBooleanType(like.dtype());
    whole.fill(PolymorphicValue(counts ? 0.0 : 1.0));
    args.push(whole.asStrided(like.sizes(), like.strides(), skipped));
  }
  return args;
}

std::vector<std::string> FusionExecutorCache::whyApart(Variant& variant, Call& call,
                                                       const Prepared& plan, size_t first,
                                                       size_t second) {
  const std::vector<Step>& steps = plan.steps;
  for (size_t one : {first, second}) {
    if (steps[one].external) {
      return {text(steps[one].external->operation, " is run by a library, between kernels")};
    }
    if (steps[one].kernel == nullptr) {
      return {text(stepTensors(steps[one]), " is a view: nothing is computed and nothing moved")};
    }
    if (steps[one].kernel->params == nullptr) {
      return {text(stepTensors(steps[one]),
                   " is not run by a kernel: it is scheduled by the user "
                   "or interpreted on the host")};
    }
  }
  std::vector<std::vector<size_t>> readers(steps.size());
  for (size_t a = 0; a < steps.size(); ++a) {
    for (size_t b = a + 1; b < steps.size(); ++b) {
      if (!shared(steps[a].segment->outputs(), steps[b].segment->inputs()).empty()) {
        readers[a].push_back(b);
      }
    }
  }
  const std::vector<bool> after = behind(first, readers);
  for (size_t between = first + 1; between < second; ++between) {
    if (after[between] && behind(between, readers)[second]) {
      return {text("step ", between + 1, ", ", stepTensors(steps[between]),
                   ", has to run behind the one and before the other")};
    }
  }
  std::set<const Expr*> wanted;
  std::vector<const Val*> results;
  for (size_t one : {first, second}) {
    for (const Val* output : steps[one].segment->outputs()) {
      collect(output, *steps[one].segment, wanted);
      results.push_back(output);
    }
  }
  std::vector<Expr*> exprs;
  for (Expr* expr : tensorExprs(*variant.fusion)) {
    if (wanted.count(expr) != 0) {
      exprs.push_back(expr);
    }
  }
  const Group both = makeGroup(std::move(exprs), [&](const TensorView* tv) {
    bool stored = tv->isFusionOutput();
    for (size_t other = 0; other < steps.size(); ++other) {
      stored = stored ||
               (other != first && other != second && contains(steps[other].segment->inputs(), tv));
    }
    return stored && contains(results, tv);
  });
  FusionSegment joined(*variant.fusion, both);
  SchedulerRuntimeInfo info = runtimeInfo(joined, *variant.fusion, call.planned_args, call.sizes,
                                          *call.device, call.index_type);
  const Proposal proposal = joined.propose(info);
  if (proposal.params != nullptr && proposal.params->scheduler_type != SchedulerType::ExprEval) {
    const MergeCosts costs = MergeCosts::of(call.device->kind());
    return {text("scheduler ", schedulerTypeName(proposal.params->scheduler_type),
                 " would take both; the cut left them apart, because by its estimate what would be "
                 "computed again costs more than the bytes that would stay on the chip, or "
                 "because one kernel has at most ",
                 costs.most_borders,
                 " tensors to read and store and no more operations than take a "
                 "compiler as long as ",
                 costs.most_weight, " additions")};
  }
  std::vector<std::string> why;
  for (const auto& [type, refusal] : proposal.refusals) {
    why.push_back(text("not ", schedulerTypeName(type), ": ", refusal.why));
  }
  if (why.empty()) {
    why.emplace_back("no scheduler takes both together");
  }
  return why;
}

StepDescription FusionExecutorCache::describeStep(const Step& step, const KernelProfile& cost) {
  StepDescription result;
  result.name = cost.name;
  result.cost = cost;
  result.refusals = cost.refusals;
  result.inputs = tensorNames(step.segment->inputs());
  result.outputs = tensorNames(step.segment->outputs());
  for (const Expr* expr : tensorExprs(step.segment->fusion())) {
    result.operations.push_back({expr->getOpString(), expr->toString(), tensorNames(expr->inputs()),
                                 tensorNames(expr->outputs())});
  }
  if (step.external) {
    result.kind = StepKind::Library;
    result.ran_by = step.external->ran_by->get().name;
  } else if (step.kernel == nullptr) {
    result.kind = StepKind::Views;
  } else if (step.kernel->executor == nullptr) {
    result.kind = StepKind::Interpreted;
  } else {
    if (const HeuristicParams* params = step.kernel->params.get()) {
      result.scheduler = schedulerTypeName(params->scheduler_type);
      result.params = params->toString();
    }
    if (const CompiledKernel* compiled = step.kernel->executor->compiledKernel()) {
      result.code = compiled->generated().ownText();
      result.loops = loopOrigins(*compiled);
    }
  }
  return result;
}

FusionDescription FusionExecutorCache::describe(int repeats) {
  const std::shared_ptr<const Prepared> before = last();
  if (before == nullptr) {
    userError(
        "describe: nothing has run yet; run the fusion first, what is done depends on its "
        "arguments");
  }
  const OptionsGuard as_before(before->asked.options);
  return describe(argumentsLike(before->asked), repeats, before->asked.device);
}

FusionDescription FusionExecutorCache::describe(const KernelArgumentHolder& given, int repeats,
                                                Device* device) {
  const KernelArgumentHolder args = notUpdated(given);
  FusionProfile profile = this->profile(args, repeats, device);
  FusionDescription result;
  result.device = profile.device;
  result.call_ms = profile.call_ms;
  Call call = makeCall(args, {}, device);
  const std::shared_ptr<Kept> kept = keptFor(call);
  check(kept->ready.load(), "what was measured is planned");
  const Prepared& plan = *kept->plan;
  std::lock_guard<std::mutex> lock(planning_);
  std::vector<PlannedView> views;
  std::vector<PlannedJoin> joins;
  Variant& variant = variantFor(*plan.form, call, views, joins);
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    result.steps.push_back(describeStep(plan.steps[i], profile.kernels[i]));
  }
  std::set<const Val*> seen;
  auto add = [&](const Val* val, ExpressionEvaluator& evaluator) {
    if (val->isA<TensorView>() && seen.insert(val).second) {
      result.tensors.push_back({val->toInlineString(), val->toString(),
                                sizesOf(val->as<TensorView>(), evaluator), val->isFusionInput(),
                                val->isFusionOutput()});
    }
  };
  for (const Val* input : variant.fusion->inputs()) {
    add(input, call.evaluator);
  }
  for (Expr* expr : tensorExprs(*variant.fusion)) {
    for (const Val* output : expr->outputs()) {
      add(output, call.evaluator);
    }
  }
  ExpressionEvaluator of_whole = bindAllInputs(*plan.form->graph, args);
  for (const Prepared::ViewStep& step : plan.views) {
    const Val* output = plan.form->graph->outputs()[step.view.output];
    add(output, of_whole);
    result.views.emplace_back(output->toInlineString(), step.view.source->toInlineString());
  }
  for (size_t a = 0; a < plan.steps.size(); ++a) {
    for (size_t b = a + 1; b < plan.steps.size(); ++b) {
      const FusionSegment& first = *plan.steps[a].segment;
      const FusionSegment& second = *plan.steps[b].segment;
      std::vector<const Val*> common = shared(first.outputs(), second.inputs());
      const bool is_flow = !common.empty();
      if (!is_flow && plan.steps.size() <= kMostSiblings) {
        common = shared(first.inputs(), second.inputs());
      }
      if (!common.empty()) {
        result.borders.push_back(
            {a, b, tensorNames(common), is_flow, whyApart(variant, call, plan, a, b)});
      }
    }
  }
  return result;
}

}  // namespace nvfuser
