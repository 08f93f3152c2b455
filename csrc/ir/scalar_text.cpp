#include <algorithm>

#include <ir/expr_visit.h>
#include <ir/field_text.h>
#include <ir/spelling.h>

namespace nvfuser {

std::string_view prefixOf(DataType dtype) {
  if (isBooleanType(dtype)) {
    return "b";
  }
  if (isIntegralType(dtype)) {
    return "i";
  }
  if (isComplexType(dtype)) {
    return "c";
  }
  if (dtype == DataType::Float) {
    return "f";
  }
  if (dtype == DataType::Double) {
    return "d";
  }
  return "h";
}

std::optional<DataType> typeOfPrefix(char prefix) {
  switch (prefix) {
    case 'b':
      return DataType(DataType::Bool);
    case 'i':
      return DataType(DataType::Index);
    case 'c':
      return DataType(DataType::ComplexDouble);
    case 'f':
      return DataType(DataType::Float);
    case 'd':
      return DataType(DataType::Double);
    case 'h':
      return DataType(DataType::Half);
    default:
      return std::nullopt;
  }
}

std::string_view infix(BinaryOpType type) {
  using enum BinaryOpType;
  switch (type) {
    case Add:
      return "+";
    case Sub:
      return "-";
    case Mul:
      return "*";
    case Div:
      return "/";
    case Mod:
      return "%";
    case Lshift:
      return "<<";
    case Rshift:
      return ">>";
    case BitwiseAnd:
      return "&";
    case BitwiseOr:
      return "|";
    case BitwiseXor:
      return "^";
    case LogicalAnd:
      return "&&";
    case LogicalOr:
      return "||";
    case Eq:
      return "==";
    case NE:
      return "!=";
    case LT:
      return "<";
    case LE:
      return "<=";
    case GT:
      return ">";
    case GE:
      return ">=";
    default:
      return "";
  }
}

LiteralTypes LiteralTypes::of(DataType dtype) {
  LiteralTypes types;
  if (isIntegralType(dtype)) {
    types.integer = dtype;
  } else if (isFloatingPointType(dtype)) {
    types.real = dtype;
  } else if (isComplexType(dtype)) {
    types.complex = dtype;
  }
  return types;
}

LiteralTypes LiteralTypes::ofOperands(ExprKind kind, DataType result) {
  switch (kind) {
    case ExprKind::UnaryOp:
    case ExprKind::BinaryOp:
    case ExprKind::TernaryOp:
    case ExprKind::LoadStoreOp:
      return LiteralTypes{};
    case ExprKind::FullOp:
      return of(result);
    default: {
      LiteralTypes types = of(result);
      types.integer = DataType::Index;
      return types;
    }
  }
}

DataType LiteralTypes::typeOf(const PolymorphicValue& value) const {
  if (value.is<bool>()) {
    return DataType::Bool;
  }
  return value.is<int64_t>() ? integer : value.is<double>() ? real : complex;
}

DataType expectedType(const ScalarOperation& operation, const std::vector<Val*>& operands) {
  using enum BinaryOpType;
  if (const auto* unary = std::get_if<UnaryOpType>(&operation)) {
    return *unary == UnaryOpType::Cast         ? DataType(DataType::Null)
           : *unary == UnaryOpType::LogicalNot ? DataType(DataType::Bool)
                                               : operands.at(0)->dtype();
  }
  if (const auto* binary = std::get_if<BinaryOpType>(&operation)) {
    const BinaryOpType type = *binary;
    const bool is_truth = type == Eq || type == NE || type == LT || type == LE || type == GT ||
                          type == GE || type == LogicalAnd || type == LogicalOr;
    return is_truth ? DataType(DataType::Bool)
                    : promoteType(operands.at(0)->dtype(), operands.at(1)->dtype());
  }
  return std::holds_alternative<TernaryOpType>(operation)
             ? promoteType(operands.at(1)->dtype(), operands.at(2)->dtype())
             : operands.at(0)->dtype();
}

namespace {

/// The dtype that nothing is written for behind the text of a definition.
DataType expectedType(const Expr* expr) {
  switch (expr->kind()) {
    case ExprKind::UnaryOp:
      return expr->as<UnaryOp>()->getUnaryOpType() == UnaryOpType::Cast
                 ? expr->output(0)->dtype()
                 : expectedType(expr->as<UnaryOp>()->getUnaryOpType(), expr->inputs());
    case ExprKind::BinaryOp:
      return expectedType(expr->as<BinaryOp>()->getBinaryOpType(), expr->inputs());
    case ExprKind::TernaryOp:
      return expectedType(expr->as<TernaryOp>()->getTernaryOpType(), expr->inputs());
    case ExprKind::LoadStoreOp:
      return expectedType(expr->as<LoadStoreOp>()->opType(), expr->inputs());
    default:
      return DataType::Null;
  }
}

}  // namespace

bool isSpelledOut(const Val* scalar) {
  constexpr int kMostOperations = 40;
  std::vector<const Val*> open{scalar};
  for (int operations = 0; !open.empty();) {
    const Val* top = open.back();
    open.pop_back();
    if (top->isConst() || top->definition() == nullptr) {
      continue;
    }
    const std::vector<Val*>& operands = top->definition()->inputs();
    if (++operations > kMostOperations || top->definition()->outputs().size() > 1 ||
        std::any_of(operands.begin(), operands.end(),
                    [](const Val* operand) { return !operand->isScalar(); })) {
      return false;
    }
    open.insert(open.end(), operands.begin(), operands.end());
  }
  return true;
}

namespace {

/// Writes scalars, with dtypes or without.
class ScalarWriter {
 public:
  /// Null: dtypes are left out.
  explicit ScalarWriter(const LiteralTypes* types) : types_(types) {}

  std::string scalar(const Val* val) const {
    if (val->isConst()) {
      return text(val->value(),
                  typeBehind(val, types_ ? types_->typeOf(val->value()) : DataType()));
    }
    const Expr* definition = val->definition();
    if (definition == nullptr || !isSpelledOut(val)) {
      return val->toString();
    }
    return text("( ", this->definition(definition), " )",
                typeBehind(val, expectedType(definition)));
  }

  std::string definition(const Expr* expr) const {
    if (expr->isA<BinaryOp>()) {
      const std::string_view symbol = infix(expr->as<BinaryOp>()->getBinaryOpType());
      if (!symbol.empty()) {
        return text(operand(expr->input(0)), " ", symbol, " ", operand(expr->input(1)));
      }
    }
    if (expr->isA<UnaryOp>() && expr->as<UnaryOp>()->getUnaryOpType() == UnaryOpType::Cast) {
      return text("(", dataTypeName(expr->output(0)->dtype()), ")", operand(expr->input(0)));
    }
    return text(expr->getOpString(), "( ",
                join(expr->inputs(), ", ", [&](const Val* val) { return operand(val); }), " )");
  }

 private:
  std::string operand(const Val* val) const {
    return val->isScalar() ? scalar(val) : val->toInlineString();
  }
  std::string typeBehind(const Val* val, DataType expected) const {
    return types_ == nullptr || val->dtype() == expected ? std::string()
                                                         : text(":", dataTypeName(val->dtype()));
  }

  const LiteralTypes* types_;
};

}  // namespace

std::string scalarText(const Val* scalar, const LiteralTypes& types) {
  return ScalarWriter(&types).scalar(scalar);
}

std::string definitionText(const Expr* definition, const LiteralTypes& types) {
  return ScalarWriter(&types).definition(definition);
}

std::string Val::toString(int) const {
  if (isConst()) {
    return value_.toString();
  }
  return text(prefixOf(dtype_), name());
}

std::string Val::toInlineString(int) const { return ScalarWriter(nullptr).scalar(this); }

std::string Expr::toInlineString(int) const { return ScalarWriter(nullptr).definition(this); }

}  // namespace nvfuser
