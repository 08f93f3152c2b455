// Activations, their gradients, and losses of single elements.

#include "node_table.h"
#include "node_types.h"

namespace nvfuser::torchscript {

namespace {

void relu(NodeCall& node) {
  finish(node, node.fusion().call("relu", {computedTensor(node, "self")}));
}

void silu(NodeCall& node) {
  finish(node, node.fusion().call("silu", {computedTensor(node, "self")}));
}

bool isTanhGelu(NodeCall& node) {
  const std::string approximate = node.text("approximate");
  if (approximate != "none" && approximate != "tanh") {
    throw Refusal("approximate is '" + approximate + "', neither 'none' nor 'tanh'");
  }
  return approximate == "tanh";
}

void gelu(NodeCall& node) {
  finish(node, node.fusion().call(isTanhGelu(node) ? "tanh_gelu" : "gelu",
                                  {computedTensor(node, "self")}));
}

void geluBackward(NodeCall& node) {
  finish(node,
         node.fusion().call(isTanhGelu(node) ? "tanh_gelu_backward" : "gelu_backward",
                            {computedTensor(node, "grad_output"), computedTensor(node, "self")}));
}

/// x clamped, where NaN stays.
Term held(NodeCall& node, const Term& x, const Argument& low, const Argument& high) {
  return node.fusion().call("clamp", {x, low, high});
}

void hardtanh(NodeCall& node) {
  finish(node, held(node, computedTensor(node, "self"), computed(node, "min_val"),
                    computed(node, "max_val")));
}

void hardtanhBackward(NodeCall& node) {
  Definition& fusion = node.fusion();
  const Term self = computedTensor(node, "self");
  const Term out =
      fusion.call("logical_or", {fusion.call("le", {self, computed(node, "min_val")}),
                                 fusion.call("ge", {self, computed(node, "max_val")})});
  finish(node, fusion.call("where", {out, 0.0, computedTensor(node, "grad_output")}));
}

void relu6(NodeCall& node) { finish(node, held(node, computedTensor(node, "self"), 0.0, 6.0)); }

/// clamp(x + 3, 0, 6) / 6
Term gate(NodeCall& node, const Term& x) {
  Definition& fusion = node.fusion();
  return fusion.call("truediv", {held(node, fusion.call("add", {x, 3.0}), 0.0, 6.0), 6.0});
}

void hardsigmoid(NodeCall& node) { finish(node, gate(node, computedTensor(node, "self"))); }

void hardsigmoidBackward(NodeCall& node) {
  Definition& fusion = node.fusion();
  const Term self = computedTensor(node, "self");
  const Term inside =
      fusion.call("logical_and", {fusion.call("gt", {self, -3.0}), fusion.call("lt", {self, 3.0})});
  const Term slope = fusion.call("mul", {computedTensor(node, "grad_output"), 1.0 / 6.0});
  finish(node, fusion.call("where", {inside, slope, 0.0}));
}

void hardswish(NodeCall& node) {
  Definition& fusion = node.fusion();
  const Term self = computedTensor(node, "self");
  const Term product =
      fusion.call("mul", {self, held(node, fusion.call("add", {self, 3.0}), 0.0, 6.0)});
  finish(node, fusion.call("truediv", {product, 6.0}));
}

void hardswishBackward(NodeCall& node) {
  Definition& fusion = node.fusion();
  const Term grad = computedTensor(node, "grad_output");
  const Term self = computedTensor(node, "self");
  const Term middle =
      fusion.call("mul", {grad, fusion.call("add", {fusion.call("truediv", {self, 3.0}), 0.5})});
  const Term upper = fusion.call("where", {fusion.call("lt", {self, 3.0}), middle, grad});
  finish(node, fusion.call("where", {fusion.call("le", {self, -3.0}), 0.0, upper}));
}

void leakyRelu(NodeCall& node) {
  Definition& fusion = node.fusion();
  const Term self = computedTensor(node, "self");
  const Term scaled = fusion.call("mul", {self, computed(node, "negative_slope")});
  finish(node, fusion.call("where", {fusion.call("gt", {self, 0.0}), self, scaled}));
}

void leakyReluBackward(NodeCall& node) {
  Definition& fusion = node.fusion();
  const Term grad = computedTensor(node, "grad_output");
  const Term scaled = fusion.call("mul", {grad, computed(node, "negative_slope")});
  const Term above = fusion.call("gt", {computedTensor(node, "self"), 0.0});
  finish(node, fusion.call("where", {above, grad, scaled}));
}

/// scale * (x > 0 ? x : alpha * expm1(input_scale * x))
Term eluOf(NodeCall& node, const Operand& alpha, const Operand& scale, const Operand& input_scale) {
  Definition& fusion = node.fusion();
  const Term self = computedTensor(node, "self");
  const Term inner = isNumber(input_scale, 1) ? self : fusion.call("mul", {self, input_scale});
  const Term below = fusion.call("mul", {fusion.call("expm1", {inner}), alpha});
  const Term value = fusion.call("where", {fusion.call("gt", {self, 0.0}), self, below});
  return isNumber(scale, 1) ? value : fusion.call("mul", {value, scale});
}

void elu(NodeCall& node) {
  finish(node, eluOf(node, computed(node, "alpha"), computed(node, "scale"),
                     computed(node, "input_scale")));
}

void eluBackward(NodeCall& node) {
  Definition& fusion = node.fusion();
  const Term grad = computedTensor(node, "grad_output");
  const Term self = computedTensor(node, "self_or_result");
  const Operand alpha = computed(node, "alpha");
  const Operand scale = computed(node, "scale");
  const Operand input_scale = computed(node, "input_scale");
  const Term linear = fusion.call("mul", {grad, scale});
  Term slope;
  if (node.flag("is_result")) {
    slope = fusion.call("add", {self, fusion.call("mul", {alpha, scale})});
    slope = fusion.call("mul", {fusion.call("mul", {grad, input_scale}), slope});
  } else {
    const Term power = fusion.call("exp", {fusion.call("mul", {self, input_scale})});
    const Term factor = fusion.call("mul", {fusion.call("mul", {linear, alpha}), input_scale});
    slope = fusion.call("mul", {factor, power});
  }
  finish(node, fusion.call("where", {fusion.call("le", {self, 0.0}), slope, linear}));
}

void selu(NodeCall& node) {
  finish(node, eluOf(node, Number(1.6732632423543772), Number(1.0507009873554805), Number(1.0)));
}

void celu(NodeCall& node) {
  Definition& fusion = node.fusion();
  const Operand alpha = computed(node, "alpha");
  const Term self = computedTensor(node, "self");
  const Term below =
      fusion.call("mul", {fusion.call("expm1", {fusion.call("truediv", {self, alpha})}), alpha});
  finish(node, fusion.call("where", {fusion.call("gt", {self, 0.0}), self, below}));
}

void softplus(NodeCall& node) {
  finish(node, node.fusion().call("softplus", {computedTensor(node, "self"), computed(node, "beta"),
                                               computed(node, "threshold")}));
}

void softplusBackward(NodeCall& node) {
  Definition& fusion = node.fusion();
  const Term grad = computedTensor(node, "grad_output");
  const Operand beta = computed(node, "beta");
  const Term inner = fusion.call("mul", {computedTensor(node, "self"), beta});
  const Term power = fusion.call("exp", {inner});
  const Term slope =
      fusion.call("truediv", {fusion.call("mul", {grad, power}), fusion.call("add", {power, 1.0})});
  const Term above = fusion.call("gt", {inner, computed(node, "threshold")});
  finish(node, fusion.call("where", {above, grad, slope}));
}

void mish(NodeCall& node) {
  Definition& fusion = node.fusion();
  const Term self = computedTensor(node, "self");
  const Term log = fusion.call("softplus", {self, 1.0, 20.0});
  finish(node, fusion.call("mul", {self, fusion.call("tanh", {log})}));
}

void logSigmoid(NodeCall& node) {
  Definition& fusion = node.fusion();
  const Term self = computedTensor(node, "self");
  const Term tail = fusion.call(
      "log1p", {fusion.call("exp", {fusion.call("neg", {fusion.call("abs", {self})})})});
  finish(node, fusion.call("sub", {fusion.call("minimum", {self, 0.0}), tail}));
}

void threshold(NodeCall& node) {
  finish(node,
         node.fusion().call("threshold", {computedTensor(node, "self"), computed(node, "threshold"),
                                          computed(node, "value")}));
}

void thresholdBackward(NodeCall& node) {
  Definition& fusion = node.fusion();
  const Term below = fusion.call("le", {computedTensor(node, "self"), computed(node, "threshold")});
  finish(node, fusion.call("where", {below, 0.0, computedTensor(node, "grad_output")}));
}

void sigmoidBackward(NodeCall& node) {
  Definition& fusion = node.fusion();
  const Term output = computedTensor(node, "output");
  const Term rest = fusion.call("sub", {1.0, output});
  const Term left = fusion.call("mul", {computedTensor(node, "grad_output"), rest});
  finish(node, fusion.call("mul", {left, output}));
}

void tanhBackward(NodeCall& node) {
  finish(node, node.fusion().call("tanh_backward", {computedTensor(node, "grad_output"),
                                                    computedTensor(node, "output")}));
}

void siluBackward(NodeCall& node) {
  Definition& fusion = node.fusion();
  const Term self = computedTensor(node, "self");
  const Term sigmoid = fusion.call("sigmoid", {self});
  const Term rest = fusion.call("mul", {self, fusion.call("sub", {1.0, sigmoid})});
  const Term slope = fusion.call("mul", {sigmoid, fusion.call("add", {rest, 1.0})});
  finish(node, fusion.call("mul", {computedTensor(node, "grad_output"), slope}));
}

/// A loss of each element, or its mean or sum.
void reduced(NodeCall& node, Term loss) {
  switch (node.integer("reduction")) {
    case 0:
      break;
    case 1:
      loss = node.fusion().call("mean", {loss});
      break;
    case 2:
      loss = node.fusion().call("sum", {loss});
      break;
    default:
      throw Refusal("reduction is none of 0, 1 and 2");
  }
  finish(node, loss);
}

Term difference(NodeCall& node) {
  return node.fusion().call("sub", {computedTensor(node, "self"), computedTensor(node, "target")});
}

void mseLoss(NodeCall& node) {
  const Term distance = difference(node);
  reduced(node, node.fusion().call("mul", {distance, distance}));
}

void l1Loss(NodeCall& node) { reduced(node, node.fusion().call("abs", {difference(node)})); }

constexpr NodeRule kRules[] = {
    {"aten::relu", relu, NodeKind::Compute, ResultSizes::Broadcast},
    {"aten::relu6", relu6, NodeKind::Compute, ResultSizes::Broadcast},
    {"aten::silu", silu, NodeKind::Compute, ResultSizes::Broadcast},
    {"aten::gelu", gelu, NodeKind::Compute, ResultSizes::Broadcast},
    {"aten::hardtanh", hardtanh, NodeKind::Compute, ResultSizes::Broadcast},
    {"aten::hardsigmoid", hardsigmoid, NodeKind::Compute, ResultSizes::Broadcast},
    {"aten::hardswish", hardswish, NodeKind::Compute, ResultSizes::Broadcast},
    {"aten::leaky_relu", leakyRelu, NodeKind::Compute, ResultSizes::Broadcast},
    {"aten::elu", elu, NodeKind::Compute, ResultSizes::Broadcast},
    {"aten::selu", selu, NodeKind::Compute, ResultSizes::Broadcast},
    {"aten::celu", celu, NodeKind::Compute, ResultSizes::Broadcast},
    {"aten::softplus", softplus, NodeKind::Compute, ResultSizes::Broadcast},
    {"aten::mish", mish, NodeKind::Compute, ResultSizes::Broadcast},
    {"aten::log_sigmoid", logSigmoid, NodeKind::Compute, ResultSizes::Broadcast},
    {"aten::threshold", threshold, NodeKind::Compute, ResultSizes::Broadcast},
    {"aten::threshold_backward", thresholdBackward, NodeKind::Compute, ResultSizes::Broadcast},
    {"aten::sigmoid_backward", sigmoidBackward, NodeKind::Compute, ResultSizes::Broadcast},
    {"aten::tanh_backward", tanhBackward, NodeKind::Compute, ResultSizes::Broadcast},
    {"aten::silu_backward", siluBackward, NodeKind::Compute, ResultSizes::Broadcast},
    {"aten::gelu_backward", geluBackward, NodeKind::Compute, ResultSizes::Broadcast},
    {"aten::hardtanh_backward", hardtanhBackward, NodeKind::Compute, ResultSizes::Broadcast},
    {"aten::hardsigmoid_backward", hardsigmoidBackward, NodeKind::Compute, ResultSizes::Broadcast},
    {"aten::hardswish_backward", hardswishBackward, NodeKind::Compute, ResultSizes::Broadcast},
    {"aten::leaky_relu_backward", leakyReluBackward, NodeKind::Compute, ResultSizes::Broadcast},
    {"aten::elu_backward", eluBackward, NodeKind::Compute, ResultSizes::Broadcast},
    {"aten::softplus_backward", softplusBackward, NodeKind::Compute, ResultSizes::Broadcast},
    {"aten::mse_loss", mseLoss},
    {"aten::l1_loss", l1Loss},
};

}  // namespace

std::span<const NodeRule> activationRules() { return kRules; }

}  // namespace nvfuser::torchscript
