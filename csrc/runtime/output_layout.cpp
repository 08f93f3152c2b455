#include <runtime/output_layout.h>

#include <algorithm>

namespace nvfuser {

std::pair<std::vector<int64_t>, std::vector<int64_t>> outputLayout(const TensorView* tv,
                                                                   LaunchValues& values) {
  const std::vector<IterDomain*> logical = TensorDomain::noReductions(tv->getLogicalDomain());
  std::vector<int64_t> sizes;
  for (const IterDomain* id : logical) {
    sizes.push_back(
        values.evaluator().evaluateInt(id->getMaybeExpandedExtent(), "an output's size"));
  }
  std::vector<int64_t> strides(logical.size(), 0);
  int64_t stride = 1;
  const auto& memory = tv->getMaybeAllocationDomain();
  for (auto it = memory.rbegin(); it != memory.rend(); ++it) {
    auto place = std::find(logical.begin(), logical.end(), *it);
    if (place == logical.end()) {
      if ((*it)->isReduction()) {
        continue;
      }
      userError("run: output ", tv,
                " has an allocation domain that is no permutation of its logical axes; "
                "give the output tensor to run()");
    }
    const auto axis = static_cast<size_t>(place - logical.begin());
    if ((*it)->isBroadcast()) {
      strides[axis] = (*it)->hasExpandedExtent() ? 0 : stride;
      continue;
    }
    strides[axis] = stride;
    stride *= std::max<int64_t>(sizes[axis], 1);
  }
  return {sizes, strides};
}

std::pair<int64_t, int64_t> placesOf(std::span<const int64_t> sizes,
                                     std::span<const int64_t> strides) {
  if (std::count(sizes.begin(), sizes.end(), 0) != 0) {
    return {0, 0};
  }
  std::pair<int64_t, int64_t> places{0, 1};
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    const int64_t distance = (sizes[axis] - 1) * strides[axis];
    (distance < 0 ? places.first : places.second) += distance;
  }
  return places;
}

}  // namespace nvfuser
