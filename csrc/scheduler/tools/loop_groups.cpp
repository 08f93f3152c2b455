#include <scheduler/tools/loop_groups.h>

#include <algorithm>
#include <numeric>

namespace nvfuser {

LoopGroups::LoopGroups(std::vector<std::vector<int>> consumers,
                       std::vector<std::vector<Sizes>> sizes)
    : consumers_(std::move(consumers)), sizes_(std::move(sizes)) {}

int LoopGroups::find(const Level& level, int s) const {
  while (level.parent[static_cast<size_t>(s)] != s) {
    s = level.parent[static_cast<size_t>(s)];
  }
  return s;
}

LoopGroups::Level& LoopGroups::levelAt(int depth) {
  while (static_cast<int>(levels_.size()) <= depth) {
    Level level;
    level.parent.resize(consumers_.size());
    std::iota(level.parent.begin(), level.parent.end(), 0);
    for (int s : level.parent) {
      level.members.push_back({s});
      const auto& sizes = sizes_[static_cast<size_t>(s)];
      level.sizes.push_back(levels_.size() < sizes.size() ? sizes[levels_.size()] : Sizes());
    }
    levels_.push_back(std::move(level));
  }
  return levels_[static_cast<size_t>(depth)];
}

std::vector<int> LoopGroups::groupsOfConsumers(const Level& level, int s) const {
  std::vector<int> groups;
  for (int c : consumers_[static_cast<size_t>(s)]) {
    groups.push_back(find(level, c));
  }
  std::sort(groups.begin(), groups.end());
  groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
  return groups;
}

bool LoopGroups::isRunnable(int s, int depth) {
  const Level& level = levelAt(depth);
  const std::vector<int> joined = groupsOfConsumers(level, s);
  if (joined.size() < 2) {
    return true;
  }
  // Walk from the groups to be joined to all that depends on them; meeting one of them again is a
  // path that leaves and returns. Existing groups have none within themselves, so only edges to
  // other groups count. Statement s itself depends on nothing that was decided so far.
  auto isJoined = [&](int group) {
    return std::binary_search(joined.begin(), joined.end(), group);
  };
  std::vector<bool> seen(consumers_.size(), false);
  std::vector<int> open = joined;
  while (!open.empty()) {
    const int group = open.back();
    open.pop_back();
    for (int member : level.members[static_cast<size_t>(group)]) {
      for (int c : consumers_[static_cast<size_t>(member)]) {
        const int next = find(level, c);
        if (next == group) {
          continue;
        }
        if (isJoined(next)) {
          return false;
        }
        if (!seen[static_cast<size_t>(next)]) {
          seen[static_cast<size_t>(next)] = true;
          open.push_back(next);
        }
      }
    }
  }
  return true;
}

std::optional<LoopGroups::Disagreement> LoopGroups::disagreement(int s, int depth) {
  const Level& level = levelAt(depth);
  std::vector<int> joined = groupsOfConsumers(level, s);
  joined.push_back(s);
  Sizes known;
  for (int group : joined) {
    for (auto [axis, size] : level.sizes[static_cast<size_t>(group)]) {
      const auto [entry, is_new] = known.emplace(axis, size);
      if (!is_new && entry->second != size) {
        return Disagreement{axis, {entry->second, size}};
      }
    }
  }
  return std::nullopt;
}

void LoopGroups::join(int s, int depth) {
  Level& level = levelAt(depth);
  for (int c : consumers_[static_cast<size_t>(s)]) {
    int a = find(level, s);
    int b = find(level, c);
    if (a == b) {
      continue;
    }
    auto sizeOf = [&](int group) { return level.members[static_cast<size_t>(group)].size(); };
    if (sizeOf(a) < sizeOf(b)) {
      std::swap(a, b);
    }
    const auto into = static_cast<size_t>(a);
    const auto from = static_cast<size_t>(b);
    level.members[into].insert(level.members[into].end(), level.members[from].begin(),
                               level.members[from].end());
    level.members[from].clear();
    level.sizes[into].merge(level.sizes[from]);
    level.parent[from] = a;
  }
}

}  // namespace nvfuser
