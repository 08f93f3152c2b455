#include <multidevice/local_fusion.h>

#include <algorithm>
#include <map>
#include <unordered_set>
#include <utility>

#include <ir/axis_map.h>
#include <ir/builder.h>
#include <ir/cloner.h>
#include <ir/composite_nodes.h>
#include <multidevice/declarations.h>
#include <multidevice/define_parts.h>
#include <multidevice/join_exchanges.h>
#include <multidevice/plan_parts.h>
#include <multidevice/propagate.h>
#include <multidevice/reshard.h>
#include <multidevice/way_of_resharding.h>
#include <ops/alias.h>
#include <ops/arith.h>
#include <ops/axes.h>
#include <ops/composite.h>
#include <preseg_passes/rewrite.h>
#include <preseg_passes/substitute_scalars.h>

namespace nvfuser::multidevice {

namespace {

using ops::axesOf;
using ops::constantOf;
using ops::extentOf;

class Maker {
 public:
  explicit Maker(const Fusion& global) : fusion_(std::make_unique<Fusion>()) {
    Fusion::copy(&global, fusion_.get());
  }

  LocalFusion run() {
    FusionGuard guard(fusion_.get());
    Declarations declarations = takeDeclarations(*fusion_);
    mesh_ = std::move(declarations.mesh);
    declared_ = std::move(declarations.shardings);
    of_one_ = std::move(declarations.of_one);
    sizes_.setMesh(mesh_);
    Multiples multiples(mesh_);
    for (const auto& [tv, sharding] : declared_) {
      multiples.add(tv, sharding);
    }
    std::vector<Expr*> exprs;
    Flows flows;
    for (Expr* expr : fusion_->exprs()) {
      if (!tensorOutputs(expr).empty()) {  // no arithmetic of sizes
        exprs.push_back(expr);
        flows.emplace(expr, AxisFlow(expr, multiples));
      }
    }
    const std::vector<Val*> outputs = fusion_->outputs();
    targets_ = propagate(exprs, flows, declared_);
    cutJoinedParts(exprs, flows);
    needs_.find(exprs, flows, targets_, planner_);
    cutInputs();
    Resharder resharder(mesh_, [&](ParallelType axis) { return coordinate(axis); }, asked_);
    for (Expr* expr : exprs) {
      define(expr, flows.at(expr), resharder);
    }
    LocalFusion local;
    local.inputs = shardingsNow(fusion_->inputs());
    local.outputs = shardingsNow(outputs);
    for (const Val* input : fusion_->inputs()) {
      local.wanted.push_back(needs_.common(input));
    }
    for (auto [axis, scalar] : coordinates_) {
      fusion_->addInput(scalar);
      local.coordinates.push_back(axis);
    }
    preseg_passes::sweep(*fusion_);
    local.exchanges = joinExchanges(*fusion_, asked_);
    preseg_passes::sweep(*fusion_);
    fusion_->verify();
    local.fusion = std::move(fusion_);
    local.mesh = mesh_;
    return local;
  }

 private:
  /// Of global tensors; of scalars nothing.
  std::vector<Sharding> shardingsNow(const std::vector<Val*>& vals) const {
    std::vector<Sharding> all;
    for (const Val* val : vals) {
      Sharding& sharding = all.emplace_back();
      if (!val->isA<TensorView>()) {
        continue;
      }
      const auto* tv = val->as<TensorView>();
      sharding = now_.at(tv);
      const auto of_one = of_one_.find(tv);
      for (const ParallelType axis : kMeshAxes) {
        if (of_one != of_one_.end() && of_one->second[axis]) {
          sharding[axis] = of_one->second[axis];
        }
      }
    }
    return all;
  }

  Val* coordinate(ParallelType axis) {
    Val*& scalar = coordinates_[axis];
    if (scalar == nullptr) {
      scalar = IrBuilder::create<Val>(DataType::Int);
    }
    return scalar;
  }

  /// Inputs get the sizes of their parts. What a symbol said of the whole is as many parts.
  void cutInputs() {
    std::unordered_map<const Val*, Val*> whole;
    for (Val* input : fusion_->inputs()) {
      if (!input->isA<TensorView>()) {
        continue;
      }
      auto* tv = input->as<TensorView>();
      const Sharding& sharding = declared_.at(tv);
      std::vector<IterDomain*> logical;
      std::unordered_map<const IterDomain*, IterDomain*> new_of;
      const std::vector<IterDomain*> axes = tv->getLogicalDomain();
      for (size_t i = 0; i < axes.size(); ++i) {
        const auto mesh_axis = sharding.of(i);
        new_of[axes[i]] = mesh_axis ? cutAxis(tv, i, *mesh_axis, whole) : axes[i];
        logical.push_back(new_of[axes[i]]);
      }
      now_[tv] = sharding;
      local_[tv] = tv;
      if (logical == axes) {
        continue;
      }
      std::vector<IterDomain*> memory;
      Contiguity contiguity = tv->getContiguity();
      for (size_t i = 0; i < axes.size(); ++i) {
        memory.push_back(new_of.at(tv->getMaybeAllocationDomain()[i]));
        if (memory.back()->isBroadcast()) {
          contiguity[i] = std::nullopt;
        }
      }
      ReplaceDomain::set(
          tv, IrBuilder::create<TensorDomain>(
                  std::vector<IterDomain*>(), logical,
                  tv->hasAllocation() ? memory : std::vector<IterDomain*>(), logical, contiguity));
    }
    preseg_passes::ScalarSubstitution(*fusion_, std::move(whole)).apply();
  }

  IterDomain* cutAxis(const TensorView* tv, size_t axis, ParallelType mesh_axis,
                      std::unordered_map<const Val*, Val*>& whole) {
    const IterDomain* id = tv->getLogicalDomain()[axis];
    Val* extent = extentOf(id);
    auto ofSize = [&](Val* size) {
      return id->hasExpandedExtent() ? IterDomainBuilder(id).expanded_extent(size).build()
             : constantOf(size)      ? ops::newAxis(size)
                                     : ops::newIterAxis(size);
    };
    if (constantOf(extent)) {
      return ofSize(sizes_.partOf(extent, mesh_axis, tv, axis));
    }
    Val* part = IrBuilder::create<Val>(extent->dtype());
    whole[extent] = sizes_.wholeOf(part, mesh_axis);
    return ofSize(part);
  }

  /// The parts of a join are cut as its result is: where they lie in it, their pads say, so that
  /// nothing may come between these and the join.
  void cutJoinedParts(const std::vector<Expr*>& exprs, const Flows& flows) {
    for (const Expr* expr : exprs) {
      if (!expr->isA<CatOp>()) {
        continue;
      }
      const auto* out = expr->output(0)->as<TensorView>();
      Sharding common = targets_.at(out);
      for (const ParallelType mesh_axis : kMeshAxes) {
        if (common[mesh_axis] && !flows.at(expr).canCut(out, *common[mesh_axis], mesh_axis)) {
          common[mesh_axis] = std::nullopt;
        }
      }
      for (const TensorView* part : tensorInputs(expr)) {
        if (part->definition() != nullptr && part->definition()->isA<PadOp>()) {
          targets_[part] = common;
          joined_parts_.insert(part);
        }
      }
    }
  }

  void define(Expr* expr, const AxisFlow& flow, Resharder& resharder) {
    std::vector<const TensorView*> ins;
    for (const TensorView* in : tensorInputs(expr)) {
      ins.push_back(global_.count(in) != 0 ? global_.at(in) : in);
    }
    std::vector<const TensorView*> outs;
    for (const TensorView* out : tensorOutputs(expr)) {
      outs.push_back(out);
    }
    const PartsPlan plan = planner_.planOf(ins, outs, flow);
    const std::string why = text("for ", expr->getOpString(), " (", *outs[0], ")");
    for (const TensorView* in : ins) {
      TensorView* present = local_.at(in);
      const Sharding needed = planner_.neededOf(in, plan, outs[0], flow);
      TensorView* fit = shared(in, needed, why, resharder);
      if (fit != present) {
        fusion_->replaceInput(expr, present, fit);
      }
    }
    std::vector<TensorView*> made = defineParts(expr, ins.empty() ? nullptr : ins[0], outs[0],
                                                plan.results[0], !plan.sums.empty(), sizes_);
    for (size_t k = 0; k < outs.size(); ++k) {
      Sharding sharding = plan.results[k];
      const Sharding& target = targets_.at(outs[k]);
      for (auto [mesh_axis, by] : plan.sums) {
        const std::optional<size_t> axis = target[mesh_axis];
        // All sums at once bring each device as much as its own ones, and then those of the others.
        const bool scatters =
            axis && !sharding.of(*axis) && !needs_.isNeededWhole(outs[k], mesh_axis);
        made[k] = resharder.combine(made[k], mesh_axis, by, scatters ? axis : std::nullopt, why);
        sharding[mesh_axis] = scatters ? axis : std::nullopt;
      }
      if (!plan.sums.empty() && expr->isA<LinearOp>() && expr->as<LinearOp>()->hasBias()) {
        made[k] = withBias(expr, made[k], sharding, resharder, why);
      }
      auto* old = const_cast<TensorView*>(outs[k]);
      TensorView* computed = made[k];
      if (sharding != target) {
        made[k] = resharder.reshard(computed, sharding, target, why);
      }
      if (isKnown(made[k])) {
        made[k] = set(made[k]);  // an operand that nothing was done to
      } else if (!isKnown(computed)) {
        forms_[old].push_back({sharding, computed});
        global_[computed] = old;
      }
      preseg_passes::replaceTensor(old, made[k]);
      local_[old] = made[k];
      global_[made[k]] = old;
      now_[old] = target;
    }
  }

  bool isKnown(const TensorView* tv) const {
    return local_.count(tv) != 0 || global_.count(tv) != 0;
  }

  /// A tensor in another sharding, made once.
  TensorView* shared(const TensorView* in, const Sharding& needed, const std::string& why,
                     Resharder& resharder) {
    if (needed == now_.at(in)) {
      return local_.at(in);
    }
    if (TensorView* made = formOf(in, needed)) {
      return made;
    }
    TensorView* made = permutedAnew(in, needed, why, resharder);
    if (made == nullptr) {
      const Sharding source = cheapestSource(in, needed);
      TensorView* from = source == now_.at(in) ? local_.at(in) : formOf(in, source);
      if (from == nullptr) {  // others need it, too
        from = shared(in, source, why, resharder);
      }
      made = resharder.reshard(from, source, needed, why);
    }
    global_[made] = in;
    forms_[in].push_back({needed, made});
    return made;
  }

  TensorView* formOf(const TensorView* tv, const Sharding& sharding) const {
    const auto found = forms_.find(tv);
    for (size_t i = 0; found != forms_.end() && i < found->second.size(); ++i) {
      if (found->second[i].sharding == sharding) {
        return found->second[i].made;
      }
    }
    return nullptr;
  }

  /// Of the shardings in which there is a tensor, or will be, as others need it: from which of them
  /// this one is cheapest.
  Sharding cheapestSource(const TensorView* tv, const Sharding& needed) const {
    std::vector<Sharding> sources = {now_.at(tv)};
    if (const auto found = forms_.find(tv); found != forms_.end()) {
      for (const Form& form : found->second) {
        sources.push_back(form.sharding);
      }
    }
    for (const OperandNeeds::Need& need : needs_.of(tv)) {
      // (What is needed is made of what has more alone, so that nothing is asked for in a circle.)
      if (need.sharding != needed &&
          cheapestWay(mesh_, need.sharding, needed).cost == ExchangeCost()) {
        sources.push_back(need.sharding);
      }
    }
    return *std::min_element(
        sources.begin(), sources.end(), [&](const Sharding& a, const Sharding& b) {
          return cheapestWay(mesh_, a, needed).cost < cheapestWay(mesh_, b, needed).cost;
        });
  }

  /// Where `in` is a permutation of another tensor: that one in the sharding that is needed, which
  /// others may need as well, permuted. Null where it is none.
  TensorView* permutedAnew(const TensorView* in, const Sharding& needed, const std::string& why,
                           Resharder& resharder) {
    const TensorView* present = local_.at(in);
    const auto order = permutationOf(present);
    if (!order) {
      return nullptr;
    }
    const auto* source = present->definition()->input(0)->as<TensorView>();
    source = global_.count(source) != 0 ? global_.at(source) : source;
    return now_.count(source) != 0
               ? permute(shared(source, ofPermuted(needed, *order), why, resharder), *order)
               : nullptr;
  }

  /// A sum of parts has its bias once, at the end.
  TensorView* withBias(const Expr* expr, TensorView* sums, const Sharding& sharding,
                       Resharder& resharder, const std::string& why) {
    auto* bias = expr->input(2)->as<TensorView>();
    const TensorView* whole = global_.count(bias) != 0 ? global_.at(bias) : bias;
    Sharding needed;
    for (const ParallelType mesh_axis : kMeshAxes) {
      if (sharding[mesh_axis] && *sharding[mesh_axis] + 1 == axesOf(sums).size() &&
          !axesOf(whole).empty()) {
        needed[mesh_axis] = 0;
      }
    }
    return add(sums, shared(whole, needed, why, resharder));
  }

  std::unique_ptr<Fusion> fusion_;
  DeviceMesh mesh_;
  Shardings declared_, targets_, now_;
  Shardings of_one_;  ///< what is declared along axes of the mesh that have one device
  PartSizes sizes_;
  std::unordered_set<const TensorView*> joined_parts_;
  std::unordered_map<const TensorView*, TensorView*> local_;         ///< of a global tensor
  std::unordered_map<const TensorView*, const TensorView*> global_;  ///< of what stands for it
  struct Form {
    Sharding sharding;
    TensorView* made;
  };
  std::unordered_map<const TensorView*, std::vector<Form>> forms_;  ///< of global tensors, by now
  PartsPlanner planner_{targets_, joined_parts_};
  OperandNeeds needs_;
  std::map<ParallelType, Val*> coordinates_;
  std::vector<Asked> asked_;
};

}  // namespace

LocalFusion makeLocal(const Fusion& global) { return Maker(global).run(); }

}  // namespace nvfuser::multidevice
