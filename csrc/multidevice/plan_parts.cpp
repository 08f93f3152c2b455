#include <multidevice/plan_parts.h>

#include <algorithm>

#include <ir/axis_map.h>
#include <ir/composite_nodes.h>
#include <ir/view_ops.h>

namespace nvfuser::multidevice {

namespace {

/// The other results are cut along the axes that go with the same axes of operands.
void cutOthers(PartsPlan& plan, ParallelType mesh_axis, size_t axis,
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

}  // namespace

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

Sharding ofPermuted(const Sharding& sharding, const std::vector<int64_t>& order) {
  Sharding of_operand;
  for (const ParallelType mesh_axis : kMeshAxes) {
    if (sharding[mesh_axis]) {
      of_operand[mesh_axis] = static_cast<size_t>(order[*sharding[mesh_axis]]);
    }
  }
  return of_operand;
}

PartsPlan PartsPlanner::planOf(const Tensors& ins, const Tensors& outs,
                               const AxisFlow& flow) const {
  PartsPlan plan;
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
      const std::optional<size_t> axis = targets_.at(in)[mesh_axis];
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

Sharding PartsPlanner::neededOf(const TensorView* in, const PartsPlan& plan, const TensorView* out,
                                const AxisFlow& flow) const {
  Sharding needed;
  for (const ParallelType mesh_axis : kMeshAxes) {
    if (plan.sums.count(mesh_axis) != 0) {
      const auto cut = targets_.at(in)[mesh_axis];
      const bool is_summed = cut && flow.combines(in, *cut);
      needed[mesh_axis] = is_summed ? cut : flow.combinedAxis(in);
    } else if (const auto axis = plan.results[0][mesh_axis]) {
      needed[mesh_axis] = flow.operandAxis(in, out, *axis);
    }
  }
  return needed;
}

void OperandNeeds::find(const std::vector<Expr*>& exprs, const Flows& flows,
                        const Shardings& targets, const PartsPlanner& planner) {
  for (const Expr* expr : exprs) {
    const AxisFlow& flow = flows.at(expr);
    const std::vector<TensorView*> operands = tensorInputs(expr);
    const std::vector<TensorView*> results = tensorOutputs(expr);
    const PartsPlanner::Tensors ins(operands.begin(), operands.end());
    const PartsPlanner::Tensors outs(results.begin(), results.end());
    const PartsPlan plan = planner.planOf(ins, outs, flow);
    for (const TensorView* in : ins) {
      const bool as_rows = expr->isOneOf<MatmulOp, LinearOp>() && expr->input(0) == in;
      add(in, planner.neededOf(in, plan, outs[0], flow), as_rows, targets);
    }
  }
}

/// A permuted tensor in another sharding is made of its operand in another sharding.
void OperandNeeds::add(const TensorView* tv, const Sharding& sharding, bool as_rows,
                       const Shardings& targets) {
  needs_[tv].push_back({sharding, as_rows});
  const auto order = permutationOf(tv);
  if (order && sharding != targets.at(tv)) {
    add(tv->definition()->input(0)->as<TensorView>(), ofPermuted(sharding, *order), false, targets);
  }
}

const std::vector<OperandNeeds::Need>& OperandNeeds::of(const Val* tv) const {
  static const std::vector<Need> none;
  const auto found = needs_.find(tv);
  return found != needs_.end() ? found->second : none;
}

Sharding OperandNeeds::common(const Val* val) const {
  const std::vector<Need>& all = of(val);
  const bool is_whole = std::any_of(all.begin(), all.end(),
                                    [](const Need& need) { return need.sharding == Sharding(); });
  return all.empty() || is_whole ? Sharding() : all.front().sharding;
}

bool OperandNeeds::isNeededWhole(const TensorView* tv, ParallelType mesh_axis) const {
  const std::vector<Need>& all = of(tv);
  return std::any_of(all.begin(), all.end(),
                     [&](const Need& need) { return !need.sharding[mesh_axis] && !need.as_rows; });
}

}  // namespace nvfuser::multidevice
