#include "group_outputs.h"

#include <algorithm>
#include <unordered_map>

#include "lower_graph.h"
#include <torch/csrc/jit/passes/dead_code_elimination.h>
#include <torch/csrc/jit/passes/tensorexpr_fuser.h>

namespace nvfuser::torchscript {

namespace {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;
namespace prim = torch::jit::prim;

class ViewsOut {
 public:
  explicit ViewsOut(Node* group) : group_(group), subgraph_(group->g(torch::jit::attr::Subgraph)) {}

  void run() {
    // The last output first: a view may be of a view that is an output, too.
    for (size_t i = group_->outputs().size(); i-- > 0;) {
      Value* inner = subgraph_->outputs()[i];
      if (mayReturnArgument(inner->node())) {
        Value* outside = takeOutside(inner->node());
        group_->output(i)->replaceAllUsesWith(outside);
      }
    }
    for (size_t i = group_->outputs().size(); i-- > 0;) {
      if (mayReturnArgument(subgraph_->outputs()[i]->node())) {
        group_->eraseOutput(i);
        subgraph_->eraseOutput(i);
      }
    }
    torch::jit::EliminateDeadCode(subgraph_);
    for (size_t i = group_->inputs().size(); i-- > 0;) {
      if (!subgraph_->inputs()[i]->hasUses()) {
        subgraph_->eraseInput(i);
        group_->removeInput(i);
      }
    }
  }

 private:
  /// The view of what is outside.
  Value* takeOutside(Node* view) {
    std::vector<Value*> inputs;
    Node* behind = nullptr;  // of the group and what follows it, the last one that the view reads
    for (Value* input : view->inputs()) {
      inputs.push_back(outsideOf(input));
      Node* made = inputs.back()->node();
      if (made == group_ ||
          (made->owningBlock() == group_->owningBlock() && made->isAfter(group_))) {
        behind = behind == nullptr || made->isAfter(behind) ? made : behind;
      }
    }
    const auto of_view = view->inputs();
    Node* copy = group_->owningGraph()->createClone(view, [&](Value* input) {
      return inputs[static_cast<size_t>(std::find(of_view.begin(), of_view.end(), input) -
                                        of_view.begin())];
    });
    if (behind != nullptr) {
      copy->insertAfter(behind);
    } else {
      copy->insertBefore(group_);
    }
    return copy->output();
  }

  Value* outsideOf(Value* inner) {
    const auto inputs = subgraph_->inputs();
    if (const auto at = std::find(inputs.begin(), inputs.end(), inner); at != inputs.end()) {
      return group_->input(static_cast<size_t>(at - inputs.begin()));
    }
    Node* node = inner->node();
    if (node->kind() == prim::Constant) {
      Node* copy = group_->owningGraph()->createClone(node, [](Value* value) { return value; });
      copy->insertBefore(group_);
      return copy->output();
    }
    if (mayReturnArgument(node)) {
      return takeOutside(node);
    }
    const auto outputs = subgraph_->outputs();
    if (const auto at = std::find(outputs.begin(), outputs.end(), inner); at != outputs.end()) {
      return group_->output(static_cast<size_t>(at - outputs.begin()));
    }
    subgraph_->registerOutput(inner);
    Value* output = group_->addOutput();
    output->copyMetadata(inner);
    return output;
  }

  Node* group_;
  std::shared_ptr<Graph> subgraph_;
};

/// Sizes of values of a group, as values before it.
class SizesOf {
 public:
  SizesOf(Node* group, Graph& subgraph) : group_(group), subgraph_(subgraph) {}

  /// Null where they do not follow from the inputs alone.
  Value* of(Value* inner) {
    if (const auto found = known_.find(inner); found != known_.end()) {
      return found->second;
    }
    Value* sizes = make(inner);
    known_.emplace(inner, sizes);
    return sizes;
  }

 private:
  Value* make(Value* inner) {
    Graph* graph = group_->owningGraph();
    const auto inputs = subgraph_.inputs();
    if (const auto at = std::find(inputs.begin(), inputs.end(), inner); at != inputs.end()) {
      Value* outer = group_->input(static_cast<size_t>(at - inputs.begin()));
      return insert(graph->create(torch::jit::aten::size, {outer}));
    }
    if (!isPointwise(inner->node())) {
      return nullptr;
    }
    std::vector<Value*> operands;
    for (Value* input : inner->node()->inputs()) {
      if (input->type()->isSubtypeOf(*c10::TensorType::get())) {
        Value* sizes = of(input);
        if (sizes == nullptr) {
          return nullptr;
        }
        if (std::find(operands.begin(), operands.end(), sizes) == operands.end()) {
          operands.push_back(sizes);
        }
      }
    }
    return operands.size() == 1 ? operands[0]
                                : insert(graph->create(prim::BroadcastSizes, operands));
  }

  Value* insert(Node* node) {
    node->insertBefore(group_);
    node->output()->setType(c10::ListType::ofInts());
    return node->output();
  }

  Node* group_;
  Graph& subgraph_;
  std::unordered_map<Value*, Value*> known_;
};

}  // namespace

void returnNoViews(Node* group) { ViewsOut(group).run(); }

void returnNothingForSizes(Node* group) {
  const std::shared_ptr<Graph> subgraph = group->g(torch::jit::attr::Subgraph);
  SizesOf sizes(group, *subgraph);
  for (size_t i = group->outputs().size(); i-- > 0;) {
    Value* output = group->output(i);
    if (!output->hasUses() || !torch::jit::usedOnlyInSize(output)) {
      continue;
    }
    Value* size = sizes.of(subgraph->outputs()[i]);
    if (size == nullptr) {
      continue;
    }
    while (output->hasUses()) {
      Node* asking = output->uses()[0].user;
      asking->output()->replaceAllUsesWith(size);
      asking->destroy();
    }
    group->eraseOutput(i);
    subgraph->eraseOutput(i);
  }
  torch::jit::EliminateDeadCode(subgraph);
}

}  // namespace nvfuser::torchscript
