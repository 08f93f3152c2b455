#include <runtime/launch_groups.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include <runtime/compiled_kernel.h>

namespace nvfuser {

namespace {

constexpr size_t kMostLookedAt = 32;               ///< groups that a launch is compared with
constexpr int64_t kMostBlocks = int64_t{1} << 24;  ///< of a launch: those of a table are counted

using Place = LaunchSequence::Place;
using Memory = std::pair<Place::Kind, size_t>;  ///< an argument, or a tensor that a launch makes

struct Growing {
  std::vector<size_t> launches;
  std::set<Memory> read, written;
};

bool meets(const std::set<Memory>& a, const std::set<Memory>& b) {
  return std::any_of(a.begin(), a.end(), [&](const Memory& one) { return b.count(one) != 0; });
}

/// Whether a launch has to come behind a group.
bool waitsFor(const Growing& launch, const Growing& group) {
  return meets(launch.read, group.written) || meets(launch.written, group.written) ||
         meets(launch.written, group.read);
}

Growing growingOf(const LaunchSequence::Launch& launch, size_t number) {
  Growing one{{{number}}, {}, {}};
  for (const Place& place : launch.inputs) {
    one.read.emplace(place.kind, place.index);
  }
  for (const Place& place : launch.outputs) {
    one.written.emplace(place.kind, place.index);
  }
  return one;
}

bool mayMove(const Growing& one, const std::function<bool(size_t)>& may_move) {
  return std::none_of(one.written.begin(), one.written.end(), [&](const Memory& memory) {
    return memory.first == Place::Kind::Between && !may_move(memory.second);
  });
}

/// Whether the blocks of a launch are on their own, and find their arguments in a table.
bool mayShare(const LaunchPlan& plan) {
  const LaunchShape& shape = plan.shape();
  return plan.kind() == LaunchPlan::Kind::Launch &&
         plan.compiled().device().kind() != DeviceKind::Cpu && !plan.compiled().isOverridden() &&
         !shape.cooperative && !plan.hasWorkspaces() &&
         shape.grid[0] * shape.grid[1] * shape.grid[2] <= kMostBlocks &&
         std::all_of(std::begin(shape.cluster), std::end(shape.cluster),
                     [](int64_t extent) { return extent == 1; }) &&
         launchTableForm(plan.compiled().kernel()).has_value();
}

bool areAlike(const LaunchPlan& a, const LaunchPlan& b) {
  const LaunchShape& first = a.shape();
  const LaunchShape& second = b.shape();
  return a.kind() == b.kind() && &a.compiled().loaded() == &b.compiled().loaded() &&
         std::equal(std::begin(first.block), std::end(first.block), std::begin(second.block)) &&
         first.shared_bytes == second.shared_bytes;
}

}  // namespace

std::vector<std::vector<size_t>> groupLaunches(const std::vector<LaunchSequence::Launch>& launches,
                                               const std::function<bool(size_t)>& may_move) {
  std::vector<Growing> groups;
  for (size_t i = 0; i < launches.size(); ++i) {
    const LaunchPlan& plan = *launches[i].plan;
    Growing one = growingOf(launches[i], i);
    const size_t looked_at = mayShare(plan) && mayMove(one, may_move) ? kMostLookedAt : 0;
    auto joined = groups.rend();
    for (auto group = groups.rbegin();
         group != groups.rend() && group < groups.rbegin() + static_cast<long>(looked_at) &&
         !waitsFor(one, *group);
         ++group) {
      if (areAlike(*launches[group->launches[0]].plan, plan)) {
        joined = group;
        break;
      }
    }
    if (joined == groups.rend()) {
      groups.push_back(std::move(one));
      continue;
    }
    joined->launches.push_back(i);
    joined->read.merge(one.read);
    joined->written.merge(one.written);
  }
  std::vector<std::vector<size_t>> result;
  for (Growing& group : groups) {
    result.push_back(std::move(group.launches));
  }
  return result;
}

}  // namespace nvfuser
