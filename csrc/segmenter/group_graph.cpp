#include <segmenter/group_graph.h>

#include <algorithm>
#include <numeric>
#include <queue>

namespace nvfuser {

GroupGraph::GroupGraph(const FusionTraits& traits, const std::vector<std::vector<int>>& parts)
    : traits_(traits) {
  const auto num_units = static_cast<size_t>(traits.numUnits());
  parent_.resize(num_units);
  std::iota(parent_.begin(), parent_.end(), 0);
  nodes_.resize(num_units);
  order_.resize(num_units);
  seen_.assign(num_units, 0);
  num_readers_.assign(traits.tensors().size(), 0);
  for (const std::vector<int>& part : parts) {
    for (int unit : part) {
      parent_[static_cast<size_t>(unit)] = part[0];
    }
  }
  for (size_t t = 0; t < traits.tensors().size(); ++t) {
    const TensorTraits& tensor = traits.tensors()[t];
    std::map<int, int64_t> groups;
    for (int reader : tensor.readers) {
      addRead(groups[find(reader)], static_cast<int>(t),
              traits.bytesReadBy(reader, static_cast<int>(t)));
    }
    if (tensor.unit >= 0) {
      groups.erase(find(tensor.unit));
    }
    num_readers_[t] = static_cast<int>(groups.size());
    for (const auto& [group, bytes] : groups) {
      nodes_[static_cast<size_t>(group)].reads.emplace(static_cast<int>(t), bytes);
    }
    if (tensor.unit >= 0 && (tensor.is_output || !groups.empty())) {
      addWrite(nodes_[static_cast<size_t>(find(tensor.unit))], static_cast<int>(t));
    }
  }
  for (const std::vector<int>& part : parts) {
    Node& node = nodes_[static_cast<size_t>(part[0])];
    node.units = part;
    for (int number : part) {
      const UnitTraits& unit = traits.unit(number);
      node.alone |= unit.alone;
      node.work += unit.work;
      node.transforms += unit.transforms;
      node.weight += unit.weight;
      node.parts = std::max(node.parts, unit.parts);
      if (unit.elements > node.elements || node.space < 0) {
        node.elements = unit.elements;
        node.space = unit.space;
      }
      if (unit.signature >= 0) {
        node.signature =
            node.signature == -1 || node.signature == unit.signature ? unit.signature : -2;
        node.kept = unit.kept;
        node.reduced_space = unit.space;
      }
    }
  }
  // An order of the groups: by their first units, as far as dependences allow.
  std::map<int, int> waits;
  std::priority_queue<int, std::vector<int>, std::greater<int>> ready;
  for (const std::vector<int>& part : parts) {
    std::set<int> before;
    forPredecessors(part[0], [&](int group) { before.insert(group); });
    waits[part[0]] = static_cast<int>(before.size());
    if (before.empty()) {
      ready.push(part[0]);
    }
  }
  int64_t place = 0;
  while (!ready.empty()) {
    const int group = ready.top();
    ready.pop();
    order_[static_cast<size_t>(group)] = place++;
    std::set<int> after;
    forSuccessors(group, [&](int next) { after.insert(next); });
    for (int next : after) {
      if (--waits[next] == 0) {
        ready.push(next);
      }
    }
  }
  check(place == static_cast<int64_t>(parts.size()), "groups of operations depend on each other");
}

int GroupGraph::find(int unit) const {
  while (parent_[static_cast<size_t>(unit)] != unit) {
    int& up = parent_[static_cast<size_t>(unit)];
    up = parent_[static_cast<size_t>(up)];
    unit = up;
  }
  return unit;
}

template <typename Visit>
void GroupGraph::forSuccessors(int group, const Visit& visit) const {
  for (int tensor : node(group).writes) {
    int last = -1;
    for (int reader : traits_.tensor(tensor).readers) {
      const int next = find(reader);
      if (next != group && next != last) {
        visit(next);
      }
      last = next;
    }
  }
}

template <typename Visit>
void GroupGraph::forPredecessors(int group, const Visit& visit) const {
  for (const auto& [tensor, bytes] : node(group).reads) {
    if (traits_.tensor(tensor).unit >= 0) {
      visit(find(traits_.tensor(tensor).unit));
    }
  }
}

void GroupGraph::addRead(int64_t& of, int tensor, int64_t bytes) const {
  of = std::min(of + bytes, traits_.tensor(tensor).bytes);
}

void GroupGraph::addWrite(Node& node, int tensor) {
  if (node.writes.insert(tensor).second) {
    ++node.written_spaces[traits_.tensor(tensor).space];
  }
}

void GroupGraph::dropWrite(Node& node, int tensor) {
  if (node.writes.erase(tensor) != 0) {
    const auto place = node.written_spaces.find(traits_.tensor(tensor).space);
    if (--place->second == 0) {
      node.written_spaces.erase(place);
    }
  }
}

GroupGraph::Union GroupGraph::unionOf(int a, int b) const {
  const Node* big = &node(a);
  const Node* small = &node(b);
  if (small->reads.size() + small->writes.size() > big->reads.size() + big->writes.size()) {
    std::swap(big, small);
  }
  Union result;
  result.num_units = big->units.size() + small->units.size();
  result.num_transforms = static_cast<size_t>(big->transforms + small->transforms);
  result.joins_wide =
      small->parts > 0 && big->parts > 0 && std::max(small->parts, big->parts) >= kWideJoin;
  result.weight = static_cast<size_t>(big->weight + small->weight);
  result.num_borders =
      big->reads.size() + small->reads.size() + big->writes.size() + small->writes.size();
  result.written_spaces = big->written_spaces;
  for (const auto& [space, count] : small->written_spaces) {
    result.written_spaces[space] += count;
  }
  auto no_longer_read = [&](int t) {
    // One of the two stores it, the other reads it.
    result.connected = true;
    const TensorTraits& tensor = traits_.tensor(t);
    result.crosses_cut |= tensor.cuts;
    result.saved_bytes += static_cast<double>(tensor.bytes);
    --result.num_borders;
    if (!tensor.is_output && num_readers_[static_cast<size_t>(t)] == 1) {
      result.saved_bytes += static_cast<double>(tensor.bytes);
      --result.num_borders;
      if (--result.written_spaces[tensor.space] == 0) {
        result.written_spaces.erase(tensor.space);
      }
    }
  };
  for (const auto& [t, bytes] : small->reads) {
    const auto place = big->reads.find(t);
    if (place != big->reads.end()) {
      // Parts of a tensor have in common what does not fit beside each other.
      const int64_t shared = bytes + place->second - traits_.tensor(t).bytes;
      result.saved_bytes += static_cast<double>(std::max<int64_t>(shared, 0));
      --result.num_borders;
    } else if (big->writes.count(t) != 0) {
      no_longer_read(t);
    }
  }
  for (int t : small->writes) {
    if (big->reads.count(t) != 0) {
      no_longer_read(t);
    }
  }
  std::set<int> of_big;
  std::set<int> of_small;
  const double held = std::min(between(*big, *small, of_big), between(*small, *big, of_small));
  // Tensors that somebody reads together are in memory together, anyway.
  const bool together = held > 0 && std::any_of(of_small.begin(), of_small.end(), [&](int group) {
                          return of_big.count(group) != 0;
                        });
  result.held_bytes = together ? 0 : held;
  return result;
}

double GroupGraph::between(const Node& group, const Node& other, std::set<int>& readers) const {
  double bytes = 0;
  for (int t : group.writes) {
    const TensorTraits& tensor = traits_.tensor(t);
    if (tensor.is_output || other.reads.count(t) != 0) {
      continue;
    }
    bytes += static_cast<double>(tensor.bytes);
    const size_t looked_at = std::min<size_t>(tensor.readers.size(), kMostReaders);
    for (size_t i = 0; i < looked_at; ++i) {
      readers.insert(find(tensor.readers[i]));
    }
  }
  return bytes;
}

bool GroupGraph::walk(int from, int target, bool forward, std::vector<int>& met) {
  const auto [low, high] =
      std::minmax(order_[static_cast<size_t>(from)], order_[static_cast<size_t>(target)]);
  ++walk_;
  int scanned = 0;
  bool sound = true;
  std::vector<int> open{from};
  while (!open.empty() && sound) {
    const int group = open.back();
    open.pop_back();
    auto visit = [&](int next) {
      ++scanned;
      if (next == target) {
        sound &= group == from;  // a direct way is fine, another one is a cycle
        return;
      }
      const int64_t place = order_[static_cast<size_t>(next)];
      if (place <= low || place >= high || seen_[static_cast<size_t>(next)] == walk_) {
        return;
      }
      seen_[static_cast<size_t>(next)] = walk_;
      met.push_back(next);
      open.push_back(next);
    };
    if (forward) {
      forSuccessors(group, visit);
    } else {
      forPredecessors(group, visit);
    }
    sound &= static_cast<int>(met.size()) <= kMostWalked && scanned <= kMostScanned;
  }
  walked_ += static_cast<int64_t>(met.size()) + scanned;
  return sound;
}

bool GroupGraph::wouldMakeCycle(int a, int b) {
  const bool in_order = order_[static_cast<size_t>(a)] < order_[static_cast<size_t>(b)];
  std::vector<int> after;
  return !walk(in_order ? a : b, in_order ? b : a, true, after);
}

void GroupGraph::absorb(int into, int from) {
  Node& big = nodes_[static_cast<size_t>(into)];
  Node small = std::move(nodes_[static_cast<size_t>(from)]);
  nodes_[static_cast<size_t>(from)] = Node();
  parent_[static_cast<size_t>(from)] = into;
  for (const auto& [t, bytes] : small.reads) {
    int& readers = num_readers_[static_cast<size_t>(t)];
    const bool computed_here = big.writes.count(t) != 0;
    if (!computed_here) {
      const auto [place, is_new] = big.reads.emplace(t, 0);
      addRead(place->second, t, bytes);
      if (is_new) {
        continue;
      }
    }
    --readers;
    if (computed_here && readers == 0 && !traits_.tensor(t).is_output) {
      dropWrite(big, t);
    }
  }
  for (int t : small.writes) {
    int& readers = num_readers_[static_cast<size_t>(t)];
    readers -= static_cast<int>(big.reads.erase(t));
    if (readers > 0 || traits_.tensor(t).is_output) {
      addWrite(big, t);
    }
  }
  big.units.insert(big.units.end(), small.units.begin(), small.units.end());
  if (small.elements > big.elements) {
    big.elements = small.elements;
    big.space = small.space;
  }
  if (small.signature != -1) {
    big.signature = big.signature == -1 || big.signature == small.signature ? small.signature : -2;
    big.kept = small.kept;
    big.reduced_space = small.reduced_space;
  }
  big.work += small.work;
  big.transforms += small.transforms;
  big.weight += small.weight;
  big.parts = std::max(big.parts, small.parts);
  big.alone |= small.alone;
  big.version += small.version + 1;
}

std::optional<int> GroupGraph::merge(int a, int b) {
  auto place = [&](int group) -> int64_t& { return order_[static_cast<size_t>(group)]; };
  if (place(a) > place(b)) {
    std::swap(a, b);
  }
  std::vector<int> after;
  std::vector<int> before;
  if (!walk(a, b, true, after) || !walk(b, a, false, before)) {
    return std::nullopt;
  }
  // What the second needs, then the union, then what needs the first, on the places of all of them.
  auto by_place = [&](int x, int y) { return place(x) < place(y); };
  std::sort(before.begin(), before.end(), by_place);
  std::sort(after.begin(), after.end(), by_place);
  std::vector<int64_t> places{place(a), place(b)};
  for (const auto* met : {&before, &after}) {
    for (int group : *met) {
      places.push_back(place(group));
    }
  }
  std::sort(places.begin(), places.end());
  size_t next = 0;
  for (int group : before) {
    place(group) = places[next++];
  }
  place(a) = place(b) = places[next++];
  for (int group : after) {
    place(group) = places[next++];
  }
  auto size = [&](int group) {
    const Node& of = node(group);
    return of.units.size() + of.reads.size() + of.writes.size();
  };
  if (size(b) > size(a)) {
    std::swap(a, b);
  }
  absorb(a, b);
  return a;
}

std::vector<std::vector<int>> GroupGraph::parts() const {
  std::vector<std::pair<int64_t, int>> live;
  for (size_t unit = 0; unit < nodes_.size(); ++unit) {
    if (!nodes_[unit].units.empty()) {
      live.emplace_back(order_[unit], static_cast<int>(unit));
    }
  }
  std::sort(live.begin(), live.end());
  std::vector<std::vector<int>> result;
  for (const auto& [place, group] : live) {
    result.push_back(node(group).units);
    std::sort(result.back().begin(), result.back().end());
  }
  return result;
}

}  // namespace nvfuser
