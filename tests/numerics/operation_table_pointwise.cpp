#include "operation_table_pointwise.h"

#include <doctest/doctest.h>

#include <algorithm>

#include <ir/builder.h>
#include <ops/alias.h>
#include <ops/arith.h>
#include <ops/composite.h>

namespace nvfuser::table {

namespace {

constexpr std::string_view kUndefined = "not defined for operands of type";
constexpr std::string_view kIntegral = "input must have integral type";
constexpr std::string_view kBits = "Integer or boolean input is required";

constexpr Refusal kRefusals[] = {
    {"ceil", "c", kUndefined},
    {"expm1", "c", kUndefined},
    {"erf", "c", kUndefined},
    {"erfc", "c", kUndefined},
    {"erfinv", "c", kUndefined},
    {"erfcinv", "c", kUndefined},
    {"floor", "c", kUndefined},
    {"frac", "bic", kUndefined},
    {"silu", "bi", kUndefined},
    {"lgamma", "c", kUndefined},
    {"bitwise_not", "rc", kBits},
    {"imag", "bir", "imag not supported for non-complex tensors and scalars"},
    {"relu", "c", kUndefined},
    {"round", "c", kUndefined},
    {"signbit", "c", kUndefined},
    {"sign", "c", kUndefined},
    {"trunc", "c", kUndefined},
    {"bitceil", "brc", kIntegral},
    {"isneginf", "c", kUndefined},
    {"isposinf", "c", kUndefined},
    {"atan2", "c", kUndefined},
    {"fmod", "bc", kUndefined},
    {"remainder", "bc", kUndefined},
    {"maximum", "c", kUndefined},
    {"minimum", "c", kUndefined},
    {"nextafter", "bic", "Promoted type must be single or double precision float"},
    {"mod", "bc", kUndefined},
    {"ceilDiv", "bc", kUndefined},
    {"bitwise_and", "rc", kBits},
    {"bitwise_or", "rc", kBits},
    {"bitwise_xor", "rc", kBits},
    {"bitwise_left_shift", "brc", kIntegral},
    {"bitwise_right_shift", "brc", kIntegral},
    {"logical_right_shift", "brc", kIntegral},
    {"gcd", "brc", kIntegral},
    {"ge", "c", kUndefined},
    {"gt", "c", kUndefined},
    {"le", "c", kUndefined},
    {"lt", "c", kUndefined},
    {"threshold", "c", kUndefined},
    {"clamp", "c", kUndefined},
};

char classLetter(DataType dtype) {
  switch (numberClass(dtype)) {
    case NumberClass::Bool:
      return 'b';
    case NumberClass::Integer:
      return 'i';
    case NumberClass::Real:
      return 'r';
    case NumberClass::Complex:
      break;
  }
  return 'c';
}

const Sizes kSizes = {11, 13};
const Sizes kNone = {0, 13};

}  // namespace

std::string_view refusalOf(std::string_view function, DataType dtype) {
  return refusalOf(function, dtype, kRefusals);
}

std::string_view refusalOf(std::string_view function, DataType dtype,
                           std::span<const Refusal> refusals) {
  for (const Refusal& refusal : refusals) {
    if (refusal.function == function &&
        refusal.classes.find(classLetter(dtype)) != std::string_view::npos) {
      return refusal.wording;
    }
  }
  return {};
}

Accuracy accuracyOf(std::string_view function, DataType dtype, const Device& device) {
  Accuracy accuracy;
  static constexpr std::string_view kCancelling[] = {"lerp", "remainder"};
  accuracy.absolute =
      std::find(std::begin(kCancelling), std::end(kCancelling), function) != std::end(kCancelling);
  if (isComplexType(dtype)) {
    accuracy.ulps = 16;
    // hypot may be off by a unit or two, and so overflow early.
    accuracy.may_overflow = function == "abs";
  }
  if (function == "lgamma" && device.kind() == DeviceKind::Cuda) {
    accuracy.ulps = dtype == DataType::Double ? 4 : 6;
    accuracy.terms = roundedTerms(UnaryOpType::Lgamma);
  }
  return accuracy;
}

Values valuesOf(std::string_view function, DataType dtype, size_t operand) {
  if (function == "ceilDiv" && isIntegralType(dtype)) {
    return operand == 0 ? Values::Dividend : Values::Positive;
  }
  if (function == "lerp" && isFloatingPointType(dtype)) {
    return Values::Moderate;  // where end − start overflows, it is unspecified
  }
  if (isComplexType(dtype)) {
    // What multiplies or divides gives infinities and NaN as its formula does, if no square
    // overflows; powers are not laid down there.
    static constexpr std::string_view kProducts[] = {
        "mul", "div", "truediv", "reciprocal", "lerp", "silu", "sigmoid", "rsqrt", "exp2"};
    if (function == "pow") {
      return Values::Finite;
    }
    if (std::find(std::begin(kProducts), std::end(kProducts), function) != std::end(kProducts)) {
      return Values::Moderate;
    }
  }
  return Values::Special;
}

std::vector<const PointwiseFunction*> functionsOf(int arity) {
  std::vector<const PointwiseFunction*> out;
  for (const PointwiseFunction& function : pointwiseFunctions()) {
    if (function.arity == arity && function.name != "print") {
      out.push_back(&function);
    }
  }
  return out;
}

namespace {

Val* call(const PointwiseFunction& function, const std::vector<Val*>& operands) {
  return function.name == "sign" ? unaryOp(UnaryOpType::Sign, operands[0])
                                 : callPointwise(function.name, operands);
}

std::string nameOf(DataType dtype) { return std::string(dataTypeName(dtype)); }

/// A program, or the check that it is refused.
void add(Table& table, const PointwiseFunction& function, DataType dtype, const std::string& name,
         const Table::Define& define) {
  const std::string_view wording = refusalOf(function.name, dtype);
  if (wording.empty()) {
    table.program(std::string(function.name), name, define);
  } else {
    table.refused(std::string(function.name), name, std::string(wording), define);
  }
}

void unaryTable(Table& table) {
  for (const PointwiseFunction* function : functionsOf(1)) {
    for (DataType dtype : allDataTypes()) {
      add(table, *function, dtype, nameOf(dtype), [&](Definition& d) {
        d.accuracy = accuracyOf(function->name, dtype, table.device());
        d.output(
            call(*function, {d.tensor(kSizes, dtype, valuesOf(function->name, dtype, 0), kNone)}));
        d.output(call(*function, {d.tensor({}, dtype, valuesOf(function->name, dtype, 0))}));
      });
    }
  }
}

void binaryTable(Table& table, bool truth_values) {
  for (const PointwiseFunction* function : functionsOf(2)) {
    const bool gives_truth =
        function->rule == DtypeRule::Comparison || function->rule == DtypeRule::Logical ||
        function->rule == DtypeRule::Bitwise || function->rule == DtypeRule::Integer;
    if (gives_truth != truth_values) {
      continue;
    }
    for (DataType dtype : allDataTypes()) {
      auto first = [&] { return valuesOf(function->name, dtype, 0); };
      auto second = [&] { return valuesOf(function->name, dtype, 1); };
      add(table, *function, dtype, nameOf(dtype), [&](Definition& d) {
        d.accuracy = accuracyOf(function->name, dtype, table.device());
        TensorView* a = d.tensor(kSizes, dtype, first(), kNone);
        TensorView* b = d.tensor(kSizes, dtype, second(), kNone);
        d.output(call(*function, {a, b}));
        d.output(call(*function, {a, d.scalar(dtype, second())}));
        d.output(call(*function, {d.scalar(dtype, first()), b}));
        d.output(call(*function, {a, d.tensor({}, dtype, second())}));
      });
      add(table, *function, dtype, nameOf(dtype) + " 0-dim", [&](Definition& d) {
        d.accuracy = accuracyOf(function->name, dtype, table.device());
        d.output(call(*function, {d.tensor({}, dtype, first()), d.tensor({}, dtype, second())}));
      });
    }
  }
}

/// Every mix of tensors and scalars with a tensor among them.
void ternaryTable(Table& table) {
  for (const char* name : {"where", "lerp"}) {
    const PointwiseFunction& function = *findPointwiseFunction(name);
    const bool selects = function.rule == DtypeRule::Select;
    for (DataType dtype : allDataTypes()) {
      for (int rank : {2, 0}) {
        add(table, function, dtype, nameOf(dtype) + (rank == 0 ? " 0-dim" : ""),
            [&](Definition& d) {
              d.accuracy = accuracyOf(name, dtype, table.device());
              const Sizes sizes = rank == 0 ? Sizes{} : kSizes;
              std::vector<Val*> tensors;
              std::vector<Val*> scalars;
              for (size_t i = 0; i < 3; ++i) {
                const DataType own = selects && i == 0 ? DataType(DataType::Bool) : dtype;
                const Values values = valuesOf(name, own, i);
                tensors.push_back(
                    d.tensor(sizes, own, values, rank == 0 ? std::optional<Sizes>() : kNone));
                scalars.push_back(d.scalar(own, values));
              }
              for (unsigned mix = 1; mix < 8; ++mix) {
                std::vector<Val*> operands;
                for (size_t i = 0; i < 3; ++i) {
                  operands.push_back((mix >> i & 1) != 0 ? tensors[i] : scalars[i]);
                }
                if (rank == 2 || mix == 7 || mix == 2) {
                  d.output(call(function, operands));
                }
              }
            });
      }
      if (selects && !isBooleanType(dtype)) {
        table.refused("where", "condition " + nameOf(dtype), "Condition should be of DataType Bool",
                      [&](Definition& d) {
                        TensorView* x = d.tensor(kSizes, dtype);
                        d.output(where(x, x, x));
                      });
      }
    }
  }
  for (const char* name : {"threshold", "clamp"}) {
    const PointwiseFunction& function = *findPointwiseFunction(name);
    for (DataType dtype : allDataTypes()) {
      add(table, function, dtype, nameOf(dtype), [&](Definition& d) {
        TensorView* x = d.tensor(kSizes, dtype, Values::Special, kNone);
        TensorView* z = d.tensor({}, dtype);
        Val* low = d.scalar(dtype);
        Val* high = d.scalar(dtype);
        d.output(call(function, {x, low, high}));
        d.output(call(function, {z, low, high}));
        if (function.name == "clamp") {
          d.output(clamp(x, nullptr, high));
          d.output(clamp(x, low, nullptr));
        }
      });
      table.refused(name, nameOf(dtype) + " with a tensor as bound",
                    "must be a scalar, not a tensor", [&](Definition& d) {
                      TensorView* x = d.tensor(kSizes, dtype);
                      d.output(call(function, {x, x, d.scalar(dtype)}));
                    });
    }
  }
  for (DataType dtype : allDataTypes()) {
    table.program("addcmul", nameOf(dtype), [&](Definition& d) {
      d.accuracy.absolute = true;
      d.accuracy.ulps = isComplexType(dtype) ? 16 : 8;
      const Values values = Values::Ordinary;
      TensorView* a = d.tensor(kSizes, dtype, values, kNone);
      TensorView* b = d.tensor(kSizes, dtype, values, kNone);
      TensorView* c = d.tensor(kSizes, dtype, values, kNone);
      Val* s = d.scalar(dtype, values);
      d.output(addcmul(a, b, c, s));
      d.output(addcmul(a, s, c, s));
      d.output(add_alpha(a, b, s));
      d.output(sub_alpha(s, b, s));
    });
  }
}

/// Whether no integer type holds the values of both, so that tensors of them do not meet.
bool haveNoCommonInteger(DataType a, DataType b) {
  auto isSigned = [](DataType t) { return isIntegralType(t) && !isUnsignedIntegralType(t); };
  return (a == DataType::UInt64 && isSigned(b)) || (isSigned(a) && b == DataType::UInt64);
}

/// Tensors of two dtypes, a tensor with a scalar of each dtype, and the rule for 0-dim tensors.
void mixedTable(Table& table) {
  for (DataType a : allDataTypes()) {
    for (DataType b : allDataTypes()) {
      table.program("add of two dtypes", text(dataTypeName(a), " ", dataTypeName(b)),
                    [&](Definition& d) {
                      d.accuracy.ulps = 16;
                      TensorView* x = d.tensor({5, 13}, a, Values::Finite, Sizes{0, 13});
                      if (!haveNoCommonInteger(a, b)) {
                        d.output(add(x, d.tensor({5, 13}, b, Values::Finite, Sizes{0, 13})));
                      }
                      d.output(add(x, d.scalar(b, Values::Finite)));
                    });
    }
  }
  // Axes of extent 1, and operands of lower rank.
  for (DataType dtype : allDataTypes()) {
    table.program("broadcasting add", nameOf(dtype), [&](Definition& d) {
      TensorView* x = d.tensor({3, 5, 7}, dtype, Values::Ordinary, Sizes{0, 5, 7});
      d.output(add(x, d.tensor({3, 1, 7}, dtype, Values::Ordinary, Sizes{0, 1, 7})));
      d.output(add(d.tensor({7}, dtype, Values::Ordinary), x));
      d.output(add(d.tensor({5, 1}, dtype, Values::Ordinary),
                   d.tensor({1, 7}, dtype, Values::Ordinary)));
    });
    table.program("declared expanded", nameOf(dtype), [&](Definition& d) {
      TensorView* x = d.expandedTensor({4, 9}, dtype, Values::Special, Sizes{4, 0});
      d.output(set(x));
      d.output(ne(x, d.tensor({4, 9}, dtype, Values::Special, Sizes{4, 0})));
    });
  }
}

void runUnary(Device& device) {
  Table table("unary operations", device);
  unaryTable(table);
  table.run(4000);
}
void runBinary(Device& device) {
  Table table("binary arithmetic", device);
  binaryTable(table, false);
  table.run(4000);
}
void runTruth(Device& device) {
  Table table("comparisons, logic and bits", device);
  binaryTable(table, true);
  table.run(4000);
}
void runTernary(Device& device) {
  Table table("ternary operations", device);
  ternaryTable(table);
  table.run(1000);
}
void runMixed(Device& device) {
  Table table("mixed dtypes and broadcasting", device);
  mixedTable(table);
  table.run(1000);
}

}  // namespace

TEST_CASE("operation table: unary operations on cpu") { runUnary(cpuDevice()); }
TEST_CASE("operation table: unary operations on CUDA") { runUnary(table::cudaLike()); }
TEST_CASE("operation table: binary arithmetic on cpu") { runBinary(cpuDevice()); }
TEST_CASE("operation table: binary arithmetic on CUDA") { runBinary(table::cudaLike()); }
TEST_CASE("operation table: comparisons and bits on cpu") { runTruth(cpuDevice()); }
TEST_CASE("operation table: comparisons and bits on CUDA") { runTruth(table::cudaLike()); }
TEST_CASE("operation table: ternary operations on cpu") { runTernary(cpuDevice()); }
TEST_CASE("operation table: ternary operations on CUDA") { runTernary(table::cudaLike()); }
TEST_CASE("operation table: mixed dtypes on cpu") { runMixed(cpuDevice()); }
TEST_CASE("operation table: mixed dtypes on CUDA") { runMixed(table::cudaLike()); }

}  // namespace nvfuser::table
