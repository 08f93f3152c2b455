#include <device_lower/wrap_remainders.h>

#include <algorithm>
#include <unordered_map>

#include <kernel_ir/scalars_of.h>

namespace nvfuser {

using kir::Scalar;
using kir::ScalarOp;

namespace {

/// Of one loop's variable.
class Wrapper {
 public:
  Wrapper(kir::ScalarPool& pool, Scalar var) : pool_(pool), var_(var) {}

  /// The same value with the loop's divisions replaced, from the innermost one out.
  Scalar rewrite(Scalar a) {
    if (!kir::ScalarPool::contains(a, var_)) {
      return a;
    }
    auto known = rewritten_.find(a);
    if (known != rewritten_.end()) {
      return known->second;
    }
    Scalar inner = withNewOperands(a);
    const bool divides = inner->op == ScalarOp::Div || inner->op == ScalarOp::Mod;
    Scalar result = divides ? wrapped(inner) : inner;
    rewritten_.emplace(a, result);
    return result;
  }

 private:
  Scalar withNewOperands(Scalar a) {
    std::unordered_map<Scalar, Scalar> changed;
    auto look = [&](Scalar operand) {
      Scalar made = rewrite(operand);
      if (made != operand) {
        changed.emplace(operand, made);
      }
    };
    std::for_each(a->args.begin(), a->args.end(), look);
    for (const auto& [term, coefficient] : a->terms) {
      look(term);
    }
    return changed.empty() ? a : pool_.substitute(a, changed);
  }

  /// A quotient or a remainder of steady + step, both at least 0.
  Scalar wrapped(Scalar a) {
    Scalar divisor = a->args[1];
    if (divisor->isConstant() || kir::ScalarPool::contains(divisor, var_)) {
      return a;
    }
    // (Of sums with more of the loop in them, divisions among it, each step would triple the text.)
    int64_t factor = 0;
    Scalar steady = nullptr;
    if (!pool_.splitLinear(a->args[0], var_, &factor, &steady) || factor <= 0 || steady->lo < 0 ||
        steady->isConstant()) {
      return a;
    }
    Scalar step = pool_.mul(var_, factor);
    Scalar rest = pool_.add(pool_.mod(steady, divisor), step);
    Scalar is_before_end = pool_.less(rest, divisor);
    if (a->op == ScalarOp::Mod) {
      return pool_.select(is_before_end, rest, pool_.mod(rest, divisor));
    }
    return pool_.add(pool_.div(steady, divisor),
                     pool_.select(is_before_end, pool_.zero(), pool_.div(rest, divisor)));
  }

  kir::ScalarPool& pool_;
  Scalar var_;
  std::unordered_map<Scalar, Scalar> rewritten_;
};

/// Of the statements in each iteration; those of loops inside are left to these.
void rewriteOwn(kir::Block& block, Wrapper& wrapper) {
  for (kir::Stmt& stmt : block) {
    if (std::holds_alternative<kir::For>(stmt.node)) {
      continue;
    }
    kir::mapScalars(stmt, [&](Scalar a) { return wrapper.rewrite(a); });
    if (auto* branch = std::get_if<kir::If>(&stmt.node)) {
      rewriteOwn(*branch->then_body, wrapper);
      if (branch->else_body) {
        rewriteOwn(*branch->else_body, wrapper);
      }
    }
  }
}

}  // namespace

void wrapRemainders(kir::Kernel& kernel) {
  kir::forEach(kernel.body, [&](kir::Stmt& stmt) {
    auto* loop = std::get_if<kir::For>(&stmt.node);
    if (loop != nullptr && loop->kind == kir::LoopKind::Unrolled) {
      Wrapper wrapper(*kernel.pool, loop->var);
      rewriteOwn(*loop->body, wrapper);
    }
  });
}

}  // namespace nvfuser
