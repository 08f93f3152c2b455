#include <runtime/repeated_launch.h>

#include <runtime/executor.h>
#include <runtime/prepared_fusion.h>

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

/// Whether the plan is for this word, too.
bool FusionExecutorCache::RepeatedLaunch::take(const Taken& taken, LentWord word,
                                               LentArgument& lent) const {
  if (lent.tensor() != nullptr) {
    lent.setAddress(word.address);
    return alignmentOf(word.address) == taken.alignment;
  }
  const PolymorphicValue& before = *lent.scalar();
  if (before.is<int64_t>()) {  // sizes may depend on it
    return before.as<int64_t>() == word.integer;
  }
  lent = before.is<bool>() ? PolymorphicValue(word.integer != 0) : PolymorphicValue(word.real);
  return true;
}

bool FusionExecutorCache::RepeatedLaunch::run(const LentWord* words, void* const* outputs,
                                              const RunContext& context) {
  for (size_t i = 0; i < taken_.size(); ++i) {
    if (!take(taken_[i], words[taken_[i].argument], lent_[i])) {
      return false;
    }
  }
  cache_.touch(*kept_);
  if (plan_.kind() == LaunchPlan::Kind::Launch) {
    const auto [seed, offset] = cache_.takeDraws(context);
    KernelExecutor::launch(plan_, lent_, {outputs, numOutputs()}, seed, offset, context);
  }
  return true;
}

}  // namespace nvfuser
