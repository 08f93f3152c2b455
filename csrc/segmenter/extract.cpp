#include <segmenter/extract.h>

#include <ir/builder.h>
#include <ir/cloner.h>

namespace nvfuser {

namespace {

/// A tensor between two kernels is for its reader an input like any other.
void becomePlainInput(TensorView* tv) {
  std::vector<IterDomain*> axes =
      IterDomain::clone(TensorDomain::noReductions(tv->getLogicalDomain()));
  auto* domain = IrBuilder::createInContainer<TensorDomain>(
      tv->fusion(), axes, TensorDomain::getContiguityFilledWith(axes, true));
  ReplaceDomain::set(tv, domain);
}

}  // namespace

ExtractedGroup extractGroup(const Fusion& whole, const Group& group) {
  ExtractedGroup result;
  result.fusion = std::make_unique<Fusion>();
  IrCloner cloner = Fusion::copy(&whole, result.fusion.get());
  Fusion& part = *result.fusion;
  for (Val* output : std::vector<Val*>(part.outputs())) {
    part.removeOutput(output);
  }
  for (Val* input : std::vector<Val*>(part.inputs())) {
    if (input->isA<TensorView>()) {
      part.removeInput(input);
    }
  }
  for (const Val* input : whole.inputs()) {
    if (!input->isA<TensorView>()) {
      result.inputs.push_back(input);
    }
  }
  for (TensorView* in : group.inputs) {
    TensorView* copy = cloner.clone(in);
    if (!in->isFusionInput()) {
      if (copy->definition() != nullptr) {
        part.removeExpr(copy->definition());
      }
      becomePlainInput(copy);
    }
    part.addInput(copy);
    result.inputs.push_back(in);
  }
  for (TensorView* out : group.outputs) {
    part.addOutput(cloner.clone(out));
    result.outputs.push_back(out);
  }
  return result;
}

}  // namespace nvfuser
