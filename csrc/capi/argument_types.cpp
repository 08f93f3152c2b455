// Arguments of a call as the types that operations take: the name of each type in messages, and the
// conversion to it.
#include <complex>
#include <optional>
#include <span>

#include <capi/arguments.h>
#include <ir/builder.h>

namespace nvfuser::capi {

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

}  // namespace nvfuser::capi
