#include <runtime/repeated_launch.h>

#include <algorithm>

#include <runtime/executor.h>
#include <runtime/prepared_fusion.h>
#include <runtime/profiler_range.h>
#include <support/cancellation.h>

namespace nvfuser {

using Kind = LaunchSequence::Place::Kind;

FusionExecutorCache::RepeatedLaunch::RepeatedLaunch(FusionExecutorCache& cache,
                                                    std::shared_ptr<Kept> kept,
                                                    std::span<const LentArgument> args)
    : cache_(cache),
      kept_(std::move(kept)),
      sequence_(*kept_->plan->launches),
      arguments_(args.size()),
      addresses_(args.size()) {
  for (size_t i = 0; i < args.size(); ++i) {
    arguments_[i].before = args[i];
    if (const LentTensor* tensor = args[i].tensor()) {
      arguments_[i].alignment = alignmentOf(tensor->data);
      arguments_[i].reach = memoryReach(tensor->sizes, tensor->strides, tensor->dtype);
      // Sizes and strides are the caller's own memory, and in the plans.
      arguments_[i].before = LentTensor{nullptr, tensor->dtype, {}, {}, tensor->device};
    }
  }
  for (size_t updated : sequence_.updated()) {
    arguments_[updated].is_updated = true;
  }
  for (const LaunchSequence::Launch& launch : sequence_.launches()) {
    Given& given = given_.emplace_back();
    given.outputs.resize(launch.outputs.size());
    for (const LaunchSequence::Place& place : launch.inputs) {
      const bool is_argument = place.kind == Kind::Argument;
      given.inputs.push_back(is_argument ? arguments_[place.index].before
                                         : LentTensor{nullptr, DataType::Null, {}, {}, &device()});
      if (is_argument) {
        arguments_[place.index].is_read = true;
      }
    }
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

/// What is written may be read as another argument otherwise (in_place.h).
bool FusionExecutorCache::RepeatedLaunch::updatesAreApart(const LentWord* words) {
  occupied_.clear();
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const Argument& argument = arguments_[i];
    if (argument.before.tensor() != nullptr && argument.reach.end != argument.reach.first) {
      const auto* data = static_cast<const std::byte*>(words[i].address);
      occupied_.push_back(
          {data + argument.reach.first, data + argument.reach.end, argument.is_updated});
    }
  }
  std::sort(occupied_.begin(), occupied_.end(),
            [](const Occupied& a, const Occupied& b) { return a.begin < b.begin; });
  const std::byte* end = nullptr;
  const std::byte* end_of_updated = nullptr;
  for (const Occupied& one : occupied_) {
    if (one.begin < (one.is_updated ? end : end_of_updated)) {
      return false;
    }
    end = std::max(end, one.end);
    end_of_updated = one.is_updated ? std::max(end_of_updated, one.end) : end_of_updated;
  }
  return true;
}

bool FusionExecutorCache::RepeatedLaunch::take(const LentWord* words) {
  for (size_t i = 0; i < arguments_.size(); ++i) {
    Argument& argument = arguments_[i];
    if (argument.is_read && !takeWord(words[i], argument.alignment, argument.before)) {
      return false;
    }
    addresses_[i] = words[i].address;
  }
  return sequence_.updated().empty() || updatesAreApart(words);
}

void* FusionExecutorCache::RepeatedLaunch::addressOf(const LaunchSequence::Place& place,
                                                     void* const* outputs, void* between) const {
  void* begin = nullptr;
  switch (place.kind) {
    case Kind::None:
      break;
    case Kind::Argument:
      begin = addresses_[place.index];
      break;
    case Kind::Output:
      begin = outputs[place.index];
      break;
    case Kind::Between:
      begin = between;
      break;
  }
  return begin == nullptr ? nullptr : static_cast<std::byte*>(begin) + place.offset;
}

void FusionExecutorCache::RepeatedLaunch::run(void* const* outputs, const RunContext& context) {
  const ProfilerRange range("run", [&] { return cache_.name(); });
  cache_.touch(*kept_);
  const auto [seed, offset] = cache_.takeDraws(context);
  const DeviceMemory between(sequence_.bytesBetween(), device(), context);
  bool has_updated = false;
  try {
    for (size_t i = 0; i < given_.size(); ++i) {
      const LaunchSequence::Launch& launch = sequence_.launches()[i];
      if (launch.plan->kind() != LaunchPlan::Kind::Launch) {
        continue;
      }
      checkCancelled(context.cancellation);
      Given& given = given_[i];
      for (size_t k = 0; k < given.inputs.size(); ++k) {
        const LaunchSequence::Place& place = launch.inputs[k];
        if (given.inputs[k].tensor() != nullptr) {
          given.inputs[k].setAddress(addressOf(place, outputs, between.data()));
        } else {
          given.inputs[k] = arguments_[place.index].before;
        }
      }
      for (size_t k = 0; k < given.outputs.size(); ++k) {
        given.outputs[k] = addressOf(launch.outputs[k], outputs, between.data());
      }
      KernelExecutor::launch(*launch.plan, given.inputs, given.outputs, seed, offset, context);
      has_updated |= launch.updates;
    }
  } catch (const std::exception& error) {
    if (has_updated) {
      throwPartialUpdate(cache_.name(), error);
    }
    throw;
  }
}

}  // namespace nvfuser
