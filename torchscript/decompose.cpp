#include "decompose.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "lower_graph.h"
#include "partition.h"
#include <capi/nvfuser_c.h>
#include <torch/csrc/jit/ir/constants.h>

namespace nvfuser::torchscript {

namespace {

using torch::jit::Block;
using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;
namespace aten = torch::jit::aten;
namespace prim = torch::jit::prim;

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

/// The bias if there is one at the call, else what changes no sum: -0.0 for each channel.
Value* biasOrNothing(Node* node, Value* bias, const c10::TensorType& result, size_t inner) {
  Graph* graph = node->owningGraph();
  Value* none = graph->insertConstant(c10::IValue());
  Value* is_none = graph->insert(aten::__is__, {bias, none});
  Node* choice = graph->insertNode(graph->create(prim::If, {is_none}, 1));
  Block* absent = choice->addBlock();
  Block* present = choice->addBlock();
  {
    torch::jit::WithInsertPoint guard(absent);
    // Counted from the last axis: a call may bring one without an axis of examples.
    const c10::IValue axis(-1 - static_cast<int64_t>(inner));
    Value* channels = graph->insert(aten::size, {node->output(), axis});
    Value* sizes = graph->insertNode(graph->createList(c10::IntType::get(), {channels}))->output();
    absent->registerOutput(
        graph->insert(aten::full, {sizes, c10::IValue(-0.0)},
                      {torch::jit::NamedValue("dtype", static_cast<int64_t>(*result.scalarType())),
                       torch::jit::NamedValue("device", *result.device())}));
  }
  {
    torch::jit::WithInsertPoint guard(present);
    Node* unwrapped = graph->insertNode(graph->create(prim::unchecked_unwrap_optional, {bias}));
    present->registerOutput(unwrapped->output()->setType(c10::TensorType::get()));
  }
  return choice->output();
}

/// The node without its bias, and the bias added: along the axis of the result that is followed by
/// `inner` others.
void addBiasBehind(Node* node, size_t inner) {
  Value* bias = argument(node, "bias");
  const c10::TensorTypePtr type = fusible(node->output());
  if (bias == nullptr || type == nullptr || bias->mustBeNone() || *type->dim() <= inner) {
    return;
  }
  Graph* graph = node->owningGraph();
  torch::jit::WithInsertPoint guard(node);
  Value* none = graph->insertConstant(c10::IValue());
  for (size_t i = 0; i < node->inputs().size(); ++i) {
    if (node->input(i) == bias && node->schema().arguments()[i].name() == "bias") {
      node->replaceInput(i, none);
    }
  }
  graph->setInsertPoint(node->next());
  const size_t axis = *type->dim() - 1 - inner;
  Value* added = bias->type()->kind() == c10::TypeKind::OptionalType
                     ? biasOrNothing(node, bias, *type, inner)
                     : bias;
  std::vector<int64_t> sizes{type->sizes()[axis].value_or(2)};
  auto setType = [&] {  // PyTorch does not profile it for each operator, but it is known
    if (fusible(added) == nullptr) {
      added->setType(
          c10::TensorType::createContiguous(*type->scalarType(), *type->device(), sizes));
    }
  };
  setType();
  for (size_t i = 0; i < inner; ++i) {  // [C] becomes [C, 1, …]
    added = graph->insert(aten::unsqueeze, {added, c10::IValue(int64_t{-1})});
    sizes.push_back(1);
    setType();
  }
  // By hand: alpha comes by name in the schema of two tensors.
  Value* one = graph->insertConstant(int64_t{1});
  Value* sum = graph->insertNode(graph->create(aten::add, {node->output(), added, one}))->output();
  node->output()->replaceAllUsesAfterNodeWith(sum->node(), sum);
  sum->setType(type);
}

/// Axes of space of a convolution; none of what is none.
std::optional<size_t> axesOfSpace(const Node* node) {
  switch (static_cast<c10::unique_t>(node->kind())) {
    case static_cast<c10::unique_t>(aten::conv1d):
      return 1;
    case static_cast<c10::unique_t>(aten::conv2d):
      return 2;
    case static_cast<c10::unique_t>(aten::conv3d):
      return 3;
    case static_cast<c10::unique_t>(aten::_convolution): {
      const std::optional<c10::IValue> stride = torch::jit::toIValue(node->namedInput("stride"));
      return stride ? std::optional(stride->toIntVector().size()) : std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

/// Sizes of tensors, where they follow from those of others without the tensors themselves: so what
/// is pointwise stays free to be in one group with what is done to its result.
class Sizes {
 public:
  /// As the value has them when `reader` reads it.
  Value* of(Value* value, Node* reader) {
    if (!isPointwise(value->node())) {
      torch::jit::WithInsertPoint guard(reader);
      return value->owningGraph()->insert(aten::size, {value});
    }
    if (const auto known = known_.find(value); known != known_.end()) {
      return known->second;
    }
    Node* node = value->node();
    std::vector<Value*> operands;
    std::unordered_set<Value*> seen;
    for (Value* input : node->inputs()) {
      if (input->type()->isSubtypeOf(*c10::TensorType::get()) && seen.insert(input).second) {
        operands.push_back(of(input, node));
      }
    }
    torch::jit::WithInsertPoint guard(node);
    return known_.emplace(value, broadcast(*value->owningGraph(), operands)).first->second;
  }

  /// At the point of insertion.
  static Value* broadcast(Graph& graph, const std::vector<Value*>& sizes) {
    if (sizes.size() == 1) {
      return sizes[0];
    }
    Value* common = graph.insertNode(graph.create(prim::BroadcastSizes, sizes))->output();
    return common->setType(c10::ListType::ofInts());
  }

 private:
  std::unordered_map<Value*, Value*> known_;
};

/// Tensors that are broadcast against each other, and taken out of their list at once: each is
/// expanded to the sizes of all. What is left without readers is for the pass that removes such.
void expandEach(Node* node) {
  Node* list = node->input()->node();
  Node* unpacked = node->output()->uses().size() == 1 ? node->output()->uses()[0].user : nullptr;
  if (list->kind() != prim::ListConstruct || unpacked == nullptr ||
      unpacked->kind() != prim::ListUnpack ||
      std::none_of(unpacked->outputs().begin(), unpacked->outputs().end(), fusible)) {
    return;
  }
  Graph* graph = node->owningGraph();
  Sizes sizes;
  std::vector<Value*> of_each;
  for (Value* tensor : list->inputs()) {
    of_each.push_back(sizes.of(tensor, node));
  }
  torch::jit::WithInsertPoint guard(node);
  Value* common = Sizes::broadcast(*graph, of_each);
  for (size_t i = 0; i < list->inputs().size(); ++i) {
    Value* expanded = graph->insert(aten::expand, {list->input(i), common});
    expanded->setType(unpacked->output(i)->type());
    unpacked->output(i)->replaceAllUsesWith(expanded);
  }
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
      addBiasBehind(node, 0);
    } else if (const auto space = axesOfSpace(node); kConvolution && space) {
      addBiasBehind(node, *space);
    } else if (node->kind() == aten::broadcast_tensors) {
      expandEach(node);
    } else if (node->kind() == aten::_batch_norm_impl_index) {
      replaceBatchNorm(node);
    }
  }
}

}  // namespace

void decompose(Graph& graph) { decomposeIn(graph.block()); }

}  // namespace nvfuser::torchscript
