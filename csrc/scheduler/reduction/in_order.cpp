#include <scheduler/reduction/in_order.h>

#include <algorithm>

#include <scheduler/reduction/plan.h>
#include <scheduler/reduction/trial.h>

namespace nvfuser::reduction {

namespace {

constexpr int64_t kColumns = 16;  ///< sums side by side, in registers
constexpr int64_t kThreads = 32;  ///< of a block, one a row or column

/// Classes of the reduced axes, in the order in which they are defined.
std::vector<int> reducedClasses(const TensorView* tv, const IdGraph& permissive) {
  std::vector<int> classes;
  for (const IterDomain* id : tv->getLogicalDomain()) {
    if (id->isReduction()) {
      classes.push_back(permissive.classOf(id));
    }
  }
  return classes;
}

}  // namespace

std::optional<Refusal> refusesInOrder(const Form& form) {
  const TensorView* reference = form.signature.reference();
  const std::vector<int> order = reducedClasses(reference, form.permissive);
  for (const Expr* reduction : form.signature.reductions) {
    const auto* tv = reduction->output(0)->as<TensorView>();
    if (reducedClasses(tv, form.permissive) != order) {
      return Refusal{text("exact_numerics: ", tv, " and ", reference,
                          " are reduced in different orders of their axes")};
    }
  }
  return std::nullopt;
}

std::optional<Refusal> planInOrder(const Problem& problem, ReductionParams& params) {
  const auto& logical = problem.form.signature.reference()->getLogicalDomain();
  std::vector<int64_t>& order = params.order;
  const auto reduced = std::stable_partition(order.begin(), order.end(), [&](int64_t axis) {
    return !logical[static_cast<size_t>(axis)]->isReduction();
  });
  std::sort(reduced, order.end());
  if (auto refusal = tryLoops(problem.fusion, problem.form, params.scheduler_type, order,
                              params.fastest_dim, params.inner_axes)) {
    return refusal;
  }
  if (params.host) {
    planHost(problem, params);
    params.vectorization = params.fastest_dim ? 1 : kColumns;
    params.unroll = 1;
  } else {
    params.threads_x = params.fastest_dim ? 1 : kThreads;
    params.threads_y = 1;
    params.rows = params.fastest_dim ? kThreads : 1;
  }
  return std::nullopt;
}

}  // namespace nvfuser::reduction
