// Views, casts, what autodiff inserts, and tensors made like others.

#include <algorithm>
#include <cstdint>

#include "node_table.h"
#include "node_types.h"

namespace nvfuser::torchscript {

namespace {

void convert(NodeCall& node) {
  const Term self = node.tensor("self");
  const nvf_dtype type = node.resultType();
  node.result(self.dtype == type ? node.fusion().call("set", {self}) : cast(node, self, type));
}

void copy(NodeCall& node) { node.result(node.fusion().call("set", {node.tensor("self")})); }

void reshapeTo(NodeCall& node, const char* sizes) {
  node.result(node.fusion().call("reshape", {node.tensor("self"), node.integers(sizes)}));
}

void view(NodeCall& node) { reshapeTo(node, "size"); }
void reshape(NodeCall& node) { reshapeTo(node, "shape"); }

void flatten(NodeCall& node) {
  node.result(node.fusion().call(
      "flatten", {node.tensor("self"), node.integer("start_dim"), node.integer("end_dim")}));
}

void unsqueeze(NodeCall& node) {
  node.result(node.fusion().call("unsqueeze", {node.tensor("self"), node.integer("dim")}));
}

void squeezeAxes(NodeCall& node, const std::vector<int64_t>& axes) {
  const std::vector<bool> is_one = node.unitAxes("self");
  const auto rank = static_cast<int64_t>(is_one.size());
  std::vector<int64_t> dropped;
  for (int64_t axis : axes) {
    const int64_t at = axis < 0 ? axis + rank : axis;
    if (at >= 0 && at < rank && is_one[static_cast<size_t>(at)]) {
      dropped.push_back(at);
    }
  }
  node.result(dropped.empty() ? node.fusion().call("set", {node.tensor("self")})
                              : node.fusion().call("squeeze", {node.tensor("self"), dropped}));
}

void squeezeAll(NodeCall& node) {
  std::vector<int64_t> all(node.unitAxes("self").size());
  for (size_t axis = 0; axis < all.size(); ++axis) {
    all[axis] = static_cast<int64_t>(axis);
  }
  squeezeAxes(node, all);
}
void squeezeOne(NodeCall& node) { squeezeAxes(node, {node.integer("dim")}); }
void squeezeSome(NodeCall& node) { squeezeAxes(node, node.integers("dim")); }

void transpose(NodeCall& node) {
  node.result(node.fusion().call(
      "transpose", {node.tensor("self"), node.integer("dim0"), node.integer("dim1")}));
}

void transposeMatrix(NodeCall& node) {
  const Term self = node.tensor("self");
  node.result(self.rank < 2 ? node.fusion().call("set", {self})
                            : node.fusion().call("transpose", {self, 0, 1}));
}

void permute(NodeCall& node) {
  node.result(node.fusion().call("permute", {node.tensor("self"), node.integers("dims")}));
}

void expand(NodeCall& node) {
  node.result(node.fusion().call("expand", {node.tensor("self"), node.integers("size")}));
}

void expandAs(NodeCall& node) {
  node.result(node.fusion().call("expand_as", {node.tensor("self"), node.tensor("other")}));
}

void slice(NodeCall& node) {
  if (node.integer("step") != 1) {
    throw Refusal("its step is not 1");
  }
  const Term self = node.tensor("self");
  const auto rank = static_cast<size_t>(self.rank);
  const int64_t dim = node.integer("dim");
  const auto at = static_cast<size_t>(dim < 0 ? dim + self.rank : dim);
  if (at >= rank) {
    throw Refusal("its dim is no axis");
  }
  std::vector<int64_t> starts(rank, 0);
  std::vector<int64_t> ends(rank, INT64_MAX);
  if (node.given("start")) {
    starts[at] = node.integer("start");
  }
  if (node.given("end")) {
    ends[at] = node.integer("end");
  }
  node.result(node.fusion().call("slice", {self, starts, ends}));
}

void concatenate(NodeCall& node) {
  std::vector<Term> parts = node.tensors("tensors");
  for (Term& part : parts) {
    part = cast(node, part, node.resultType());
  }
  node.result(node.fusion().call("cat", {parts, node.integer("dim")}));
}

/// What a gradient of a broadcast operand is summed to.
void sumToSize(NodeCall& node) {
  const Term self = computedTensor(node, "self");
  if (!node.given("size")) {
    finish(node, node.fusion().call("set", {self}));
    return;
  }
  const std::vector<bool> is_one = node.ones("size");
  const int64_t leading = self.rank - static_cast<int64_t>(is_one.size());
  if (leading < 0) {
    throw Refusal("the size has more axes than the tensor");
  }
  std::vector<int64_t> gone;
  for (int64_t axis = 0; axis < leading; ++axis) {
    gone.push_back(axis);
  }
  std::vector<int64_t> kept;
  const std::vector<bool> was_one = node.unitAxes("self");
  for (size_t i = 0; i < is_one.size(); ++i) {
    const int64_t axis = leading + static_cast<int64_t>(i);
    if (is_one[i] && !was_one[static_cast<size_t>(axis)]) {
      kept.push_back(axis);
    }
  }
  Term sum = self;
  if (!kept.empty()) {
    sum = node.fusion().call("sum", {sum, kept, true});
  }
  if (!gone.empty()) {
    sum = node.fusion().call("sum", {sum, gone});
  }
  finish(node, kept.empty() && gone.empty() ? node.fusion().call("set", {sum}) : sum);
}

void fullLike(NodeCall& node) {
  const Term like = cast(node, node.tensor("self"), node.resultType());
  node.result(node.fusion().call("full_like", {like, node.operand("fill_value")}));
}

template <bool one>
void constantLike(NodeCall& node) {
  const Term like = cast(node, node.tensor("self"), node.resultType());
  node.result(node.fusion().call(one ? "ones_like" : "zeros_like", {like}));
}

void triu(NodeCall& node) {
  node.result(node.fusion().call("triu", {node.tensor("self"), node.operand("diagonal")}));
}

constexpr NodeRule kRules[] = {
    // Casts.
    {"aten::to.dtype", convert, NodeKind::Conversion},
    {"aten::to.other", convert, NodeKind::Conversion},
    {"aten::to.device", convert, NodeKind::Conversion},
    {"aten::to.dtype_layout", convert, NodeKind::Conversion},
    {"aten::to.prim_Device", convert, NodeKind::Conversion},
    {"aten::to.prim_dtype", convert, NodeKind::Conversion},
    {"aten::to.prim_other", convert, NodeKind::Conversion},
    {"aten::type_as", convert, NodeKind::Conversion},
    {"aten::_autocast_to_reduced_precision", convert, NodeKind::Conversion},
    {"aten::_autocast_to_full_precision", convert, NodeKind::Conversion},
    // Views.
    {"aten::view", view, NodeKind::View},
    {"aten::reshape", reshape, NodeKind::View},
    {"aten::flatten.using_ints", flatten, NodeKind::View},
    {"aten::unsqueeze", unsqueeze, NodeKind::View},
    {"aten::squeeze", squeezeAll, NodeKind::View},
    {"aten::squeeze.dim", squeezeOne, NodeKind::View},
    {"aten::squeeze.dims", squeezeSome, NodeKind::View},
    {"aten::transpose.int", transpose, NodeKind::View},
    {"aten::t", transposeMatrix, NodeKind::View},
    {"aten::permute", permute, NodeKind::View},
    {"aten::expand", expand, NodeKind::View},
    {"aten::expand_as", expandAs, NodeKind::View},
    {"aten::slice.Tensor", slice, NodeKind::View},
    {"aten::contiguous", copy, NodeKind::View},
    {"aten::detach", copy, NodeKind::View},
    // Autodiff's.
    {"aten::_grad_sum_to_size", sumToSize, NodeKind::Conversion},
    {"aten::sum_to_size", sumToSize, NodeKind::Conversion},
    // New tensors.
    {"aten::clone", copy},
    {"aten::cat", concatenate},
    {"aten::full_like", fullLike},
    {"aten::zeros_like", constantLike<false>},
    {"aten::ones_like", constantLike<true>},
    {"aten::triu", triu},
};

}  // namespace

std::span<const NodeRule> shapeRules() { return kRules; }

const NodeRule* findRule(std::string_view name) {
  static const std::vector<NodeRule> kAll = [] {
    std::vector<NodeRule> all;
    for (std::span<const NodeRule> rules : {pointwiseRules(), activationRules(), reductionRules(),
                                            normalisationRules(), shapeRules()}) {
      all.insert(all.end(), rules.begin(), rules.end());
      if (rules.data() == pointwiseRules().data()) {
        for (NodeRule& rule : all) {
          rule.sizes = ResultSizes::Broadcast;
        }
      }
    }
    std::sort(all.begin(), all.end(),
              [](const NodeRule& a, const NodeRule& b) { return a.name < b.name; });
    return all;
  }();
  const auto at = std::lower_bound(
      kAll.begin(), kAll.end(), name,
      [](const NodeRule& rule, std::string_view wanted) { return rule.name < wanted; });
  return at != kAll.end() && at->name == name ? &*at : nullptr;
}

}  // namespace nvfuser::torchscript
