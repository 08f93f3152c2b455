#include "graph_fuser.h"

#include <algorithm>

#include "decompose.h"
#include "group_outputs.h"
#include "infer_types.h"
#include "kernel_cache.h"
#include "knobs.h"
#include "lower_graph.h"
#include "partition.h"
#include <torch/csrc/jit/ir/alias_analysis.h>
#include <torch/csrc/jit/jit_log.h>
#include <torch/csrc/jit/passes/dead_code_elimination.h>
#include <torch/csrc/jit/passes/lower_tuples.h>
#include <torch/csrc/jit/passes/tensorexpr_fuser.h>
#include <torch/csrc/jit/passes/utils/subgraph_utils.h>

// All of PyTorch's libraries have them; the header that declares them
// (torch/csrc/jit/codegen/fuser/interface.h) is not in the package of 2.7.
namespace torch::jit {
TORCH_API bool canFuseOnCPU();
TORCH_API bool canFuseOnGPU();
}  // namespace torch::jit

namespace nvfuser::torchscript {

namespace {

using torch::jit::AliasDb;
using torch::jit::Block;
using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;
namespace prim = torch::jit::prim;
namespace attr = torch::jit::attr;
namespace SubgraphUtils = torch::jit::SubgraphUtils;

/// Whether anything was profiled on a device that we fuse on.
bool concernsUs(Block* block) {
  for (Node* node : block->nodes()) {
    if (node->kind() == prim::profile && node->hasAttribute(attr::profiled_type)) {
      const auto type = node->ty(attr::profiled_type)->cast<c10::TensorType>();
      if (type && type->device() && fusesOn(type->device()->type())) {
        return true;
      }
    }
    for (Block* inner : node->blocks()) {
      if (concernsUs(inner)) {
        return true;
      }
    }
  }
  return false;
}

bool isGroup(const Node* node) { return node->kind() == prim::CudaFusionGroup; }

/// Makes groups in one block: each grows from its last node by the producers of what it reads.
class GroupBuilder {
 public:
  GroupBuilder(Block* block, AliasDb& aliases, Partition& partition)
      : block_(block), aliases_(aliases), partition_(partition) {}

  void run() {
    // A group that takes a producer moves the other readers of that behind itself; they come to
    // their turn in the next round.
    for (changed_ = true; changed_;) {
      changed_ = false;
      for (auto it = block_->nodes().rbegin(); it != block_->nodes().rend();) {
        it = visit(*it);
      }
    }
    if (knobs().horizontal) {
      mergeSiblings();
    }
  }

 private:
  /// Where to go on.
  torch::jit::graph_node_list_iterator visit(Node* node) {
    const std::optional<c10::Device> device = partition_.deviceOf(node);
    if (device && !isGroup(node)) {
      Node* group = SubgraphUtils::createSingletonSubgraphAndUpdateAliasing(
          node, prim::CudaFusionGroup, aliases_);
      partition_.merged(node);
      partition_.made(group, *device);
      takeLists(group);
      changed_ = true;
      node = group;
    }
    if (isGroup(node)) {
      while (takeProducer(node)) {
      }
    }
    return ++node->reverseIterator();
  }

  /// Lists of tensors that a node of the group reads are made in the group.
  void takeLists(Node* group) {
    for (bool again = true; again;) {
      again = false;
      for (Value* input : group->inputs()) {
        if (input->node()->kind() == prim::ListConstruct && input->uses().size() == 1 &&
            input->type()->kind() == c10::TypeKind::ListType &&
            input->type()->expectRef<c10::ListType>().getElementType()->isSubtypeOf(
                *c10::TensorType::get()) &&
            aliases_.moveBeforeTopologicallyValid(input->node(), group)) {
          SubgraphUtils::mergeNodeIntoSubgraphAndUpdateAliasing(input->node(), group, aliases_);
          again = true;
          break;
        }
      }
    }
  }

  bool takeProducer(Node* group) {
    std::vector<Node*> producers;
    for (const Value* input : group->inputs()) {
      Node* producer = const_cast<Node*>(input->node());
      if (producer->owningBlock() == block_ && partition_.deviceOf(producer) &&
          *partition_.deviceOf(producer) == *partition_.deviceOf(group) &&
          std::find(producers.begin(), producers.end(), producer) == producers.end()) {
        producers.push_back(producer);
      }
    }
    // The last one first: others may be producers of it.
    std::sort(producers.begin(), producers.end(),
              [](const Node* a, const Node* b) { return a->isAfter(b); });
    return std::any_of(producers.begin(), producers.end(),
                       [&](Node* producer) { return take(producer, group); });
  }

  bool take(Node* node, Node* group) {
    if (!aliases_.moveBeforeTopologicallyValid(node, group)) {
      GRAPH_UPDATE("not merged, since memory that it shares is written in between: ", *node);
      return false;
    }
    partition_.merged(node);
    SubgraphUtils::mergeNodeIntoSubgraphAndUpdateAliasing(node, group, aliases_);
    takeLists(group);
    changed_ = true;
    return true;
  }

  /// Groups, and nodes that became none, which read the same tensor.
  void mergeSiblings() {
    for (bool again = true; again;) {
      again = false;
      for (Node* group : block_->nodes()) {
        if (isGroup(group) && takeSibling(group)) {
          again = true;
          break;
        }
      }
    }
  }

  bool takeSibling(Node* group) {
    for (const Value* input : group->inputs()) {
      if (!input->type()->isSubtypeOf(*c10::TensorType::get())) {
        continue;
      }
      for (const torch::jit::Use& use : input->uses()) {
        Node* other = use.user;
        if (other == group || other->owningBlock() != block_ || !isGroup(other) ||
            *partition_.deviceOf(other) != *partition_.deviceOf(group)) {
          continue;
        }
        Node* const first = other->isBefore(group) ? other : group;
        Node* const second = first == other ? group : other;
        if (take(first, second)) {
          return true;
        }
      }
    }
    return false;
  }

  Block* block_;
  AliasDb& aliases_;
  Partition& partition_;
  bool changed_ = false;
};

void makeGroups(Block* block, AliasDb& aliases, Partition& partition) {
  for (Node* node : block->nodes()) {
    for (Block* inner : node->blocks()) {
      makeGroups(inner, aliases, partition);
    }
  }
  GroupBuilder(block, aliases, partition).run();
}

void collectGroups(Block* block, std::vector<Node*>& groups) {
  for (Node* node : block->nodes()) {
    if (isGroup(node)) {
      groups.push_back(node);
    }
    for (Block* inner : node->blocks()) {
      collectGroups(inner, groups);
    }
  }
}

/// Operations of a group that compute something.
int64_t countOperations(const Node* group) {
  int64_t count = 0;
  for (Node* node : group->g(attr::Subgraph)->nodes()) {
    count += ruleOf(node) != nullptr && !mayReturnArgument(node) ? 1 : 0;
  }
  return count;
}

int64_t countNodes(const Node* group) {
  int64_t count = 0;
  for (Node* node : group->g(attr::Subgraph)->nodes()) {
    count += ruleOf(node) != nullptr ? 1 : 0;
  }
  return count;
}

/// Whether a kernel of its own is worth it.
bool isWorthwhile(const Node* group) {
  if (countOperations(group) == 0) {
    return false;
  }
  return knobs().single_node || countNodes(group) >= 2;
}

/// Tensors that are constants (of a traced module) become inputs, which a kernel reads as others.
void takeConstantsAsInputs(Node* group) {
  Graph& subgraph = *group->g(attr::Subgraph);
  std::vector<Node*> constants;
  for (Node* node : subgraph.nodes()) {
    if (node->kind() == prim::Constant && node->hasAttribute(attr::value) &&
        node->kindOf(attr::value) == torch::jit::AttributeKind::t) {
      constants.push_back(node);
    }
  }
  for (Node* constant : constants) {
    const at::Tensor value = constant->t(attr::value);
    Node* outside = group->owningGraph()->create(prim::Constant);
    outside->t_(attr::value, value)->insertBefore(group);
    outside->output()->setType(c10::TensorType::create(value));
    group->addInput(outside->output());
    Value* input = subgraph.addInput()->setType(c10::TensorType::create(value));
    constant->output()->replaceAllUsesWith(input);
    constant->destroy();
  }
}

/// The group under its guard, with what it was made from beside it.
void insertGuard(Node* group) {
  std::vector<Value*> checked;
  std::vector<c10::TypePtr> types;
  const std::shared_ptr<Graph> subgraph = group->g(attr::Subgraph);
  for (size_t i = 0; i < group->inputs().size(); ++i) {
    // Outside, what another group returns has lost its profile already.
    const c10::TypePtr& type = subgraph->inputs()[i]->type();
    if (type->isSubtypeOf(*c10::TensorType::get())) {
      checked.push_back(group->input(i));
      types.push_back(type);
    }
  }
  Graph* graph = group->owningGraph();
  Node* guard = graph->create(prim::CudaFusionGuard, checked, 1)->insertBefore(group);
  guard->output()->setType(c10::BoolType::get());
  guard->tys_(attr::types, types);
  Node* branch = graph->create(prim::If, {guard->output()}, group->outputs().size());
  branch->insertAfter(guard);
  for (size_t i = 0; i < group->outputs().size(); ++i) {
    branch->output(i)->setType(c10::TensorType::get());
    group->output(i)->replaceAllUsesWith(branch->output(i));
  }
  Block* fused = branch->addBlock();
  Block* unfused = branch->addBlock();
  std::shared_ptr<Graph> copy = subgraph->copy();
  group->moveBefore(fused->return_node());
  Node* fallback = graph->create(prim::FallbackGraph, group->inputs(), group->outputs().size());
  fallback->g_(attr::Subgraph, copy);
  unfused->appendNode(fallback);
  for (size_t i = 0; i < group->outputs().size(); ++i) {
    group->output(i)->setType(c10::TensorType::get());
    fallback->output(i)->setType(c10::TensorType::get());
    fused->registerOutput(group->output(i));
    unfused->registerOutput(fallback->output(i));
  }
}

/// The pass on a graph of its own.
void fuse(std::shared_ptr<Graph>& graph) {
  torch::jit::RemoveProfileNodesAndSpecializeTypes(graph);
  torch::jit::LowerSimpleTuples(graph);
  decompose(*graph);
  inferTypes(*graph);
  torch::jit::EliminateDeadCode(graph);
  {
    Partition partition(*graph);
    AliasDb aliases(graph);
    makeGroups(graph->block(), aliases, partition);
  }
  std::vector<Node*> groups;
  collectGroups(graph->block(), groups);
  std::vector<Node*> kept;
  for (Node* group : groups) {
    if (isWorthwhile(group)) {
      returnNoViews(group);
      returnNothingForSizes(group);
    }
    if (isWorthwhile(group)) {
      kept.push_back(group);
    } else {
      SubgraphUtils::unmergeSubgraph(group);
    }
  }
  for (Node* group : kept) {
    takeConstantsAsInputs(group);
    insertGuard(group);
  }
  torch::jit::EliminateDeadCode(graph);
  GRAPH_DUMP("Before Compilation: ", graph);
  for (Node* group : kept) {
    group->i_(attr::cache_id, cacheIdOf(group->g(attr::Subgraph)));
  }
}

}  // namespace

void fuseGraph(std::shared_ptr<Graph>& graph) {
  const bool others_fuse = torch::jit::tensorExprFuserEnabled() &&
                           (torch::jit::canFuseOnCPU() || torch::jit::canFuseOnGPU());
  if (others_fuse && profilesOurOperators()) {
    profileOurOperators(false);  // before PyTorch's fuser takes them for its own
  }
  if (!knobs().enabled || !concernsUs(graph->block())) {
    return;
  }
  GRAPH_DUMP("Before Fusion: ", graph);
  std::shared_ptr<Graph> fused = graph->copy();
  try {
    fuse(fused);
  } catch (const std::exception& error) {  // our mistake: the program runs as it is
    TORCH_CHECK(mayFallBack(), "nvfuser: the fusion pass failed: ", error.what());
    TORCH_WARN("nvfuser: the FALLBACK path was taken, since the fusion pass failed: ", error.what(),
               "\nPYTORCH_NVFUSER_DISABLE=fallback makes this an error.");
    return;
  }
  graph = fused;
}

}  // namespace nvfuser::torchscript
