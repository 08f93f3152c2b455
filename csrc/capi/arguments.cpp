#include <capi/arguments.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <complex>
#include <numeric>

#include <ir/builder.h>
#include <support/error.h>

namespace nvfuser::capi {

namespace {

constexpr std::array<PrimDataType, NVF_DTYPE_COUNT> kDtypes = {
    PrimDataType::Null,          PrimDataType::Double,   PrimDataType::Float,
    PrimDataType::Half,          PrimDataType::BFloat16, PrimDataType::Float8_e4m3fn,
    PrimDataType::Float8_e5m2,   PrimDataType::Char,     PrimDataType::Short,
    PrimDataType::Int32,         PrimDataType::Int,      PrimDataType::Byte,
    PrimDataType::UInt16,        PrimDataType::UInt32,   PrimDataType::UInt64,
    PrimDataType::Index,         PrimDataType::Bool,     PrimDataType::ComplexFloat,
    PrimDataType::ComplexDouble,
};

/// Names that different documents have for one parameter; what comes first in a group is ours.
std::string_view canonicalName(std::string_view name) {
  if (name == "dims" || name == "dim" || name == "axis" || name == "reduction_axes") {
    return "axes";
  }
  // nvFuser's names in embedding_fwd, matmul and linear.
  if (name == "input" || name == "arg1") {
    return "arg";
  }
  if (name == "arg2") {
    return "weight";
  }
  if (name == "output_shape") {
    return "shape";
  }
  return name == "keep_dim" ? std::string_view("keepdim") : name;
}

std::string kindName(const nvf_argument& argument, const std::vector<Val*>& values) {
  switch (argument.kind) {
    case NVF_ARG_NONE:
      return "None";
    case NVF_ARG_VALUE: {
      const auto id = static_cast<size_t>(argument.integer);
      return id < values.size() && values[id]->isA<TensorView>() ? "a tensor" : "a scalar";
    }
    case NVF_ARG_BOOL:
      return "a bool";
    case NVF_ARG_INT:
      return text("the integer ", argument.integer);
    case NVF_ARG_DOUBLE:
      return text("the number ", argument.real);
    case NVF_ARG_COMPLEX:
      return "a complex number";
    case NVF_ARG_DTYPE:
      return "a dtype";
    case NVF_ARG_LIST:
      return "a list";
    default:
      return text("an argument of the unknown kind ", argument.kind);
  }
}

}  // namespace

DataType dtypeOf(int64_t code) {
  if (code < 0 || code >= NVF_DTYPE_COUNT) {
    throw ArgumentError(
        text("there is no dtype with number ", code, "; the last is ", NVF_DTYPE_COUNT - 1));
  }
  return kDtypes[static_cast<size_t>(code)];
}

int32_t codeOf(DataType dtype) {
  const auto* found = std::find(kDtypes.begin(), kDtypes.end(), dtype.type);
  check(found != kDtypes.end(), "every dtype has a number in the C interface");
  return static_cast<int32_t>(found - kDtypes.begin());
}

nvf_argument parseDefault(std::string_view value) {
  nvf_argument result{};
  const char* end = value.data() + value.size();
  if (value == "None") {
    result.kind = NVF_ARG_NONE;
  } else if (value == "True" || value == "False") {
    result.kind = NVF_ARG_BOOL;
    result.integer = value == "True" ? 1 : 0;
  } else if (std::from_chars(value.data(), end, result.integer).ptr == end) {
    result.kind = NVF_ARG_INT;
  } else {
    result.kind = NVF_ARG_DOUBLE;
    check(std::from_chars(value.data(), end, result.real).ptr == end,
          "a default value is None, True, False or a number");
  }
  return result;
}

namespace {

/// Where an argument without a name belongs: in its turn, but for a dtype in place of the axes,
/// which may be left out before it: prod(arg, dtype).
size_t placeByKind(std::span<const Parameter> parameters, const nvf_argument& argument,
                   size_t turn) {
  if (argument.kind != NVF_ARG_DTYPE || canonicalName(parameters[turn].name) != "axes") {
    return turn;
  }
  const auto dtype = std::find_if(parameters.begin(), parameters.end(),
                                  [](const Parameter& p) { return p.name == "dtype"; });
  return dtype == parameters.end() ? turn : static_cast<size_t>(dtype - parameters.begin());
}

}  // namespace

Call::Call(std::string_view name, std::span<const Parameter> parameters,
           std::span<const nvf_argument> arguments, const std::vector<Val*>& values)
    : name_(name),
      parameters_(parameters),
      arguments_(parameters.size()),
      is_given_(parameters.size(), false),
      values_(values) {
  const auto signature = [&] {
    return join(parameters, ", ", [](const Parameter& p) -> const std::string& { return p.name; });
  };
  size_t next = 0;
  for (const nvf_argument& argument : arguments) {
    size_t at = next;
    if (argument.name == nullptr) {
      if (at >= parameters.size()) {
        throw ArgumentError(text(name, ": takes at most ", parameters.size(), " arguments (",
                                 signature(), ") but more were given"));
      }
      at = placeByKind(parameters, argument, at);
      ++next;
    } else {
      const auto same = [&](const Parameter& parameter) {
        return canonicalName(parameter.name) == canonicalName(argument.name);
      };
      at = static_cast<size_t>(std::find_if(parameters.begin(), parameters.end(), same) -
                               parameters.begin());
      if (at == parameters.size()) {
        throw ArgumentError(
            text(name, ": there is no parameter \"", argument.name, "\"; there are ", signature()));
      }
    }
    if (is_given_[at]) {
      throw ArgumentError(text(name, ": argument ", parameters[at].name, " was given twice"));
    }
    is_given_[at] = true;
    arguments_[at] = argument;
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Parameter& parameter = parameters[i];
    if (is_given_[i] && (arguments_[i].kind != NVF_ARG_NONE || parameter.default_text == "None")) {
      continue;
    }
    if (is_given_[i] && parameter.may_be_none) {
      continue;
    }
    if (!parameter.default_text) {
      throw ArgumentError(text(name, ": argument ", parameter.name, " (", parameter.type,
                               is_given_[i] ? ") must not be None" : ") is missing"));
    }
    is_given_[i] = false;
    arguments_[i] = parseDefault(*parameter.default_text);
  }
}

void Call::wrongKind(size_t i, std::string_view wanted) const {
  const nvf_argument& argument = arguments_[i];
  throw ArgumentError(text(name_, ": argument ", parameters_[i].name, " must be ", wanted, ", not ",
                           kindName(argument, values_)));
}

Val* asIndex(Val* scalar) {
  if (scalar == nullptr || !scalar->isFloatingPointScalar()) {
    return scalar;
  }
  if (scalar->isConst()) {
    const auto value = scalar->value().as<double>();
    if (std::trunc(value) != value || !std::isfinite(value)) {
      return scalar;  // who reads it says what is wrong
    }
    return IrBuilder::create<Val>(castToDtype(scalar->value(), DataType::Index),
                                  DataType(DataType::Index));
  }
  return IrBuilder::maybeCastExpr(DataType::Index, scalar);
}

/// Conversions of single arguments, also those inside lists; empty or null where the kind is wrong.
struct Converter {
  const Call& call;

  Val* value(const nvf_argument& argument) const {
    if (argument.kind != NVF_ARG_VALUE) {
      return nullptr;
    }
    if (argument.integer < 0 || argument.integer >= static_cast<int64_t>(call.values_.size())) {
      throw ArgumentError(text(call.name_, ": there is no value with id ", argument.integer,
                               "; the fusion has ", call.values_.size(), " values"));
    }
    return call.values_[static_cast<size_t>(argument.integer)];
  }
  /// A value of the fusion, or a number as a constant.
  Val* operand(const nvf_argument& argument) const {
    switch (argument.kind) {
      case NVF_ARG_VALUE:
        return value(argument);
      case NVF_ARG_BOOL:
        return IrBuilder::create<Val>(PolymorphicValue(argument.integer != 0));
      case NVF_ARG_INT:
        return IrBuilder::create<Val>(PolymorphicValue(argument.integer));
      case NVF_ARG_DOUBLE:
        return IrBuilder::create<Val>(PolymorphicValue(argument.real));
      case NVF_ARG_COMPLEX:
        return IrBuilder::create<Val>(
            PolymorphicValue(std::complex<double>(argument.real, argument.imag)));
      default:
        return nullptr;
    }
  }
  std::optional<int64_t> integer(const nvf_argument& argument) const {
    if (argument.kind == NVF_ARG_INT) {
      return argument.integer;
    }
    if (Val* val = value(argument); val != nullptr && val->isConst() && val->isIntegralScalar()) {
      return val->value().as<int64_t>();
    }
    return std::nullopt;
  }
  std::optional<bool> flag(const nvf_argument& argument) const {
    const bool is_number = argument.kind == NVF_ARG_INT && (argument.integer | 1) == 1;
    if (argument.kind == NVF_ARG_BOOL || is_number) {  // printed definitions write some as 0 and 1
      return argument.integer != 0;
    }
    if (Val* val = value(argument); val != nullptr && val->isConst() && val->isABool()) {
      return val->value().as<bool>();
    }
    return std::nullopt;
  }
  TensorView* tensor(const nvf_argument& argument) const {
    Val* val = value(argument);
    return val != nullptr && val->isA<TensorView>() ? val->as<TensorView>() : nullptr;
  }
  /// A real scalar of the fusion is cut to an index.
  Val* size(const nvf_argument& argument) const {
    Val* val = argument.kind == NVF_ARG_INT ? operand(argument) : value(argument);
    val = asIndex(val);
    return val != nullptr && val->isIntegralScalar() ? val : nullptr;
  }
};

namespace {

std::span<const nvf_argument> items(const nvf_argument& list) {
  return {list.items, static_cast<size_t>(list.count)};
}

/// Each item converted; empty where one cannot be.
template <typename Item, typename Convert>
std::optional<std::vector<Item>> listOf(const nvf_argument& argument, const Convert& convert) {
  if (argument.kind != NVF_ARG_LIST) {
    return std::nullopt;
  }
  std::vector<Item> result;
  for (const nvf_argument& item : items(argument)) {
    auto converted = convert(item);
    if (!converted) {
      return std::nullopt;
    }
    if constexpr (std::is_pointer_v<Item>) {
      result.push_back(converted);
    } else {
      result.push_back(*converted);
    }
  }
  return result;
}

}  // namespace

template <>
TypeName typeName<Val*>() {
  return {"Tensor | Scalar | number", true};
}
template <>
TypeName typeName<TensorView*>() {
  return {"Tensor", true};
}
template <>
TypeName typeName<ScalarOperand>() {
  return {"Scalar | number", false};
}
template <>
TypeName typeName<int64_t>() {
  return {"int", false};
}
template <>
TypeName typeName<bool>() {
  return {"bool", false};
}
template <>
TypeName typeName<DataType>() {
  return {"DataType", false};
}
template <>
TypeName typeName<Ints>() {
  return {"list[int]", false};
}
template <>
TypeName typeName<Axes>() {
  return {"list[int] | int", false};
}
template <>
TypeName typeName<Flags>() {
  return {"list[bool]", false};
}
template <>
TypeName typeName<Sizes>() {
  return {"list[int | Scalar]", false};
}
template <>
TypeName typeName<Tensors>() {
  return {"list[Tensor]", true};
}

template <>
Val* Call::get<Val*>(size_t i) const {
  const Converter convert{*this};
  const nvf_argument& argument = arguments_[i];
  if (argument.kind == NVF_ARG_NONE) {
    return nullptr;
  }
  Val* val = convert.operand(argument);
  if (val == nullptr) {
    wrongKind(i, "a tensor, a scalar or a number");
  }
  return val;
}

template <>
TensorView* Call::get<TensorView*>(size_t i) const {
  const Converter convert{*this};
  const nvf_argument& argument = arguments_[i];
  TensorView* tensor = convert.tensor(argument);
  if (tensor == nullptr && argument.kind != NVF_ARG_NONE) {
    wrongKind(i, "a tensor");
  }
  return tensor;
}

template <>
ScalarOperand Call::get<ScalarOperand>(size_t i) const {
  const Converter convert{*this};
  const nvf_argument& argument = arguments_[i];
  if (argument.kind == NVF_ARG_NONE) {
    return {};
  }
  Val* val = convert.operand(argument);
  if (val == nullptr || val->isA<TensorView>()) {
    wrongKind(i, "a scalar or a number");
  }
  return {val};
}

template <>
int64_t Call::get<int64_t>(size_t i) const {
  const Converter convert{*this};
  const nvf_argument& argument = arguments_[i];
  std::optional<int64_t> result = convert.integer(argument);
  if (!result) {
    wrongKind(i, "an integer");
  }
  return *result;
}

template <>
bool Call::get<bool>(size_t i) const {
  const Converter convert{*this};
  const nvf_argument& argument = arguments_[i];
  const std::optional<bool> result = convert.flag(argument);
  if (!result) {
    wrongKind(i, "a bool");
  }
  return *result;
}

template <>
DataType Call::get<DataType>(size_t i) const {
  const nvf_argument& argument = arguments_[i];
  if (argument.kind == NVF_ARG_NONE) {
    return DataType::Null;
  }
  if (argument.kind != NVF_ARG_DTYPE) {
    wrongKind(i, "a DataType");
  }
  return dtypeOf(argument.integer);
}

template <>
Ints Call::get<Ints>(size_t i) const {
  const Converter convert{*this};
  const nvf_argument& argument = arguments_[i];
  if (std::optional<int64_t> one = convert.integer(argument)) {
    return {*one};
  }
  auto result = listOf<int64_t>(argument, [&](const auto& item) { return convert.integer(item); });
  if (!result) {
    wrongKind(i, "a list of integers");
  }
  return *result;
}

template <>
Axes Call::get<Axes>(size_t i) const {
  const nvf_argument& argument = arguments_[i];
  return argument.kind == NVF_ARG_NONE ? Axes{} : Axes{get<Ints>(i)};
}

template <>
Flags Call::get<Flags>(size_t i) const {
  const Converter convert{*this};
  const nvf_argument& argument = arguments_[i];
  if (argument.kind == NVF_ARG_NONE) {
    return {};
  }
  auto result = listOf<bool>(argument, [&](const auto& item) { return convert.flag(item); });
  if (!result) {
    wrongKind(i, "a list of bools");
  }
  return *result;
}

template <>
Sizes Call::get<Sizes>(size_t i) const {
  const Converter convert{*this};
  const nvf_argument& argument = arguments_[i];
  if (argument.kind == NVF_ARG_NONE) {
    return {};
  }
  auto result = listOf<Val*>(argument, [&](const auto& item) { return convert.size(item); });
  if (!result) {
    wrongKind(i, "a list of integers and integer scalars");
  }
  return *result;
}

template <>
Tensors Call::get<Tensors>(size_t i) const {
  const Converter convert{*this};
  const nvf_argument& argument = arguments_[i];
  auto result =
      listOf<TensorView*>(argument, [&](const auto& item) { return convert.tensor(item); });
  if (!result) {
    wrongKind(i, "a list of tensors");
  }
  return *result;
}

std::vector<int64_t> Axes::of(const TensorView* tv) const {
  if (given) {
    if (given->empty()) {
      userError(
          "No reduction axis specified: the list of axes is empty; leave it out for all axes");
    }
    return *given;
  }
  const auto& logical = tv->getLogicalDomain();
  const auto rank = std::count_if(logical.begin(), logical.end(),
                                  [](const IterDomain* axis) { return !axis->isReduction(); });
  std::vector<int64_t> all(static_cast<size_t>(rank));
  std::iota(all.begin(), all.end(), int64_t{0});
  return all;
}

}  // namespace nvfuser::capi
