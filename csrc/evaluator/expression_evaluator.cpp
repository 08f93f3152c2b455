#include <evaluator/expression_evaluator.h>

#include <vector>

#include <evaluator/pointwise.h>
#include <evaluator/zero_divisor.h>
#include <ir/builder.h>
#include <ir/internal_nodes.h>

namespace nvfuser {

namespace {

std::string launchExtentName(ParallelType type) {
  switch (type) {
    case ParallelType::BIDx:
      return "gridDim.x";
    case ParallelType::BIDy:
      return "gridDim.y";
    case ParallelType::BIDz:
      return "gridDim.z";
    case ParallelType::TIDx:
      return "blockDim.x";
    case ParallelType::TIDy:
      return "blockDim.y";
    case ParallelType::TIDz:
      return "blockDim.z";
    default:
      userError("bind: ", parallelTypeName(type),
                " has no extent in a launch; block and thread dimensions have one");
  }
}

/// Whether a value may stand for a scalar of this dtype: nothing is lost but precision.
bool isCompatible(const PolymorphicValue& value, DataType dtype) {
  if (isComplexType(dtype) || dtype == DataType::Null) {
    return true;
  }
  if (value.is<std::complex<double>>()) {
    return false;
  }
  if (isFloatingPointType(dtype)) {
    return true;
  }
  if (value.is<double>()) {
    return false;
  }
  return value.is<bool>() || !isBooleanType(dtype);
}

/// The value of an expression of scalars; empty where it has none (division by zero) or is no
/// scalar operation.
PolymorphicValue applyOperation(const Expr* expr, const std::vector<PolymorphicValue>& operands) {
  if (const auto* op = expr->isA<BinaryOp>() ? expr->as<BinaryOp>() : nullptr) {
    const bool integers = !operands[0].is<double>() && !operands[1].is<double>() &&
                          expr->input(0)->dtype() != DataType::UInt64 &&
                          expr->input(1)->dtype() != DataType::UInt64;
    if (auto folded = foldBinary(op->getBinaryOpType(), operands[0], operands[1])) {
      if (integers) {
        return castToDtype(*folded, expr->output(0)->dtype());
      }
    } else if (integers && operands[1] == PolymorphicValue(0) &&
               isIntegralType(expr->output(0)->dtype())) {
      using enum BinaryOpType;
      switch (op->getBinaryOpType()) {
        case Div:
        case Mod:
        case CeilDiv:
        case Remainder:
        case Fmod:
          return {};
        default:
          break;
      }
    }
  }
  return reference::applyToScalars(expr, operands);
}

}  // namespace

void ExpressionEvaluator::bind(const Val* val, PolymorphicValue value, bool validate) {
  check(val != nullptr && value.hasValue(), "nothing can be bound to nothing");
  if (!isCompatible(value, val->dtype())) {
    userError("Scalar value ", value,
              " is not compatible with the expected data type: ", dataTypeName(val->dtype()), ".");
  }
  value = castToDtype(value, val->dtype());
  if (val->isConst()) {
    if (!(val->value() == value)) {
      userError("Tried to bind to a constant value: ", val->value(), " as ", value);
    }
    return;
  }
  if (validate) {
    const PolymorphicValue present = evaluate(val);
    if (present.hasValue() && !(present == value)) {
      userError("Tried to bind to a value: ", val->toInlineString(), "(which evaluated to ",
                present, ") as ", value);
    }
  }
  PolymorphicValue& slot = bound_[val];
  if (!slot.hasValue() || !(slot == value)) {
    slot = value;
    computed_.clear();
  }
}

void ExpressionEvaluator::bind(ParallelType type, int64_t extent) {
  bind(launchExtentName(type), PolymorphicValue(extent));
}

void ExpressionEvaluator::bind(std::string_view name, PolymorphicValue value) {
  bound_names_[std::string(name)] = value;
  computed_.clear();
}

PolymorphicValue ExpressionEvaluator::known(const Val* val) const {
  if (val->isConst()) {
    return val->value();
  }
  if (auto found = bound_.find(val); found != bound_.end()) {
    return found->second;
  }
  if (!bound_names_.empty() && val->definition() == nullptr && val->isScalar()) {
    if (auto found = bound_names_.find(val->toInlineString()); found != bound_names_.end()) {
      return found->second;
    }
  }
  return {};
}

PolymorphicValue ExpressionEvaluator::evaluate(const Val* val) {
  check(val != nullptr, "nothing has no value");
  if (!val->isScalar()) {
    return {};
  }
  // A worklist rather than recursion: extents of long graphs are deep expressions. `computed_` also
  // holds what is not known, as an empty value.
  std::vector<const Val*> open{val};
  std::vector<PolymorphicValue> operands;
  while (!open.empty()) {
    const Val* top = open.back();
    if (computed_.count(top) != 0) {
      open.pop_back();
      continue;
    }
    PolymorphicValue value = known(top);
    const Expr* def = value.hasValue() || !top->isScalar() ? nullptr : top->definition();
    if (def != nullptr) {
      bool ready = true;
      bool all_known = true;
      operands.clear();
      for (const Val* input : def->inputs()) {
        if (auto found = computed_.find(input); found != computed_.end()) {
          operands.push_back(found->second);
          all_known = all_known && found->second.hasValue();
        } else {
          open.push_back(input);
          ready = false;
        }
      }
      if (!ready) {
        continue;
      }
      if (all_known) {
        value = applyOperation(def, operands);
      }
    }
    computed_[top] = value;
    open.pop_back();
  }
  return computed_[val];
}

PolymorphicValue ExpressionEvaluator::evaluate(const Val* val) const {
  if (PolymorphicValue value = known(val); value.hasValue()) {
    return value;
  }
  if (auto found = computed_.find(val); found != computed_.end()) {
    return found->second;
  }
  ExpressionEvaluator copy(*this);
  return copy.evaluate(val);
}

PolymorphicValue ExpressionEvaluator::evaluate(ParallelType type) const {
  auto found = bound_names_.find(launchExtentName(type));
  return found == bound_names_.end() ? PolymorphicValue() : found->second;
}

int64_t ExpressionEvaluator::evaluateInt(const Val* val, std::string_view what) {
  const PolymorphicValue value = evaluate(val);
  if (!value.hasValue()) {
    requireDivisors(val, *this, what);
    userError(what, " is not known: ", val->toInlineString(),
              " depends on a scalar that no input gives a value to");
  }
  return value.as<int64_t>();
}

void ExpressionEvaluator::invalidate(const Val* val) {
  bound_.erase(val);
  computed_.clear();
}

std::string ExpressionEvaluator::toString() const {
  std::map<std::string, std::string> lines;
  for (const auto& [name, value] : bound_names_) {
    lines[name] = value.toString();
  }
  for (const auto& [val, value] : bound_) {
    lines[val->toInlineString()] = value.toString();
  }
  std::string all;
  for (const auto& [name, value] : lines) {
    all += text(name, " = ", value, "\n");
  }
  return all;
}

PolymorphicValue Val::evaluate() const {
  ExpressionEvaluator evaluator;
  return evaluator.evaluate(this);
}

}  // namespace nvfuser
