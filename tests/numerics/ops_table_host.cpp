// The host text of every operation and dtype, compiled and run on edge values, against the table's
// reference column.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <string>

#include <codegen/snippets.h>
#include <ops/table/pointwise.h>
#include <runtime/host_compiler/host_compiler.h>

using namespace nvfuser;

namespace {

using Complex = std::complex<double>;
using Kernel = void (*)(const void*, const void*, const void*, void*, int64_t);

const std::vector<PolymorphicValue>& edgeValues(DataType dtype) {
  static const std::vector<PolymorphicValue> reals = {
      0.0,  -0.0, 0.3,      -0.75,     1.0,
      -1.0, 0.5,  2.5,      -2.5,      7.0,
      -3.0, 1e10, INFINITY, -INFINITY, std::numeric_limits<double>::quiet_NaN()};
  static const std::vector<PolymorphicValue> wholes = {0,
                                                       1,
                                                       -1,
                                                       2,
                                                       3,
                                                       -7,
                                                       8,
                                                       31,
                                                       100,
                                                       127,
                                                       -128,
                                                       40000,
                                                       std::numeric_limits<int64_t>::max(),
                                                       std::numeric_limits<int64_t>::min()};
  static const std::vector<PolymorphicValue> flags = {false, true};
  static const std::vector<PolymorphicValue> pairs = {Complex(1.0, 0.5), Complex(-0.75, 0.25),
                                                      Complex(0.5, -2.0), Complex(-1.5, -0.5)};
  switch (numberClass(dtype)) {
    case NumberClass::Bool:
      return flags;
    case NumberClass::Integer:
      return wholes;
    case NumberClass::Real:
      return reals;
    case NumberClass::Complex:
      break;
  }
  return pairs;
}

/// Calls `f` with a null pointer of the C++ type of `dtype`.
template <typename F>
auto withType(DataType dtype, F f) {
  switch (dtype.type) {
    case PrimDataType::Double:
      return f(static_cast<double*>(nullptr));
    case PrimDataType::Float:
      return f(static_cast<float*>(nullptr));
    case PrimDataType::Char:
      return f(static_cast<int8_t*>(nullptr));
    case PrimDataType::Short:
      return f(static_cast<int16_t*>(nullptr));
    case PrimDataType::Int32:
      return f(static_cast<int32_t*>(nullptr));
    case PrimDataType::Int:
      return f(static_cast<int64_t*>(nullptr));
    case PrimDataType::Byte:
      return f(static_cast<uint8_t*>(nullptr));
    case PrimDataType::UInt16:
      return f(static_cast<uint16_t*>(nullptr));
    case PrimDataType::UInt32:
      return f(static_cast<uint32_t*>(nullptr));
    case PrimDataType::UInt64:
      return f(static_cast<uint64_t*>(nullptr));
    case PrimDataType::Bool:
      return f(static_cast<bool*>(nullptr));
    case PrimDataType::ComplexFloat:
      return f(static_cast<std::complex<float>*>(nullptr));
    default:
      return f(static_cast<Complex*>(nullptr));
  }
}

void put(std::vector<char>& bytes, const PolymorphicValue& value, DataType dtype) {
  withType(dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    T element{};
    if constexpr (std::is_same_v<T, std::complex<float>>) {
      element = std::complex<float>(value.as<Complex>());
    } else {
      element = value.as<T>();
    }
    const size_t at = bytes.size();
    bytes.resize(at + sizeof(T));
    std::memcpy(bytes.data() + at, &element, sizeof(T));
  });
}

PolymorphicValue get(const std::vector<char>& bytes, size_t i, DataType dtype) {
  return withType(dtype, [&](auto* type) -> PolymorphicValue {
    using T = std::remove_pointer_t<decltype(type)>;
    T element{};
    std::memcpy(&element, bytes.data() + i * sizeof(T), sizeof(T));
    return PolymorphicValue(element);
  });
}

/// The kernels' text, and what each one computes.
struct Cases {
  struct Case {
    const PointwiseRow* row;
    DataType compute;
    std::function<PolymorphicValue(std::span<const PolymorphicValue>)> reference;
  };
  std::vector<Case> cases;
  std::vector<std::string_view> files = {"cpu/prelude.h"};
  std::string text;

  template <typename Type>
  void add(std::span<const PointwiseRow> rows) {
    for (const PointwiseRow& row : rows) {
      auto type = static_cast<Type>(row.code);
      if (row.name == "cast" || row.name == "bit_cast" || row.name == "print") {
        continue;
      }
      for (DataType dtype : allDataTypes()) {
        if (!isReducedPrecisionFloat(dtype) && row.accepts(dtype)) {
          addCase(type, row, dtype);
        }
      }
    }
  }

  template <typename Type>
  void addCase(Type type, const PointwiseRow& row, DataType compute) {
    std::vector<std::string> operands = {"a[i]", "b[i]", "c[i]"};
    operands.resize(static_cast<size_t>(row.arity));
    if (row.name == "where") {
      operands[0] = castText(Target::Host, compute, DataType::Bool, operands[0]);
    }
    for (std::string_view file : pointwiseSnippets(type, Target::Host, compute)) {
      if (std::find(files.begin(), files.end(), file) == files.end()) {
        files.push_back(file);
      }
    }
    const std::string_view in = typeText(compute);
    const std::string_view out = typeText(row.resultType(compute));
    text += nvfuser::text(
        "extern \"C\" void f", cases.size(), "(const ", in, "* a, const ", in, "* b, const ", in,
        "* c, ", out, "* o, i64 n) {\n  for (i64 i = 0; i < n; ++i) o[i] = ",
        pointwiseText(type, Target::Host, compute, DataType::Null, operands), ";\n}\n");
    cases.push_back({&row, compute, [type, compute](std::span<const PolymorphicValue> x) {
                       return pointwiseReference(type, compute, DataType::Null, x);
                     }});
  }
};

/// What operands read as, stored in `dtype`.
PolymorphicValue stored(const PolymorphicValue& value, DataType dtype) {
  if (numberClass(dtype) == NumberClass::Integer) {
    return wrapInteger(value.as<int64_t>(), dtype);
  }
  return castToDtype(value, dtype);
}

bool closeReal(double got, double expected, double scale, bool is_double) {
  if (std::isnan(expected)) {
    return std::isnan(got);
  }
  if (std::isinf(expected)) {
    return got == expected;
  }
  const double relative = is_double ? 1e-12 : 4e-6;
  return std::fabs(got - expected) <= relative * std::max(std::fabs(expected), scale);
}

bool agree(const PolymorphicValue& got, const PolymorphicValue& expected, double scale,
           bool is_double) {
  if (got == expected) {
    return true;  // also NaN with NaN
  }
  if (expected.is<Complex>()) {
    auto g = got.as<Complex>();
    auto e = expected.as<Complex>();
    return std::abs(g - e) <= (is_double ? 1e-12 : 4e-6) * std::max(std::abs(e), 1e-3);
  }
  if (expected.is<double>()) {
    return closeReal(got.as<double>(), expected.as<double>(), scale, is_double);
  }
  return got.as<int64_t>() == expected.as<int64_t>();
}

}  // namespace

TEST_CASE("host text computes what the reference says") {
  Cases all;
  all.add<UnaryOpType>(unaryRows());
  all.add<BinaryOpType>(binaryRows());
  all.add<TernaryOpType>(ternaryRows());
  // Functions after the types that they are about.
  std::stable_partition(all.files.begin(), all.files.end(),
                        [](std::string_view file) { return file != "cpu/math.h"; });
  HostCompileRequest request;
  for (std::string_view file : all.files) {
    request.text += runtimeFile(file);
  }
  request.text += all.text;
  request.flags = hostFlags(hostCompiler());
  request.flags.push_back("-O1");
  SharedObject object = compileSharedObject(request);

  int wrong = 0;
  for (size_t k = 0; k < all.cases.size(); ++k) {
    const Cases::Case& c = all.cases[k];
    const DataType result = c.row->resultType(c.compute);
    const auto& edges = edgeValues(c.compute);
    std::vector<std::vector<PolymorphicValue>> tuples = {{}};
    for (int operand = 0; operand < c.row->arity; ++operand) {
      std::vector<std::vector<PolymorphicValue>> longer;
      for (const auto& tuple : tuples) {
        for (const PolymorphicValue& edge : edges) {
          longer.push_back(tuple);
          longer.back().push_back(stored(edge, c.compute));
        }
      }
      tuples = std::move(longer);
    }
    std::vector<char> in[3];
    std::vector<char> out(tuples.size() * static_cast<size_t>(dataTypeSizeByte(result)));
    for (const auto& tuple : tuples) {
      for (size_t i = 0; i < tuple.size(); ++i) {
        put(in[i], tuple[i], c.compute);
      }
    }
    auto kernel = reinterpret_cast<Kernel>(object.symbol("f" + std::to_string(k)));
    kernel(in[0].data(), in[1].data(), in[2].data(), out.data(),
           static_cast<int64_t>(tuples.size()));

    const bool is_double = getTypeFromComplexType(c.compute) == DataType::Double;
    // Sums that cancel are as exact as their terms are large.
    const bool cancels = c.row->name == "lerp" || c.row->name == "remainder";
    // A quotient that is rounded up may have been rounded to the integer before.
    if (c.row->name == "ceilDiv" && c.compute == DataType::Float) {
      continue;
    }
    for (size_t i = 0; i < tuples.size(); ++i) {
      double scale = 1e-3;
      for (const PolymorphicValue& x : tuples[i]) {
        if (cancels && x.is<double>() && std::isfinite(x.as<double>())) {
          scale = std::max(scale, std::fabs(x.as<double>()));
        }
      }
      const PolymorphicValue expected = c.reference(tuples[i]);
      const PolymorphicValue got = get(out, i, result);
      if (agree(got, expected, scale, is_double)) {
        continue;
      }
      if (++wrong <= 20) {
        MESSAGE(c.row->name, " of ", c.compute.toString(), " (", join(tuples[i], ", "), "): got ",
                got.toString(), ", expected ", expected.toString());
      }
    }
  }
  CHECK(wrong == 0);
  CHECK(all.cases.size() > 400);
}
