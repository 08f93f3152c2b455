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
    int64_t constant = 0;
    std::vector<std::pair<Scalar, int64_t>> terms;
    pool_.decompose(a->args[0], &constant, &terms);
    Scalar steady = pool_.constant(constant);
    Scalar step = pool_.zero();
    for (const auto& [term, coefficient] : terms) {
      Scalar whole = pool_.mul(term, coefficient);
      (kir::ScalarPool::contains(term, var_) ? step : steady) =
          pool_.add(kir::ScalarPool::contains(term, var_) ? step : steady, whole);
    }
    if (step->lo < 0 || steady->lo < 0 || steady->isConstant()) {
      return a;
    }
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

}  // namespace

void wrapRemainders(kir::Kernel& kernel) {
  kir::forEach(kernel.body, [&](kir::Stmt& stmt) {
    auto* loop = std::get_if<kir::For>(&stmt.node);
    if (loop == nullptr || loop->kind != kir::LoopKind::Unrolled) {
      return;
    }
    Wrapper wrapper(*kernel.pool, loop->var);
    kir::forEach(*loop->body, [&](kir::Stmt& inner) {
      kir::mapScalars(inner, [&](Scalar a) { return wrapper.rewrite(a); });
    });
  });
}

}  // namespace nvfuser
