#include <multidevice/handover.h>

#include <algorithm>
#include <numeric>

namespace nvfuser::multidevice {

namespace {

/// None where they have nothing in common.
std::optional<PartRange> commonOf(const PartRange& a, const PartRange& b) {
  const int64_t of = std::lcm(a.of, b.of);
  const int64_t begin = std::max(a.begin * (of / a.of), b.begin * (of / b.of));
  const int64_t end = std::min(a.end * (of / a.of), b.end * (of / b.of));
  return begin < end ? std::optional(PartRange{begin, end, of}) : std::nullopt;
}

std::optional<std::vector<PartRange>> commonOf(const std::vector<PartRange>& a,
                                               const std::vector<PartRange>& b) {
  std::vector<PartRange> all;
  for (size_t axis = 0; axis < a.size(); ++axis) {
    const std::optional<PartRange> one = commonOf(a[axis], b[axis]);
    if (!one) {
      return std::nullopt;
    }
    all.push_back(*one);
  }
  return all;
}

/// Devices that have the same, in the order of the mesh.
struct Holders {
  std::vector<PartRange> ranges;
  std::vector<int64_t> devices;
};

std::vector<Holders> holdersOf(const Shared& shared, size_t axes) {
  std::vector<Holders> all;
  for (const int64_t device : shared.mesh.devices()) {
    std::vector<PartRange> ranges = shared.rangesOf(device, axes);
    const auto same = std::find_if(all.begin(), all.end(),
                                   [&](const Holders& one) { return one.ranges == ranges; });
    if (same != all.end()) {
      same->devices.push_back(device);
    } else {
      all.push_back({std::move(ranges), {device}});
    }
  }
  return all;
}

bool has(const std::vector<int64_t>& devices, int64_t device) {
  return std::find(devices.begin(), devices.end(), device) != devices.end();
}

}  // namespace

int64_t Shared::parts(size_t axis) const {
  const std::optional<ParallelType> mesh_axis = sharding.of(axis);
  return mesh_axis ? mesh.size(*mesh_axis) : 1;
}

std::vector<PartRange> Shared::rangesOf(int64_t device, size_t axes) const {
  std::vector<PartRange> ranges(axes);
  for (size_t axis = 0; axis < axes; ++axis) {
    if (const auto mesh_axis = sharding.of(axis)) {
      const int64_t place = *mesh.coordinate(device, *mesh_axis);
      ranges[axis] = {place, place + 1, mesh.size(*mesh_axis)};
    }
  }
  return ranges;
}

std::vector<Piece> piecesOf(const Shared& from, const Shared& to, size_t axes) {
  std::vector<Piece> pieces;
  const std::vector<Holders> sources = holdersOf(from, axes);
  const std::vector<Holders> targets = holdersOf(to, axes);
  for (const Holders& source : sources) {
    size_t turn = 0;  // devices that have the same take turns
    for (const Holders& target : targets) {
      const auto ranges = commonOf(source.ranges, target.ranges);
      if (!ranges) {
        continue;
      }
      std::vector<int64_t> team;
      for (const int64_t device : target.devices) {
        if (has(source.devices, device)) {
          pieces.push_back({{device}, *ranges});
        } else {
          team.push_back(device);
        }
      }
      if (!team.empty()) {
        team.insert(team.begin(), source.devices[turn++ % source.devices.size()]);
        pieces.push_back({std::move(team), *ranges});
      }
    }
  }
  return pieces;
}

std::vector<int64_t> Handover::teamOfSizes() const {
  std::vector<int64_t> team = {given.mesh.devices().front()};
  for (const int64_t device : wanted.mesh.devices()) {
    if (device != team.front()) {
      team.push_back(device);
    }
  }
  return team;
}

}  // namespace nvfuser::multidevice
