// Normalisations and their gradients, dropout and other random numbers.

#include "node_table.h"
#include "node_types.h"

namespace nvfuser::torchscript {

namespace {

/// The type of the statistics: that of the input as it is computed with.
nvf_dtype innerType(NodeCall& node, const char* input) {
  return computeType(node.tensor(input).dtype);
}

Term inner(NodeCall& node, const char* name, nvf_dtype type) {
  return node.given(name) ? cast(node, node.tensor(name), type) : Term();
}

/// As many sizes as normalized_shape has.
std::vector<int64_t> normShape(NodeCall& node) {
  return std::vector<int64_t>(node.integers("normalized_shape").size(), -1);
}

void finishWanted(NodeCall& node, const std::vector<Term>& results) {
  for (size_t i = 0; i < results.size(); ++i) {
    const bool is_there = results[i].given() && node.wanted(i);
    node.result(is_there ? cast(node, results[i], node.resultType(i)) : results[i]);
  }
}

/// The result alone, or with mean and invstd.
template <bool statistics>
void layerNorm(NodeCall& node) {
  const nvf_dtype type = innerType(node, "input");
  std::vector<Term> results = node.fusion().callAll(
      "layer_norm", {inner(node, "input", type), normShape(node), inner(node, "weight", type),
                     inner(node, "bias", type), node.operand("eps")});
  results.resize(statistics ? 3 : 1);
  finishWanted(node, results);
}

void layerNormBackward(NodeCall& node) {
  const nvf_dtype type = innerType(node, "input");
  finishWanted(
      node, node.fusion().callAll(
                "layer_norm_backward",
                {inner(node, "grad_out", type), inner(node, "input", type), normShape(node),
                 inner(node, "mean", type), inner(node, "rstd", type), inner(node, "weight", type),
                 inner(node, "bias", type), node.flags("output_mask")}));
}

void rmsNorm(NodeCall& node) {
  const nvf_dtype type = innerType(node, "input");
  const Operand eps =
      node.given("eps")
          ? node.operand("eps")
          : Operand(Number(type == NVF_DOUBLE ? 2.220446049250313e-16 : 1.1920928955078125e-07));
  finish(node, node.fusion().call("rms_norm", {inner(node, "input", type), normShape(node),
                                               inner(node, "weight", type), eps}));
}

/// The result alone, or with mean and invstd.
template <bool statistics>
void batchNorm(NodeCall& node) {
  const bool training = node.flag("training");
  const nvf_dtype type = innerType(node, "input");
  if (!training && statistics && (node.wanted(1) || node.wanted(2))) {
    throw Refusal("its statistics are asked for, but are not computed in evaluation");
  }
  const char* const kStatistics[] = {"running_mean", "running_var"};
  for (const char* name : kStatistics) {
    if (training && node.given(name) &&
        (!node.mayUpdate(name) || node.tensor(name).dtype != type)) {
      throw Refusal(std::string("it would update ") + name +
                    ", which others read or which is of another dtype than is computed with");
    }
  }
  std::vector<Term> results = node.fusion().callAll(
      "batch_norm",
      {inner(node, "input", type), inner(node, "weight", type), inner(node, "bias", type),
       inner(node, "running_mean", type), inner(node, "running_var", type), training,
       node.operand("momentum"), node.operand("eps")});
  results.resize(statistics ? 3 : 1);
  finishWanted(node, results);
}

/// Statistics of channels beside a tensor whose second axis they are.
Term besideChannels(NodeCall& node, const Term& statistic, int64_t rank) {
  std::vector<bool> is_new(static_cast<size_t>(rank), true);
  is_new[1] = false;
  return node.fusion().call("broadcast", {statistic, is_new});
}

void batchNormBackward(NodeCall& node) {
  Definition& fusion = node.fusion();
  const nvf_dtype type = innerType(node, "input");
  const Term input = inner(node, "input", type);
  const Term grad =
      cast(node, node.tensor(node.given("grad_out") ? "grad_out" : "grad_output"), type);
  const std::vector<bool> mask = node.flags("output_mask");
  const bool train = node.flag("train");
  const char* const kInvstd = node.given("save_invstd") ? "save_invstd" : "save_var_transform";
  std::vector<int64_t> axes;
  for (int64_t axis = 0; axis < input.rank; ++axis) {
    if (axis != 1) {
      axes.push_back(axis);
    }
  }
  Term mean;
  Term invstd;
  if (train) {
    mean = inner(node, "save_mean", type);
    invstd = inner(node, kInvstd, type);
  } else {
    mean = inner(node, "running_mean", type);
    invstd = fusion.call(
        "rsqrt", {fusion.call("add", {inner(node, "running_var", type), node.operand("eps")})});
  }
  if (!mean.given() || !invstd.given()) {
    throw Refusal("its statistics are not given");
  }
  auto wide = [&](const Term& statistic) { return besideChannels(node, statistic, input.rank); };
  const Term centred = fusion.call("sub", {input, wide(mean)});
  const Term sums = fusion.call("sum", {grad, axes});
  const Term products = fusion.call("sum", {fusion.call("mul", {grad, centred}), axes});
  Term scale = invstd;
  if (node.given("weight")) {
    scale = fusion.call("mul", {invstd, inner(node, "weight", type)});
  }
  std::vector<Term> results(3);
  if (mask[0]) {
    Term rest = grad;
    if (train) {
      Term count = fusion.call("size", {input, axes[0]});
      for (size_t i = 1; i < axes.size(); ++i) {
        count = fusion.call("mul", {count, fusion.call("size", {input, axes[i]})});
      }
      count = cast(node, count, NVF_DOUBLE);
      const Term average = fusion.call("truediv", {sums, count});
      const Term square = fusion.call("mul", {invstd, invstd});
      const Term slope = fusion.call("truediv", {fusion.call("mul", {products, square}), count});
      rest = fusion.call("sub", {grad, fusion.call("mul", {centred, wide(slope)})});
      rest = fusion.call("sub", {rest, wide(average)});
    }
    results[0] = fusion.call("mul", {rest, wide(scale)});
  }
  if (mask[1]) {
    results[1] = fusion.call("mul", {products, invstd});
  }
  if (mask[2]) {
    results[2] = sums;
  }
  finishWanted(node, results);
}

void instanceNorm(NodeCall& node) {
  if (node.given("running_mean") || node.given("running_var")) {
    throw Refusal("it has running statistics");
  }
  const nvf_dtype type = innerType(node, "input");
  finish(node, node.fusion().call("instance_norm",
                                  {inner(node, "input", type), inner(node, "weight", type),
                                   inner(node, "bias", type), Argument(), Argument(), true,
                                   node.operand("momentum"), node.operand("eps")}));
}

/// Each group of channels becomes one axis, with statistics of its own.
void groupNorm(NodeCall& node) {
  Definition& fusion = node.fusion();
  const nvf_dtype type = innerType(node, "input");
  const Term input = inner(node, "input", type);
  const std::vector<Term> sizes = fusion.callAll("shape", {input});
  const std::vector<Operand> grouped = {sizes[0], Number(node.integer("num_groups")),
                                        Number(int64_t{-1})};
  const Term groups = fusion.call("reshape", {input, grouped});
  const std::vector<Term> moments =
      fusion.callAll("var_mean", {groups, std::vector<int64_t>{2}, 0, true});
  const Term invstd = fusion.call("rsqrt", {fusion.call("add", {moments[0], node.operand("eps")})});
  const Term centred = fusion.call("sub", {groups, moments[1]});
  const Term normal = fusion.call("mul", {centred, invstd});
  Term result = fusion.call("reshape", {normal, std::vector<Operand>(sizes.begin(), sizes.end())});
  if (node.given("weight")) {
    const Term weight = besideChannels(node, inner(node, "weight", type), input.rank);
    result = fusion.call("mul", {result, weight});
  }
  if (node.given("bias")) {
    const Term bias = besideChannels(node, inner(node, "bias", type), input.rank);
    result = fusion.call("add", {result, bias});
  }
  finish(node, result);
}

// Random numbers --------------------------------------------------------------------------------

/// Uniform random numbers like a tensor, in the type it is computed with.
Term uniformLike(NodeCall& node, const Term& like) {
  return node.fusion().call("rand_like", {cast(node, like, computeType(like.dtype))});
}

void requireFloating(int32_t dtype) {
  if (dtype != NVF_FLOAT && dtype != NVF_DOUBLE) {
    throw Refusal("random numbers of this dtype are not PyTorch's");
  }
}

template <bool normal>
void randomLike(NodeCall& node) {
  const nvf_dtype type = node.resultType();
  requireFloating(type);
  node.result(node.fusion().call(normal ? "randn_like" : "rand_like",
                                 {cast(node, node.tensor("self"), type)}));
}

/// 1 - p, and what makes up for it: 1 / (1 - p), or 0 where nothing is kept.
struct Keep {
  Operand probability, scale;
};

Keep keepOf(NodeCall& node) {
  Definition& fusion = node.fusion();
  const Operand p = node.operand("p");
  if (const auto* number = std::get_if<Number>(&p)) {
    const double dropped = std::visit([](auto held) { return static_cast<double>(held); }, *number);
    return {Number(1 - dropped), Number(dropped < 1 ? 1 / (1 - dropped) : 0.0)};
  }
  const Term kept = fusion.call("sub", {1.0, p});
  const Term scale = fusion.call(
      "where", {fusion.call("gt", {kept, 0.0}), fusion.call("truediv", {1.0, kept}), 0.0});
  return {kept, scale};
}

/// (result, mask) of dropping elements of the input.
std::pair<Term, Term> dropped(NodeCall& node) {
  Definition& fusion = node.fusion();
  const Term input = computedTensor(node, "input");
  const Keep keep = keepOf(node);
  const Term mask = fusion.call("lt", {uniformLike(node, input), keep.probability});
  const Term kept = fusion.call("mul", {input, cast(node, mask, input.dtype)});
  return {cast(node, fusion.call("mul", {kept, keep.scale}), input.dtype), mask};
}

void dropout(NodeCall& node) {
  finish(node, node.flag("train") ? dropped(node).first
                                  : node.fusion().call("set", {node.tensor("input")}));
}

void nativeDropout(NodeCall& node) {
  if (node.given("train") && !node.flag("train")) {
    throw Refusal("it drops nothing in evaluation");
  }
  const auto [result, mask] = dropped(node);
  finishWanted(node, {result, mask});
}

void nativeDropoutBackward(NodeCall& node) {
  Definition& fusion = node.fusion();
  const Term grad = computedTensor(node, "grad_output");
  const Term kept = fusion.call("mul", {grad, cast(node, node.tensor("mask"), grad.dtype)});
  finish(node, fusion.call("mul", {kept, computed(node, "scale")}));
}

void bernoulli(NodeCall& node) {
  const Term random = uniformLike(node, cast(node, node.tensor("self"), NVF_FLOAT));
  finish(node, node.fusion().call("lt", {random, node.operand("p")}));
}

constexpr NodeRule kRules[] = {
    {"aten::layer_norm", layerNorm<false>},
    {"aten::native_layer_norm", layerNorm<true>},
    {"aten::native_layer_norm_backward", layerNormBackward},
    {"aten::rms_norm", rmsNorm},
    {"aten::batch_norm", batchNorm<false>},
    {"aten::native_batch_norm", batchNorm<true>},
    {"aten::native_batch_norm_backward", batchNormBackward},
    {"aten::instance_norm", instanceNorm},
    {"aten::group_norm", groupNorm},
    {"aten::rand_like", randomLike<false>},
    {"aten::randn_like", randomLike<true>},
    {"aten::dropout", dropout},
    {"aten::native_dropout", nativeDropout},
    {"aten::native_dropout_backward", nativeDropoutBackward},
    {"aten::bernoulli.p", bernoulli},
};

}  // namespace

std::span<const NodeRule> normalisationRules() { return kRules; }

}  // namespace nvfuser::torchscript
