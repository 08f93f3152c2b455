// Outputs of a launch plan: where each is written and how it lies.
#include <algorithm>
#include <tuple>

#include <runtime/in_place.h>
#include <runtime/launch_plan.h>
#include <runtime/memory_overlap.h>
#include <runtime/output_layout.h>

namespace nvfuser {

bool LaunchPlan::placeOutputs(LaunchValues& values) {
  const Fusion& fusion = compiled_->fusion();
  const std::vector<Val*>& declared = fusion.outputs();
  bool all_empty = true;
  KernelArgumentHolder shapes;
  const std::vector<std::optional<size_t>> updated = updatedInputs(fusion);
  std::vector<InPlace> in_place;
  for (size_t i = 0; i < declared.size(); ++i) {
    if (updated[i]) {
      in_place.push_back({i, *updated[i]});
      has_targets_ = true;
    }
  }
  in_place = directWrites(fusion, in_place, lowerTargetOf(compiled_->device()));
  for (size_t i = 0; i < declared.size(); ++i) {
    Output& output = outputs_.emplace_back();
    std::tie(output.sizes, output.strides) = outputLayout(declared[i]->as<TensorView>(), values);
    if (updated[i] && hasGaps(declared[i]->as<TensorView>())) {
      output.strides = values.arguments()[*updated[i]].tensor().strides();
    }
    output.dtype = declared[i]->dtype();
    const size_t first = positionOf(declared, declared[i]);
    const bool direct = std::any_of(in_place.begin(), in_place.end(),
                                    [&](const InPlace& pair) { return pair.output == i; });
    output.target = updated[i];
    if (first < i) {
      output.same_as = first;
    } else if (declared[i]->isFusionInput()) {
      output.input = positionOf(fusion.inputs(), declared[i]);
    } else if (direct) {
      output.input = updated[i];
    }
    all_empty &= std::count(output.sizes.begin(), output.sizes.end(), 0) != 0;
    shapes.pushTensorProxy(output.sizes, output.strides, output.dtype);
  }
  has_large_outputs_ = shapes.getSmallestIndexTypeOfArguments() == PrimDataType::Int;
  return all_empty;
}

KernelArgumentHolder LaunchPlan::allocateOutputs(const KernelArgumentHolder& args,
                                                 const RunContext& context) const {
  KernelArgumentHolder outputs;
  outputs.reserve(outputs_.size());
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const Output& output = outputs_[i];
    if (output.same_as) {
      outputs.push(outputs[*output.same_as].tensor());
    } else if (output.input) {
      outputs.push(args[*output.input].tensor());
    } else {
      outputs.push(allocateOutput(i, context));
    }
  }
  return outputs;
}

Tensor LaunchPlan::allocateOutput(size_t i, const RunContext& context) const {
  const Output& output = outputs_[i];
  return Tensor::emptyStrided(output.sizes, output.strides, output.dtype, compiled_->device(),
                              context);
}

bool LaunchPlan::writesDirectly(size_t i, const Tensor& memory,
                                const OccupiedMemory& occupied) const {
  const Output& output = outputs_[i];
  return output.input && occupied.tensorsAt(memory) == 1 &&
         sameLayout(memory, output.sizes, output.strides);
}

std::vector<const Tensor*> LaunchPlan::targets(const KernelArgumentHolder& args) const {
  std::vector<const Tensor*> targets;
  for (const Output& output : outputs_) {
    targets.push_back(output.target ? &args[*output.target].tensor() : nullptr);
  }
  return targets;
}

void LaunchPlan::checkOutputs(const KernelArgumentHolder& outputs) const {
  if (outputs.size() != outputs_.size()) {
    userError("run: ", outputs.size(), " output tensors were given for a fusion with ",
              outputs_.size(), " outputs");
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const Output& needed = outputs_[i];
    const Tensor& given = outputs[i].tensor();
    if (given.dtype() != needed.dtype || given.sizes() != needed.sizes ||
        (given.numel() > 0 && given.strides() != needed.strides)) {
      userError("run: output ", i, ", ", compiled_->fusion().outputs()[i]->toString(),
                ", needs a tensor ", needed.dtype, "[", join(needed.sizes, ", "),
                "] with strides [", join(needed.strides, ", "), "], got ", given.toString());
    }
  }
}

}  // namespace nvfuser
