#include <runtime/repeated_launch.h>

#include <runtime/executor.h>
#include <runtime/prepared_fusion.h>
#include <runtime/profiler_range.h>

namespace nvfuser {

FusionExecutorCache::RepeatedLaunch::RepeatedLaunch(FusionExecutorCache& cache,
                                                    std::shared_ptr<Kept> kept,
                                                    std::span<const LentArgument> args)
    : cache_(cache), kept_(std::move(kept)), plan_(*kept_->plan->steps[0].plan) {
  for (size_t input : kept_->plan->steps[0].inputs) {
    const LentTensor* tensor = args[input].tensor();
    taken_.push_back({input, tensor != nullptr ? alignmentOf(tensor->data) : 0});
    LentArgument lent = args[input];
    if (tensor != nullptr) {  // sizes and strides are the caller's own memory, and in the plan
      lent = LentTensor{nullptr, tensor->dtype, {}, {}, tensor->device};
    }
    lent_.push_back(lent);
  }
}

namespace {

/// Whether a plan is for this word, too. `alignment`: of the tensor it was made with.
bool takeWord(LentWord word, int64_t alignment, LentArgument& lent) {
  if (lent.tensor() != nullptr) {
    lent.setAddress(word.address);
    return alignmentOf(word.address) == alignment;
  }
  const PolymorphicValue& before = *lent.scalar();
  if (before.is<int64_t>()) {  // sizes may depend on it
    return before.as<int64_t>() == word.integer;
  }
  lent = before.is<bool>() ? PolymorphicValue(word.integer != 0) : PolymorphicValue(word.real);
  return true;
}

}  // namespace

bool FusionExecutorCache::RepeatedLaunch::take(const LentWord* words) {
  for (size_t i = 0; i < taken_.size(); ++i) {
    if (!takeWord(words[taken_[i].argument], taken_[i].alignment, lent_[i])) {
      return false;
    }
  }
  return true;
}

void FusionExecutorCache::RepeatedLaunch::run(void* const* outputs, const RunContext& context) {
  const ProfilerRange range("run", [&] { return cache_.name(); });
  cache_.touch(*kept_);
  if (plan_.kind() == LaunchPlan::Kind::Launch) {
    const auto [seed, offset] = cache_.takeDraws(context);
    KernelExecutor::launch(plan_, lent_, {outputs, numOutputs()}, seed, offset, context);
  }
}

}  // namespace nvfuser
