#include <device_lower/branch_choices.h>

#include <numeric>
#include <optional>

#include <device_lower/loop_choices.h>
#include <kernel_ir/scalars_of.h>
#include <ops/table/pointwise.h>

namespace nvfuser {

using kir::Scalar;

namespace {

constexpr int64_t kMostElements = 16;  ///< of a vector
constexpr int64_t kWorth = 16;         ///< additions that both branches save of an element
constexpr int kMostBranches = 8;       ///< that a loop becomes

/// In additions.
int64_t costOf(const kir::Block& block) {
  return std::accumulate(
      block.begin(), block.end(), int64_t{0}, [](int64_t sum, const kir::Stmt& stmt) {
        const auto* compute = std::get_if<kir::Compute>(&stmt.node);
        return compute == nullptr
                   ? sum
                   : sum +
                         std::visit([](auto type) { return pointwiseRow(type).cost; }, compute->op);
      });
}

class Brancher {
 public:
  explicit Brancher(kir::ScalarPool& pool) : pool_(pool) {}

  /// The branches in the loop's place; nothing if it stays as it is.
  std::optional<kir::Stmt> run(const kir::For& loop) {
    if (!loop.extent->isConstant() || loop.extent->hi < 2 || loop.extent->hi > kMostElements ||
        branches_ >= kMostBranches || !LoopChoices::isSimple(*loop.body)) {
      return std::nullopt;
    }
    const LoopChoices choices(loop.var, *loop.body, pool_);
    const auto turn = choices.lastTurn(*loop.body);
    if (!turn || !pool_.provesDivisible(turn->at, loop.extent)) {
      return std::nullopt;
    }
    const auto side = [&](bool below) {
      bool is_decided = false;
      return choices.read(choices.decided(*loop.body, {{turn->at, below}}, is_decided));
    };
    const kir::Block before = side(true);
    const kir::Block behind = side(false);
    if (2 * costOf(*loop.body) - costOf(before) - costOf(behind) < kWorth) {
      return std::nullopt;
    }
    ++branches_;
    return kir::Stmt{
        kir::If{pool_.less(pool_.zero(), turn->at), branch(loop, before), branch(loop, behind)}};
  }

 private:
  std::shared_ptr<kir::Block> branch(const kir::For& loop, const kir::Block& block) {
    kir::For part = loop;
    part.var = pool_.symbol(text(loop.var->name, "_", branches_, names_++), loop.extent);
    part.body = std::make_shared<kir::Block>(block);
    for (kir::Stmt& stmt : *part.body) {
      kir::mapScalars(
          stmt, [&](Scalar index) { return pool_.substitute(index, {{loop.var, part.var}}); });
    }
    std::optional<kir::Stmt> further = run(part);
    auto result = std::make_shared<kir::Block>();
    result->push_back(further ? *std::move(further) : kir::Stmt{std::move(part)});
    return result;
  }

  kir::ScalarPool& pool_;
  int branches_ = 0;
  int names_ = 0;
};

void run(kir::Block& block, kir::ScalarPool& pool) {
  for (kir::Stmt& stmt : block) {
    if (auto* branch = std::get_if<kir::If>(&stmt.node)) {
      run(*branch->then_body, pool);
      if (branch->else_body) {
        run(*branch->else_body, pool);
      }
    } else if (auto* loop = std::get_if<kir::For>(&stmt.node)) {
      if (auto branches = Brancher(pool).run(*loop)) {
        stmt = *std::move(branches);
      } else {
        run(*loop->body, pool);
      }
    }
  }
}

}  // namespace

void branchChoices(kir::Kernel& kernel) { run(kernel.body, *kernel.pool); }

}  // namespace nvfuser
