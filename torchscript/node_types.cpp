#include "node_types.h"

#include <algorithm>

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

namespace nvfuser::torchscript {

namespace {

/// Bool, integers, floating and complex numbers.
int category(int32_t dtype) {
  if (dtype == NVF_BOOL) {
    return 1;
  }
  if (isComplex(dtype)) {
    return 4;
  }
  return isFloating(dtype) ? 3 : 2;
}

struct Width {
  int bits;
  bool is_signed;
};

Width widthOf(int32_t dtype) {
  switch (dtype) {
    case NVF_CHAR:
      return {8, true};
    case NVF_BYTE:
      return {8, false};
    case NVF_SHORT:
      return {16, true};
    case NVF_UINT16:
      return {16, false};
    case NVF_INT32:
      return {32, true};
    case NVF_UINT32:
      return {32, false};
    case NVF_UINT64:
      return {64, false};
    default:
      return {64, true};
  }
}

nvf_dtype signedOf(int bits) {
  return bits <= 8 ? NVF_CHAR : bits <= 16 ? NVF_SHORT : bits <= 32 ? NVF_INT32 : NVF_INT;
}

nvf_dtype promotedIntegers(int32_t a, int32_t b) {
  const Width left = widthOf(a);
  const Width right = widthOf(b);
  if (left.is_signed == right.is_signed) {
    return static_cast<nvf_dtype>(left.bits >= right.bits ? a : b);
  }
  const Width& with_sign = left.is_signed ? left : right;
  const Width& without = left.is_signed ? right : left;
  if (without.bits > 8) {
    throw Refusal("no common type of signed and wider unsigned integers");
  }
  return signedOf(std::max(with_sign.bits, 2 * without.bits));
}

}  // namespace

bool isFloating(int32_t dtype) {
  return dtype == NVF_DOUBLE || dtype == NVF_FLOAT || dtype == NVF_HALF || dtype == NVF_BFLOAT16 ||
         dtype == NVF_FLOAT8_E4M3FN || dtype == NVF_FLOAT8_E5M2;
}

bool isComplex(int32_t dtype) { return dtype == NVF_COMPLEX_FLOAT || dtype == NVF_COMPLEX_DOUBLE; }

bool isIntegral(int32_t dtype) { return category(dtype) <= 2; }

nvf_dtype computeType(int32_t dtype) {
  return isFloating(dtype) && dtype != NVF_DOUBLE ? NVF_FLOAT : static_cast<nvf_dtype>(dtype);
}

nvf_dtype promoted(int32_t a, int32_t b) {
  if (a == b) {
    return static_cast<nvf_dtype>(a);
  }
  const int top = std::max(category(a), category(b));
  if (category(a) != category(b) && top < 4) {
    return static_cast<nvf_dtype>(category(a) == top ? a : b);
  }
  if (top == 4) {
    const bool wide =
        a == NVF_DOUBLE || b == NVF_DOUBLE || a == NVF_COMPLEX_DOUBLE || b == NVF_COMPLEX_DOUBLE;
    return wide ? NVF_COMPLEX_DOUBLE : NVF_COMPLEX_FLOAT;
  }
  if (top == 3) {
    return a == NVF_DOUBLE || b == NVF_DOUBLE ? NVF_DOUBLE : NVF_FLOAT;
  }
  return promotedIntegers(a, b);
}

nvf_dtype commonType(std::initializer_list<Operand> operands) {
  int32_t with_axes = NVF_NULL;
  int32_t without_axes = NVF_NULL;
  int32_t numbers = NVF_NULL;
  auto join = [](int32_t& joined, int32_t dtype) {
    joined = joined == NVF_NULL ? dtype : promoted(joined, dtype);
  };
  auto joinNumber = [&](int32_t dtype) { join(numbers, dtype); };
  for (const Operand& operand : operands) {
    if (const auto* term = std::get_if<Term>(&operand)) {
      if (!term->is_tensor) {
        joinNumber(term->dtype == NVF_DOUBLE ? NVF_FLOAT : term->dtype);
      } else {
        join(term->rank > 0 ? with_axes : without_axes, term->dtype);
      }
    } else {
      const Number& number = std::get<Number>(operand);
      joinNumber(std::holds_alternative<double>(number)    ? NVF_FLOAT
                 : std::holds_alternative<int64_t>(number) ? NVF_INT
                                                           : NVF_BOOL);
    }
  }
  // What counts less only decides where it is of a higher category.
  auto over = [](int32_t higher, int32_t lower) {
    if (higher == NVF_NULL || (lower != NVF_NULL && category(lower) > category(higher))) {
      return lower;
    }
    return higher;
  };
  return static_cast<nvf_dtype>(over(with_axes, over(without_axes, numbers)));
}

Term cast(NodeCall& node, const Term& term, int32_t dtype) {
  if (term.dtype == dtype) {
    return term;
  }
  return node.fusion().call("cast", {term, static_cast<nvf_dtype>(dtype)});
}

Operand cast(NodeCall& node, const Operand& operand, int32_t dtype) {
  if (const auto* term = std::get_if<Term>(&operand)) {
    return term->is_tensor || category(term->dtype) != category(dtype) ? cast(node, *term, dtype)
                                                                       : *term;
  }
  const Number& number = std::get<Number>(operand);
  if (isFloating(dtype)) {
    return Number(std::visit([](auto value) { return static_cast<double>(value); }, number));
  }
  if (const auto* flag = std::get_if<bool>(&number); flag != nullptr && dtype != NVF_BOOL) {
    return Number(static_cast<int64_t>(*flag));
  }
  return number;
}

void finish(NodeCall& node, const Term& term, size_t number) {
  node.result(cast(node, term, node.resultType(number)));
}

Operand rounded(NodeCall& node, const Operand& operand, int32_t dtype) {
  if (dtype != NVF_HALF && dtype != NVF_BFLOAT16) {
    return operand;
  }
  if (const auto* term = std::get_if<Term>(&operand)) {
    return term->dtype == NVF_BOOL ? *term : cast(node, *term, dtype);
  }
  const double value =
      std::visit([](auto held) { return static_cast<double>(held); }, std::get<Number>(operand));
  const auto single = static_cast<float>(value);
  return Number(static_cast<double>(dtype == NVF_HALF ? static_cast<float>(c10::Half(single))
                                                      : static_cast<float>(c10::BFloat16(single))));
}

Operand computed(NodeCall& node, const char* name) {
  const nvf_dtype type = node.resultType();
  return cast(node, rounded(node, node.operand(name), type), computeType(type));
}

Operand computedExactly(NodeCall& node, const char* name) {
  const Operand operand = node.operand(name);
  const auto* term = std::get_if<Term>(&operand);
  const bool is_number = term == nullptr || !term->is_tensor;
  return is_number ? cast(node, operand, computeType(node.resultType())) : computed(node, name);
}

Term computedTensor(NodeCall& node, const char* name) {
  return cast(node, node.tensor(name), computeType(node.resultType()));
}

bool isNumber(const Operand& operand, double value) {
  const auto* number = std::get_if<Number>(&operand);
  return number != nullptr &&
         std::visit([&](auto held) { return static_cast<double>(held) == value; }, *number);
}

}  // namespace nvfuser::torchscript
