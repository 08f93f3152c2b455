#include <ir/scalar_reader.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include <ir/builder.h>
#include <ir/field_text.h>

namespace nvfuser {

namespace {

/// The dtype whose name is next, the longest one.
std::optional<DataType> seenType(std::string_view rest) {
  std::optional<DataType> found;
  auto consider = [&](DataType dtype) {
    if (rest.starts_with(dataTypeName(dtype)) &&
        (!found || dataTypeName(*found).size() < dataTypeName(dtype).size())) {
      found = dtype;
    }
  };
  std::for_each(allDataTypes().begin(), allDataTypes().end(), consider);
  consider(DataType::Index);
  return found;
}

/// "(double)" in front of an operand.
std::optional<DataType> takeCast(TextCursor& at) {
  if (!at.sees("(")) {
    return std::nullopt;
  }
  const std::string_view behind = at.rest().substr(1);
  const auto dtype = seenType(behind);
  const size_t length = dtype ? dataTypeName(*dtype).size() : 0;
  if (!dtype || !behind.substr(length).starts_with(")")) {
    return std::nullopt;
  }
  at.advance(length + 2);
  return dtype;
}

std::optional<BinaryOpType> takeInfix(TextCursor& at) {
  std::optional<BinaryOpType> found;
  for (const BinaryOpType type : allValues<BinaryOpType>()) {
    const std::string_view sign = infix(type);
    if (!sign.empty() && at.sees(sign) && (!found || infix(*found).size() < sign.size())) {
      found = type;
    }
  }
  if (found) {
    at.take(infix(*found));
  }
  return found;
}

/// "d5" is a scalar's number behind a letter; none: a name of its own ("blockDim.x").
std::optional<int64_t> numberIn(std::string_view name) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(name.data() + 1, name.data() + name.size(), number);
  const bool is_number = name.size() > 1 && typeOfPrefix(name.front()) && error == std::errc() &&
                         end == name.data() + name.size() && name[1] != '-';
  return is_number ? std::optional(number) : std::nullopt;
}

double readReal(TextCursor& at) {
  const std::string_view rest = at.rest();
  double value = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (error == std::errc::invalid_argument) {
    at.fail("a number");
  }
  at.advance(static_cast<size_t>(end - rest.data()));
  return value;
}

bool isOperation(std::string_view name) {
  return valueNamed<UnaryOpType>(name) || valueNamed<BinaryOpType>(name) ||
         valueNamed<TernaryOpType>(name) || name == valueName(LoadStoreOpType::Set);
}

ScalarOperation operationNamed(std::string_view name) {
  if (const auto unary = valueNamed<UnaryOpType>(name)) {
    return *unary;
  }
  if (const auto binary = valueNamed<BinaryOpType>(name)) {
    return *binary;
  }
  if (const auto ternary = valueNamed<TernaryOpType>(name)) {
    return *ternary;
  }
  return LoadStoreOpType::Set;
}

size_t operandsOf(const ScalarOperation& operation) {
  return std::holds_alternative<BinaryOpType>(operation)    ? 2
         : std::holds_alternative<TernaryOpType>(operation) ? 3
                                                            : 1;
}

}  // namespace

DataType ScalarReader::readType(TextCursor& at) {
  const auto dtype = seenType(at.rest());
  if (!dtype) {
    at.fail("a data type");
  }
  at.take(dataTypeName(*dtype));
  return *dtype;
}

Val* ScalarReader::constant(const PolymorphicValue& value, DataType dtype) {
  Val*& slot = made_[text(dataTypeName(dtype), ":", value)];
  if (slot == nullptr) {
    slot = IrBuilder::createInContainer<Val>(&fusion_, value, dtype);
  }
  return slot;
}

Val* ScalarReader::symbol(TextCursor& at, std::string_view name, std::optional<DataType> dtype) {
  const auto known = symbols_.find(name);
  if (known != symbols_.end()) {
    if (dtype && known->second->dtype() != *dtype) {
      at.refuse(text(name, " is of ", dataTypeName(known->second->dtype()), ", not of ",
                     dataTypeName(*dtype)));
    }
    return known->second;
  }
  const auto number = numberIn(name);
  Val* val = nullptr;
  if (number) {
    val = IrBuilder::createInContainer<Val>(&fusion_, dtype.value_or(*typeOfPrefix(name.front())));
    names_.set(val, *number);
  } else if (dtype) {
    val = IrBuilder::createInContainer<NamedScalar>(&fusion_, std::string(name), *dtype);
  } else {
    at.refuse(text("there is no scalar '", name,
                   "'; a symbol is a letter of its dtype and a number "
                   "(i0, d5), another name is declared under %scalars"));
  }
  symbols_.emplace(name, val);
  return val;
}

Val* ScalarReader::literal(TextCursor& at, const LiteralTypes& types) {
  PolymorphicValue value;
  if (at.take("(")) {
    const double real = readReal(at);
    at.expect(",", "behind the real part of a complex number");
    value = std::complex<double>(real, readReal(at));
    at.expect(")", "behind a complex number");
  } else if (at.seenName() == "true" || at.seenName() == "false") {
    value = at.takeName("a truth value") == "true";
  } else {
    const std::string_view rest = at.rest();
    const size_t sign = rest.starts_with("-") ? 1 : 0;
    const size_t digits = rest.find_first_not_of("0123456789", sign);
    const bool is_integer = digits != sign && (digits == std::string_view::npos ||
                                               (rest[digits] != '.' && rest[digits] != 'e'));
    value = is_integer ? PolymorphicValue(at.takeInteger("an integer"))
                       : PolymorphicValue(readReal(at));
  }
  const DataType dtype = at.takeDirectly(':') ? readType(at) : types.typeOf(value);
  return constant(value, dtype);
}

Val* ScalarReader::read(TextCursor& at, const LiteralTypes& types) {
  if (at.sees("( ")) {
    at.take("(");
    const Operation made = operation(at, types);
    at.expect(")", "behind the definition of a scalar");
    return valueOf(made, at.takeDirectly(':') ? readType(at) : made.expected, std::nullopt);
  }
  const std::string_view name = at.seenName();
  const bool is_symbol = !name.empty() && std::isalpha(static_cast<unsigned char>(name[0])) != 0 &&
                         name != "true" && name != "false" && name != "inf" && name != "nan";
  if (is_symbol) {
    at.advance(name.size());
    return symbol(at, name, std::nullopt);
  }
  return literal(at, types);
}

ScalarReader::Operation ScalarReader::operation(TextCursor& at, const LiteralTypes& types) {
  if (const auto cast = takeCast(at)) {
    return {UnaryOpType::Cast, {read(at, types)}, *cast};
  }
  const std::string_view name = at.seenName();
  if (!name.empty() && at.rest().substr(name.size()).starts_with("(")) {
    return function(at, types);
  }
  Operation result;
  result.operands.push_back(read(at, types));
  const auto type = takeInfix(at);
  if (!type) {
    at.fail("an operator between scalars");
  }
  result.type = *type;
  result.operands.push_back(read(at, types));
  result.expected = expectedType(result.type, result.operands);
  return result;
}

ScalarReader::Operation ScalarReader::function(TextCursor& at, const LiteralTypes& types) {
  if (!isOperation(at.seenName())) {
    at.fail("an operation on scalars");
  }
  Operation result;
  result.type = operationNamed(at.takeName("an operation"));
  at.expect("(", "before operands");
  for (size_t i = 0; i < operandsOf(result.type); ++i) {
    if (i > 0) {
      at.expect(",", "between operands");
    }
    result.operands.push_back(read(at, types));
  }
  at.expect(")", "behind operands");
  result.expected = expectedType(result.type, result.operands);
  return result;
}

Val* ScalarReader::valueOf(const Operation& made, DataType dtype, std::optional<int64_t> number) {
  std::string form =
      text(made.type.index(), " ", std::visit([](auto type) { return fieldText(type); }, made.type),
           " ", dataTypeName(dtype));
  for (const Val* operand : made.operands) {
    append(form, text(" ", reinterpret_cast<uintptr_t>(operand)));
  }
  Val*& slot = made_[form];
  if (slot != nullptr && !number) {
    return slot;
  }
  Val* result = IrBuilder::createInContainer<Val>(&fusion_, dtype);
  if (number) {
    names_.set(result, *number);
  }
  slot = slot == nullptr ? result : slot;
  Operands operands{made.operands, {result}};
  if (const auto* unary = std::get_if<UnaryOpType>(&made.type)) {
    IrBuilder::createInContainer<UnaryOp>(&fusion_, std::move(operands), UnaryOpFields{*unary});
  } else if (const auto* binary = std::get_if<BinaryOpType>(&made.type)) {
    IrBuilder::createInContainer<BinaryOp>(&fusion_, std::move(operands), BinaryOpFields{*binary});
  } else if (const auto* ternary = std::get_if<TernaryOpType>(&made.type)) {
    IrBuilder::createInContainer<TernaryOp>(&fusion_, std::move(operands),
                                            TernaryOpFields{*ternary});
  } else {
    IrBuilder::createInContainer<LoadStoreOp>(
        &fusion_, std::move(operands),
        LoadStoreOpFields{LoadStoreOpType::Set, CacheOp::Unspecified});
  }
  return result;
}

void ScalarReader::declare(TextCursor& at) {
  const std::string_view name = at.takeName("the name of a scalar");
  if (at.take("=")) {
    const auto number = numberIn(name);
    if (!number || symbols_.count(name) != 0) {
      at.refuse(text("'", name,
                     "' cannot be defined here; a computed scalar is a letter and a "
                     "number, and stands before what is computed from it"));
    }
    const Operation made = operation(at, LiteralTypes::ofSizes());
    at.expect(":", "before the dtype of a computed scalar");
    symbols_.emplace(name, valueOf(made, readType(at), number));
  } else {
    at.expect(":", "before the dtype of a symbol");
    symbol(at, name, readType(at));
  }
  at.expectEnd("behind a scalar");
}

}  // namespace nvfuser
