#include <capi/arguments.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
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
      return scalar;  // the conversion that needs an integer says what is wrong
    }
    return IrBuilder::create<Val>(castToDtype(scalar->value(), DataType::Index),
                                  DataType(DataType::Index));
  }
  return IrBuilder::maybeCastExpr(DataType::Index, scalar);
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
