#include <settling/settle.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include <ir/axis_map.h>
#include <ir/builder.h>
#include <ir/cloner.h>
#include <ops/alias.h>
#include <ops/axes.h>
#include <preseg_passes/rewrite.h>
#include <preseg_passes/substitute_scalars.h>
#include <settling/redefine.h>

namespace nvfuser::settling {

namespace {

using ops::axesOf;
using ops::constantOf;
using ops::extentOf;

class Settler {
 public:
  Settler(const Fusion& defined, const FormQuestions& questions, const std::string& answers)
      : fusion_(std::make_unique<Fusion>()) {
    IrCloner cloner = Fusion::copy(&defined, fusion_.get());
    for (size_t i = 0; i < answers.size(); ++i) {
      Val* extent = cloner.clone(questions.extents()[i]);
      counts_[extent] = static_cast<Count>(answers[i]);
    }
  }

  std::unique_ptr<Fusion> run() {
    FusionGuard guard(fusion_.get());
    fusion_->settleAxes();
    findChanged();
    preseg_passes::ScalarSubstitution(*fusion_, knownScalars()).apply();
    for (Val* input : fusion_->inputs()) {
      if (input->isA<TensorView>()) {
        stretchable(input->as<TensorView>());
      }
    }
    for (Expr* expr : fusion_->exprs()) {
      if (needsDefinition(expr)) {
        defineAgain(expr);
      }
    }
    preseg_passes::sweep(*fusion_);
    return std::move(fusion_);
  }

 private:
  /// Tensors with an axis of no or of one element that was not known to be so.
  void findChanged() {
    for (TensorView* tv : fusion_->allTvs()) {
      for (const auto* list : {&tv->getMaybeRootDomain(), &tv->getLogicalDomain()}) {
        for (const IterDomain* id : *list) {
          const auto found = counts_.find(extentOf(id));
          if (found != counts_.end() && found->second != Count::Many) {
            changed_.insert(tv);
          }
        }
      }
    }
  }

  /// Extents of no and of one element; and comparisons of others with one, which decide what is
  /// stretched.
  std::unordered_map<const Val*, Val*> knownScalars() const {
    std::unordered_map<const Val*, Val*> known;
    for (const auto& [extent, count] : counts_) {
      if (count != Count::Many) {
        known[extent] = count == Count::One ? fusion_->oneVal(extent->dtype())
                                            : fusion_->zeroVal(extent->dtype());
      }
    }
    Val* no = fusion_->falseVal();  // made before the walk over all values, if it has to be
    for (const auto& val : fusion_->vals()) {
      const auto found = counts_.find(comparedWithOne(val.get()));
      if (found != counts_.end() && found->second == Count::Many) {
        known[val.get()] = no;
      }
    }
    return known;
  }

  /// An input's iterated axes of one element become broadcast axes. What lay contiguous with such
  /// an axis lies contiguous with the next one only if that axis did.
  void stretchable(TensorView* tv) {
    const std::vector<IterDomain*>& logical = tv->getLogicalDomain();
    const std::vector<IterDomain*>& memory = tv->getMaybeAllocationDomain();
    if (changed_.count(tv) == 0 || tv->domain()->loop() != logical ||
        !std::is_permutation(memory.begin(), memory.end(), logical.begin(), logical.end())) {
      return;
    }
    std::unordered_map<const IterDomain*, IterDomain*> new_of;
    std::vector<IterDomain*> axes;
    for (IterDomain* id : logical) {
      const bool is_unit = constantOf(extentOf(id)) == 1;
      new_of[id] = is_unit ? ops::newBroadcastAxis() : id;
      axes.push_back(new_of[id]);
    }
    Contiguity contiguity;
    std::vector<IterDomain*> allocation;
    std::optional<size_t> outer;  // the last axis before this one that is in memory
    for (size_t i = 0; i < memory.size(); ++i) {
      IterDomain* id = new_of.at(memory[i]);
      allocation.push_back(id);
      const std::optional<bool> declared = tv->getContiguity()[i];
      contiguity.push_back(id->isBroadcast() ? std::nullopt : declared);
      if (!id->isBroadcast()) {
        outer = i;
        continue;
      }
      if (memory[i] != id && outer && !declared.value_or(true)) {
        contiguity[*outer] = false;
      }
    }
    const bool plain = !tv->hasAllocation();
    auto* domain = IrBuilder::create<TensorDomain>(std::vector<IterDomain*>{}, axes,
                                                   plain ? std::vector<IterDomain*>{} : allocation,
                                                   axes, contiguity);
    ReplaceDomain::set(tv, domain);
  }

  bool needsDefinition(const Expr* expr) const {
    for (const Val* val : expr->inputs()) {
      if (changed_.count(val) != 0) {
        return true;
      }
    }
    for (const Val* val : expr->outputs()) {
      if (changed_.count(val) != 0) {
        return true;
      }
    }
    return false;
  }

  void defineAgain(Expr* expr) {
    if (expr->isA<SqueezeOp>() && !squeezesBroadcasts(expr->as<SqueezeOp>())) {
      return;  // of no call: shape inference refuses it
    }
    std::vector<TensorView*> old;
    for (Val* out : expr->outputs()) {
      old.push_back(out->as<TensorView>());
    }
    const std::vector<TensorView*> made = redefine(expr);
    for (size_t i = 0; i < old.size(); ++i) {
      const bool differs = !preseg_passes::sameForm(old[i], made[i]) || changed_.count(old[i]) != 0;
      preseg_passes::replaceTensor(old[i], made[i]);
      if (differs) {
        changed_.insert(made[i]);
      }
    }
  }

  static bool squeezesBroadcasts(const SqueezeOp* op) {
    const std::vector<IterDomain*> axes = axesOf(op->in()->as<TensorView>());
    for (size_t i = 0; i < axes.size(); ++i) {
      if (op->isSqueezeDim(i) && !axes[i]->isBroadcast()) {
        return false;
      }
    }
    return true;
  }

  std::unique_ptr<Fusion> fusion_;
  std::unordered_map<const Val*, Count> counts_;
  std::unordered_set<const Val*> changed_;
};

}  // namespace

std::unique_ptr<Fusion> settle(const Fusion& defined, const FormQuestions& questions,
                               const std::string& answers) {
  return Settler(defined, questions, answers).run();
}

}  // namespace nvfuser::settling
