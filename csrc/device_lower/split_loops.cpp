#include <device_lower/split_loops.h>

#include <algorithm>
#include <map>
#include <set>

#include <kernel_ir/accesses.h>
#include <kernel_ir/scalars_of.h>

namespace nvfuser {

using kir::Scalar;

namespace {

constexpr int64_t kFewElements = 32;     ///< of a loop, which vectors are done with at once
constexpr size_t kMostStatements = 400;  ///< of all parts

/// A condition on the loop's variable k: it is `below` for k < at, and not for the others.
struct Turn {
  Scalar at = nullptr;
  bool below = true;
};

/// What is known of k within a part of the loop: k < at, or not.
using Known = std::vector<Turn>;

const kir::Ref* asElement(const kir::Operand& operand) {
  const auto* ref = std::get_if<kir::Ref>(&operand);
  return ref != nullptr && ref->buffer->memory == MemoryType::Local ? ref : nullptr;
}

/// The statements of one loop, with what each of its own variables is computed by.
class Body {
 public:
  Body(Scalar var, const kir::Block& block, kir::ScalarPool& pool) : var_(var), pool_(pool) {
    for (const kir::Stmt& stmt : block) {
      if (const auto* declare = std::get_if<kir::Declare>(&stmt.node)) {
        own_.insert(declare->buffer);
      }
    }
  }

  bool isOwn(const kir::Buffer* buffer) const { return own_.count(buffer) != 0; }

  /// Where a choice turns; nothing if that is not known from the loop alone.
  std::optional<Turn> turnOf(const kir::Block& block, const kir::Operand& condition) {
    const kir::Stmt* def = definitionOf(block, condition);
    if (def == nullptr) {
      return std::nullopt;
    }
    if (const auto* copy = std::get_if<kir::Assign>(&def->node)) {
      return turnOf(block, copy->src);
    }
    const auto* compute = std::get_if<kir::Compute>(&def->node);
    const auto* type = compute == nullptr ? nullptr : std::get_if<BinaryOpType>(&compute->op);
    if (type == nullptr || !isIntegralType(compute->compute)) {
      return std::nullopt;
    }
    const Scalar a = numberOf(block, compute->operands[0]);
    const Scalar b = a == nullptr ? nullptr : numberOf(block, compute->operands[1]);
    if (b == nullptr) {
      return std::nullopt;
    }
    switch (*type) {
      case BinaryOpType::LT:
        return turnBelow(a, b, true);
      case BinaryOpType::GE:
        return turnBelow(a, b, false);
      case BinaryOpType::GT:
        return turnBelow(b, a, true);
      case BinaryOpType::LE:
        return turnBelow(b, a, false);
      default:
        return std::nullopt;
    }
  }

  /// The turn of a < b; of its opposite, if it is not `holds`.
  std::optional<Turn> turnBelow(Scalar a, Scalar b, bool holds) {
    int64_t slope = 0;
    Scalar rest = nullptr;
    if (!pool_.splitLinear(pool_.sub(b, a), var_, &slope, &rest) || slope == 0 ||
        kir::ScalarPool::contains(rest, var_)) {
      return std::nullopt;
    }
    const auto quotient = [&](Scalar value, int64_t by) {
      return by == 1 ? value : pool_.div(pool_.max(value, pool_.zero()), pool_.constant(by));
    };
    if (slope < 0) {  // 0 < rest - s·k where k < rest / s, rounded up
      return Turn{quotient(pool_.add(rest, pool_.constant(-slope - 1)), -slope), holds};
    }
    // 0 < rest + s·k where -rest < s·k, so from -rest / s on, rounded down, and one more
    return Turn{quotient(pool_.sub(pool_.constant(slope), rest), slope), !holds};
  }

 private:
  const kir::Stmt* definitionOf(const kir::Block& block, const kir::Operand& operand) const {
    const kir::Ref* ref = asElement(operand);
    if (ref == nullptr || !isOwn(ref->buffer)) {
      return nullptr;
    }
    const kir::Stmt* found = nullptr;
    int writes = 0;
    for (const kir::Stmt& stmt : block) {
      kir::forEachAccess(stmt, [&](const kir::Ref& access, bool is_write) {
        const bool defines = is_write && access.buffer == ref->buffer;
        writes += defines ? 1 : 0;
        found = defines ? &stmt : found;
      });
    }
    return writes == 1 ? found : nullptr;
  }

  Scalar numberOf(const kir::Block& block, const kir::Operand& operand) {
    if (const auto* index = std::get_if<kir::IndexValue>(&operand)) {
      return index->index;
    }
    if (const auto* literal = std::get_if<kir::Literal>(&operand)) {
      return literal->value.is<int64_t>() ? pool_.constant(literal->value.as<int64_t>()) : nullptr;
    }
    const kir::Stmt* def = definitionOf(block, operand);
    const auto* copy = def == nullptr ? nullptr : std::get_if<kir::Assign>(&def->node);
    return copy == nullptr || !isIntegralType(copy->dst.buffer->dtype) ? nullptr
                                                                       : numberOf(block, copy->src);
  }

  Scalar var_;
  kir::ScalarPool& pool_;
  std::set<const kir::Buffer*> own_;
};

/// Takes one loop apart.
class Splitter {
 public:
  Splitter(const kir::For& loop, kir::ScalarPool& pool)
      : loop_(loop),
        pool_(pool),
        block_(flat(*loop.body)),
        body_(loop.var, block_, pool),
        begin_(pool.zero()),
        end_(loop.extent),
        uniform_(pool.one()) {}

  /// The loops in its place; none if it stays as it is.
  kir::Block run() {
    if (loop_.extent->hi <= kFewElements || !isSimple() || !readEdges()) {
      return {};
    }
    const kir::Block known = decided(block_, edges_);
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
                            ? body_.turnBelow(part->args[0], part->args[1], true)
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

  bool isSimple() const {
    return std::all_of(block_.begin(), block_.end(), [](const kir::Stmt& stmt) {
      return std::holds_alternative<kir::Declare>(stmt.node) ||
             std::holds_alternative<kir::Assign>(stmt.node) ||
             std::holds_alternative<kir::Compute>(stmt.node) ||
             std::holds_alternative<kir::Guarded>(stmt.node) ||
             std::holds_alternative<kir::Fetch>(stmt.node) ||
             std::holds_alternative<kir::LoadIndex>(stmt.node);
    });
  }

  void split(const kir::Block& from, Scalar begin, Scalar end, const Known& known) {
    const kir::Block block = read(decided(from, known));
    if (const auto turn = nextTurn(block)) {
      ++splits_;
      const Scalar middle = pool_.min(pool_.max(turn->at, begin), end);
      Known before = known;
      before.push_back({turn->at, true});
      split(block, begin, middle, before);
      Known behind = known;
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
    for (auto it = block.rbegin(); it != block.rend(); ++it) {
      if (const auto* choice = asChoice(*it)) {
        if (const auto turn = body_.turnOf(block, choice->operands[0])) {
          return turn;
        }
      }
    }
    return std::nullopt;
  }

  static const kir::Compute* asChoice(const kir::Stmt& stmt) {
    const auto* compute = std::get_if<kir::Compute>(&stmt.node);
    const auto* type = compute == nullptr ? nullptr : std::get_if<TernaryOpType>(&compute->op);
    return type != nullptr && *type == TernaryOpType::Where ? compute : nullptr;
  }

  /// Whether a condition holds throughout; nothing if that is not known.
  std::optional<bool> holds(const std::optional<Turn>& turn, const Known& known) {
    for (const Turn& each : known) {
      if (!turn) {
        break;
      }
      const Scalar later = pool_.sub(turn->at, each.at);
      if (each.below && later->lo >= 0) {
        return turn->below;
      }
      if (!each.below && later->hi <= 0) {
        return !turn->below;
      }
    }
    return std::nullopt;
  }

  /// With choices and guards that are known.
  kir::Block decided(const kir::Block& block, const Known& known) {
    kir::Block result = block;
    for (kir::Stmt& stmt : result) {
      if (const auto* choice = asChoice(stmt)) {
        if (const auto first = holds(body_.turnOf(block, choice->operands[0]), known)) {
          stmt = {kir::Assign{choice->dst, choice->operands[*first ? 1 : 2]}};
          is_decided_ = true;
        }
      } else if (auto* guarded = std::get_if<kir::Guarded>(&stmt.node)) {
        const Scalar before = guarded->condition;
        guarded->condition = decided(before, known);
        is_decided_ |= guarded->condition != before;
        if (guarded->condition->isConstant()) {
          const bool reads = !guarded->condition->isConstant(0);
          stmt = {kir::Assign{guarded->dst, reads ? guarded->src : guarded->otherwise}};
        }
      }
    }
    return result;
  }

  Scalar decided(Scalar condition, const Known& known) {
    if (condition->op == kir::ScalarOp::And) {
      Scalar rest = pool_.one();
      for (Scalar each : condition->args) {
        rest = pool_.logicalAnd(rest, decided(each, known));
      }
      return rest;
    }
    if (condition->op != kir::ScalarOp::Less) {
      return condition;
    }
    const auto turn = body_.turnBelow(condition->args[0], condition->args[1], true);
    const std::optional<bool> value = holds(turn, known);
    return value ? pool_.constant(*value ? 1 : 0) : condition;
  }

  /// Without what nobody reads.
  kir::Block read(const kir::Block& block) const {
    std::set<const kir::Buffer*> wanted;
    std::vector<bool> kept(block.size(), true);
    for (size_t i = block.size(); i-- > 0;) {
      if (std::holds_alternative<kir::Declare>(block[i].node)) {
        continue;
      }
      bool writes_own = false;
      kir::forEachAccess(block[i], [&](const kir::Ref& ref, bool is_write) {
        writes_own |= is_write && body_.isOwn(ref.buffer) && wanted.count(ref.buffer) == 0;
      });
      kept[i] = !writes_own;
      kir::forEachAccess(block[i], [&](const kir::Ref& ref, bool is_write) {
        if (kept[i] && !is_write) {
          wanted.insert(ref.buffer);
        }
      });
    }
    kir::Block result;
    for (size_t i = 0; i < block.size(); ++i) {
      const auto* declare = std::get_if<kir::Declare>(&block[i].node);
      if (declare != nullptr ? wanted.count(declare->buffer) != 0 : kept[i]) {
        result.push_back(block[i]);
      }
    }
    return result;
  }

  const kir::For& loop_;
  kir::ScalarPool& pool_;
  const kir::Block block_;
  Body body_;
  Scalar begin_;
  Scalar end_;
  Scalar uniform_;
  Known edges_;
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
