#include <device_lower/split_loops.h>

#include <algorithm>

#include <device_lower/loop_choices.h>
#include <kernel_ir/scalars_of.h>

namespace nvfuser {

using kir::Scalar;

namespace {

constexpr int64_t kFewElements = 32;     ///< of a loop, which vectors are done with at once
constexpr size_t kMostStatements = 400;  ///< of all parts

/// Takes one loop apart.
class Splitter {
 public:
  Splitter(const kir::For& loop, kir::ScalarPool& pool)
      : loop_(loop),
        pool_(pool),
        block_(flat(*loop.body)),
        choices_(loop.var, block_, pool),
        begin_(pool.zero()),
        end_(loop.extent),
        uniform_(pool.one()) {}

  /// The loops in its place; none if it stays as it is.
  kir::Block run() {
    if (loop_.extent->hi <= kFewElements || !LoopChoices::isSimple(block_) || !readEdges()) {
      return {};
    }
    const kir::Block known = choices_.decided(block_, edges_, is_decided_);
    split(known, begin_, end_, edges_);
    return parts_.size() < 2 && !is_decided_ ? kir::Block{} : std::move(parts_);
  }

 private:
  /// The branch around all statements, where the loop may go beyond the tensor.
  static const kir::If* edgeOf(const kir::Block& body) {
    const auto* branch = body.empty() ? nullptr : std::get_if<kir::If>(&body.back().node);
    return branch == nullptr || branch->else_body ? nullptr : branch;
  }

  /// With the statements of that branch beside the declarations in front of it.
  static kir::Block flat(const kir::Block& body) {
    const kir::If* edge = edgeOf(body);
    kir::Block result(body.begin(), edge == nullptr ? body.end() : std::prev(body.end()));
    if (edge != nullptr) {
      result.insert(result.end(), edge->then_body->begin(), edge->then_body->end());
    }
    return result;
  }

  /// What the branch asks for: a range of the loop, and what is the same for all of it.
  bool readEdges() {
    const kir::If* edge = edgeOf(*loop_.body);
    if (edge == nullptr) {
      return true;
    }
    const Scalar condition = edge->condition;
    const std::vector<Scalar> parts =
        condition->op == kir::ScalarOp::And ? condition->args : std::vector<Scalar>{condition};
    for (Scalar part : parts) {
      if (!kir::ScalarPool::contains(part, loop_.var)) {
        uniform_ = pool_.logicalAnd(uniform_, part);
        continue;
      }
      const auto turn = part->op == kir::ScalarOp::Less
                            ? choices_.turnBelow(part->args[0], part->args[1], true)
                            : std::nullopt;
      if (!turn) {
        return false;
      }
      const Scalar at = pool_.min(pool_.max(turn->at, begin_), end_);
      (turn->below ? end_ : begin_) = at;
      edges_.push_back(*turn);
    }
    return true;
  }

  void split(const kir::Block& from, Scalar begin, Scalar end, const KnownTurns& known) {
    const kir::Block block = choices_.read(choices_.decided(from, known, is_decided_));
    if (const auto turn = nextTurn(block)) {
      ++splits_;
      const Scalar middle = pool_.min(pool_.max(turn->at, begin), end);
      KnownTurns before = known;
      before.push_back({turn->at, true});
      split(block, begin, middle, before);
      KnownTurns behind = known;
      behind.push_back({turn->at, false});
      split(block, middle, end, behind);
      return;
    }
    kir::For part = loop_;
    part.extent = pool_.sub(end, begin);
    part.var = pool_.symbol(text(loop_.var->name, "_", parts_.size()), part.extent);
    part.body = std::make_shared<kir::Block>(block);
    const Scalar here = pool_.add(begin, part.var);
    for (kir::Stmt& stmt : *part.body) {
      kir::mapScalars(stmt,
                      [&](Scalar index) { return pool_.substitute(index, {{loop_.var, here}}); });
    }
    if (!uniform_->isConstant(1)) {
      auto around = std::make_shared<kir::Block>();
      around->push_back({kir::If{uniform_, part.body, nullptr}});
      part.body = std::move(around);
    }
    parts_.push_back({std::move(part)});
  }

  /// The last choice that is not decided.
  std::optional<Turn> nextTurn(const kir::Block& block) {
    if (splits_ + 1 >= kMostLoopParts ||
        block.size() * static_cast<size_t>(splits_ + 2) > kMostStatements) {
      return std::nullopt;
    }
    return choices_.lastTurn(block);
  }

  const kir::For& loop_;
  kir::ScalarPool& pool_;
  const kir::Block block_;
  const LoopChoices choices_;
  Scalar begin_;
  Scalar end_;
  Scalar uniform_;
  KnownTurns edges_;
  bool is_decided_ = false;  ///< some choice or guard, for a whole part
  kir::Block parts_;
  int splits_ = 0;
};

void run(kir::Block& block, kir::ScalarPool& pool) {
  kir::Block result;
  for (kir::Stmt& stmt : block) {
    auto* loop = std::get_if<kir::For>(&stmt.node);
    if (auto* branch = std::get_if<kir::If>(&stmt.node)) {
      run(*branch->then_body, pool);
      if (branch->else_body) {
        run(*branch->else_body, pool);
      }
    } else if (loop != nullptr && loop->kind != kir::LoopKind::Simd) {
      run(*loop->body, pool);
    } else if (loop != nullptr) {
      kir::Block parts = Splitter(*loop, pool).run();
      if (!parts.empty()) {
        std::move(parts.begin(), parts.end(), std::back_inserter(result));
        continue;
      }
    }
    result.push_back(std::move(stmt));
  }
  block = std::move(result);
}

}  // namespace

void splitLoops(kir::Kernel& kernel) { run(kernel.body, *kernel.pool); }

}  // namespace nvfuser
