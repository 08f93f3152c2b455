#include "infer_types.h"

#include <algorithm>
#include <atomic>
#include <list>
#include <optional>
#include <string>

#include "node_table.h"
#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/passes/tensorexpr_fuser.h>
#include <torch/csrc/jit/runtime/operator.h>

namespace nvfuser::torchscript {

namespace {

using torch::jit::Block;
using torch::jit::Node;
using torch::jit::Value;

bool isTensor(const Value* value) { return value->type()->isSubtypeOf(*c10::TensorType::get()); }

/// Known enough for a tensor without data; nothing else is asked of it.
std::optional<at::Tensor> withoutData(const Value* value) {
  const auto type = value->type()->cast<c10::TensorType>();
  if (!type || !type->scalarType() || !type->device()) {
    return std::nullopt;
  }
  const std::optional<std::vector<int64_t>> sizes = type->sizes().concrete_sizes();
  const std::optional<std::vector<int64_t>> strides = type->strides().concrete_sizes();
  if (!sizes || !strides) {
    return std::nullopt;
  }
  return at::empty_strided(*sizes, *strides, at::dtype(*type->scalarType()).device(at::kMeta));
}

/// The value as an argument; numbers that are not known do not change a type.
std::optional<c10::IValue> argument(const Value* value, std::optional<c10::Device>& device) {
  if (auto constant = torch::jit::toIValue(value)) {
    return constant;
  }
  if (isTensor(value)) {
    std::optional<at::Tensor> tensor = withoutData(value);
    if (!tensor) {
      return std::nullopt;
    }
    const c10::Device here = *value->type()->expectRef<c10::TensorType>().device();
    if (!device || tensor->dim() > 0) {
      device = here;
    }
    return *tensor;
  }
  if (value->node()->kind() == torch::jit::prim::ListConstruct) {
    std::vector<at::Tensor> tensors;
    std::vector<int64_t> numbers;
    for (const Value* element : value->node()->inputs()) {
      const std::optional<c10::IValue> one = argument(element, device);
      if (!one || (!one->isTensor() && !torch::jit::toIValue(element))) {
        return std::nullopt;
      }
      if (one->isTensor()) {
        tensors.push_back(one->toTensor());
      } else if (one->isInt()) {
        numbers.push_back(one->toInt());
      } else {
        return std::nullopt;
      }
    }
    return tensors.empty() ? c10::IValue(numbers) : c10::IValue(tensors);
  }
  switch (value->type()->kind()) {
    case c10::TypeKind::FloatType:
      return 1.0;
    case c10::TypeKind::IntType:
      return int64_t{1};
    default:
      return std::nullopt;
  }
}

bool lacksType(const Value* value) {
  const auto type = value->type()->cast<c10::TensorType>();
  return type && (!type->scalarType() || !type->dim() || !type->device());
}

void infer(Node* node) {
  if (!node->kind().is_aten() || !node->blocks().empty() || node->maybeSchema() == nullptr ||
      node->schema().is_mutable() || node->hasSideEffects() ||
      std::none_of(node->outputs().begin(), node->outputs().end(), lacksType)) {
    return;
  }
  std::optional<c10::Device> device;
  torch::jit::Stack stack;
  for (const Value* input : node->inputs()) {
    std::optional<c10::IValue> value = argument(input, device);
    // An int may be an axis, so only floats and operands may be made up.
    if (!value || value->isDevice()) {
      return;
    }
    stack.push_back(*std::move(value));
  }
  if (!device) {
    return;
  }
  try {
    const at::NoGradGuard no_grad;
    torch::jit::Operation operation = node->getOperation();
    operation(stack);
  } catch (const std::exception&) {
    return;  // it cannot run without data, or not at all: nothing is known
  }
  for (size_t i = 0; i < node->outputs().size() && i < stack.size(); ++i) {
    Value* output = node->output(i);
    // What was seen is so; without data some operators give another dtype than on their device.
    if (lacksType(output) && stack[i].isTensor() && stack[i].toTensor().defined()) {
      output->setType(c10::TensorType::create(stack[i].toTensor())
                          ->withDevice(*device)
                          ->withRequiresGrad(false));
    }
  }
}

void infer(Block* block) {
  for (Node* node : block->nodes()) {
    infer(node);
    for (Block* inner : node->blocks()) {
      infer(inner);
    }
  }
}

std::atomic<bool> profiles_ours = false;

/// The schemas of our rules, as PyTorch writes them. It keeps the pointers.
const std::list<std::string>& ourSchemas() {
  static const auto* schemas = [] {
    auto* all = new std::list<std::string>;
    for (std::span<const NodeRule> rules : {pointwiseRules(), activationRules(), reductionRules(),
                                            normalisationRules(), shapeRules()}) {
      for (const NodeRule& rule : rules) {
        for (const auto& op : torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString(
                 std::string(rule.name.substr(0, rule.name.find('.')))))) {
          const c10::FunctionSchema& schema = op->schema();
          const std::string full = schema.overload_name().empty()
                                       ? schema.name()
                                       : schema.name() + "." + schema.overload_name();
          if (full == rule.name) {
            all->push_back(c10::toString(schema));
          }
        }
      }
    }
    return all;
  }();
  return *schemas;
}

}  // namespace

void inferTypes(torch::jit::Graph& graph) { infer(graph.block()); }

bool profilesOurOperators() { return profiles_ours; }

void profileOurOperators(bool wanted) {
  if (profiles_ours.exchange(wanted) == wanted) {
    return;
  }
  torch::jit::OperatorSet& custom = torch::jit::tensorexpr::getCustomOperatorSet();
  static const torch::jit::OperatorSet kBefore = custom;
  if (!wanted) {
    custom = kBefore;
    return;
  }
  for (const std::string& schema : ourSchemas()) {
    custom.insert({schema.c_str()});
  }
}

}  // namespace nvfuser::torchscript
