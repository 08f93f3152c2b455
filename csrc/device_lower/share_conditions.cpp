#include <device_lower/share_conditions.h>

#include <algorithm>

#include <kernel_ir/scalars_of.h>

namespace nvfuser {

using kir::Scalar;

namespace {

std::vector<Scalar> partsOf(Scalar condition) {
  return condition->op == kir::ScalarOp::And ? condition->args : std::vector<Scalar>{condition};
}

class Sharer {
 public:
  Sharer(kir::ScalarPool& pool, bool around_loops) : pool_(pool), around_loops_(around_loops) {}

  void run(kir::Block& block) {
    constexpr size_t kNone = SIZE_MAX;
    kir::Block result;
    size_t open = kNone;  // in `result`: the `if` that the next statement may join
    for (kir::Stmt& stmt : block) {
      inside(stmt);
      auto* branch = std::get_if<kir::If>(&stmt.node);
      if (std::holds_alternative<kir::Declare>(stmt.node) && open != kNone) {
        result.insert(result.begin() + static_cast<std::ptrdiff_t>(open++), std::move(stmt));
      } else if (branch == nullptr || branch->else_body) {
        open = kNone;
        result.push_back(std::move(stmt));
      } else if (open == kNone || !join(std::get<kir::If>(result[open].node), *branch)) {
        open = result.size();
        result.push_back(std::move(stmt));
      }
    }
    block = std::move(result);
  }

 private:
  void inside(kir::Stmt& stmt) {
    if (auto* branch = std::get_if<kir::If>(&stmt.node)) {
      run(*branch->then_body);
      if (branch->else_body) {
        run(*branch->else_body);
      }
    } else if (auto* loop = std::get_if<kir::For>(&stmt.node)) {
      run(*loop->body);
      if (around_loops_) {
        turnInsideOut(stmt);
      }
    }
  }

  /// for { declarations; if (c) … }  →  if (c) for { declarations; … }
  void turnInsideOut(kir::Stmt& stmt) {
    auto& loop = std::get<kir::For>(stmt.node);
    kir::If* only = nullptr;
    for (kir::Stmt& inner : *loop.body) {
      if (std::holds_alternative<kir::Declare>(inner.node)) {
        continue;
      }
      only = std::get_if<kir::If>(&inner.node);
      if (&inner != &loop.body->back() || only == nullptr || only->else_body) {
        return;
      }
    }
    if (only == nullptr || dependsOnLoop(only->condition, loop)) {
      return;
    }
    // A loop without iterations may be all that keeps from a division by an extent of zero.
    const bool runs = loop.extent->lo > 0;
    Scalar condition = runs ? only->condition : pool_.withoutZeroDivisors(only->condition);
    kir::If around{condition, std::make_shared<kir::Block>(), nullptr};
    const std::shared_ptr<kir::Block> then_body = only->then_body;
    loop.body->pop_back();
    std::move(then_body->begin(), then_body->end(), std::back_inserter(*loop.body));
    around.then_body->push_back(std::move(stmt));
    stmt = {std::move(around)};
  }

  static bool dependsOnLoop(Scalar condition, const kir::For& loop) {
    bool depends = kir::ScalarPool::contains(condition, loop.var);
    kir::forEach(*loop.body, [&](const kir::Stmt& stmt) {
      Scalar var = kir::definedBy(stmt);
      depends |= var != nullptr && kir::ScalarPool::contains(condition, var);
    });
    return depends;
  }

  /// `next` follows `before`; false if neither condition is part of the other.
  bool join(kir::If& before, kir::If& next) {
    const std::vector<Scalar> first = partsOf(before.condition);
    const std::vector<Scalar> second = partsOf(next.condition);
    const Scalar first_rest = without(first, second);
    const Scalar second_rest = without(second, first);
    if (!first_rest->isConstant(1) && !second_rest->isConstant(1)) {
      return false;
    }
    kir::Block body = under(first_rest, before);
    kir::Block more = under(second_rest, next);
    std::move(more.begin(), more.end(), std::back_inserter(body));
    before.condition = first_rest->isConstant(1) ? before.condition : next.condition;
    *before.then_body = std::move(body);
    run(*before.then_body);
    return true;
  }

  Scalar without(const std::vector<Scalar>& parts, const std::vector<Scalar>& others) {
    Scalar rest = pool_.one();
    for (Scalar part : parts) {
      if (std::find(others.begin(), others.end(), part) == others.end()) {
        rest = pool_.logicalAnd(rest, part);
      }
    }
    return rest;
  }

  static kir::Block under(Scalar condition, kir::If& branch) {
    kir::Block body = std::move(*branch.then_body);
    if (condition->isConstant(1)) {
      return body;
    }
    return {{kir::If{condition, std::make_shared<kir::Block>(std::move(body)), nullptr}}};
  }

  kir::ScalarPool& pool_;
  const bool around_loops_;
};

}  // namespace

void shareConditions(kir::Kernel& kernel, bool around_loops) {
  Sharer(*kernel.pool, around_loops).run(kernel.body);
}

}  // namespace nvfuser
