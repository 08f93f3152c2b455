#include <fuzz/kernel_interpreter/idle_iterations.h>

#include <algorithm>

namespace nvfuser::fuzz {

const IdleIterations::Limits& IdleIterations::limitsOf(const kir::For& loop) {
  Limits& limits = limits_[&loop];
  if (limits.is_known) {
    return limits;
  }
  limits.is_known = true;
  kir::ScalarPool& pool = *kernel_.pool;
  std::unordered_map<kir::Scalar, kir::Scalar> lets;
  for (const kir::Stmt& stmt : *loop.body) {
    if (const auto* let = std::get_if<kir::Let>(&stmt.node)) {
      lets[let->var] = pool.substitute(let->value, lets);
    } else if (const auto* branch = std::get_if<kir::If>(&stmt.node);
               branch != nullptr && branch->else_body == nullptr) {
      limits.of_branches.push_back(limitsOf(pool.substitute(branch->condition, lets), loop.var));
      limits.is_limited = limits.is_limited && !limits.of_branches.back().empty();
    } else if (!std::holds_alternative<kir::Declare>(stmt.node)) {
      limits.is_limited = false;
    }
  }
  return limits;
}

std::vector<IdleIterations::Limit> IdleIterations::limitsOf(kir::Scalar condition,
                                                            kir::Scalar var) const {
  const std::vector<kir::Scalar> conjuncts =
      condition->op == kir::ScalarOp::And ? condition->args : std::vector<kir::Scalar>{condition};
  std::vector<Limit> limits;
  for (kir::Scalar one : conjuncts) {
    Limit limit{nullptr, nullptr, 0};
    if (one->op == kir::ScalarOp::Less && !kir::ScalarPool::contains(one->args[1], var) &&
        kernel_.pool->splitLinear(one->args[0], var, &limit.step, &limit.first) && limit.step > 0) {
      limit.end = one->args[1];
      limits.push_back(limit);
    }
  }
  return limits;
}

int64_t IdleIterations::from(const kir::For& loop, const std::vector<int64_t>& lanes,
                             LaneScalars& scalars) {
  const Limits& limits = limitsOf(loop);
  if (!limits.is_limited) {
    return INT64_MAX;
  }
  int64_t idle_from = 0;
  for (const std::vector<Limit>& branch : limits.of_branches) {
    int64_t most = INT64_MAX;
    for (const Limit& limit : branch) {
      const LaneScalars::Values first = scalars.of(limit.first), end = scalars.of(limit.end);
      int64_t most_of_lanes = 0;
      for (int64_t lane : lanes) {
        const int64_t left = end[lane] - first[lane];
        most_of_lanes =
            std::max(most_of_lanes, left <= 0 ? 0 : (left + limit.step - 1) / limit.step);
      }
      most = std::min(most, most_of_lanes);
    }
    idle_from = std::max(idle_from, most);
  }
  return idle_from;
}

}  // namespace nvfuser::fuzz
