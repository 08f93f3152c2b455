#include "lower_graph.h"

#include <algorithm>
#include <unordered_map>

#include "node_types.h"
#include "tensor_types.h"
#include <torch/csrc/jit/ir/constants.h>

namespace nvfuser::torchscript {

namespace {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

std::string nameOf(const Value* value) { return "%" + value->debugName(); }

bool isNumberType(const c10::TypePtr& type) {
  return type->kind() == c10::TypeKind::FloatType || type->kind() == c10::TypeKind::IntType ||
         type->kind() == c10::TypeKind::BoolType || type->kind() == c10::TypeKind::NumberType;
}

std::optional<Profile> profileOfValue(const Value* value) {
  const auto type = value->type()->cast<c10::TensorType>();
  return type ? profileOf(*type) : std::nullopt;
}

Number numberOf(const c10::IValue& value, const std::string& name) {
  if (value.isBool()) {
    return value.toBool();
  }
  if (value.isInt()) {
    return value.toInt();
  }
  if (value.isDouble()) {
    return value.toDouble();
  }
  throw Refusal(name + " is neither a bool, an int nor a float");
}

/// The graph's values in the fusion.
class Lowering {
 public:
  /// `inputs` null: nothing runs yet, and tensors are made from their profiles.
  Lowering(Definition& definition, const Graph& graph, const c10::IValue* inputs)
      : fusion(definition), graph_(graph), inputs_(inputs) {}

  Definition& fusion;
  std::vector<size_t> taken;
  std::vector<BakedInput> baked;

  /// The value if it is known while defining: a constant, or an input, of which the kernel then
  /// depends. Null: it is an input, and nothing runs yet.
  std::optional<c10::IValue> known(const Value* value, bool only_ones) {
    if (std::optional<c10::IValue> constant = torch::jit::toIValue(value)) {
      return constant;
    }
    if (inputs_ == nullptr) {
      return std::nullopt;
    }
    const size_t number = inputNumber(value);
    const auto same = [&](const BakedInput& one) {
      return one.input == number && one.only_ones == only_ones;
    };
    if (std::none_of(baked.begin(), baked.end(), same)) {
      baked.push_back({number, only_ones, inputs_[number]});
    }
    return inputs_[number];
  }

  Term tensor(const Value* value) {
    if (const auto found = terms_.find(value); found != terms_.end()) {
      return found->second;
    }
    if (inputs_ != nullptr) {
      throw Refusal(nameOf(value) + " is no tensor of the group");
    }
    const std::optional<Profile> profile = profileOfValue(value);
    if (!profile) {
      throw Refusal(nameOf(value) + " has no profiled type");
    }
    const Term term = fusion.tensorLike(profile->sizes, profile->strides, profile->dtype);
    terms_.emplace(value, term);
    return term;
  }

  /// A number of the program, or a scalar that each call brings along.
  Operand number(const Value* value) {
    if (const std::optional<c10::IValue> constant = torch::jit::toIValue(value)) {
      return numberOf(*constant, nameOf(value));
    }
    if (const auto found = terms_.find(value); found != terms_.end()) {
      return found->second;
    }
    int32_t dtype = value->type()->kind() == c10::TypeKind::IntType    ? NVF_INT
                    : value->type()->kind() == c10::TypeKind::BoolType ? NVF_BOOL
                                                                       : NVF_DOUBLE;
    if (inputs_ != nullptr) {
      const size_t input = inputNumber(value);
      const Number now = numberOf(inputs_[input], nameOf(value));
      dtype = std::holds_alternative<bool>(now)      ? NVF_BOOL
              : std::holds_alternative<int64_t>(now) ? NVF_INT
                                                     : NVF_DOUBLE;
      taken.push_back(input);
    }
    const Term term = fusion.scalar(dtype);
    terms_.emplace(value, term);
    return term;
  }

  void set(const Value* value, const Term& term) { terms_[value] = term; }

  /// Tensors that each call brings along.
  void takeTensors() {
    for (size_t i = 0; i < graph_.inputs().size(); ++i) {
      if (!inputs_[i].isTensor()) {
        continue;
      }
      const at::Tensor& tensor = inputs_[i].toTensor();
      const Value* value = graph_.inputs()[i];
      if (!tensor.defined()) {
        throw Refusal("its input " + nameOf(value) + " is undefined");
      }
      const int32_t dtype = dtypeOf(tensor.scalar_type());
      requireProfile(value, tensor, dtype);
      terms_.emplace(value, fusion.tensorLike(tensor.sizes().vec(), tensor.strides().vec(), dtype));
      taken.push_back(i);
    }
  }

 private:
  size_t inputNumber(const Value* value) const {
    const auto inputs = graph_.inputs();
    const auto at = std::find(inputs.begin(), inputs.end(), value);
    if (at == inputs.end()) {
      throw Refusal(nameOf(value) + " is neither a constant nor an input of the group");
    }
    return static_cast<size_t>(at - inputs.begin());
  }

  /// Rules go by profiled types, which a guard checks unless it was switched off.
  static void requireProfile(const Value* value, const at::Tensor& tensor, int32_t dtype) {
    const std::optional<Profile> profile = profileOfValue(value);
    bool fits = profile && profile->dtype == dtype &&
                profile->sizes.size() == static_cast<size_t>(tensor.dim());
    for (size_t axis = 0; fits && axis < profile->sizes.size(); ++axis) {
      fits = !profile->has_sizes ||
             (profile->sizes[axis] == 1) == (tensor.size(static_cast<int64_t>(axis)) == 1);
    }
    if (!fits) {
      throw Refusal("its input " + nameOf(value) +
                    " differs from what was profiled in dtype, rank or which axes have extent 1");
    }
  }

  const Graph& graph_;
  const c10::IValue* inputs_;
  std::unordered_map<const Value*, Term> terms_;
};

class Call final : public NodeCall {
 public:
  Call(Lowering& lowering, Node* node)
      : NodeCall(lowering.fusion), lowering_(lowering), node_(node) {}

  bool given(const char* name) override {
    const Value* value = argument(name, false);
    if (value == nullptr || value->mustBeNone()) {
      return false;
    }
    // An optional value that is no tensor: whether it is there is seen at the call.
    if (value->type()->kind() == c10::TypeKind::OptionalType) {
      return !theValue(value).isNone();
    }
    return true;
  }

  Term tensor(const char* name) override { return lowering_.tensor(argument(name)); }

  std::vector<Term> tensors(const char* name) override {
    const Node* list = argument(name)->node();
    if (list->kind() != torch::jit::prim::ListConstruct) {
      throw Refusal(std::string("its list ") + name + " is made elsewhere");
    }
    std::vector<Term> terms;
    for (const Value* element : list->inputs()) {
      terms.push_back(lowering_.tensor(element));
    }
    return terms;
  }

  Operand operand(const char* name) override {
    const Value* value = argument(name);
    if (value->type()->isSubtypeOf(*c10::TensorType::get())) {
      return lowering_.tensor(value);
    }
    if (!isNumberType(value->type()) && !torch::jit::toIValue(value)) {
      throw Refusal(nameOf(value) + " is neither a tensor nor a number");
    }
    return lowering_.number(value);
  }

  int64_t integer(const char* name) override { return theValue(argument(name)).toInt(); }
  bool flag(const char* name) override { return theValue(argument(name)).toBool(); }
  double real(const char* name) override {
    const c10::IValue value = theValue(argument(name));
    return std::visit([](auto held) { return static_cast<double>(held); }, numberOf(value, name));
  }
  std::string text(const char* name) override { return theValue(argument(name)).toStringRef(); }
  std::vector<int64_t> integers(const char* name) override {
    const c10::IValue value = theValue(argument(name));
    return value.isInt() ? std::vector<int64_t>{value.toInt()} : value.toIntVector();
  }
  std::vector<bool> flags(const char* name) override {
    const c10::List<bool> list = theValue(argument(name)).toBoolList();
    return {list.begin(), list.end()};
  }
  std::vector<bool> ones(const char* name) override {
    std::vector<bool> result;
    for (int64_t size : theValue(argument(name), true).toIntVector()) {
      result.push_back(size == 1);
    }
    return result;
  }

  std::vector<bool> unitAxes(const char* name) override {
    const std::optional<Profile> profile = profileOfValue(argument(name));
    if (!profile || !profile->has_sizes) {
      throw Refusal(std::string("the sizes of ") + name + " are not known");
    }
    std::vector<bool> result;
    for (int64_t size : profile->sizes) {
      result.push_back(size == 1);
    }
    return result;
  }

  bool mayUpdate(const char* name) override {
    const Value* value = argument(name);
    return value->uses().size() == 1 &&
           (value->node()->kind() == torch::jit::prim::Param || ruleOf(value->node()) == nullptr);
  }

  nvf_dtype resultType(size_t number) override {
    const std::optional<Profile> profile = profileOfValue(node_->output(number));
    if (!profile) {
      throw Refusal("its result " + nameOf(node_->output(number)) + " has no profiled type");
    }
    return static_cast<nvf_dtype>(profile->dtype);
  }
  bool wanted(size_t number) override {
    return number < node_->outputs().size() && node_->output(number)->hasUses();
  }

 private:
  Value* argument(const char* name, bool required = true) const {
    const c10::FunctionSchema& schema = node_->schema();
    const std::optional<int> at = schema.argumentIndexWithName(name);
    if (!at || static_cast<size_t>(*at) >= node_->inputs().size()) {
      if (!required) {
        return nullptr;
      }
      throw Refusal(std::string("this PyTorch's operator has no argument ") + name);
    }
    return node_->input(static_cast<size_t>(*at));
  }

  c10::IValue theValue(const Value* value, bool only_ones = false) {
    std::optional<c10::IValue> known = lowering_.known(value, only_ones);
    if (!known) {
      throw NotYetKnown();
    }
    return *std::move(known);
  }

  Lowering& lowering_;
  Node* node_;
};

/// The value in the memory order that PyTorch would give it, as profiled.
Term inMemoryOrder(Definition& fusion, const Term& term, const Value* value) {
  const std::optional<Profile> profile = profileOfValue(value);
  if (!profile || profile->sizes.size() != static_cast<size_t>(term.rank)) {
    return term;
  }
  const std::vector<int64_t> outer_to_inner = memoryOrder(profile->sizes, profile->strides);
  if (std::is_sorted(outer_to_inner.begin(), outer_to_inner.end())) {
    return term;
  }
  std::vector<int64_t> order(outer_to_inner.size());
  for (size_t place = 0; place < order.size(); ++place) {
    order[static_cast<size_t>(outer_to_inner[place])] =
        static_cast<int64_t>(order.size() - 1 - place);
  }
  return fusion.call("stride_order", {term, order});
}

void lowerNode(Lowering& lowering, Node* node) {
  const NodeRule* rule = ruleOf(node);
  if (rule == nullptr) {
    throw Refusal("there is no rule for it");
  }
  Call call(lowering, node);
  rule->lower(call);
  const std::vector<Term>& results = call.results();
  for (size_t i = 0; i < std::min(results.size(), node->outputs().size()); ++i) {
    if (results[i].given()) {
      lowering.set(node->output(i), results[i]);
    }
  }
}

}  // namespace

const NodeRule* ruleOf(const Node* node) {
  const c10::FunctionSchema* schema = node->maybeSchema();
  if (schema == nullptr) {
    return nullptr;
  }
  const std::string& overload = schema->overload_name();
  return findRule(overload.empty() ? schema->name() : schema->name() + "." + overload);
}

std::optional<std::string> refusalOf(Node* node) {
  try {
    Definition definition;
    Lowering lowering(definition, *node->owningGraph(), nullptr);
    lowerNode(lowering, node);
  } catch (const NotYetKnown&) {  // seen at the call
  } catch (const Refusal& refusal) {
    return refusal.what();
  } catch (const c10::Error& error) {
    return error.what_without_backtrace();
  }
  return std::nullopt;
}

bool mayReturnArgument(const Node* node) {
  const NodeRule* rule = ruleOf(node);
  if (rule == nullptr || rule->kind == NodeKind::Compute) {
    return false;
  }
  if (rule->kind == NodeKind::View) {
    return true;
  }
  const std::optional<Profile> from = profileOfValue(node->input(0));
  const std::optional<Profile> to = profileOfValue(node->output());
  return !from || !to || (from->dtype == to->dtype && from->sizes == to->sizes);
}

bool isPointwise(const Node* node) {
  const NodeRule* rule = ruleOf(node);
  return rule != nullptr && rule->sizes == ResultSizes::Broadcast;
}

bool BakedInput::fits(const c10::IValue& other) const {
  if (!only_ones || !value.isIntList() || !other.isIntList()) {
    return value == other;
  }
  const c10::List<int64_t> mine = value.toIntList();
  const c10::List<int64_t> theirs = other.toIntList();
  if (mine.size() != theirs.size()) {
    return false;
  }
  for (size_t i = 0; i < mine.size(); ++i) {
    if ((mine.get(i) == 1) != (theirs.get(i) == 1)) {
      return false;
    }
  }
  return true;
}

LoweredGraph lowerGraph(const Graph& graph, c10::ArrayRef<c10::IValue> inputs) {
  Definition definition;
  Lowering lowering(definition, graph, inputs.data());
  lowering.takeTensors();
  // The nodes are not changed; torch's interface of them asks for it.
  for (Node* node : const_cast<Graph&>(graph).nodes()) {
    if (node->kind() == torch::jit::prim::Constant ||
        node->kind() == torch::jit::prim::ListConstruct) {
      continue;  // read where they are used
    }
    try {
      lowerNode(lowering, node);
    } catch (const Refusal& refusal) {
      throw Refusal(std::string(node->kind().toQualString()) + ": " + refusal.what());
    }
  }
  for (const Value* output : graph.outputs()) {
    definition.output(inMemoryOrder(definition, lowering.tensor(output), output));
  }
  LoweredGraph lowered;
  lowered.text = definition.text();
  lowered.inputs = std::move(lowering.taken);
  lowered.baked = std::move(lowering.baked);
  lowered.fusion = definition.release();
  return lowered;
}

}  // namespace nvfuser::torchscript
