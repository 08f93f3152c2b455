#include <device_lower/loop_choices.h>

#include <algorithm>

#include <kernel_ir/accesses.h>

namespace nvfuser {

using kir::Scalar;

namespace {

const kir::Ref* asElement(const kir::Operand& operand) {
  const auto* ref = std::get_if<kir::Ref>(&operand);
  return ref != nullptr && ref->buffer->memory == MemoryType::Local ? ref : nullptr;
}

const kir::Compute* asChoice(const kir::Stmt& stmt) {
  const auto* compute = std::get_if<kir::Compute>(&stmt.node);
  const auto* type = compute == nullptr ? nullptr : std::get_if<TernaryOpType>(&compute->op);
  return type != nullptr && *type == TernaryOpType::Where ? compute : nullptr;
}

}  // namespace

LoopChoices::LoopChoices(Scalar var, const kir::Block& block, kir::ScalarPool& pool)
    : var_(var), pool_(pool) {
  for (const kir::Stmt& stmt : block) {
    if (const auto* declare = std::get_if<kir::Declare>(&stmt.node)) {
      own_.insert(declare->buffer);
    }
  }
}

bool LoopChoices::isSimple(const kir::Block& block) {
  return std::all_of(block.begin(), block.end(), [](const kir::Stmt& stmt) {
    return std::holds_alternative<kir::Declare>(stmt.node) ||
           std::holds_alternative<kir::Assign>(stmt.node) ||
           std::holds_alternative<kir::Compute>(stmt.node) ||
           std::holds_alternative<kir::Guarded>(stmt.node) ||
           std::holds_alternative<kir::Fetch>(stmt.node) ||
           std::holds_alternative<kir::LoadIndex>(stmt.node);
  });
}

std::optional<Turn> LoopChoices::lastTurn(const kir::Block& block) const {
  for (auto it = block.rbegin(); it != block.rend(); ++it) {
    if (const auto* choice = asChoice(*it)) {
      if (const auto turn = turnOf(block, choice->operands[0])) {
        return turn;
      }
    }
  }
  return std::nullopt;
}

/// Where a choice turns; nothing if that is not known from the loop alone.
std::optional<Turn> LoopChoices::turnOf(const kir::Block& block,
                                        const kir::Operand& condition) const {
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

std::optional<Turn> LoopChoices::turnBelow(Scalar a, Scalar b, bool holds) const {
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

const kir::Stmt* LoopChoices::definitionOf(const kir::Block& block,
                                           const kir::Operand& operand) const {
  const kir::Ref* ref = asElement(operand);
  if (ref == nullptr || own_.count(ref->buffer) == 0) {
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

Scalar LoopChoices::numberOf(const kir::Block& block, const kir::Operand& operand) const {
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

/// Whether a condition holds throughout; nothing if that is not known.
std::optional<bool> LoopChoices::holds(const std::optional<Turn>& turn,
                                       const KnownTurns& known) const {
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

kir::Block LoopChoices::decided(const kir::Block& block, const KnownTurns& known,
                                bool& is_decided) const {
  kir::Block result = block;
  for (kir::Stmt& stmt : result) {
    if (const auto* choice = asChoice(stmt)) {
      if (const auto first = holds(turnOf(block, choice->operands[0]), known)) {
        stmt = {kir::Assign{choice->dst, choice->operands[*first ? 1 : 2]}};
        is_decided = true;
      }
    } else if (auto* guarded = std::get_if<kir::Guarded>(&stmt.node)) {
      const Scalar before = guarded->condition;
      guarded->condition = decided(before, known);
      is_decided |= guarded->condition != before;
      if (guarded->condition->isConstant()) {
        const bool reads = !guarded->condition->isConstant(0);
        stmt = {kir::Assign{guarded->dst, reads ? guarded->src : guarded->otherwise}};
      }
    }
  }
  return result;
}

Scalar LoopChoices::decided(Scalar condition, const KnownTurns& known) const {
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
  const auto turn = turnBelow(condition->args[0], condition->args[1], true);
  const std::optional<bool> value = holds(turn, known);
  return value ? pool_.constant(*value ? 1 : 0) : condition;
}

kir::Block LoopChoices::read(const kir::Block& block) const {
  std::set<const kir::Buffer*> wanted;
  std::vector<bool> kept(block.size(), true);
  for (size_t i = block.size(); i-- > 0;) {
    if (std::holds_alternative<kir::Declare>(block[i].node)) {
      continue;
    }
    bool writes_own = false;
    kir::forEachAccess(block[i], [&](const kir::Ref& ref, bool is_write) {
      writes_own |= is_write && own_.count(ref.buffer) != 0 && wanted.count(ref.buffer) == 0;
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

}  // namespace nvfuser
