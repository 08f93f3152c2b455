#include "partition.h"

#include <string>
#include <variant>

#include "knobs.h"
#include "lower_graph.h"
#include "tensor_types.h"
#include <torch/csrc/jit/jit_log.h>
#include <torch/csrc/jit/passes/tensorexpr_fuser.h>

namespace nvfuser::torchscript {

namespace {

using torch::jit::Node;
using torch::jit::Value;

bool allowsComplex() {
  static const bool kAllows = nvf_option("ENABLE", "complex") == 1;
  return kAllows;
}

/// Of a value in a node that might be fused: its device, or why the node cannot be.
using DeviceOrReason = std::variant<c10::Device, std::string>;

DeviceOrReason deviceOf(const Value* value) {
  const auto type = value->type()->cast<c10::TensorType>();
  const std::string name = "%" + value->debugName();
  if (!type || !type->scalarType() || !type->dim()) {
    return name + " has no profiled type";
  }
  if (!type->device()) {
    return name + " has no profiled device";
  }
  if (!fusesOn(type->device()->type())) {
    return name + " is on " + type->device()->str() + ", which is not fused on";
  }
  if (type->undefined().value_or(false)) {
    return name + " may be undefined";
  }
  if (dtypeOf(*type->scalarType()) == 0) {
    return name + " has the dtype " + c10::toString(*type->scalarType()) + ", which we have not";
  }
  if (c10::isComplexType(*type->scalarType()) && !allowsComplex()) {
    return name + " is complex; PYTORCH_NVFUSER_ENABLE=complex fuses those";
  }
  return *type->device();
}

/// Tensors that a node reads, also through a list made for it alone.
void collectTensors(const Node* node, std::vector<const Value*>& tensors) {
  for (const Value* input : node->inputs()) {
    if (input->type()->isSubtypeOf(*c10::TensorType::get())) {
      tensors.push_back(input);
    } else if (input->node()->kind() == torch::jit::prim::ListConstruct) {
      for (const Value* element : input->node()->inputs()) {
        if (element->type()->isSubtypeOf(*c10::TensorType::get())) {
          tensors.push_back(element);
        }
      }
    } else if (const auto* optional = input->type()->castRaw<c10::OptionalType>();
               optional != nullptr &&
               optional->getElementType()->isSubtypeOf(*c10::TensorType::get())) {
      tensors.push_back(input);
    }
  }
}

bool isTensorList(const Value* value) {
  const auto* list = value->type()->castRaw<c10::ListType>();
  return list != nullptr && list->getElementType()->isSubtypeOf(*c10::TensorType::get());
}

DeviceOrReason decide(Node* node) {
  const std::string kind = node->kind().toQualString();
  if (ruleOf(node) == nullptr) {
    return std::string("there is no rule for it");
  }
  if (knobs().skips(kind)) {
    return "_jit_set_nvfuser_skip_node_kind turned " + kind + " off";
  }
  std::optional<c10::Device> device;
  auto join = [&](const Value* value) -> std::optional<std::string> {
    const DeviceOrReason one = deviceOf(value);
    if (const auto* reason = std::get_if<std::string>(&one)) {
      return *reason;
    }
    if (device && *device != std::get<c10::Device>(one)) {
      return "its tensors are on " + device->str() + " and on " + std::get<c10::Device>(one).str();
    }
    device = std::get<c10::Device>(one);
    return std::nullopt;
  };
  std::vector<const Value*> tensors;
  collectTensors(node, tensors);
  for (const Value* tensor : tensors) {
    if (auto reason = join(tensor)) {
      return *reason;
    }
  }
  for (const Value* input : node->inputs()) {
    // A list travels with the node that reads it.
    if (isTensorList(input) &&
        (input->node()->kind() != torch::jit::prim::ListConstruct || input->uses().size() != 1)) {
      return "its list %" + input->debugName() + " is not made for it alone";
    }
  }
  for (const Value* output : node->outputs()) {
    if (!output->type()->isSubtypeOf(*c10::TensorType::get())) {
      return "its result %" + output->debugName() + " is no tensor";
    }
    if (output->hasUses()) {
      if (auto reason = join(output)) {
        return *reason;
      }
    }
  }
  if (!device) {
    return std::string("it has no tensors");
  }
  if (std::optional<std::string> reason = refusalOf(node)) {
    return *reason;
  }
  return *device;
}

}  // namespace

bool fusesOn(c10::DeviceType type) {
  return type == c10::kCUDA || (type == c10::kCPU && !torch::jit::tensorExprFuserEnabled());
}

Partition::Partition(torch::jit::Graph& graph) { ask(graph.block()); }

void Partition::ask(torch::jit::Block* block) {
  for (Node* node : block->nodes()) {
    for (torch::jit::Block* inner : node->blocks()) {
      ask(inner);
    }
    const std::string ns = node->kind().ns().toUnqualString();
    if (ns != "aten" || !node->blocks().empty()) {
      continue;
    }
    const DeviceOrReason decision = decide(node);
    if (const auto* device = std::get_if<c10::Device>(&decision)) {
      devices_.emplace(node, *device);
    } else {
      GRAPH_UPDATE("rejected: ", *node, "  ", std::get<std::string>(decision));
    }
  }
}

std::optional<c10::Device> Partition::deviceOf(const Node* node) const {
  const auto found = devices_.find(node);
  return found == devices_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace nvfuser::torchscript
