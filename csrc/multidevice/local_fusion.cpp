#include <multidevice/local_fusion.h>

#include <algorithm>
#include <map>
#include <unordered_set>
#include <utility>

#include <ir/axis_map.h>
#include <ir/builder.h>
#include <ir/cloner.h>
#include <ir/composite_nodes.h>
#include <ir/view_ops.h>
#include <multidevice/declarations.h>
#include <multidevice/define_parts.h>
#include <multidevice/join_allreduces.h>
#include <multidevice/propagate.h>
#include <multidevice/reshard.h>
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

/// Its axes by those of its operand, where it is a permutation of that.
std::optional<std::vector<int64_t>> permutationOf(const TensorView* tv) {
  const Expr* expr = tv->definition();
  if (expr == nullptr || !expr->isA<LoadStoreOp>() || !isViewOp(expr)) {
    return std::nullopt;
  }
  const std::vector<IterDomain*>& root = tv->getMaybeRootDomain();
  std::vector<int64_t> order;
  for (const IterDomain* axis : tv->getLogicalDomain()) {
    const auto place = std::find(root.begin(), root.end(), axis);
    if (place == root.end()) {
      return std::nullopt;
    }
    order.push_back(place - root.begin());
  }
  return order.size() == root.size() ? std::optional(order) : std::nullopt;
}

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
    cutInputs();
    Resharder resharder(mesh_, [&](ParallelType axis) { return coordinate(axis); }, asked_);
    for (Expr* expr : exprs) {
      define(expr, flows.at(expr), resharder);
    }
    LocalFusion local;
    local.inputs = shardingsNow(fusion_->inputs());
    local.outputs = shardingsNow(outputs);
    for (auto [axis, scalar] : coordinates_) {
      fusion_->addInput(scalar);
      local.coordinates.push_back(axis);
    }
    preseg_passes::sweep(*fusion_);
    local.exchanges = joinAllreduces(*fusion_, asked_);
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

  /// How an operation is carried out: its results' shardings as it computes them, and what combines
  /// them along which axes of the mesh.
  struct Plan {
    std::vector<Sharding> results;
    std::map<ParallelType, BinaryOpType> sums;
  };

  Plan planOf(const std::vector<const TensorView*>& ins, const std::vector<const TensorView*>& outs,
              const AxisFlow& flow) const {
    Plan plan;
    plan.results.resize(outs.size());
    if (joined_parts_.count(outs[0]) != 0) {
      plan.results[0] = targets_.at(outs[0]);
      return plan;
    }
    for (const ParallelType mesh_axis : kMeshAxes) {
      const std::optional<size_t> wanted = targets_.at(outs[0])[mesh_axis];
      std::optional<BinaryOpType> sum;
      std::optional<size_t> natural;  // where the first operand that is cut leads to
      bool goes_along = false;        // an operand is cut as the result is wanted
      bool goes_against = false;      // a product's operand is cut, but not where it is summed
      for (const TensorView* in : ins) {
        const std::optional<size_t> axis = now_.at(in)[mesh_axis];
        if (!axis) {
          continue;
        }
        const std::optional<BinaryOpType> by = flow.combines(in, *axis);
        const std::optional<size_t> to = flow.resultAxis(in, *axis, outs[0]);
        natural = natural ? natural : to;
        goes_along |= wanted && to == wanted;
        goes_against |= !by.has_value() && flow.combinedAxis(in).has_value();
        sum = by ? by : sum;
      }
      if (sum && !goes_along && !goes_against) {
        plan.sums[mesh_axis] = *sum;
        continue;
      }
      // In parts rather than whole, also where the result is wanted whole or cut elsewhere.
      const std::optional<size_t> axis = goes_along || !natural ? wanted : natural;
      if (axis && flow.canCut(outs[0], *axis, mesh_axis) && !plan.results[0].of(*axis)) {
        plan.results[0][mesh_axis] = axis;
        cutOthers(plan, mesh_axis, *axis, ins, outs, flow);
      }
    }
    return plan;
  }

  /// The other results are cut along the axes that go with the same axes of operands.
  static void cutOthers(Plan& plan, ParallelType mesh_axis, size_t axis,
                        const std::vector<const TensorView*>& ins,
                        const std::vector<const TensorView*>& outs, const AxisFlow& flow) {
    for (size_t k = 1; k < outs.size(); ++k) {
      for (const TensorView* in : ins) {
        const auto of_in = flow.operandAxis(in, outs[0], axis);
        const auto of_out = of_in ? flow.resultAxis(in, *of_in, outs[k]) : std::nullopt;
        if (of_out) {
          plan.results[k][mesh_axis] = of_out;
          break;
        }
      }
    }
  }

  Sharding neededOf(const TensorView* in, const Plan& plan, const TensorView* out,
                    const AxisFlow& flow) const {
    Sharding needed;
    for (const ParallelType mesh_axis : kMeshAxes) {
      if (plan.sums.count(mesh_axis) != 0) {
        const auto cut = now_.at(in)[mesh_axis];
        const bool is_summed = cut && flow.combines(in, *cut);
        needed[mesh_axis] = is_summed ? cut : flow.combinedAxis(in);
      } else if (const auto axis = plan.results[0][mesh_axis]) {
        needed[mesh_axis] = flow.operandAxis(in, out, *axis);
      }
    }
    return needed;
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
    const Plan plan = planOf(ins, outs, flow);
    const std::string why = text("for ", expr->getOpString(), " (", *outs[0], ")");
    for (const TensorView* in : ins) {
      TensorView* present = local_.at(in);
      const Sharding needed = neededOf(in, plan, outs[0], flow);
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
        const bool scatters = axis && !sharding.of(*axis);
        made[k] = resharder.combine(made[k], mesh_axis, by, scatters ? axis : std::nullopt, why);
        sharding[mesh_axis] = scatters ? axis : std::nullopt;
      }
      if (!plan.sums.empty() && expr->isA<LinearOp>() && expr->as<LinearOp>()->hasBias()) {
        made[k] = withBias(expr, made[k], sharding, resharder, why);
      }
      if (sharding != target) {
        made[k] = resharder.reshard(made[k], sharding, target, why);
      }
      if (local_.count(made[k]) != 0 || global_.count(made[k]) != 0) {
        made[k] = set(made[k]);  // an operand that nothing was done to
      }
      auto* old = const_cast<TensorView*>(outs[k]);
      preseg_passes::replaceTensor(old, made[k]);
      local_[old] = made[k];
      global_[made[k]] = old;
      now_[old] = target;
    }
  }

  /// A tensor in another sharding, made once.
  TensorView* shared(const TensorView* in, const Sharding& needed, const std::string& why,
                     Resharder& resharder) {
    if (needed == now_.at(in)) {
      return local_.at(in);
    }
    TensorView* made = reshared_[{in, needed.toString()}];
    if (made == nullptr) {
      made = permutedAnew(in, needed, why, resharder);
    }
    if (made == nullptr) {
      made = resharder.reshard(local_.at(in), now_.at(in), needed, why);
    }
    global_[made] = in;
    reshared_[{in, needed.toString()}] = made;
    return made;
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
    Sharding of_source;
    for (const ParallelType mesh_axis : kMeshAxes) {
      if (needed[mesh_axis]) {
        of_source[mesh_axis] = static_cast<size_t>((*order)[*needed[mesh_axis]]);
      }
    }
    return now_.count(source) != 0 ? permute(shared(source, of_source, why, resharder), *order)
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
  std::map<std::pair<const TensorView*, std::string>, TensorView*> reshared_;
  std::map<ParallelType, Val*> coordinates_;
  std::vector<Asked> asked_;
};

}  // namespace

LocalFusion makeLocal(const Fusion& global) { return Maker(global).run(); }

}  // namespace nvfuser::multidevice
