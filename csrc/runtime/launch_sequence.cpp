#include <runtime/launch_sequence.h>

#include <algorithm>
#include <numeric>

#include <runtime/launch_groups.h>

namespace nvfuser {

namespace {

/// What tensors between launches are aligned to, as an allocator's are.
constexpr size_t kBetweenAlignment = 256;

/// Of a tensor that may be in memory for longer, so that launches are one.
constexpr size_t kMostMovedBytes = size_t{4} << 20;

size_t roundedUp(size_t bytes) {
  return (bytes + kBetweenAlignment - 1) / kBetweenAlignment * kBetweenAlignment;
}

size_t bytesOf(const Allocator::Form& form) {
  int64_t last = 0;
  for (size_t axis = 0; axis < form.sizes.size(); ++axis) {
    if (form.sizes[axis] == 0) {
      return 0;
    }
    last += (form.sizes[axis] - 1) * form.strides[axis];
  }
  return static_cast<size_t>((last + 1) * dataTypeSizeByte(form.dtype));
}

}  // namespace

using PlaceKind = LaunchSequence::Place::Kind;

LaunchSequence::LaunchSequence(size_t num_arguments, size_t num_slots) : slots_(num_slots) {
  for (size_t i = 0; i < num_arguments; ++i) {
    slots_[i] = {PlaceKind::Argument, i, 0};
  }
}

bool LaunchSequence::addLaunch(std::shared_ptr<const LaunchPlan> plan,
                               std::span<const size_t> inputs, std::span<const size_t> outputs) {
  if (plan == nullptr || !plan->isRepeatable()) {
    return false;
  }
  Launch launch;
  for (size_t slot : inputs) {
    launch.inputs.push_back(slots_[slot]);
  }
  for (size_t i = 0; i < plan->numOutputs(); ++i) {
    Place place{PlaceKind::Between, made_.size(), 0};
    if (const std::optional<size_t> first = plan->outputSameAs(i)) {
      place = launch.outputs[*first];
    } else if (const std::optional<size_t> input = plan->outputInput(i)) {
      place = launch.inputs[*input];
      if (plan->outputIsUpdate(i) && place.kind == PlaceKind::Argument) {
        if (place.offset != 0) {
          return false;
        }
        launch.updates = true;
        updated_.push_back(place.index);
      }
    } else {
      made_.push_back({plan->outputForm(i)});
    }
    launch.outputs.push_back(place);
    slots_[outputs[i]] = place;
  }
  launch.plan = std::move(plan);
  launches_.push_back(std::move(launch));
  return true;
}

void LaunchSequence::addMemory(size_t slot, const Allocator::Form& form) {
  slots_[slot] = {PlaceKind::Between, made_.size(), 0};
  made_.push_back({form});
}

void LaunchSequence::addView(size_t view, size_t source, int64_t offset) {
  slots_[view] = slots_[source];
  slots_[view].offset += offset;
}

bool LaunchSequence::finish(std::span<const size_t> outputs,
                            std::span<const std::optional<size_t>> updated,
                            std::span<const size_t> returned) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Place& place = slots_[outputs[i]];
    if (updated[i] &&
        (place.kind != PlaceKind::Argument || place.index != *updated[i] ||
         std::find(updated_.begin(), updated_.end(), *updated[i]) == updated_.end())) {
      return false;  // it is copied there
    }
  }
  std::vector<Place> final_of(made_.size());
  for (size_t i : returned) {
    const Place& place = slots_[outputs[i]];
    if (place.kind != PlaceKind::Between || place.offset != 0 ||
        final_of[place.index].kind != PlaceKind::None) {
      return false;  // an argument's memory, or that of another result
    }
    final_of[place.index] = {PlaceKind::Output, returned_.size(), 0};
    returned_.push_back(made_[place.index]);
  }
  groups_ = groupLaunches(launches_, [&](size_t made) {
    return final_of[made].kind != PlaceKind::None || bytesOf(made_[made].form) <= kMostMovedBytes;
  });
  placeBetween(final_of);
  const auto settle = [&](std::vector<Place>& places) {
    for (Place& place : places) {
      if (place.kind == PlaceKind::Between) {
        const int64_t offset = place.offset;
        place = final_of[place.index];
        place.offset += offset;
      }
    }
  };
  for (Launch& launch : launches_) {
    settle(launch.inputs);
    settle(launch.outputs);
  }
  return true;
}

void LaunchSequence::notePlaces(const std::vector<Place>& places, size_t group) {
  for (const Place& place : places) {
    if (place.kind == PlaceKind::Between) {
      Made& made = made_[place.index];
      made.first = std::min(made.first, group);
      made.last = std::max(made.last, group);
    }
  }
}

void LaunchSequence::placeBetween(std::vector<Place>& final_of) {
  for (size_t group = 0; group < groups_.size(); ++group) {
    for (size_t launch : groups_[group]) {
      notePlaces(launches_[launch].inputs, group);
      notePlaces(launches_[launch].outputs, group);
    }
  }
  std::vector<size_t> by_first(made_.size());
  std::iota(by_first.begin(), by_first.end(), 0);
  std::stable_sort(by_first.begin(), by_first.end(),
                   [&](size_t a, size_t b) { return made_[a].first < made_[b].first; });
  // The first bytes that none has which is needed with it.
  struct Taken {
    size_t begin, end;
    size_t last;
  };
  std::vector<Taken> taken;
  for (size_t i : by_first) {
    if (final_of[i].kind != PlaceKind::None) {
      continue;
    }
    std::erase_if(taken, [&](const Taken& one) { return one.last < made_[i].first; });
    const size_t bytes = roundedUp(bytesOf(made_[i].form));
    size_t begin = 0;
    for (const Taken& one : taken) {  // in order of their bytes
      if (begin + bytes <= one.begin) {
        break;
      }
      begin = std::max(begin, one.end);
    }
    const Taken mine{begin, begin + bytes, made_[i].last};
    taken.insert(std::find_if(taken.begin(), taken.end(),
                              [&](const Taken& one) { return one.begin >= mine.end; }),
                 mine);
    final_of[i] = {PlaceKind::Between, 0, static_cast<int64_t>(begin)};
    bytes_between_ = std::max(bytes_between_, mine.end);
  }
}

Allocator::Form LaunchSequence::outputForm(size_t i) const { return returned_[i].form; }

bool LaunchSequence::allocates() const {
  return bytes_between_ > 0 || std::any_of(launches_.begin(), launches_.end(), [](const auto& one) {
           return one.plan->hasWorkspaces();
         });
}

}  // namespace nvfuser
