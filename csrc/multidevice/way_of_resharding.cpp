#include <multidevice/way_of_resharding.h>

namespace nvfuser::multidevice {

namespace {

/// Tries all orders: there are at most three axes of the mesh, each of which takes two steps at
/// most.
class Search {
 public:
  Search(const DeviceMesh& mesh, const Sharding& to) : mesh_(mesh), to_(to) {}

  WayOfResharding run(const Sharding& from) {
    visit(from);
    return *best_;
  }

 private:
  void visit(const Sharding& now) {
    if (best_ && best_->cost <= way_.cost) {
      return;  // (of two that cost the same, the one that was found first)
    }
    if (now == to_) {
      best_ = way_;
      return;
    }
    for (const ParallelType mesh_axis : kMeshAxes) {
      if (now[mesh_axis] == to_[mesh_axis]) {
        continue;
      }
      const bool is_free = !to_[mesh_axis] || !now.of(*to_[mesh_axis]);
      if (is_free) {
        take(now, mesh_axis, to_[mesh_axis]);
      } else if (now[mesh_axis]) {
        take(now, mesh_axis, std::nullopt);
      }
    }
  }

  void take(Sharding now, ParallelType mesh_axis, std::optional<size_t> to) {
    const ExchangeCost before = way_.cost;
    const int64_t devices = mesh_.size(mesh_axis);
    if (now[mesh_axis]) {
      const int64_t part = partOf(now);
      way_.cost.received += (devices - 1) * (to ? part / devices : part);
      ++way_.cost.exchanges;
    }
    way_.steps.push_back({mesh_axis, to});
    now[mesh_axis] = to;
    visit(now);
    way_.steps.pop_back();
    way_.cost = before;
  }

  int64_t partOf(const Sharding& sharding) const {
    int64_t part = ExchangeCost::partsOf(mesh_);
    for (const ParallelType mesh_axis : kMeshAxes) {
      part /= sharding[mesh_axis] ? mesh_.size(mesh_axis) : 1;
    }
    return part;
  }

  const DeviceMesh& mesh_;
  const Sharding& to_;
  WayOfResharding way_;
  std::optional<WayOfResharding> best_;
};

}  // namespace

int64_t ExchangeCost::partsOf(const DeviceMesh& mesh) { return mesh.size() * mesh.size(); }

WayOfResharding cheapestWay(const DeviceMesh& mesh, const Sharding& from, const Sharding& to) {
  return Search(mesh, to).run(from);
}

}  // namespace nvfuser::multidevice
