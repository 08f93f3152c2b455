#include <fuzz/library/draw_shares.h>

#include <algorithm>
#include <exception>
#include <optional>

#include <fuzz/library/build.h>
#include <fuzz/library/draw.h>

namespace nvfuser::fuzz {

namespace {

const std::vector<std::vector<int64_t>> kMeshes = {{1}, {2}, {3}, {4}, {5}, {2, 2}, {3, 2}, {2, 3}};

/// Axes that devices can cut, with their sizes.
std::vector<std::pair<int64_t, int64_t>> axesToCut(const Value& value) {
  std::vector<std::pair<int64_t, int64_t>> axes;
  const auto* tv = value.val->as<TensorView>();
  const std::vector<IterDomain*> logical = TensorDomain::noReductions(tv->getLogicalDomain());
  for (size_t i = 0; i < logical.size(); ++i) {
    if (!logical[i]->isBroadcast() || logical[i]->hasExpandedExtent()) {
      axes.emplace_back(static_cast<int64_t>(i), value.sizes[i]);
    }
  }
  return axes;
}

/// One axis for each axis of the mesh, or none.
std::vector<int64_t> drawCut(Draw& draw, const Value& value, const std::vector<int64_t>& devices) {
  std::vector<std::pair<int64_t, int64_t>> axes = axesToCut(value);
  std::vector<int64_t> cut;
  for (const int64_t count : devices) {
    cut.push_back(-1);
    std::vector<size_t> fitting;
    for (size_t i = 0; i < axes.size(); ++i) {
      if (axes[i].second % count == 0) {
        fitting.push_back(i);
      }
    }
    if (!fitting.empty() && draw.chance(0.7)) {
      const size_t chosen = draw.oneOf(fitting);
      cut.back() = axes[chosen].first;
      axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(chosen));
    }
  }
  return cut;
}

}  // namespace

void drawShares(Program& program, uint64_t seed) {
  std::optional<Builder> builder;
  try {
    builder.emplace(build(program));
  } catch (const std::exception&) {
    return;  // it is the definition that fails
  }
  Draw draw(seed ^ 0x6d657368);
  // Of some meshes the one that cuts most: sizes are small and often prime.
  size_t most = 0;
  for (int attempt = 0; attempt < 3; ++attempt) {
    const std::vector<int64_t> devices = draw.oneOf(kMeshes);
    std::vector<Share> shares;
    size_t cuts = 0;
    for (const auto& [id, value] : builder->values()) {
      if (!value.val->isA<TensorView>()) {
        continue;
      }
      const bool is_input = std::any_of(program.inputs.begin(), program.inputs.end(),
                                        [&](const Input& input) { return input.id == id; });
      const bool is_output =
          std::find(program.outputs.begin(), program.outputs.end(), id) != program.outputs.end();
      if (!draw.chance(is_input ? 0.9 : is_output ? 0.7 : 0.15)) {
        continue;
      }
      shares.push_back({id, drawCut(draw, value, devices)});
      cuts += static_cast<size_t>(std::count_if(shares.back().cut.begin(), shares.back().cut.end(),
                                                [](int64_t axis) { return axis >= 0; }));
    }
    if (!shares.empty() && (program.devices.empty() || cuts > most)) {
      most = cuts;
      program.devices = devices;
      program.shares = shares;
    }
  }
}

}  // namespace nvfuser::fuzz
