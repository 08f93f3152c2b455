#include <ir/linear_size.h>

#include <algorithm>

namespace nvfuser {

namespace {

constexpr size_t kMostTerms = 6;      ///< of a form that is looked into
constexpr int kMostOperations = 16;   ///< of a definition that is read
constexpr int64_t kMost = 1LL << 40;  ///< larger constants may overflow: they are left alone

bool isWord(DataType dtype) { return dtype == DataType::Index || dtype == DataType::Int; }

/// Whether a scalar is known to be 0 or more; looks at a few operations.
bool isNotNegative(const Val* val, int depth = 0) {
  if (const auto constant = smallConstant(val)) {
    return *constant >= 0;
  }
  const Expr* def = val->definition();
  if (val->isConst() || def == nullptr) {
    return val->dtype() == DataType::Index;
  }
  if (depth > 4 || !isWord(val->dtype())) {
    return false;
  }
  auto both = [&](size_t i, size_t j) {
    return isNotNegative(def->input(i), depth + 1) && isNotNegative(def->input(j), depth + 1);
  };
  if (def->isA<BinaryOp>()) {
    using enum BinaryOpType;
    switch (def->as<BinaryOp>()->getBinaryOpType()) {
      case Max:
        return isNotNegative(def->input(0), depth + 1) || isNotNegative(def->input(1), depth + 1);
      case Add:
      case Mul:
      case Div:
      case Mod:
      case CeilDiv:
      case Min:
        return both(0, 1);
      default:
        return false;
    }
  }
  if (def->isA<TernaryOp>() && def->as<TernaryOp>()->getTernaryOpType() == TernaryOpType::Where) {
    return both(1, 2);
  }
  return false;
}

class Reader {
 public:
  static LinearSize read(Val* val) {
    Reader reader;
    LinearSize form;
    reader.add(val, 1, form);
    return form;
  }

 private:
  void add(Val* val, int64_t factor, LinearSize& form) {
    if (const auto constant = smallConstant(val)) {
      form.constant += factor * *constant;
      return;
    }
    if (++operations_ <= kMostOperations && form.isSmall()) {
      if (const BinaryOp* op = wordOperation(val, BinaryOpType::Add)) {
        add(op->lhs(), factor, form);
        add(op->rhs(), factor, form);
        return;
      }
      if (const BinaryOp* op = wordOperation(val, BinaryOpType::Sub)) {
        add(op->lhs(), factor, form);
        add(op->rhs(), -factor, form);
        return;
      }
      if (const BinaryOp* op = wordOperation(val, BinaryOpType::Mul)) {
        for (const bool left : {true, false}) {
          const auto constant = smallConstant(left ? op->lhs() : op->rhs());
          if (constant && std::abs(factor) < kMost / (std::abs(*constant) + 1)) {
            add(left ? op->rhs() : op->lhs(), factor * *constant, form);
            return;
          }
        }
      }
      const Expr* def = val->definition();
      if (def != nullptr && def->isA<UnaryOp>() && isWord(val->dtype()) &&
          isWord(def->input(0)->dtype())) {
        const UnaryOpType type = def->as<UnaryOp>()->getUnaryOpType();
        if (type == UnaryOpType::Neg || type == UnaryOpType::Cast) {
          add(def->input(0), type == UnaryOpType::Neg ? -factor : factor, form);
          return;
        }
      }
    }
    form.add(val, factor);
  }

  int operations_ = 0;
};

}  // namespace

std::optional<int64_t> smallConstant(const Val* val) {
  if (!val->isConst() || !isIntegralType(val->dtype())) {
    return std::nullopt;
  }
  const auto value = val->value().as<int64_t>();
  return value < kMost && value > -kMost ? std::optional<int64_t>(value) : std::nullopt;
}

const BinaryOp* wordOperation(const Val* val, BinaryOpType type) {
  const Expr* def = val->isConst() || !isWord(val->dtype()) ? nullptr : val->definition();
  if (def == nullptr || !def->isA<BinaryOp>() || def->as<BinaryOp>()->getBinaryOpType() != type) {
    return nullptr;
  }
  return isWord(def->input(0)->dtype()) && isWord(def->input(1)->dtype()) ? def->as<BinaryOp>()
                                                                          : nullptr;
}

void LinearSize::add(Val* val, int64_t coefficient) {
  for (Term& term : terms) {
    if (term.val->sameAs(val)) {
      term.coefficient += coefficient;
      std::erase_if(terms, [](const Term& t) { return t.coefficient == 0; });
      return;
    }
  }
  terms.push_back({val, coefficient});
}

void LinearSize::add(const LinearSize& other, int64_t factor) {
  constant += factor * other.constant;
  for (const Term& term : other.terms) {
    add(term.val, factor * term.coefficient);
  }
}

bool LinearSize::isSmall() const {
  return terms.size() <= kMostTerms && constant < kMost && constant > -kMost &&
         std::all_of(terms.begin(), terms.end(), [](const Term& term) {
           return term.coefficient < kMost && term.coefficient > -kMost;
         });
}

bool LinearSize::isNotNegative() const {
  return constant >= 0 && std::all_of(terms.begin(), terms.end(), [](const Term& term) {
           return term.coefficient > 0 && nvfuser::isNotNegative(term.val);
         });
}

bool operator==(const LinearSize& a, const LinearSize& b) {
  LinearSize rest = a;
  rest.add(b, -1);
  return rest.constant == 0 && rest.terms.empty();
}

LinearSize LinearSize::read(Val* val) { return Reader::read(val); }

}  // namespace nvfuser
