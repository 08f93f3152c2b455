#include <preseg_passes/read_outputs.h>

#include <set>
#include <vector>

#include <ir/internal_nodes.h>
#include <ir/view_ops.h>
#include <preseg_passes/rewrite.h>

namespace nvfuser::preseg_passes {

namespace {

constexpr size_t kMostStepsBack = 32;

size_t numAxes(const Val* tv) {
  return TensorDomain::noBroadcasts(
             TensorDomain::noReductions(tv->as<TensorView>()->getLogicalDomain()))
      .size();
}

/// Whether it is made of results of reductions element by element: a value of a row, which
/// kernels of reductions keep where it is.
bool isOfReductions(const TensorView* tv) {
  std::vector<const Expr*> open{tv->definition()};
  std::set<const Expr*> seen{nullptr};
  while (!open.empty() && seen.size() < kMostStepsBack) {
    const Expr* made = open.back();
    open.pop_back();
    if (!seen.insert(made).second) {
      continue;
    }
    if (made->isOneOf<ReductionOp, WelfordOp>()) {
      return true;
    }
    const bool goes_on =
        made->isOneOf<UnaryOp, BinaryOp, TernaryOp, BroadcastOp, SqueezeOp>() || isPlainCopy(made);
    for (const Val* in : made->inputs()) {
      if (goes_on && in->isA<TensorView>() && numAxes(made->output(0)) == numAxes(tv)) {
        open.push_back(in->definition());
      }
    }
  }
  return false;
}

}  // namespace

void readOutputs(Fusion& fusion) {
  for (Val* output : fusion.outputs()) {
    Expr* copy = output->definition();
    if (copy == nullptr || !isPlainCopy(copy) || fusion.getOutputAliases().count(output) != 0) {
      continue;
    }
    auto* source = copy->input(0)->as<TensorView>();
    if (source->isFusionInput() || source->isFusionOutput() || source->dtype() != output->dtype() ||
        !sameForm(source, output->as<TensorView>()) || isOfReductions(source)) {
      continue;
    }
    for (Expr* reader : fusion.usesOf(source)) {
      if (reader != copy && !isViewOp(reader) && !reader->isA<LoadStoreOp>()) {
        fusion.replaceInput(reader, source, output);
      }
    }
  }
}

}  // namespace nvfuser::preseg_passes
