#include <codegen/lane_copies.h>

#include <algorithm>

#include <codegen/host_emitter.h>
#include <kernel_ir/accesses.h>
#include <kernel_ir/scalars_of.h>

namespace nvfuser::codegen {

using kir::Scalar;

namespace {

/// Of 64 bits, which no number of a copy leaves.
bool isNumber(DataType dtype) { return dtype == DataType::Int || dtype == DataType::Index; }

/// Calls `visit` for a statement and those nested in it.
void forEachIn(const kir::Stmt& stmt, const std::function<void(const kir::Stmt&)>& visit) {
  kir::forEach(kir::Block{stmt}, visit);
}

}  // namespace

LaneCopies::LaneCopies(const kir::Block& body, Scalar number, kir::ScalarPool& pool)
    : number_(number), pool_(pool) {
  std::set<Scalar> symbols{number};
  std::set<const kir::Buffer*> buffers;
  const auto dependsOn = [&](const kir::Stmt& stmt) {
    bool depends = false;
    forEachIn(stmt, [&](const kir::Stmt& each) {
      kir::forEachScalar(each, [&](Scalar scalar) {
        depends |= std::any_of(symbols.begin(), symbols.end(), [&](Scalar symbol) {
          return kir::ScalarPool::contains(scalar, symbol);
        });
      });
      kir::forEachAccess(
          each, [&](const kir::Ref& ref, bool) { depends |= buffers.count(ref.buffer) != 0; });
    });
    return depends;
  };
  // What is made of something of a copy's own is its own, and so is all that touches that.
  std::vector<bool> own(body.size(), false);
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < body.size(); ++i) {
      if (own[i] || !dependsOn(body[i])) {
        continue;
      }
      own[i] = changed = true;
      forEachIn(body[i], [&](const kir::Stmt& each) {
        if (kir::definedBy(each) != nullptr) {
          symbols.insert(kir::definedBy(each));
        }
        kir::forEachAccess(each, [&](const kir::Ref& ref, bool is_write) {
          if (is_write) {
            buffers.insert(ref.buffer);
          }
        });
      });
    }
  }
  for (size_t i = 0; i < body.size(); ++i) {
    const auto* declare = std::get_if<kir::Declare>(&body[i].node);
    if (declare != nullptr) {
      registers_.insert(declare->buffer);
    }
    const bool of_copy = own[i] || (declare != nullptr && buffers.count(declare->buffer) != 0);
    (of_copy ? own_ : shared_).push_back(body[i]);
    forEachIn(body[i], [&](const kir::Stmt& each) {
      kir::forEachAccess(
          each, [&](const kir::Ref& ref, bool is_write) { writes_[ref.buffer] += is_write; });
    });
  }
}

std::optional<int64_t> LaneCopies::numberOf(const kir::Operand& operand, const Known& known) const {
  if (const auto* index = std::get_if<kir::IndexValue>(&operand)) {
    const Scalar value = pool_.substitute(index->index, known.symbols);
    return value->isConstant() && isNumber(index->dtype) ? std::optional(value->value)
                                                         : std::nullopt;
  }
  if (const auto* literal = std::get_if<kir::Literal>(&operand)) {
    return isNumber(literal->dtype) || isBooleanType(literal->dtype)
               ? std::optional(literal->value.as<int64_t>())
               : std::nullopt;
  }
  const auto* ref = std::get_if<kir::Ref>(&operand);
  const auto number = ref == nullptr ? known.numbers.end() : known.numbers.find(ref->buffer);
  return number == known.numbers.end() ? std::nullopt : std::optional(number->second);
}

/// What a statement computes, where that is a number.
std::optional<int64_t> LaneCopies::numberOf(const kir::Stmt& stmt, const Known& known) const {
  if (const auto* assign = std::get_if<kir::Assign>(&stmt.node)) {
    return numberOf(assign->src, known);
  }
  const auto* compute = std::get_if<kir::Compute>(&stmt.node);
  const auto* op = compute == nullptr ? nullptr : std::get_if<BinaryOpType>(&compute->op);
  if (op == nullptr) {
    return std::nullopt;
  }
  const std::optional<int64_t> a = numberOf(compute->operands[0], known);
  const std::optional<int64_t> b = numberOf(compute->operands[1], known);
  if (!a.has_value() || !b.has_value()) {
    return std::nullopt;
  }
  switch (*op) {
    case BinaryOpType::LT:
      return *a < *b;
    case BinaryOpType::LE:
      return *a <= *b;
    case BinaryOpType::GT:
      return *a > *b;
    case BinaryOpType::GE:
      return *a >= *b;
    case BinaryOpType::Eq:
      return *a == *b;
    case BinaryOpType::NE:
      return *a != *b;
    default:
      return std::nullopt;
  }
}

/// `stmt`, or the copy of what it chooses.
kir::Stmt LaneCopies::chosen(const kir::Stmt& stmt, const Known& known) const {
  if (const auto* guarded = std::get_if<kir::Guarded>(&stmt.node)) {
    const Scalar condition = pool_.substitute(guarded->condition, known.symbols);
    if (condition->isConstant()) {
      return {kir::Assign{.dst = guarded->dst,
                          .src = condition->value != 0 ? guarded->src : guarded->otherwise}};
    }
  }
  const auto* compute = std::get_if<kir::Compute>(&stmt.node);
  const auto* op = compute == nullptr ? nullptr : std::get_if<TernaryOpType>(&compute->op);
  if (op == nullptr || *op != TernaryOpType::Where) {
    return stmt;
  }
  const std::optional<int64_t> condition = numberOf(compute->operands[0], known);
  if (!condition.has_value()) {
    return stmt;
  }
  return {kir::Assign{.dst = compute->dst, .src = compute->operands[*condition != 0 ? 1 : 2]}};
}

kir::Block LaneCopies::at(int64_t place) const {
  Known known;
  known.symbols[number_] = pool_.constant(place);
  std::unordered_map<const kir::Buffer*, kir::Ref> same;
  const auto isOnce = [&](const kir::Ref& ref) {
    return registers_.count(ref.buffer) != 0 && writes_.at(ref.buffer) == 1;
  };
  kir::Block all;
  for (const kir::Stmt& original : own_) {
    kir::Stmt stmt = chosen(original, known);
    const auto replace = [&](kir::Operand& operand) {
      const auto* ref = std::get_if<kir::Ref>(&operand);
      if (ref != nullptr && same.count(ref->buffer) != 0) {
        operand = same.at(ref->buffer);
      }
    };
    if (auto* compute = std::get_if<kir::Compute>(&stmt.node)) {
      std::for_each(compute->operands.begin(), compute->operands.end(), replace);
    } else if (auto* assign = std::get_if<kir::Assign>(&stmt.node)) {
      replace(assign->src);
    } else if (auto* guarded = std::get_if<kir::Guarded>(&stmt.node)) {
      replace(guarded->src);
      replace(guarded->otherwise);
    }
    const kir::Ref* result = resultOf(stmt);
    if (result != nullptr && isOnce(*result)) {
      if (const std::optional<int64_t> number = numberOf(stmt, known)) {
        known.numbers[result->buffer] = *number;
      }
      const auto* assign = std::get_if<kir::Assign>(&stmt.node);
      const auto* src = assign == nullptr ? nullptr : std::get_if<kir::Ref>(&assign->src);
      if (src != nullptr && isOnce(*src) && src->buffer->dtype == result->buffer->dtype) {
        same[result->buffer] = *src;
      }
    }
    all.push_back(std::move(stmt));
  }
  // Backwards: what nobody reads is left out.
  std::set<const kir::Buffer*> read;
  kir::Block kept;
  for (size_t i = all.size(); i-- > 0;) {
    const kir::Ref* result = resultOf(all[i]);
    const auto* declare = std::get_if<kir::Declare>(&all[i].node);
    const bool unread = declare != nullptr ? read.count(declare->buffer) == 0
                                           : result != nullptr && isOnce(*result) &&
                                                 read.count(result->buffer) == 0;
    if (unread) {
      continue;
    }
    forEachIn(all[i], [&](const kir::Stmt& each) {
      kir::forEachAccess(each, [&](const kir::Ref& ref, bool) { read.insert(ref.buffer); });
    });
    kept.push_back(all[i]);
  }
  std::reverse(kept.begin(), kept.end());
  return kept;
}

}  // namespace nvfuser::codegen
