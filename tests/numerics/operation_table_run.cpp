// One run of one program of the operation table, compared element by element.
#include <cmath>
#include <complex>

#include "operation_table.h"
#include "operation_table_inputs.h"
#include <evaluator/element_codec.h>
#include <evaluator/interpreter.h>
#include <runtime/validation.h>

namespace nvfuser::table {

namespace {

using Complex = std::complex<double>;

bool sameReal(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) {
    return std::isnan(a) && std::isnan(b);
  }
  return a == b && std::signbit(a) == std::signbit(b);
}

bool finite(Complex z) { return std::isfinite(z.real()) && std::isfinite(z.imag()); }

/// Half an ulp of 1.
double roundoffOf(DataType dtype) { return std::ldexp(1.0, -significandBits(dtype)); }

/// Half the distance between the least numbers.
double leastStep(DataType dtype) {
  switch (getTypeFromComplexType(dtype).type) {
    case PrimDataType::Double:
      return 0x1p-1022;
    case PrimDataType::Half:
      return 0x1p-24;
    case PrimDataType::Float8_e4m3fn:
      return 0x1p-9;
    case PrimDataType::Float8_e5m2:
      return 0x1p-16;
    default:
      return 0x1p-126;
  }
}

struct Expected {
  const HostTensor& exact;    ///< rounded where the program rounds
  const HostTensor& rounded;  ///< rounded after each operation
};

/// Empty if element `i` is right, else what is wrong.
std::string wrongElement(const HostTensor& got, const Expected& expected, int64_t i,
                         const Accuracy& accuracy, double operand_size) {
  const DataType dtype = got.dtype();
  if (isComplexType(dtype) || isFloatingPointType(dtype)) {
    const Complex g = got.getComplex(i);
    const Complex v = expected.exact.getComplex(i);
    const Complex w = expected.rounded.getComplex(i);
    auto same = [&](Complex to) {
      return sameReal(g.real(), to.real()) && sameReal(g.imag(), to.imag());
    };
    if (same(v) || (finite(v) && !finite(w) && same(w))) {
      return "";
    }
    // A complex product's order decides the signs of its zeros (docs/numerics.md).
    if (isComplexType(dtype) && g == v) {
      return "";
    }
    if (accuracy.exact) {
      return text("got ", PolymorphicValue(g), ", expected exactly ", PolymorphicValue(v));
    }
    const double unit = roundoffOf(dtype);
    const double compute = std::min(unit, 0x1p-24);
    const double moved = finite(v - w) ? std::abs(v - w) : 0;
    const double size = std::max(std::abs(v), accuracy.absolute ? operand_size : 0);
    const double bound = (unit > compute ? 2 * unit * std::abs(v) + leastStep(dtype) : 0) +
                         2 * accuracy.ulps * compute * size + 4 * moved + leastStep(dtype);
    // Infinite parts have to be equal; finite ones beside them are as exact as alone.
    auto partRight = [&](double a, double b) {
      return sameReal(a, b) || (std::isfinite(a) && std::isfinite(b) &&
                                std::fabs(a - b) <= 2 * accuracy.ulps * compute * std::fabs(b));
    };
    if (!finite(v) && partRight(g.real(), v.real()) && partRight(g.imag(), v.imag())) {
      return "";
    }
    // An infinity for what rounding may have taken beyond the greatest number, or the other way.
    auto overflows = [&](Complex z, Complex beside) {
      return !finite(z) && std::isinf(z.real()) && finite(beside) &&
             std::signbit(z.real()) == std::signbit(beside.real()) &&
             std::abs(beside) >= largestOf(dtype) * (1 - 2 * accuracy.ulps * compute);
    };
    if (accuracy.may_overflow && (overflows(g, v) || overflows(v, g))) {
      return "";
    }
    const bool zero_of_other_sign = g == v && v == Complex() && !isComplexType(dtype);
    if (finite(g) && finite(v) && std::abs(g - v) <= bound &&
        !(zero_of_other_sign && !accuracy.absolute)) {
      return "";
    }
    return text("got ", PolymorphicValue(g), ", expected ", PolymorphicValue(v), ", tolerance ",
                bound);
  }
  const int64_t g = got.getInt(i);
  if (g == expected.exact.getInt(i) || g == expected.rounded.getInt(i)) {
    return "";
  }
  return text("got ", g, ", expected ", expected.exact.getInt(i));
}

/// Operands of element i, where inputs have as many elements or one; `sizes` gets the numbers, of
/// complex ones the magnitudes.
std::string operandsText(const std::vector<Tensor>& tensors,
                         const std::vector<PolymorphicValue>& scalars, int64_t i, int64_t numel,
                         std::vector<double>& sizes) {
  std::string out;
  auto note = [&](const PolymorphicValue& value) {
    append(out, text(out.empty() ? "" : ", ", value));
    const Complex number = value.as<Complex>();
    sizes.push_back(number.imag() == 0 ? number.real() : std::abs(number));
  };
  for (const Tensor& tensor : tensors) {
    if (tensor.numel() == numel || tensor.numel() == 1) {
      const HostTensor host = tensor.toHostTensor();
      const int64_t at = tensor.numel() == 1 ? 0 : i;
      note(loadElement(host.data() + at * dataTypeSizeByte(host.dtype()), host.dtype()));
    }
  }
  for (const PolymorphicValue& scalar : scalars) {
    note(scalar);
  }
  return out;
}

}  // namespace

void Table::makeArguments(const Program& program, Layout layout, int variant,
                          std::vector<Tensor>* tensors, std::vector<PolymorphicValue>* scalars,
                          KernelArgumentHolder* on_host, KernelArgumentHolder* arguments) {
  size_t operand = 0;
  for (const Definition::Input& input : program.inputs) {
    if (input.is_tensor) {
      const Sizes& sizes = layout == Layout::Empty && input.empty ? *input.empty : input.sizes;
      tensors->push_back(makeInput(input.dtype, sizes, input.values, layout, input.is_expanded,
                                   operand, variant * 5));
      on_host->push(tensors->back());
      arguments->push(onDevice(tensors->back(), device_));
    } else {
      const PolymorphicValue value =
          input.fixed.hasValue()
              ? input.fixed
              : elementOf(input.dtype, input.values, variant + 2 * static_cast<int>(layout), 0);
      scalars->push_back(value);
      on_host->push(value);
      arguments->push(value);
    }
    ++operand;
  }
}

void Table::runOnce(Program& program, Layout layout, int variant) {
  const std::string where = text(program.kind, " ", program.name, ", ", layoutName(layout),
                                 variant > 0 ? text(" ", variant) : "");
  KernelArgumentHolder on_host;
  KernelArgumentHolder arguments;
  std::vector<Tensor> tensors;
  std::vector<PolymorphicValue> scalars;
  Fusion* fusion = program.cache->fusion();
  try {
    makeArguments(program, layout, variant, &tensors, &scalars, &on_host, &arguments);
    InterpreterOptions options;
    options.philox_seed = 1234;
    options.philox_offset = 4;
    program.cache->setRandomState(options.philox_seed, options.philox_offset);
    const KernelArgumentHolder results =
        program.cache->runFusionWithInputs(arguments, std::nullopt, &device_);
    ++num_runs_;
    num_cases_ += static_cast<int64_t>(results.size());
    cases_[program.kind] += static_cast<int64_t>(results.size());
    if (program.accuracy.statistical) {
      for (const KernelArgument& result : results) {
        num_elements_ += result.tensor().numel();
      }
      testValidate(fusion, results, on_host, __LINE__, __FILE__, where, options);
      return;
    }
    const std::vector<HostTensor> exact = interpret(*fusion, on_host.inputs(), options);
    options.rounding = Rounding::EveryOperation;
    const std::vector<HostTensor> rounded = interpret(*fusion, on_host.inputs(), options);
    for (size_t n = 0; n < results.size(); ++n) {
      const HostTensor got = results[n].tensor().toHostTensor();
      if (got.dtype() != exact[n].dtype() || got.sizes() != exact[n].sizes()) {
        failed(where, text("output ", n, " is ", dataTypeName(got.dtype()), "[",
                           join(got.sizes(), ", "), "], expected ", dataTypeName(exact[n].dtype()),
                           "[", join(exact[n].sizes(), ", "), "]"));
        continue;
      }
      num_elements_ += got.numel();
      const Expected expected{exact[n], rounded[n]};
      int64_t wrong = 0;
      std::string first;
      for (int64_t i = 0; i < got.numel(); ++i) {
        std::string problem = wrongElement(got, expected, i, program.accuracy, 0);
        if (problem.empty()) {
          continue;
        }
        std::vector<double> sizes;
        const std::string operands = operandsText(tensors, scalars, i, got.numel(), sizes);
        Accuracy accuracy = program.accuracy;
        double largest = 0;
        for (double size : sizes) {
          largest = std::isfinite(size) ? std::max(largest, std::fabs(size)) : largest;
          accuracy.absolute |= accuracy.terms != nullptr && accuracy.terms(size, got.dtype()) > 0;
        }
        problem = wrongElement(got, expected, i, accuracy, largest);
        if (!problem.empty() && wrong++ < 3) {
          append(first, text(wrong > 1 ? "; " : "", "of (", operands, ") ", problem));
        }
      }
      if (wrong > 0) {
        failed(where, text("output ", n, " (", dataTypeName(got.dtype()), ") is wrong in ", wrong,
                           " of ", got.numel(), " elements: ", first));
      }
    }
  } catch (const std::exception& error) {
    failed(where, error.what());
  }
}

}  // namespace nvfuser::table
