#include <runtime/repeated_launch.h>

#include <algorithm>
#include <cstring>

#include <runtime/bound_arguments.h>
#include <runtime/executor.h>
#include <runtime/prepared_fusion.h>
#include <runtime/profiler_range.h>
#include <segmenter/merge_groups.h>
#include <support/cancellation.h>

namespace nvfuser {

using PlaceKind = LaunchSequence::Place::Kind;

FusionExecutorCache::RepeatedLaunch::RepeatedLaunch(FusionExecutorCache& cache,
                                                    std::shared_ptr<Kept> kept,
                                                    std::span<const LentArgument> args)
    : cache_(cache),
      kept_(std::move(kept)),
      sequence_(*kept_->plan->launches),
      arguments_(args.size()),
      addresses_(args.size()) {
  for (const std::vector<size_t>& group : sequence_.groups()) {
    const bool together = group.size() >= kLeastAlike;
    tables_.push_back(together ? sequence_.launches()[group[0]].plan->compiled().table() : nullptr);
  }
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
      const bool is_argument = place.kind == PlaceKind::Argument;
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
bool takeWord(LentWord word, int64_t alignment, bool is_free_integer, LentArgument& lent) {
  if (lent.tensor() != nullptr) {
    lent.setAddress(word.address);
    return alignmentOf(word.address) == alignment;
  }
  const PolymorphicValue& before = *lent.scalar();
  if (before.is<int64_t>()) {
    const bool is_same = before.as<int64_t>() == word.integer;
    if (!is_same && is_free_integer) {
      lent = PolymorphicValue(word.integer);
    }
    return is_same || is_free_integer;
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
    if (argument.is_read &&
        !takeWord(words[i], argument.alignment, cache_.isFreeInteger(i), argument.before)) {
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
    case PlaceKind::None:
      break;
    case PlaceKind::Argument:
      begin = addresses_[place.index];
      break;
    case PlaceKind::Output:
      begin = outputs[place.index];
      break;
    case PlaceKind::Between:
      begin = between;
      break;
  }
  return begin == nullptr ? nullptr : static_cast<std::byte*>(begin) + place.offset;
}

void FusionExecutorCache::RepeatedLaunch::give(size_t launch, void* const* outputs, void* between) {
  const LaunchSequence::Launch& of = sequence_.launches()[launch];
  Given& given = given_[launch];
  for (size_t k = 0; k < given.inputs.size(); ++k) {
    const LaunchSequence::Place& place = of.inputs[k];
    if (given.inputs[k].tensor() != nullptr) {
      given.inputs[k].setAddress(addressOf(place, outputs, between));
    } else {
      given.inputs[k] = arguments_[place.index].before;
    }
  }
  for (size_t k = 0; k < given.outputs.size(); ++k) {
    given.outputs[k] = addressOf(of.outputs[k], outputs, between);
  }
}

void FusionExecutorCache::RepeatedLaunch::launchTogether(const std::vector<size_t>& group,
                                                         const LaunchTable& table,
                                                         std::pair<uint64_t, uint64_t> draws,
                                                         const RunContext& context) {
  const LaunchTableForm& form = table.form;
  const auto capacity = static_cast<size_t>(form.capacity);
  std::vector<std::byte> bytes(form.bytes());
  void* const argument = bytes.data();
  for (size_t first = 0; first < group.size(); first += capacity) {
    const size_t count = std::min(capacity, group.size() - first);
    std::vector<uint32_t> ends(capacity, ~uint32_t{0});
    LaunchShape shape = sequence_.launches()[group[first]].plan->shape();
    uint32_t end = 0;
    for (size_t i = 0; i < count; ++i) {
      const size_t number = group[first + i];
      const LaunchPlan& plan = *sequence_.launches()[number].plan;
      const BoundArguments bound(plan, given_[number].inputs, given_[number].outputs, draws.first,
                                 draws.second, context);
      std::byte* const entry = bytes.data() + form.entries + i * form.entry_bytes;
      for (size_t k = 0; k < form.params.size(); ++k) {
        std::memcpy(entry + form.params[k].offset, bound.pointers()[k], form.params[k].bytes);
      }
      uint32_t grid[3];
      std::copy(std::begin(plan.shape().grid), std::end(plan.shape().grid), grid);
      std::memcpy(entry + form.grid, grid, sizeof(grid));
      end += grid[0] * grid[1] * grid[2];
      ends[i] = end;
    }
    std::memcpy(bytes.data(), ends.data(), ends.size() * sizeof(uint32_t));
    std::fill(std::begin(shape.grid), std::end(shape.grid), 1);
    shape.grid[0] = end;
    device().launch(*table.loaded, shape, {&argument, 1}, context.stream, context.cancellation);
  }
}

void FusionExecutorCache::RepeatedLaunch::run(void* const* outputs, const RunContext& context) {
  const ProfilerRange range("run", [&] { return cache_.name(); });
  cache_.touch(*kept_);
  const std::pair<uint64_t, uint64_t> draws = cache_.takeDraws(context);
  const DeviceMemory between(sequence_.bytesBetween(), device(), context);
  bool has_updated = false;
  try {
    for (size_t g = 0; g < tables_.size(); ++g) {
      checkCancelled(context.cancellation);
      for (size_t i : sequence_.groups()[g]) {
        const LaunchSequence::Launch& launch = sequence_.launches()[i];
        if (launch.plan->kind() != LaunchPlan::Kind::Launch) {
          continue;
        }
        give(i, outputs, between.data());
        if (tables_[g] == nullptr) {
          KernelExecutor::launch(*launch.plan, given_[i].inputs, given_[i].outputs, draws.first,
                                 draws.second, context);
          has_updated |= launch.updates;
        }
      }
      if (tables_[g] != nullptr) {
        const std::vector<size_t>& group = sequence_.groups()[g];
        launchTogether(group, *tables_[g], draws, context);
        has_updated |= std::any_of(group.begin(), group.end(),
                                   [&](size_t i) { return sequence_.launches()[i].updates; });
      }
    }
  } catch (const std::exception& error) {
    if (has_updated) {
      throwPartialUpdate(cache_.name(), error);
    }
    throw;
  }
}

}  // namespace nvfuser
