#include <ops/named_axes.h>

#include <ops/axes.h>

namespace nvfuser::ops {

void NamedAxes::meet(std::string_view what, const TensorView* tv, std::string_view names,
                     bool stretches) {
  const std::vector<IterDomain*> axes = axesOf(tv);
  const size_t all = batches_ + names.size();
  if (stretches ? axes.size() > all : axes.size() != all) {
    userError(op_, ": the ", what, " has ", stretches ? "at most " : "", all, " axes; got ",
              describe(tv));
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    const size_t place = i + all - axes.size();
    const std::string name =
        place < batches_ ? std::to_string(place) : std::string(1, names[place - batches_]);
    const auto size = constantOf(extentOf(axes[i]));
    if (stretches && size == 1) {
      continue;
    }
    const auto [found, is_new] = axes_.emplace(name, Meeting{axes[i], what});
    const auto other = constantOf(extentOf(found->second.axis));
    if (size && other && *size != *other) {
      userError(op_, ": axis ", i, " of the ", what, ", ", describe(tv), ", has ", *size,
                " elements, but ", *other, " in the ", found->second.of, "; both have to be equal",
                place < batches_ ? ": expand the smaller one" : "");
    }
    if (!other && size) {
      found->second = {axes[i], what};
    }
  }
}

TensorView* NamedAxes::result(std::string_view names, DataType dtype) const {
  std::vector<IterDomain*> axes;
  for (size_t i = 0; i < batches_; ++i) {
    axes.push_back(newOwnAxis(axes_.at(std::to_string(i)).axis));
  }
  for (char name : names) {
    axes.push_back(newOwnAxis(axes_.at(std::string(1, name)).axis));
  }
  return newTensor(std::move(axes), dtype);
}

}  // namespace nvfuser::ops
