#include <fuzz/kernel_interpreter/number.h>

#include <cmath>
#include <cstring>

#include <evaluator/element_codec.h>
#include <ops/table/pointwise.h>

namespace nvfuser::fuzz {

namespace {

using Complex = std::complex<double>;

template <typename T>
T read(const void* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

Complex complexOf(const Number& number) { return {number.real, number.imaginary}; }
Number ofComplex(const Complex& value) { return {value.real(), value.imag(), 0}; }
Number ofReal(double value) { return {value, 0, 0}; }
Number ofInteger(int64_t value) { return {0, 0, value}; }

/// The element's form in memory as another dtype of its size.
Number bitsAs(const Number& number, DataType from, DataType to) {
  std::byte bytes[16] = {};
  store(bytes, from, number);
  return load(bytes, to);
}

template <typename T>
Number applied(T (*function)(const T*, DataType), const PointwiseRow& row, DataType compute,
               const T* operands) {
  const T result = function(operands, compute);
  if (row.result == ResultKind::Bool) {
    return ofInteger(result != T(0) ? 1 : 0);
  }
  if constexpr (std::is_same_v<T, int64_t>) {
    return ofInteger(wrapToDtype(result, compute));
  } else {
    const T rounded = roundToDtype(result, compute);
    if constexpr (std::is_same_v<T, Complex>) {
      return ofComplex(rounded);
    } else {
      return ofReal(rounded);
    }
  }
}

/// Of one operation in Float or Double, whose every step is rounded.
struct Real {
  DataType dtype;
  double operator()(double value) const {
    return dtype == DataType::Float ? static_cast<double>(static_cast<float>(value)) : value;
  }
};

/// (avg, M2, n): the parallel form of Chan, Golub and LeVeque (1979).
void combineWelford(const kir::Monoid& monoid, std::span<Number> a, std::span<const Number> b) {
  const Real round{computeTypeOf(monoid.dtypes[0])};
  if (!isFloatingPointType(round.dtype)) {
    userError("interpreting a kernel: Welford of ", dataTypeName(round.dtype));
  }
  const DataType count_type = monoid.dtypes[2];
  const auto countOf = [&](const Number& n) {
    return isFloatingPointType(count_type) ? n.real : static_cast<double>(n.integer);
  };
  const double count_a = countOf(a[2]), count_b = countOf(b[2]);
  if (count_b == 0) {
    return;
  }
  if (count_b == 1 && b[1].real == 0) {  // an element: of a NaN comes a NaN, also of the first one
    if (count_a == 0) {
      a[0].real = 0;  // there was no mean yet
    }
    const double delta = round(b[0].real - a[0].real);
    a[0].real = round(a[0].real + round(delta / (count_a + 1)));
    a[1].real = round(a[1].real + round(delta * round(b[0].real - a[0].real)));
    a[2] = converted(ofReal(count_a + 1), DataType::Double, count_type);
    return;
  }
  if (count_a == 0) {
    std::copy(b.begin(), b.end(), a.begin());
    return;
  }
  const double count = count_a + count_b;
  const double share = round(count_b / count);
  const double delta = round(b[0].real - a[0].real);
  a[1].real =
      round(round(a[1].real + b[1].real) + round(round(round(delta * delta) * count_a) * share));
  a[0].real = round(a[0].real + round(delta * share));
  a[2] = converted(ofReal(count), DataType::Double, count_type);
}

/// (greatest, Σ exp(x − greatest)).
void combineOnlineSoftmax(const kir::Monoid& monoid, std::span<Number> a,
                          std::span<const Number> b) {
  const Real round{monoid.dtypes[0]};
  const double above = round(b[0].real - a[0].real);
  const double share = round(std::exp(-std::fabs(above)));
  a[1].real = round(round((above > 0 ? a[1].real : b[1].real) * share) +
                    (above > 0 ? b[1].real : a[1].real));
  const bool has_nan = std::isnan(a[0].real) || std::isnan(b[0].real);
  a[0].real = has_nan ? NAN : std::max(a[0].real, b[0].real);
}

}  // namespace

Number load(const void* at, DataType dtype) {
  switch (dtype.type) {
    case PrimDataType::Float:
      return ofReal(static_cast<double>(read<float>(at)));
    case PrimDataType::Double:
      return ofReal(read<double>(at));
    case PrimDataType::Int:
    case PrimDataType::Index:
      return ofInteger(read<int64_t>(at));
    default:
      break;
  }
  switch (hostNumber(dtype)) {
    case HostNumber::Integer:
      return ofInteger(loadInteger(at, dtype));
    case HostNumber::Real:
      return ofReal(loadReal(at, dtype));
    case HostNumber::Complex:
      break;
  }
  return ofComplex(loadComplex(at, dtype));
}

void store(void* at, DataType dtype, const Number& number) {
  if (dtype == DataType::Float) {
    const auto value = static_cast<float>(number.real);
    std::memcpy(at, &value, sizeof value);
    return;
  }
  switch (hostNumber(dtype)) {
    case HostNumber::Integer:
      storeInteger(at, dtype == DataType::Index ? DataType(DataType::Int) : dtype, number.integer);
      return;
    case HostNumber::Real:
      storeReal(at, dtype, number.real);
      return;
    case HostNumber::Complex:
      storeComplex(at, dtype, complexOf(number));
  }
}

Number converted(const Number& number, DataType from, DataType to) {
  if (from == to) {
    return number;
  }
  const HostNumber is = hostNumber(from);
  if (to == DataType::Bool) {
    return ofInteger((is == HostNumber::Integer ? number.integer != 0
                                                : number.real != 0 || (is == HostNumber::Complex &&
                                                                       number.imaginary != 0))
                         ? 1
                         : 0);
  }
  if (is == HostNumber::Integer && hostNumber(to) == HostNumber::Integer) {
    return ofInteger(to == DataType::Index ? number.integer : wrapToDtype(number.integer, to));
  }
  if (is == HostNumber::Complex && hostNumber(to) == HostNumber::Complex) {
    return ofComplex(roundToDtype(complexOf(number), to));
  }
  const double real = is == HostNumber::Integer ? integerToReal(number.integer, from) : number.real;
  switch (hostNumber(to)) {
    case HostNumber::Integer:
      return ofInteger(realToInteger(real, to == DataType::Index ? DataType(DataType::Int) : to));
    case HostNumber::Real:
      return ofReal(roundToDtype(
          isReducedPrecisionFloat(to) ? static_cast<double>(static_cast<float>(real)) : real, to));
    case HostNumber::Complex:
      break;
  }
  return ofReal(roundToDtype(real, getTypeFromComplexType(to)));
}

Number numberOf(const PolymorphicValue& value, DataType dtype) {
  if (value.is<Complex>()) {
    return converted(ofComplex(value.as<Complex>()), DataType::ComplexDouble, dtype);
  }
  if (value.is<double>()) {
    return converted(ofReal(value.as<double>()), DataType::Double, dtype);
  }
  return converted(ofInteger(value.as<int64_t>()), DataType::Int, dtype);
}

bool selects(const kir::PointwiseType& op) {
  const auto* ternary = std::get_if<TernaryOpType>(&op);
  return ternary != nullptr && *ternary == TernaryOpType::Where;
}

Number computed(const kir::PointwiseType& op, DataType compute, DataType out,
                std::span<Number> operands) {
  const auto* unary = std::get_if<UnaryOpType>(&op);
  if (unary != nullptr && *unary == UnaryOpType::BitCast) {
    return bitsAs(operands[0], compute, out);
  }
  if (unary != nullptr && *unary == UnaryOpType::Cast) {
    return converted(operands[0], compute, out);
  }
  const PointwiseRow& row =
      std::visit([](auto type) -> const PointwiseRow& { return pointwiseRow(type); }, op);
  if (!row.accepts(compute)) {
    throw InternalError(text(row.name, " is not defined for ", dataTypeName(compute)));
  }
  const DataType result = row.resultType(compute);
  if (row.result == ResultKind::MakeComplex) {
    return converted({operands[0].real, operands[1].real, 0}, result, out);
  }
  Number number;
  switch (numberClass(compute)) {
    case NumberClass::Bool:
    case NumberClass::Integer: {
      int64_t x[3] = {};
      for (size_t i = 0; i < operands.size(); ++i) {
        x[i] = operands[i].integer;
      }
      const auto& meaning = numberClass(compute) == NumberClass::Bool ? row.boolean : row.integer;
      number = applied(meaning.reference, row, compute, x);
      break;
    }
    case NumberClass::Real: {
      double x[3] = {};
      for (size_t i = 0; i < operands.size(); ++i) {
        x[i] = operands[i].real;
      }
      x[0] = selects(op) ? static_cast<double>(operands[0].integer) : x[0];
      number = applied(row.real.reference, row, compute, x);
      break;
    }
    case NumberClass::Complex: {
      Complex x[3] = {};
      for (size_t i = 0; i < operands.size(); ++i) {
        x[i] = complexOf(operands[i]);
      }
      x[0] = selects(op) ? static_cast<double>(operands[0].integer) : x[0];
      number = applied(row.complex.reference, row, compute, x);
      break;
    }
  }
  return converted(number, result, out);
}

DataType computeTypeOf(DataType dtype) {
  return isReducedPrecisionFloat(dtype) ? DataType(DataType::Float) : dtype;
}

void combine(const kir::Monoid& monoid, std::span<Number> a, std::span<const Number> b) {
  switch (monoid.kind) {
    case kir::Monoid::Kind::Welford:
      for (size_t i = 0; i < a.size(); i += 3) {  // of a group
        combineWelford(monoid, a.subspan(i, 3), b.subspan(i, 3));
      }
      return;
    case kir::Monoid::Kind::OnlineSoftmax:
      combineOnlineSoftmax(monoid, a, b);
      return;
    case kir::Monoid::Kind::Op:
      for (size_t i = 0; i < a.size(); ++i) {
        const DataType dtype = monoid.dtypes[i];
        const DataType compute = computeTypeOf(dtype);
        Number operands[2] = {converted(a[i], dtype, compute), converted(b[i], dtype, compute)};
        a[i] = computed(monoid.op, compute, dtype, operands);
      }
  }
}

}  // namespace nvfuser::fuzz
