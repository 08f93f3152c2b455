#include <scheduler/pointwise/loop_nests.h>

#include <algorithm>
#include <unordered_map>

#include <id_model/id_graph.h>
#include <ir/axis_map.h>
#include <ir/builder.h>
#include <ir/internal_nodes.h>
#include <scheduler/cache_borders.h>
#include <scheduler/copy_axes.h>
#include <scheduler/copy_operation.h>
#include <scheduler/pointwise/schedule.h>
#include <scheduler/window_tensors.h>

namespace nvfuser::pointwise {

using scheduler_tools::axesOf;

namespace {

/// Whether the axes of one are those of the other, in any order.
bool sameAxes(const TensorView* a, const TensorView* b, const IdGraph& exact) {
  const std::vector<IterDomain*> of_b = axesOf(b);
  const std::vector<IterDomain*> of_a = axesOf(a);
  return of_a.size() == of_b.size() && std::all_of(of_a.begin(), of_a.end(), [&](IterDomain* id) {
           return std::any_of(of_b.begin(), of_b.end(),
                              [&](IterDomain* other) { return exact.mapped(id, other); });
         });
}

const TensorView* outputOf(const Fusion& fusion, size_t position) {
  return fusion.outputs()[position]->as<TensorView>();
}

/// Random numbers are those of one operation; results of several tensors stay together.
bool canCopy(const Expr* expr) { return expr->outputs().size() == 1 && !expr->isA<RNGOp>(); }

bool isOutputOf(const Fusion& fusion, const LoopNest& nest, const TensorView* tv) {
  return std::any_of(nest.outputs.begin(), nest.outputs.end(),
                     [&](size_t position) { return fusion.outputs()[position] == tv; });
}

TensorView* copyOf(TensorView* tv) {
  Fusion* fusion = tv->fusion();
  const std::vector<IterDomain*>& from = tv->getMaybeRootDomain();
  const std::vector<IterDomain*> root = IterDomain::clone(from);
  AxisCopier copier;
  for (size_t i = 0; i < from.size(); ++i) {
    copier.map(from[i], root[i]);
  }
  const std::vector<IterDomain*> logical =
      tv->hasRoot() ? copier.replayTo(tv->getLogicalDomain(), from) : root;
  auto* domain = IrBuilder::createInContainer<TensorDomain>(
      fusion, tv->hasRoot() ? root : std::vector<IterDomain*>{}, logical,
      std::vector<IterDomain*>{}, logical, TensorDomain::getContiguityFilledWith(logical, true));
  return IrBuilder::createInContainer<TensorView>(fusion, domain, tv->dtype(), MemoryType::Local);
}

}  // namespace

std::vector<LoopNest> loopNests(const Fusion& fusion) {
  std::vector<LoopNest> nests;
  const int64_t first = referenceOutput(fusion);
  if (first < 0) {
    return nests;
  }
  const IdGraph exact(fusion, IdGraph::Mode::Exact);
  nests.push_back({static_cast<size_t>(first), {static_cast<size_t>(first)}});
  for (size_t i = 0; i < fusion.outputs().size(); ++i) {
    const Val* output = fusion.outputs()[i];
    if (!output->isA<TensorView>() || output->isFusionInput() || i == static_cast<size_t>(first)) {
      continue;
    }
    const auto nest = std::find_if(nests.begin(), nests.end(), [&](const LoopNest& known) {
      return sameAxes(outputOf(fusion, i), outputOf(fusion, known.reference), exact);
    });
    if (nest != nests.end()) {
      nest->outputs.push_back(i);
    } else {
      nests.push_back({i, {i}});
    }
  }
  return nests;
}

std::unordered_set<TensorView*> tensorsOf(const Fusion& fusion, const LoopNest& nest) {
  std::unordered_set<TensorView*> found;
  std::vector<TensorView*> open;
  for (size_t position : nest.outputs) {
    open.push_back(fusion.outputs()[position]->as<TensorView>());
  }
  while (!open.empty()) {
    TensorView* tv = open.back();
    open.pop_back();
    if (found.insert(tv).second && tv->definition() != nullptr) {
      const std::vector<TensorView*> operands = tensorInputs(tv->definition());
      open.insert(open.end(), operands.begin(), operands.end());
    }
  }
  return found;
}

bool separate(Fusion* fusion, const std::vector<LoopNest>& nests) {
  std::unordered_set<TensorView*> taken;
  for (const LoopNest& nest : nests) {
    const std::unordered_set<TensorView*> needed = tensorsOf(*fusion, nest);
    std::unordered_map<const Val*, TensorView*> copies;
    for (Expr* expr : fusion->exprs()) {
      auto* out = dynamic_cast<TensorView*>(expr->output(0));
      if (out == nullptr || needed.count(out) == 0) {
        continue;
      }
      std::vector<Val*> operands = expr->inputs();
      bool changed = false;
      for (Val*& operand : operands) {
        const auto copy = copies.find(operand);
        if (copy != copies.end()) {
          operand = copy->second;
          changed = true;
        }
      }
      if (taken.count(out) == 0) {
        for (size_t i = 0; i < operands.size() && changed; ++i) {
          if (operands[i] != expr->input(i)) {
            fusion->replaceInput(expr, expr->input(i), operands[i]);
          }
        }
        continue;
      }
      if (!canCopy(expr)) {
        return false;
      }
      TensorView* copy = copyOf(out);
      copyOperation(expr, std::move(operands), {copy});
      copies[out] = copy;
      // An output is computed in its own nest, however many others need it on the way to theirs.
      if (out->isFusionOutput() && isOutputOf(*fusion, nest, out)) {
        scheduler_utils::handOverOutput(fusion, out, copy);
      }
    }
    for (TensorView* tv : tensorsOf(*fusion, nest)) {
      if (!tv->isFusionInput()) {
        taken.insert(tv);
      }
    }
  }
  return true;
}

}  // namespace nvfuser::pointwise
