// Sums and other reductions, softmax.

#include "node_table.h"
#include "node_types.h"

namespace nvfuser::torchscript {

namespace {

/// The axes that `dim` names; none or an empty list mean all.
Argument axesOf(NodeCall& node) {
  if (!node.given("dim")) {
    return {};
  }
  const std::vector<int64_t> axes = node.integers("dim");
  return axes.empty() ? Argument() : Argument(axes);
}

template <bool has_dim>
void sum(NodeCall& node) {
  const Term self = computedTensor(node, "self");
  finish(node, has_dim ? node.fusion().call("sum", {self, axesOf(node), node.flag("keepdim")})
                       : node.fusion().call("sum", {self}));
}

template <bool has_dim>
void mean(NodeCall& node) {
  const Term self = computedTensor(node, "self");
  finish(node, has_dim ? node.fusion().call("mean", {self, axesOf(node), node.flag("keepdim")})
                       : node.fusion().call("mean", {self}));
}

template <bool has_dim>
void product(NodeCall& node) {
  const Term self = computedTensor(node, "self");
  finish(node, has_dim
                   ? node.fusion().call("prod", {self, node.integer("dim"), node.flag("keepdim")})
                   : node.fusion().call("prod", {self}));
}

template <bool greatest>
void extreme(NodeCall& node) {
  finish(node, node.fusion().call(greatest ? "max" : "min", {computedTensor(node, "self")}));
}

template <bool greatest>
void extremeOver(NodeCall& node) {
  finish(node, node.fusion().call(greatest ? "max" : "min", {computedTensor(node, "self"),
                                                             axesOf(node), node.flag("keepdim")}));
}

/// Which arguments a variance has.
enum class Form { Whole, Unbiased, Correction };

struct Moments {
  Argument axes;
  int64_t correction = 1;
  bool keepdim = false;
};

Moments momentsOf(NodeCall& node, Form form) {
  Moments moments;
  if (form == Form::Correction) {
    if (node.given("correction")) {
      const double correction = node.real("correction");
      moments.correction = static_cast<int64_t>(correction);
      if (static_cast<double>(moments.correction) != correction) {
        throw Refusal("correction is no integer");
      }
    }
  } else {
    moments.correction = node.flag("unbiased") ? 1 : 0;
  }
  if (form != Form::Whole) {
    moments.axes = axesOf(node);
    moments.keepdim = node.flag("keepdim");
  }
  return moments;
}

template <Form form, bool root>
void variance(NodeCall& node) {
  const Moments moments = momentsOf(node, form);
  const Term value = node.fusion().call(
      "var", {computedTensor(node, "self"), moments.axes, moments.correction, moments.keepdim});
  finish(node, root ? node.fusion().call("sqrt", {value}) : value);
}

template <Form form>
void varianceAndMean(NodeCall& node) {
  const Moments moments = momentsOf(node, form);
  const std::vector<Term> both = node.fusion().callAll(
      "var_mean",
      {computedTensor(node, "self"), moments.axes, moments.correction, moments.keepdim});
  for (size_t i = 0; i < 2; ++i) {
    node.result(node.wanted(i) ? cast(node, both[i], node.resultType(i)) : both[i]);
  }
}

/// Whether any (or all) elements are not zero.
template <bool all>
Term quantified(NodeCall& node, const Argument& axes, bool keepdim) {
  Definition& fusion = node.fusion();
  const Term hits = fusion.call(all ? "eq" : "ne", {node.tensor("self"), 0});
  const Term count = fusion.call("sum", {cast(node, hits, NVF_INT), axes, keepdim});
  return fusion.call(all ? "eq" : "ne", {count, 0});
}

template <bool all>
void quantify(NodeCall& node) {
  finish(node, quantified<all>(node, {}, false));
}

template <bool all>
void quantifyOne(NodeCall& node) {
  finish(node, quantified<all>(node, node.integer("dim"), node.flag("keepdim")));
}

template <bool all>
void quantifyOver(NodeCall& node) {
  finish(node, quantified<all>(node, axesOf(node), node.flag("keepdim")));
}

void logSumExp(NodeCall& node) {
  Definition& fusion = node.fusion();
  const Term self = computedTensor(node, "self");
  const Argument axes = axesOf(node);
  const bool keepdim = node.flag("keepdim");
  // An infinite maximum is not subtracted.
  const auto finite = [&](const Term& greatest) {
    return fusion.call("where", {fusion.call("isinf", {greatest}), 0.0, greatest});
  };
  const Term kept = finite(fusion.call("max", {self, axes, true}));
  const Term powers = fusion.call("exp", {fusion.call("sub", {self, kept})});
  const Term sums = fusion.call("log", {fusion.call("sum", {powers, axes, keepdim})});
  const Term shift = keepdim ? kept : finite(fusion.call("max", {self, axes, false}));
  finish(node, fusion.call("add", {sums, shift}));
}

/// (sum |x|^p)^(1/p) for the powers 1 and 2.
Term norm(NodeCall& node, const char* order, const Argument& axes, bool keepdim) {
  Definition& fusion = node.fusion();
  const double power = node.given(order) ? node.real(order) : 2;
  const Term self = computedTensor(node, "self");
  if (power == 1) {
    return fusion.call("sum", {fusion.call("abs", {self}), axes, keepdim});
  }
  if (power == 2) {
    return fusion.call("sqrt",
                       {fusion.call("sum", {fusion.call("mul", {self, self}), axes, keepdim})});
  }
  throw Refusal("its order is neither 1 nor 2");
}

void vectorNorm(NodeCall& node) {
  finish(node, norm(node, "ord", axesOf(node), node.flag("keepdim")));
}
void normWhole(NodeCall& node) { finish(node, norm(node, "p", {}, false)); }
void normOver(NodeCall& node) { finish(node, norm(node, "p", axesOf(node), node.flag("keepdim"))); }

template <bool log>
void softmax(NodeCall& node) {
  finish(node, node.fusion().call(log ? "log_softmax" : "softmax",
                                  {computedTensor(node, "self"), node.integer("dim")}));
}

template <bool log>
void softmaxBackward(NodeCall& node) {
  finish(node, node.fusion().call(log ? "log_softmax_backward" : "softmax_backward",
                                  {computedTensor(node, "grad_output"),
                                   computedTensor(node, "output"), node.integer("dim")}));
}

constexpr NodeRule kRules[] = {
    {"aten::sum", sum<false>},
    {"aten::sum.dim_IntList", sum<true>},
    {"aten::mean", mean<false>},
    {"aten::mean.dim", mean<true>},
    {"aten::prod", product<false>},
    {"aten::prod.dim_int", product<true>},
    {"aten::max", extreme<true>},
    {"aten::min", extreme<false>},
    {"aten::amax", extremeOver<true>},
    {"aten::amin", extremeOver<false>},
    {"aten::var", variance<Form::Whole, false>},
    {"aten::var.dim", variance<Form::Unbiased, false>},
    {"aten::var.correction", variance<Form::Correction, false>},
    {"aten::std", variance<Form::Whole, true>},
    {"aten::std.dim", variance<Form::Unbiased, true>},
    {"aten::std.correction", variance<Form::Correction, true>},
    {"aten::var_mean", varianceAndMean<Form::Whole>},
    {"aten::var_mean.dim", varianceAndMean<Form::Unbiased>},
    {"aten::var_mean.correction", varianceAndMean<Form::Correction>},
    {"aten::any", quantify<false>},
    {"aten::any.dim", quantifyOne<false>},
    {"aten::any.dims", quantifyOver<false>},
    {"aten::all", quantify<true>},
    {"aten::all.dim", quantifyOne<true>},
    {"aten::all.dims", quantifyOver<true>},
    {"aten::logsumexp", logSumExp},
    {"aten::linalg_vector_norm", vectorNorm},
    {"aten::norm.Scalar", normWhole},
    {"aten::norm.ScalarOpt_dim", normOver},
    {"aten::softmax.int", softmax<false>},
    {"aten::log_softmax.int", softmax<true>},
    {"aten::_softmax", softmax<false>},
    {"aten::_log_softmax", softmax<true>},
    {"aten::_softmax_backward_data", softmaxBackward<false>},
    {"aten::_log_softmax_backward_data", softmaxBackward<true>},
};

}  // namespace

std::span<const NodeRule> reductionRules() { return kRules; }

}  // namespace nvfuser::torchscript
