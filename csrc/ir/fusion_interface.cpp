/// Inputs and outputs of a Fusion, and outputs that reuse the storage of inputs.
#include <algorithm>

#include <ir/fusion.h>

namespace nvfuser {

void Fusion::addInput(Val* input) {
  if (input == nullptr || input->fusion() != this) {
    userError("addInput: ", input ? input->toString() : "null",
              " does not belong to this Fusion; create it under a FusionGuard of this Fusion");
  }
  if (std::find(inputs_.begin(), inputs_.end(), input) != inputs_.end()) {
    userError("addInput: ", input->toString(), " is registered already; an input is added once");
  }
  if (!input->isA<TensorView>() && !input->isScalar()) {
    userError("addInput: ", input->toString(), " is neither a tensor nor a scalar");
  }
  if (input->isConst()) {
    userError("addInput: ", input->toString(), " is a constant; an input is a symbolic value");
  }
  if (input->isA<TensorView>()) {
    auto* tv = input->as<TensorView>();
    if (tv->hasReduction()) {
      userError("addInput: ", tv->toString(),
                " has reduction axes; only tensors that were made as inputs can be registered");
    }
    tv->setMemoryType(MemoryType::Global);
  }
  input->is_fusion_input_ = true;
  input->forgetFingerprint();
  inputs_.push_back(input);
}

void Fusion::addOutput(Val* output) {
  if (output == nullptr || output->fusion() != this) {
    userError("addOutput: ", output ? output->toString() : "null",
              " does not belong to this Fusion");
  }
  if (!output->isA<TensorView>()) {
    userError("Non-TensorView outputs are not supported at this point: addOutput got ",
              output->toString(), "; turn it into a 0-dim tensor first");
  }
  auto* tv = output->as<TensorView>();
  if (!tv->isFusionInput() && tv->definition() == nullptr) {
    userError("addOutput: ", tv->toString(),
              " is neither an input nor computed by an operation; add it as an input first");
  }
  if (!tv->isFusionInput()) {
    tv->setMemoryType(MemoryType::Global);
  }
  output->is_fusion_output_ = true;
  auto alias = aliases_.find(output);
  if (alias != aliases_.end() && alias->second.visibility == OutputVisibility::kHidden) {
    alias->second.visibility = OutputVisibility::kVisible;
    std::erase(outputs_, output);  // that was there to be written only
  }
  outputs_.push_back(output);
}

void Fusion::removeInput(Val* input) {
  auto found = std::find(inputs_.begin(), inputs_.end(), input);
  if (found == inputs_.end()) {
    return;
  }
  inputs_.erase(found);
  input->is_fusion_input_ = false;
  input->forgetFingerprint();
}

void Fusion::removeOutput(Val* output) {
  auto found = std::find(outputs_.begin(), outputs_.end(), output);
  if (found == outputs_.end()) {
    return;
  }
  outputs_.erase(found);
  output->is_fusion_output_ = std::find(outputs_.begin(), outputs_.end(), output) != outputs_.end();
}

void Fusion::replaceOutput(Val* output, Val* replacement) {
  auto found = std::find(outputs_.begin(), outputs_.end(), output);
  if (found == outputs_.end()) {
    userError("replaceOutput: ", output ? output->toString() : "null",
              " is not an output of this Fusion");
  }
  if (replacement == nullptr || replacement->fusion() != this) {
    userError("replaceOutput: the replacement ",
              replacement ? replacement->toString() + " does not belong to this Fusion" : "is null",
              "; name a tensor that this Fusion computes");
  }
  std::replace(outputs_.begin(), outputs_.end(), output, replacement);
  output->is_fusion_output_ = false;
  replacement->is_fusion_output_ = true;
  if (replacement->isA<TensorView>() && !replacement->isFusionInput()) {
    replacement->as<TensorView>()->setMemoryType(MemoryType::Global);
  }
  if (output->isA<TensorView>() && !output->isFusionInput()) {
    output->as<TensorView>()->setMemoryType(MemoryType::Local);
  }
  auto alias = aliases_.find(output);
  if (alias != aliases_.end()) {
    aliases_[replacement] = alias->second;
    aliases_.erase(output);
  }
}

namespace {

/// Storage can be shared by tensors with the same number of axes, none of which has two constant
/// sizes.
void requireOneShape(const TensorView* output, const TensorView* input) {
  const auto written = TensorDomain::noReductions(output->getLogicalDomain());
  const auto given = TensorDomain::noReductions(input->getLogicalDomain());
  if (written.size() != given.size()) {
    userError("aliasOutputToInput: ", output, " has ", written.size(), " axes, but ", input,
              ", whose storage it is to reuse, has ", given.size());
  }
  for (size_t axis = 0; axis < written.size(); ++axis) {
    const Val* a = written[axis]->getMaybeExpandedExtent();
    const Val* b = given[axis]->getMaybeExpandedExtent();
    if (a->isConst() && b->isConst() && !(a->value() == b->value())) {
      userError("aliasOutputToInput: ", output, " cannot be written to ", input, ": sizes ", a,
                " and ", b, " of axis ", axis, " differ");
    }
  }
}

}  // namespace

void Fusion::aliasOutputToInput(Val* output, Val* input, AllocationType type) {
  for (const Val* val : {output, input}) {
    const char* which = val == output ? "output" : "input";
    if (val == nullptr) {
      userError("aliasOutputToInput: the ", which, " is null; name a tensor of this Fusion");
    }
    if (val->fusion() != this) {
      userError("aliasOutputToInput: the ", which, " ", val->toString(),
                " does not belong to this Fusion");
    }
  }
  if (!input->isFusionInput() || !input->isA<TensorView>()) {
    userError("aliasOutputToInput: ", input->toString(),
              " is not an input tensor; an output can only reuse the storage of an input");
  }
  if (input->dtype() != output->dtype()) {
    userError("aliasOutputToInput: ", output->toString(), " cannot be written to ",
              input->toString(), ": dtypes ", output->dtype(), " and ", input->dtype(), " differ");
  }
  if (!output->isA<TensorView>()) {
    userError("aliasOutputToInput: ", output->toString(),
              " is a scalar; only a tensor can reuse the storage of an input");
  }
  requireOneShape(output->as<TensorView>(), input->as<TensorView>());
  for (const auto& [other, alias] : aliases_) {
    if (alias.aliased_io == input && other != output) {
      userError("aliasOutputToInput: ", input->toString(), " is reused by ", other->toString(),
                " already; give ", output->toString(), " the storage of another input, or none");
    }
  }
  const auto before = aliases_.find(output);
  if (before != aliases_.end()) {
    if (before->second.aliased_io != input) {
      userError("aliasOutputToInput: ", output->toString(), " is written to ",
                before->second.aliased_io->toString(), " already; write set() of it to ",
                input->toString());
    }
    before->second.type = type;
    return;
  }
  const bool visible = output->isFusionOutput();
  if (!visible) {
    addOutput(output);
  }
  aliases_[output] = {type, input,
                      visible ? OutputVisibility::kVisible : OutputVisibility::kHidden};
}

const AliasInfo& Fusion::getOutputAlias(const Val* output) const {
  static const AliasInfo kNone;
  auto found = aliases_.find(output);
  return found == aliases_.end() ? kNone : found->second;
}

}  // namespace nvfuser
