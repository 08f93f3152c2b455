#include "decompose.h"

#include <string_view>

#include "partition.h"
#include <capi/nvfuser_c.h>

namespace nvfuser::torchscript {

namespace {

using torch::jit::Block;
using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;
namespace aten = torch::jit::aten;

bool enabled(const char* option) { return nvf_option("ENABLE", option) == 1; }

/// The profiled type of a tensor on a device that we fuse on; else null.
c10::TensorTypePtr fusible(const Value* value) {
  auto type = value->type()->cast<c10::TensorType>();
  const bool is_ours = type && type->scalarType() && type->dim() && type->device() &&
                       fusesOn(type->device()->type());
  return is_ours ? type : nullptr;
}

Value* argument(Node* node, std::string_view name) {
  const c10::FunctionSchema* schema = node->maybeSchema();
  const std::optional<int> at =
      schema == nullptr ? std::nullopt : schema->argumentIndexWithName(name);
  return at ? node->input(static_cast<size_t>(*at)) : nullptr;
}

/// The node without its bias, and the bias added: along the last axis, or along that of channels.
void addBiasBehind(Node* node, bool along_channels) {
  Value* bias = argument(node, "bias");
  const c10::TensorTypePtr type = fusible(node->output());
  if (bias == nullptr || type == nullptr || bias->type()->kind() != c10::TypeKind::TensorType) {
    return;
  }
  if (fusible(bias) == nullptr) {  // PyTorch does not profile it for each operator, but it is known
    const size_t axis = along_channels ? 1 : *type->dim() - 1;
    bias->setType(c10::TensorType::createContiguous(*type->scalarType(), *type->device(),
                                                    {type->sizes()[axis].value_or(2)}));
  }
  Graph* graph = node->owningGraph();
  torch::jit::WithInsertPoint guard(node);
  Value* none = graph->insertConstant(c10::IValue());
  const auto& inputs = node->inputs();
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == bias && node->schema().arguments()[i].name() == "bias") {
      node->replaceInput(i, none);
    }
  }
  graph->setInsertPoint(node->next());
  Value* added = bias;
  if (along_channels) {
    const c10::TensorTypePtr of_bias = fusible(bias);
    for (size_t axis = 2; axis < *type->dim(); ++axis) {  // [C] becomes [C, 1, …]
      const int64_t rank = static_cast<int64_t>(axis) - 1;
      added = graph->insert(aten::unsqueeze, {added, c10::IValue(int64_t{-1})});
      std::vector<int64_t> sizes{of_bias->sizes()[0].value_or(2)};
      sizes.resize(static_cast<size_t>(rank) + 1, 1);
      added->setType(
          c10::TensorType::createContiguous(*of_bias->scalarType(), *of_bias->device(), sizes));
    }
  }
  // By hand: alpha comes by name in the schema of two tensors.
  Value* one = graph->insertConstant(int64_t{1});
  Value* sum = graph->insertNode(graph->create(aten::add, {node->output(), added, one}))->output();
  node->output()->replaceAllUsesAfterNodeWith(sum->node(), sum);
  sum->setType(type);
}

/// Its backward takes the same way when the index of the implementation is 0, as here.
void replaceBatchNorm(Node* node) {
  const c10::TensorTypePtr type = fusible(node->output(0));
  if (type == nullptr) {
    return;
  }
  Graph* graph = node->owningGraph();
  torch::jit::WithInsertPoint guard(node);
  std::vector<Value*> inputs;
  for (const char* name :
       {"input", "weight", "bias", "running_mean", "running_var", "training", "momentum", "eps"}) {
    Value* value = argument(node, name);
    if (value == nullptr) {
      return;
    }
    inputs.push_back(value);
  }
  Node* plain = graph->insertNode(graph->create(aten::native_batch_norm, inputs, 3));
  for (size_t i = 0; i < 3; ++i) {
    plain->output(i)->setType(node->output(i)->type());
    node->output(i)->replaceAllUsesWith(plain->output(i));
  }
  if (node->output(3)->hasUses()) {
    Value* size = graph->insertConstant(std::vector<int64_t>{0});
    Value* reserve = graph->insert(
        aten::empty, {size},
        {torch::jit::NamedValue("dtype", c10::IValue(static_cast<int64_t>(c10::kByte))),
         torch::jit::NamedValue("device", c10::IValue(*type->device()))});
    node->output(3)->replaceAllUsesWith(reserve);
  }
  node->output(4)->replaceAllUsesWith(graph->insertConstant(int64_t{0}));
}

void decomposeIn(Block* block) {
  static const bool kLinear = enabled("linear_decomposition");
  static const bool kConvolution = enabled("conv_decomposition");
  for (auto it = block->nodes().begin(); it != block->nodes().end();) {
    Node* node = *it;
    ++it;
    for (Block* inner : node->blocks()) {
      decomposeIn(inner);
    }
    if (kLinear && node->kind() == aten::linear) {
      addBiasBehind(node, false);
    } else if (kConvolution &&
               (node->kind() == aten::conv1d || node->kind() == aten::conv2d ||
                node->kind() == aten::conv3d || node->kind() == aten::_convolution)) {
      addBiasBehind(node, true);
    } else if (node->kind() == aten::_batch_norm_impl_index) {
      replaceBatchNorm(node);
    }
  }
}

}  // namespace

void decompose(Graph& graph) { decomposeIn(graph.block()); }

}  // namespace nvfuser::torchscript
