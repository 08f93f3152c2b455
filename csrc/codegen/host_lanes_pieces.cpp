/// Loops of vectors (host_lanes.cpp) that count through the elements of several axes as one. An
/// index that is a quotient or a remainder of the place is a line between two of its steps, so the
/// loop goes from step to step, and vectors lie within:
///
///   for k in 0..3844 simd            for (Index from_k = 0; from_k < last_k;) {
///     T1[k] =                          const Index q0_k = from_k / 62;
///       T0[k / 62 * 64 + k % 62]  →    const Index length_k = indexMin(3844 - from_k,
///                                          q0_k * 62 + 62 - from_k);
///                                      for (Index k = 0; k < length_k; k += 16)
///                                        T1[from_k + k] = T0[from_k + k + q0_k * 2]
///                                      from_k += length_k;
///                                    }
#include <algorithm>
#include <numeric>

#include <codegen/host_emitter.h>
#include <kernel_ir/accesses.h>
#include <kernel_ir/scalars_of.h>

namespace nvfuser::codegen {

using kir::Scalar;

namespace {

constexpr int64_t kLeastPiece = 8;  ///< elements, where it is known; shorter ones fill no vector
constexpr size_t kMostSteps = 8;    ///< different quotients

/// Places k at which a quotient is another one than at k - 1.
struct Step {
  Scalar quotient = nullptr;  ///< a symbol
  Scalar numerator = nullptr;
  Scalar divisor = nullptr;
  int64_t slope = 0;  ///< of the numerator
};

/// Takes quotients and remainders of the loop's variable out of its body.
class Pieces {
 public:
  Pieces(const kir::For& loop, kir::ScalarPool& pool) : loop_(loop), pool_(pool) {
    from_ = pool.symbol("from_" + loop.var->name, loop.extent);
  }

  /// The body of a piece; none: nothing steps.
  std::optional<kir::For> rewritten() {
    kir::For piece = loop_;
    piece.body = std::make_shared<kir::Block>(block(*loop_.body));
    if (steps_.empty()) {
      return std::nullopt;
    }
    piece.extent = pool_.symbol("length_" + loop_.var->name, loop_.extent, 1);
    return piece;
  }

  Scalar from() const { return from_; }
  const std::vector<Step>& steps() const { return steps_; }
  Scalar atBegin(Scalar index) { return pool_.substitute(index, {{loop_.var, from_}}); }
  /// Iterations from the first one of a piece to the next step.
  Scalar length() {
    Scalar least = pool_.sub(loop_.extent, from_);
    for (const Step& step : steps_) {
      const Scalar next = pool_.mul(pool_.add(step.quotient, pool_.one()), step.divisor);
      const Scalar left = pool_.sub(next, atBegin(step.numerator));
      least = pool_.min(least, pool_.ceilDiv(left, pool_.constant(step.slope)));
    }
    return least;
  }

  /// A number that all pieces begin at a multiple of.
  int64_t grain() const {
    int64_t grain = 0;
    for (const Step& step : steps_) {
      int64_t slope = 0;
      Scalar rest = nullptr;
      if (!step.divisor->isConstant() ||
          !pool_.splitLinear(step.numerator, loop_.var, &slope, &rest) || slope != 1) {
        return 1;
      }
      int64_t constant = 0;
      kir::ScalarTerms terms;
      pool_.decompose(rest, &constant, &terms);
      grain = std::gcd(std::gcd(grain, step.divisor->value), constant);
      for (const auto& [term, times] : terms) {
        grain = std::gcd(grain, times);
      }
    }
    return std::max<int64_t>(grain, 1);
  }

 private:
  kir::Block block(const kir::Block& from) {
    kir::Block to;
    for (const kir::Stmt& stmt : from) {
      if (const auto* let = std::get_if<kir::Let>(&stmt.node)) {
        lets_[let->var] = pool_.substitute(let->value, lets_);
        continue;
      }
      to.push_back(stmt);
      kir::mapScalars(to.back(), [&](Scalar index) { return inPiece(index); });
      if (auto* branch = std::get_if<kir::If>(&to.back().node)) {
        branch->then_body = std::make_shared<kir::Block>(block(*branch->then_body));
        if (branch->else_body != nullptr) {
          branch->else_body = std::make_shared<kir::Block>(block(*branch->else_body));
        }
      }
    }
    return to;
  }

  Scalar inPiece(Scalar index) {
    const Scalar lines = inLines(pool_.substitute(index, lets_));
    return pool_.substitute(lines, {{loop_.var, pool_.add(from_, loop_.var)}});
  }

  /// With lines for quotients and remainders, the innermost ones first.
  Scalar inLines(Scalar index) {
    if (!kir::ScalarPool::contains(index, loop_.var) || index == loop_.var) {
      return index;
    }
    if (const Scalar whole = wholeQuotient(index)) {
      return inLines(whole);
    }
    std::unordered_map<Scalar, Scalar> parts;
    for (const auto& [term, times] : index->terms) {
      parts[term] = inLines(term);
    }
    for (Scalar arg : index->args) {
      parts[arg] = inLines(arg);
    }
    const bool divides = index->op == kir::ScalarOp::Div || index->op == kir::ScalarOp::Mod;
    if (divides && index->args[0]->lo >= 0) {
      if (const Scalar line = lineOf(index->op, parts.at(index->args[0]), index->args[1])) {
        return line;
      }
    }
    return pool_.substitute(index, parts);
  }

  /// (p + x div y) div z = (p·y + x) div (y·z): its steps are z times further apart. Null: it is
  /// nothing like that.
  Scalar wholeQuotient(Scalar index) {
    if (index->op != kir::ScalarOp::Div) {
      return nullptr;
    }
    for (const auto& [term, times] : index->args[0]->terms) {
      const Scalar rest = pool_.sub(index->args[0], pool_.mul(term, times));
      if (times != 1 || term->op != kir::ScalarOp::Div ||
          !kir::ScalarPool::contains(term, loop_.var) || rest->lo < 0 || term->args[0]->lo < 0) {
        continue;
      }
      const Scalar numerator = pool_.add(pool_.mul(rest, term->args[1]), term->args[0]);
      const Scalar whole = pool_.div(numerator, pool_.mul(term->args[1], index->args[1]));
      return whole == index ? nullptr : whole;
    }
    return nullptr;
  }

  /// What a quotient or a remainder is in a piece; null: no line, or steps are short or many.
  Scalar lineOf(kir::ScalarOp op, Scalar numerator, Scalar divisor) {
    divisor = pool_.max(divisor, pool_.one());  // one of an axis without elements
    int64_t slope = 0;
    Scalar rest = nullptr;
    if (kir::ScalarPool::contains(divisor, loop_.var) ||
        !pool_.splitLinear(numerator, loop_.var, &slope, &rest) || slope < 1 || isLoaded(rest) ||
        (divisor->isConstant() && divisor->value / slope < kLeastPiece)) {
      return nullptr;
    }
    auto known = std::find_if(steps_.begin(), steps_.end(), [&](const Step& each) {
      return each.numerator == numerator && each.divisor == divisor;
    });
    if (known == steps_.end()) {
      if (steps_.size() == kMostSteps) {
        return nullptr;
      }
      const std::string name = text("q", steps_.size(), "_", loop_.var->name);
      steps_.push_back({pool_.symbol(name), numerator, divisor, slope});
      known = std::prev(steps_.end());
    }
    return op == kir::ScalarOp::Div ? known->quotient
                                    : pool_.sub(numerator, pool_.mul(known->quotient, divisor));
  }

  /// Whether each iteration reads it from memory.
  bool isLoaded(Scalar value) const {
    bool found = false;
    kir::forEach(*loop_.body, [&](const kir::Stmt& stmt) {
      const auto* load = std::get_if<kir::LoadIndex>(&stmt.node);
      found |= load != nullptr && kir::ScalarPool::contains(value, load->var);
    });
    return found;
  }

  const kir::For& loop_;
  kir::ScalarPool& pool_;
  Scalar from_ = nullptr;
  std::unordered_map<Scalar, Scalar> lets_;
  std::vector<Step> steps_;
};

}  // namespace

LaneRange HostEmitter::limitOf(const kir::For& loop) {
  kir::ScalarPool& pool = *kernel_.pool;
  LaneRange limit{.begin = nullptr, .end = loop.extent, .uniform = pool.one()};
  const kir::If* branch = onlyBranch(*loop.body);
  if (branch == nullptr) {
    return limit;
  }
  LaneLoop whole;
  whole.var = loop.var;
  for (const kir::Stmt& stmt : *loop.body) {
    if (const auto* let = std::get_if<kir::Let>(&stmt.node)) {
      whole.lets[let->var] = pool.substitute(let->value, whole.lets);
    }
  }
  const Scalar condition = pool.substitute(branch->condition, whole.lets);
  const std::vector<Scalar> parts =
      condition->op == kir::ScalarOp::And ? condition->args : std::vector<Scalar>{condition};
  for (Scalar part : parts) {
    // (Others hold for some of the pieces, or of a piece's elements.)
    const std::optional<LaneRange> range = rangeOf(part, whole);
    if (range.has_value() && range->begin == nullptr) {
      limit.end = range->end == nullptr ? limit.end : pool.min(limit.end, range->end);
      limit.uniform = pool.logicalAnd(limit.uniform, range->uniform);
    }
  }
  return limit;
}

bool HostEmitter::laneLoopInPieces(const kir::For& loop) {
  if (loop.kind != kir::LoopKind::Simd) {
    return false;
  }
  Pieces pieces(loop, *kernel_.pool);
  std::optional<kir::For> piece = pieces.rewritten();
  std::optional<LaneLoop> lanes = piece.has_value() ? lanesOf(*piece) : std::nullopt;
  if (!lanes.has_value() || !lanes->sums.empty()) {
    return false;
  }
  lanes->from = pieces.from();
  lanes->grain = pieces.grain();
  const std::string from = scalar_.name(pieces.from());
  const std::string length = scalar_.name(piece->extent);
  const LaneRange limit = limitOf(loop);
  const std::string last = "last_" + scalar_.name(loop.var);
  out_.open(limit.uniform->isConstant(1) ? std::string("{")
                                         : text("if (", scalar_(limit.uniform), ") {"));
  out_.line(text("const Index ", last, " = ", scalar_(limit.end), ";"));
  out_.open(text("for (Index ", from, " = 0; ", from, " < ", last, ";) {"));
  for (const Step& step : pieces.steps()) {
    const Scalar quotient = kernel_.pool->div(pieces.atBegin(step.numerator), step.divisor);
    out_.line(text("const Index ", scalar_.name(step.quotient), " = ", scalar_(quotient), ";"));
  }
  out_.line(text("const Index ", length, " = ", scalar_(pieces.length()), ";"));
  laneLoop(*piece, *lanes);
  out_.line(text(from, " += ", length, ";"));
  out_.close();
  out_.close();
  return true;
}

}  // namespace nvfuser::codegen
