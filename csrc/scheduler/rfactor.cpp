/// rFactor: a reduction in two steps. The chosen loop axes are reduced first, into a new tensor
/// that keeps the others as axes of its own; the old tensor then reduces those.
///
///   T1[i0, r1] = sum(T0),  split(1, 4): [i0, r1/4, r4],  rFactor({1}):
///   T2[i0, r1/4, i4] = sum(T0)   root [i0, r1], logical [i0, r1/4, i4]
///   T1[i0, r4]       = sum(T2)
#include <scheduler/rfactor.h>

#include <algorithm>
#include <set>
#include <unordered_set>

#include <id_model/axes_before.h>
#include <ir/axis_map.h>
#include <ir/builder.h>
#include <scheduler/copy_axes.h>
#include <scheduler/replay_loop.h>
#include <scheduler/schedule_error.h>

namespace nvfuser {

namespace {

/// Splits the domain of one reduction result at the loop axes `positions`.
class DomainFactoring {
 public:
  DomainFactoring(const TensorDomain* domain, const std::vector<int64_t>& positions)
      : domain_(domain) {
    for (int64_t i : positions) {
      chosen_.push_back(domain->axis(i));
    }
    if (domain->hasRoot()) {
      transforms_ = transformsBefore(domain->logical(), domain->root());
    }
    frontier_ = domain->logical();
    for (Expr* transform : transformsBefore(chosen_, domain->logical())) {
      transforms_.push_back(transform);
      made_.insert(transform->outputs().begin(), transform->outputs().end());
      applyTransform(frontier_, transform);
    }
    reduced_.insert(chosen_.begin(), chosen_.end());
    for (auto transform = transforms_.rbegin(); transform != transforms_.rend(); ++transform) {
      const auto& outs = (*transform)->outputs();
      if (std::any_of(outs.begin(), outs.end(),
                      [&](Val* out) { return reduced_.count(out) != 0; })) {
        reduced_.insert((*transform)->inputs().begin(), (*transform)->inputs().end());
      }
    }
  }

  /// All axes, of which those chosen (and what they come from) are reduced and no others.
  TensorDomain* first() const {
    AxisCopier copier;
    copier.make = [&](const IterDomain* id) {
      IterDomainBuilder axis(id);
      if (id->isReduction() && reduced_.count(id) == 0) {
        axis.iter_type(IterType::Iteration);
      }
      if (made_.count(id) != 0) {
        axis.is_rfactor_domain(true);
      }
      return axis.build();
    };
    std::vector<IterDomain*> root = copier.copiesOf(domain_->maybeRoot());
    for (const Expr* transform : transforms_) {
      copier.replay(transform);
    }
    std::vector<IterDomain*> logical = copier.copiesOf(frontier_);
    std::vector<IterDomain*> loop = copier.replayTo(domain_->loop(), frontier_);
    if (transforms_.empty()) {
      root.clear();
    }
    Contiguity contiguity = TensorDomain::getContiguityFilledWith(logical, true);
    return make(std::move(root), std::move(logical), {}, std::move(loop), std::move(contiguity),
                copier);
  }

  /// The axes that are left, those of the reduction still reduced.
  TensorDomain* second() const {
    AxisCopier copier;
    std::vector<IterDomain*> logical;
    for (const IterDomain* id : frontier_) {
      if (isChosen(id)) {
        continue;
      }
      logical.push_back(IterDomainBuilder(id).resetRfactor().build());
      copier.map(id, logical.back());
    }
    std::vector<IterDomain*> left;
    for (IterDomain* id : domain_->loop()) {
      if (!isChosen(id)) {
        left.push_back(id);
      }
    }
    std::vector<IterDomain*> loop = copier.replayTo(left, frontier_);
    copier.takeOver(domain_->fusion());

    // Memory order and contiguity are those of the axes that stay; a reduction has no place in
    // memory.
    std::vector<IterDomain*> in_memory;
    Contiguity contiguity;
    const auto& old_memory = domain_->maybeAllocation();
    for (size_t i = 0; i < old_memory.size(); ++i) {
      if (old_memory[i]->isReduction() || !copier.has(old_memory[i])) {
        continue;
      }
      in_memory.push_back(copier.copyOf(old_memory[i]));
      contiguity.push_back(domain_->contiguity()[i]);
    }
    std::vector<IterDomain*> allocation;
    if (domain_->hasAllocation()) {
      allocation = in_memory;
      for (IterDomain* id : logical) {
        if (!id->isReduction()) {
          continue;
        }
        allocation.push_back(id);
        contiguity.push_back(true);
      }
    } else {
      Contiguity of_logical;
      for (IterDomain* id : logical) {
        auto found = std::find(in_memory.begin(), in_memory.end(), id);
        of_logical.push_back(found == in_memory.end()
                                 ? std::optional<bool>(true)
                                 : contiguity[static_cast<size_t>(found - in_memory.begin())]);
      }
      contiguity = std::move(of_logical);
    }
    return make({}, std::move(logical), std::move(allocation), std::move(loop),
                std::move(contiguity), copier);
  }

 private:
  bool isChosen(const IterDomain* id) const {
    return std::find(chosen_.begin(), chosen_.end(), id) != chosen_.end();
  }

  TensorDomain* make(std::vector<IterDomain*> root, std::vector<IterDomain*> logical,
                     std::vector<IterDomain*> allocation, std::vector<IterDomain*> loop,
                     Contiguity contiguity, AxisCopier& copier) const {
    auto* result = IrBuilder::createInContainer<TensorDomain>(
        domain_->fusion(), std::move(root), logical, std::move(allocation), logical,
        std::move(contiguity), copier.copyAdditional(domain_));
    result->setLoopDomain(std::move(loop));
    return result;
  }

  const TensorDomain* domain_;
  std::vector<IterDomain*> chosen_;
  /// Transforms from root to `frontier_`: the operation's own and those that separate the chosen
  /// axes.
  std::vector<Expr*> transforms_;
  std::vector<IterDomain*> frontier_;
  /// Axes that come of separating the chosen ones.
  std::unordered_set<const Val*> made_;
  /// The chosen axes and all that they come from.
  std::unordered_set<const Val*> reduced_;
};

/// What the first step starts from, so that the initial value enters once: in the second step.
Val* identityOf(const ReductionOp* op) {
  switch (op->getReductionOpType()) {
    case BinaryOpType::Add:
    case BinaryOpType::BitwiseXor:
      return op->fusion()->zeroVal(op->out()->dtype());
    case BinaryOpType::Mul:
      return op->fusion()->oneVal(op->out()->dtype());
    default:
      return op->init();  // max, min, and, or: entering twice changes nothing
  }
}

void requireReduction(TensorView* tv) {
  if (tv->definition() != nullptr && isReduction(tv->definition())) {
    return;
  }
  scheduleError("rFactor", tv,
                text("T", tv->name(), " is computed by ",
                     tv->definition() ? tv->definition()->getOpString() : "nothing",
                     ", which is no reduction"),
                "factor the result of a reduction or of Welford");
}

void requireFree(const TensorView* tv) {
  const int64_t shared = std::max(tv->getComputeAtPosition(), tv->getMaxProducerPosition());
  if (shared == 0) {
    return;
  }
  scheduleError(
      "rFactor", tv,
      text("T", tv->name(), " shares its first ", shared, " loops with other tensors already"),
      "factor before inlining, or call resetInlining(fusion) before");
}

/// An axis that the tensor keeps and that a loop axis has merged in; null if there is none.
const IterDomain* keptPartOf(const TensorView* tv, int64_t axis) {
  const auto& logical = tv->getLogicalDomain();
  for (const Expr* transform : transformsBefore({tv->axis(axis)}, logical)) {
    for (const Val* in : transform->inputs()) {
      const auto* id = in->as<IterDomain>();
      if (!id->isReduction() && std::find(logical.begin(), logical.end(), id) != logical.end()) {
        return id;
      }
    }
  }
  return nullptr;
}

/// The positions counted from the front, in order.
std::vector<int64_t> requireReductionAxes(const TensorView* tv, const std::vector<int64_t>& axes) {
  std::vector<int64_t> chosen;
  for (int64_t axis : axes) {
    chosen.push_back(requireAxis("rFactor", tv, axis));
  }
  if (const auto problem = refusesRFactor(tv, chosen)) {
    scheduleError("rFactor", tv, problem->what, problem->help);
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

}  // namespace

std::optional<ScheduleProblem> refusesRFactor(const TensorView* tv,
                                              const std::vector<int64_t>& axes) {
  if (axes.empty()) {
    return ScheduleProblem{text("no axis of T", tv->name(), " was chosen"),
                           "name the reduction axes that the first step reduces"};
  }
  std::set<int64_t> chosen;
  for (int64_t axis : axes) {
    if (!tv->axis(axis)->isReduction()) {
      return ScheduleProblem{text(axisText(tv, axis), " is no reduction"), "choose reduction axes"};
    }
    if (const IterDomain* kept = keptPartOf(tv, axis)) {
      return ScheduleProblem{text(axisText(tv, axis), " has ", kept, " merged in, which T",
                                  tv->name(), " does not reduce"),
                             "choose an axis that is made of reductions alone"};
    }
    if (!chosen.insert(axis).second) {
      return ScheduleProblem{text(axisText(tv, axis), " is chosen twice"), "name each axis once"};
    }
  }
  const auto& loop = tv->getLoopDomain();
  const auto reductions = std::count_if(loop.begin(), loop.end(),
                                        [](const IterDomain* id) { return id->isReduction(); });
  if (reductions == static_cast<int64_t>(chosen.size())) {
    return ScheduleProblem{text("all reduction axes of T", tv->name(),
                                " were chosen, so nothing is left for the second step"),
                           "split a reduction axis first and choose a part of it"};
  }
  return std::nullopt;
}

TensorView* TensorView::rFactor(const std::vector<int64_t>& axes) {
  requireReduction(this);
  if (definition()->outputs().size() > 1) {
    scheduleError("rFactor", this,
                  text("T", name(), " is one of ", definition()->outputs().size(), " outputs of ",
                       definition()->getOpString(), ", which are factored together"),
                  "call rFactor(axes, {avg, var_sum, n}) with all of them");
  }
  return rFactor(axes, {this}).front();
}

std::vector<TensorView*> TensorView::rFactor(const std::vector<int64_t>& axes,
                                             const std::vector<TensorView*>& tvs) {
  requireReduction(this);
  Expr* operation = definition();
  const std::vector<TensorView*> outputs = tensorOutputs(operation);
  if (!std::is_permutation(outputs.begin(), outputs.end(), tvs.begin(), tvs.end())) {
    scheduleError(
        "rFactor", this,
        text("the tensors given are [",
             join(tvs, ", ",
                  [](TensorView* tv) { return tv ? tv->toInlineString() : std::string("null"); }),
             "], but ", operation->getOpString(), " computes [",
             join(outputs, ", ", [](TensorView* tv) { return tv->toInlineString(); }), "]"),
        "give exactly the outputs of the reduction");
  }
  for (TensorView* tv : outputs) {
    requireFree(tv);
  }
  const std::vector<int64_t> positions = requireReductionAxes(this, axes);
  for (TensorView* tv : outputs) {
    if (tv != this) {
      applyReplay(tv, replayLoop(this, nDims(), tv, ReplayDirection::Sibling));
    }
  }

  std::vector<TensorView*> first_step;
  for (TensorView* tv : tvs) {
    const DomainFactoring factoring(tv->domain(), positions);
    auto* partial = IrBuilder::createInContainer<TensorView>(fusion(), factoring.first(),
                                                             tv->dtype(), MemoryType::Local);
    ReplaceDomain::set(tv, factoring.second());
    first_step.push_back(partial);
  }
  auto partialOf = [&](Val* out) {
    return first_step[static_cast<size_t>(std::find(tvs.begin(), tvs.end(), out) - tvs.begin())];
  };
  if (operation->isA<ReductionOp>()) {
    // Initial values are attributes, so the first step is a new expression as well.
    auto* op = operation->as<ReductionOp>();
    const BinaryOpType type = op->getReductionOpType();
    Val* init = op->init();
    Val* identity = identityOf(op);
    Val* in = op->in();
    const bool allreduce = op->isAllreduce();
    fusion()->removeExpr(operation);
    IrBuilder::createInContainer<ReductionOp>(fusion(), type, identity, first_step[0], in,
                                              allreduce);
    IrBuilder::createInContainer<ReductionOp>(fusion(), type, init, this, first_step[0], allreduce);
    return first_step;
  }
  if (operation->isA<OnlineSoftmaxOp>()) {
    Val* max = operation->output(0);
    Val* sum = operation->output(1);
    for (Val* out : {max, sum}) {
      fusion()->replaceExprOutput(operation, out, partialOf(out));
    }
    IrBuilder::createInContainer<OnlineSoftmaxOp>(fusion(), max, sum, partialOf(max),
                                                  partialOf(sum));
    return first_step;
  }
  auto* op = operation->as<WelfordOp>();
  Val* avg = op->outAvg();
  Val* var = op->outVar();
  Val* n = op->outN();
  for (Val* out : {avg, var, n}) {
    fusion()->replaceExprOutput(operation, out, partialOf(out));
  }
  IrBuilder::createInContainer<WelfordOp>(fusion(), avg, var, n, partialOf(avg), partialOf(var),
                                          partialOf(n));
  return first_step;
}

}  // namespace nvfuser
