/// Sizes are read as linear forms (linear_size.h). Terms that are parts of a longer size m,
///
///   part(m, a, c) = min(c, max(m − a, 0))      what lies at a, a + 1, … of m elements, c at most
///
/// meet their neighbours: part(m, a, c) + part(m, a + c, d) = part(m, a, c + d). All of m is
/// part(m, 0, ∞).
#include <ir/size_arithmetic.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include <ir/builder.h>
#include <ir/linear_size.h>

namespace nvfuser {

namespace {

using Simplify = SimplifyingIrBuilder;
using Term = LinearSize::Term;

constexpr int64_t kEndless = std::numeric_limits<int64_t>::max();

/// part(whole, begin, most), see above; `whole` has no constant.
struct Part {
  LinearSize whole;
  int64_t begin = 0;
  int64_t most = kEndless;
};

/// max(value, 0) as (whole, begin), for begin > 0.
std::optional<Part> tailOf(Val* val) {
  const BinaryOp* op = wordOperation(val, BinaryOpType::Max);
  if (op == nullptr || !op->rhs()->isZeroInt()) {
    return std::nullopt;
  }
  Part part{LinearSize::read(op->lhs())};
  part.begin = -part.whole.constant;
  part.whole.constant = 0;
  return part.begin > 0 && part.whole.isNotNegative() ? std::optional<Part>(part) : std::nullopt;
}

std::optional<Part> partOf(Val* val) {
  const BinaryOp* op = wordOperation(val, BinaryOpType::Min);
  if (op == nullptr) {
    return tailOf(val);
  }
  const auto most = smallConstant(op->lhs());
  if (!most || *most < 0) {
    return std::nullopt;
  }
  Part part{LinearSize::read(op->rhs())};
  if (const auto tail = tailOf(op->rhs())) {
    part = *tail;
  }
  part.most = *most;
  return part.whole.constant == 0 && part.whole.isNotNegative() ? std::optional<Part>(part)
                                                                : std::nullopt;
}

class Builder {
 public:
  explicit Builder(Fusion* fusion) : fusion_(fusion) {}

  Val* constant(int64_t value) {
    if (value == 0 || value == 1) {
      return value == 0 ? fusion_->zeroVal(DataType::Index) : fusion_->oneVal(DataType::Index);
    }
    return IrBuilder::createInContainer<Val>(fusion_, PolymorphicValue(value),
                                             DataType(DataType::Index));
  }

  Val* of(const LinearSize& form) {
    Val* result = nullptr;
    // What is added first, so that no negation is needed.
    for (const bool positive : {true, false}) {
      for (const Term& term : form.terms) {
        if ((term.coefficient > 0) != positive) {
          continue;
        }
        Val* val = Simplify::maybeCastExpr(DataType::Index, term.val);
        const int64_t magnitude = std::abs(term.coefficient);
        val = magnitude == 1 ? val : Simplify::mulExpr(val, magnitude);
        if (result == nullptr && !positive && form.constant > 0) {
          result = constant(form.constant);
        }
        if (result == nullptr) {
          result = positive ? val : Simplify::negExpr(val);
        } else {
          result = positive ? Simplify::addExpr(result, val) : Simplify::subExpr(result, val);
        }
      }
    }
    if (result == nullptr) {
      return constant(form.constant);
    }
    const bool has_constant = std::none_of(form.terms.begin(), form.terms.end(),
                                           [](const Term& t) { return t.coefficient > 0; }) &&
                              form.constant > 0;
    if (form.constant == 0 || has_constant) {
      return result;
    }
    return form.constant > 0 ? Simplify::addExpr(result, constant(form.constant))
                             : Simplify::subExpr(result, constant(-form.constant));
  }

  Val* of(const Part& part) {
    LinearSize rest = part.whole;
    rest.constant -= part.begin;
    Val* value = of(rest);
    if (part.begin > 0) {
      value = Simplify::maxExpr(value, fusion_->zeroVal(DataType::Index));
    }
    return part.most == kEndless ? value : Simplify::minExpr(constant(part.most), value);
  }

 private:
  Fusion* fusion_;
};

/// Whether all terms of `whole` are in the form, at least as often.
bool has(const LinearSize& form, const LinearSize& whole) {
  return std::all_of(whole.terms.begin(), whole.terms.end(), [&](const Term& part) {
    return std::any_of(form.terms.begin(), form.terms.end(), [&](const Term& term) {
      return term.coefficient >= part.coefficient && term.val->sameAs(part.val);
    });
  });
}

/// A part without another one that lies at its beginning or its end.
std::optional<Part> without(const Part& part, const Part& other) {
  if (!(part.whole == other.whole)) {
    return std::nullopt;
  }
  auto endOf = [](const Part& p) { return p.most == kEndless ? kEndless : p.begin + p.most; };
  if (part.begin == other.begin && other.most < part.most) {
    return Part{part.whole, part.begin + other.most,
                part.most == kEndless ? kEndless : part.most - other.most};
  }
  if (endOf(part) == endOf(other) && other.begin > part.begin) {
    return Part{part.whole, part.begin, other.begin - part.begin};
  }
  return std::nullopt;
}

/// Parts that are neighbours become one, and what is left of a whole a part. One step; false where
/// there is none.
bool joinParts(LinearSize& form, Builder& builder) {
  auto replace = [&](const Part& by) {
    if (by.begin == 0 && by.most == kEndless) {
      form.add(by.whole, 1);
    } else {
      form.add(builder.of(by), 1);
    }
    return true;
  };
  const std::vector<Term> terms = form.terms;
  for (const Term& one : terms) {
    const auto part = partOf(one.val);
    if (!part) {
      continue;
    }
    if (one.coefficient < 0 && has(form, part->whole) &&
        (part->begin == 0 || part->most == kEndless)) {
      form.add(one.val, 1);
      form.add(part->whole, -1);
      return replace(part->begin == 0 ? Part{part->whole, part->most, kEndless}
                                      : Part{part->whole, 0, part->begin});
    }
    for (const Term& other : terms) {
      if (one.coefficient <= 0 || one.val == other.val) {
        continue;
      }
      const auto next = partOf(other.val);
      if (const auto rest = other.coefficient < 0 && next ? without(*part, *next) : std::nullopt) {
        form.add(one.val, -1);
        form.add(other.val, 1);
        return replace(*rest);
      }
      if (other.coefficient > 0 && part->most != kEndless && next &&
          next->begin == part->begin + part->most && next->whole == part->whole) {
        form.add(one.val, -1);
        form.add(other.val, -1);
        return replace({part->whole, part->begin,
                        next->most == kEndless ? kEndless : part->most + next->most});
      }
    }
  }
  return false;
}

Val* combined(Val* a, Val* b, int64_t factor) {
  LinearSize form = LinearSize::read(a);
  form.add(LinearSize::read(b), factor);
  if (!form.isSmall()) {
    a = Simplify::maybeCastExpr(DataType::Index, a);
    b = Simplify::maybeCastExpr(DataType::Index, b);
    return factor > 0 ? Simplify::addExpr(a, b) : Simplify::subExpr(a, b);
  }
  Builder builder(a->fusion());
  while (joinParts(form, builder)) {
  }
  return builder.of(form);
}

}  // namespace

Val* SizeArithmetic::sum(Val* a, Val* b) { return combined(a, b, 1); }

Val* SizeArithmetic::difference(Val* a, Val* b) { return combined(a, b, -1); }

Val* SizeArithmetic::sum(Val* a, int64_t b) {
  return b == 0 ? Simplify::maybeCastExpr(DataType::Index, a)
                : sum(a, Builder(a->fusion()).constant(b));
}

Val* SizeArithmetic::notNegative(Val* value) {
  Builder builder(value->fusion());
  LinearSize form = LinearSize::read(value);
  if (form.isConstant()) {
    return builder.constant(std::max<int64_t>(form.constant, 0));
  }
  if (form.isNotNegative()) {
    return builder.of(form);
  }
  // Less of a part begins later; of one that has a most, there is less.
  if (Val* term = form.onlyTerm(); term != nullptr && form.constant < 0) {
    if (auto part = partOf(term)) {
      const int64_t less = -form.constant;
      if (part->most <= less) {
        return builder.constant(0);
      }
      part->begin += less;
      part->most = part->most == kEndless ? kEndless : part->most - less;
      return builder.of(*part);
    }
  }
  return Simplify::maxExpr(builder.of(form), builder.constant(0));
}

Val* SizeArithmetic::atMost(int64_t bound, Val* value) {
  Builder builder(value->fusion());
  LinearSize form = LinearSize::read(value);
  if (form.isConstant()) {
    return builder.constant(std::min(bound, form.constant));
  }
  if (form.isNotNegative() && form.constant >= bound) {
    return builder.constant(bound);
  }
  if (Val* term = form.onlyTerm(); term != nullptr && form.constant == 0) {
    if (auto part = partOf(term)) {
      part->most = std::min(part->most, bound);
      return builder.of(*part);
    }
  }
  if (form.constant > 0 && form.isNotNegative()) {
    LinearSize rest = form;
    rest.constant = 0;
    return sum(atMost(bound - form.constant, builder.of(rest)), form.constant);
  }
  return Simplify::minExpr(builder.constant(bound), builder.of(form));
}

}  // namespace nvfuser
