#include "operation_table.h"

#include <doctest/doctest.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <numeric>

#include <evaluator/element_codec.h>
#include <evaluator/interpreter.h>
#include <ir/builder.h>
#include <ir/internal_nodes.h>
#include <runtime/compile_batch.h>
#include <runtime/validation.h>

namespace nvfuser::table {

namespace {

constexpr size_t kBatch = 128;  ///< kernels a translation unit

using Complex = std::complex<double>;

/// Numbers between 0 and 1, the same for the same `i`.
double hash01(int64_t i, uint64_t salt) {
  uint64_t x = static_cast<uint64_t>(i) * 0x9e3779b97f4a7c15ull + salt * 0xbf58476d1ce4e5b9ull +
               0x94d049bb133111ebull;
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ull;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebull;
  x ^= x >> 31;
  return static_cast<double>(x >> 11) * 0x1p-53;
}

double largestOf(DataType dtype) {
  switch (dtype.type) {
    case PrimDataType::Double:
      return std::numeric_limits<double>::max();
    case PrimDataType::Half:
      return 65504;
    case PrimDataType::BFloat16:
      return 0x1.fep127;
    case PrimDataType::Float8_e4m3fn:
      return 448;
    case PrimDataType::Float8_e5m2:
      return 57344;
    default:
      return std::numeric_limits<float>::max();
  }
}

double leastNormalOf(DataType dtype) {
  switch (dtype.type) {
    case PrimDataType::Double:
      return 0x1p-1022;
    case PrimDataType::Half:
    case PrimDataType::Float8_e5m2:
      return 0x1p-14;
    case PrimDataType::Float8_e4m3fn:
      return 0x1p-6;
    default:
      return 0x1p-126;
  }
}

/// The first twelve are the ones that pairs of operands meet all of.
std::vector<double> specialReals(DataType dtype, Values values) {
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> out = {0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, -0.3};
  if (values != Values::Finite) {
    out.insert(out.end(), {nan, inf, -inf});
  }
  if (values != Values::Moderate) {
    out.insert(out.end(), {largestOf(dtype), -largestOf(dtype), leastNormalOf(dtype)});
  }
  out.insert(out.end(), {1.5, 2.0, -3.0, 0.9, -7.0});
  return out;
}

std::vector<int64_t> specialIntegers(DataType dtype, Values values) {
  const int bits = static_cast<int>(dataTypeSizeBit(dtype));
  const bool is_unsigned = isUnsignedIntegralType(dtype);
  const auto highest = static_cast<int64_t>((uint64_t{1} << (bits - 1)) - 1);
  std::vector<int64_t> out = {0, 1, 2, 3, 7, 8, 31, 64, 100};
  if (values == Values::Dividend) {
    out.insert(out.end(), {highest - 1, highest / 2, highest / 3});
    return out;
  }
  if (is_unsigned) {
    out.insert(out.end(), {bits == 64 ? -1 : 2 * highest + 1, bits == 64 ? -2 : 2 * highest,
                           highest, highest + (bits == 64 ? 0 : 1)});
  } else {
    out.insert(out.end(), {-1, -highest - 1, highest, -7, -2, -100, highest - 1, -highest});
  }
  return out;
}

template <typename T>
T pick(const std::vector<T>& list, int64_t i, size_t operand) {
  // Operand 0 walks fast, the next one slowly: all pairs of the first twelve meet within 144
  // elements.
  constexpr int64_t kPairs = 12;
  const int64_t digit = operand == 0 ? i % kPairs : operand == 1 ? i / kPairs : (i * 5 + i / 7 + 3);
  // Further ones come in where the round is over.
  const auto size = static_cast<int64_t>(list.size());
  if (operand < 2 && i >= kPairs * kPairs) {
    return list[static_cast<size_t>((i * (operand == 0 ? 1 : 7) + 5) % size)];
  }
  return list[static_cast<size_t>(digit % size)];
}

double ordinaryReal(Values values, int64_t i, size_t operand) {
  const double u = hash01(i, 17 + operand);
  switch (values) {
    case Values::Positive:
      return 0.25 + 3.75 * u;
    case Values::Whole:
      return std::floor(5 * u) - 2;
    case Values::Factor:
      return u < 0.9 ? 1 : u < 0.95 ? -1 : 2;
    case Values::Counter:
      return static_cast<double>(i % 5);
    default:
      return 4 * u - 2;
  }
}

bool isSpecial(Values values) {
  return values == Values::Special || values == Values::Finite || values == Values::Moderate ||
         values == Values::Dividend;
}

}  // namespace

PolymorphicValue elementOf(DataType dtype, Values values, int64_t i, size_t operand) {
  if (isBooleanType(dtype)) {
    return (i / (operand == 0 ? 1 : operand == 1 ? 2 : 4)) % 2 == 1;
  }
  if (isIntegralType(dtype)) {
    if (isSpecial(values)) {
      return pick(specialIntegers(dtype, values), i, operand);
    }
    const double u = hash01(i, 17 + operand);
    const bool is_unsigned = isUnsignedIntegralType(dtype);
    auto value = static_cast<int64_t>(ordinaryReal(values, i, operand));
    if (values == Values::Ordinary) {
      value = static_cast<int64_t>(std::floor(19 * u)) - 9;
    }
    if (values == Values::Positive) {
      value = 1 + static_cast<int64_t>(9 * u);
    }
    return is_unsigned && value < 0 ? -value : value;
  }
  if (isComplexType(dtype)) {
    const DataType part = getTypeFromComplexType(dtype);
    if (values == Values::Special || values == Values::Moderate) {
      const std::vector<double> list = specialReals(part, values);
      return Complex(roundToDtype(pick(list, i, operand), part),
                     roundToDtype(pick(list, i / 5 + 2 * i, operand), part));
    }
    if (isSpecial(values)) {
      // Of moderate size: squares do not overflow.
      constexpr double kParts[] = {0.0, 1.0, -1.0, 0.5, -2.5, 3.0, -0.3, 0.75};
      const auto at = static_cast<size_t>(operand == 0   ? i
                                          : operand == 1 ? i / 8 + 3 * i
                                                         : 5 * i + 2);
      return Complex(roundToDtype(kParts[at % 8], part),
                     roundToDtype(kParts[(at / 8 + at) % 8], part));
    }
    const double imaginary = values == Values::Factor ? 0 : ordinaryReal(values, i + 1000, operand);
    return Complex(roundToDtype(ordinaryReal(values, i, operand), part),
                   roundToDtype(imaginary, part));
  }
  const double value = isSpecial(values) ? pick(specialReals(dtype, values), i, operand)
                                         : ordinaryReal(values, i, operand);
  return roundToDtype(value, dtype);
}

std::string_view layoutName(Layout layout) {
  switch (layout) {
    case Layout::Contiguous:
      return "contiguous";
    case Layout::Strided:
      return "strided";
    case Layout::Expanded:
      return "expanded";
    case Layout::Misaligned:
      return "misaligned";
    case Layout::Empty:
      return "empty";
  }
  return "";
}

std::string_view deviceName(const Device& device) {
  switch (device.kind()) {
    case DeviceKind::Cpu:
      return "cpu";
    case DeviceKind::Cuda:
      return "gpu";
    default:
      return "emulated";
  }
}

Device& cudaLike() {
  if (std::getenv("NVFUSER_TEST_GPU") == nullptr) {
    return emulatedDevice();
  }
  std::string why;
  Device* gpu = cudaDevice(0, &why);
  if (gpu == nullptr) {
    throw UserError("NVFUSER_TEST_GPU is set, but there is no GPU: " + why);
  }
  return *gpu;
}

TensorView* Definition::tensor(const Sizes& sizes, DataType dtype, Values values,
                               std::optional<Sizes> empty) {
  Sizes declared;
  for (int64_t size : sizes) {
    declared.push_back(size == 1 ? 1 : -1);
  }
  TensorView* tv = makeSymbolicTensor(declared, dtype);
  FusionGuard::getCurFusion()->addInput(tv);
  Input input{dtype, values};
  input.is_tensor = true;
  input.sizes = sizes;
  input.empty = std::move(empty);
  inputs_.push_back(std::move(input));
  return tv;
}

TensorView* Definition::expandedTensor(const Sizes& sizes, DataType dtype, Values values,
                                       std::optional<Sizes> empty) {
  std::vector<bool> expanded(sizes.size(), false);
  expanded.at(0) = true;
  TensorView* tv = TensorViewBuilder()
                       .ndims(static_cast<int64_t>(sizes.size()))
                       .dtype(dtype)
                       .contiguity(false)
                       .shape(Sizes(sizes.size(), -1))
                       .expanded(expanded)
                       .build();
  FusionGuard::getCurFusion()->addInput(tv);
  Input input{dtype, values};
  input.is_tensor = true;
  input.is_expanded = true;
  input.sizes = sizes;
  input.empty = std::move(empty);
  inputs_.push_back(std::move(input));
  return tv;
}

Val* Definition::scalar(DataType dtype, Values values) {
  Val* val = IrBuilder::create<Val>(dtype);
  FusionGuard::getCurFusion()->addInput(val);
  inputs_.push_back({dtype, values});
  return val;
}

Val* Definition::scalar(DataType dtype, PolymorphicValue value) {
  Val* val = scalar(dtype);
  inputs_.back().fixed = value;
  return val;
}

void Definition::output(Val* value) { FusionGuard::getCurFusion()->addOutput(value); }

void Table::program(const std::string& kind, const std::string& name, const Define& define) {
  try {
    Definition definition;
    auto fusion = std::make_unique<Fusion>();
    {
      FusionGuard guard(fusion.get());
      define(definition);
    }
    auto cache = std::make_unique<FusionExecutorCache>(std::move(fusion));
    programs_.push_back({kind, name, definition.accuracy, definition.inputs_, std::move(cache)});
  } catch (const std::exception& error) {
    failed(text(kind, " ", name, ", defining"), error.what());
  }
}

void Table::refused(const std::string& kind, const std::string& name, const std::string& wording,
                    const Define& define) {
  try {
    Definition definition;
    Fusion fusion;
    FusionGuard guard(&fusion);
    define(definition);
    failed(text(kind, " ", name), text("was accepted, but has to be refused: ", wording));
  } catch (const UserError& error) {
    if (std::string_view(error.what()).find(wording) == std::string_view::npos) {
      failed(text(kind, " ", name),
             text("was refused with: ", error.what(), ", but should say: ", wording));
      return;
    }
    ++refusals_[text(kind, ": ", wording)];
    ++cases_[kind];
    ++num_cases_;
  } catch (const std::exception& error) {
    failed(text(kind, " ", name), text("was refused with no UserError: ", error.what()));
  }
}

void Table::failed(const std::string& where, const std::string& what) {
  constexpr int64_t kShown = 60;
  if (++failures_ <= kShown) {
    MESSAGE(family_, " on ", deviceName(device_), ": ", where, ": ", what.substr(0, 700));
  }
}

namespace {

/// A tensor on the host with the layout asked for.
Tensor makeInput(DataType dtype, const Sizes& sizes, Values values, Layout layout, bool is_expanded,
                 size_t operand, int64_t shift) {
  const size_t rank = sizes.size();
  HostTensor elements(dtype, sizes);
  Sizes strides(rank, 0);
  int64_t offset = 0;
  int64_t storage = 0;
  if (layout == Layout::Strided) {
    int64_t stride = 2;
    for (size_t axis = 0; axis < rank; ++axis) {
      strides[axis] = stride;
      stride *= std::max<int64_t>(sizes[axis], 1);
    }
  } else {
    int64_t stride = 1;
    for (size_t axis = rank; axis-- > 0;) {
      strides[axis] = stride;
      stride *= std::max<int64_t>(sizes[axis], 1);
      if (layout == Layout::Misaligned && axis + 1 == rank) {
        stride += stride % 2 == 0 ? 1 : 2;  // an odd pitch
      }
    }
    offset = layout == Layout::Misaligned ? 1 : 0;
  }
  const bool expanded = (is_expanded || layout == Layout::Expanded) && rank > 0;
  if (expanded) {
    strides[0] = 0;
  }
  storage = offset + 1;
  for (size_t axis = 0; axis < rank; ++axis) {
    storage += std::max<int64_t>(sizes[axis] - 1, 0) * strides[axis];
  }
  const int64_t numel = elements.numel();
  int64_t period = 1;  // elements that differ
  for (size_t axis = expanded ? 1 : 0; axis < rank; ++axis) {
    period *= sizes[axis];
  }
  for (int64_t i = 0; i < numel; ++i) {
    storeElement(elements.data() + i * dataTypeSizeByte(dtype), dtype,
                 elementOf(dtype, values, shift + (expanded ? i % period : i), operand));
  }
  Tensor whole = Tensor::empty({storage}, dtype, cpuDevice(), true);
  Tensor view = whole.asStrided(sizes, strides, offset);
  if (expanded) {
    Sizes one = sizes;
    one[0] = std::min<int64_t>(one[0], 1);
    Tensor row = whole.asStrided(one, strides, offset);
    if (row.numel() > 0) {
      row.copyFrom(Tensor::fromHostTensor(elements).slice(0, 0, 1).contiguous());
    }
  } else if (numel > 0) {
    view.copyFrom(Tensor::fromHostTensor(elements));
  }
  return view;
}

/// The same sizes and strides, at the same distance from an aligned address, on `device`.
Tensor onDevice(const Tensor& host, Device& device) {
  if (device.kind() == DeviceKind::Cpu) {
    return host;
  }
  int64_t storage = host.storageOffset() + 1;
  bool expanded = false;
  Sizes distinct = host.sizes();
  for (int64_t axis = 0; axis < host.dim(); ++axis) {
    storage += std::max<int64_t>(host.size(axis) - 1, 0) * host.stride(axis);
    if (host.stride(axis) == 0 && host.size(axis) > 1) {
      expanded = true;
      distinct[static_cast<size_t>(axis)] = 1;
    }
  }
  Tensor whole = Tensor::empty({storage}, host.dtype(), device, true);
  Tensor view = whole.asStrided(host.sizes(), host.strides(), host.storageOffset());
  if (host.numel() > 0) {
    const Tensor target =
        expanded ? whole.asStrided(distinct, host.strides(), host.storageOffset()) : view;
    const Tensor source =
        expanded ? host.asStrided(distinct, host.strides(), host.storageOffset()) : host;
    Tensor(target).copyFrom(source);
  }
  return view;
}

bool sameReal(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) {
    return std::isnan(a) && std::isnan(b);
  }
  return a == b && std::signbit(a) == std::signbit(b);
}

bool finite(Complex z) { return std::isfinite(z.real()) && std::isfinite(z.imag()); }

double roundoffOf(DataType dtype) {
  switch (getTypeFromComplexType(dtype).type) {
    case PrimDataType::Double:
      return 0x1p-53;
    case PrimDataType::Half:
      return 0x1p-11;
    case PrimDataType::BFloat16:
      return 0x1p-8;
    case PrimDataType::Float8_e4m3fn:
      return 0x1p-4;
    case PrimDataType::Float8_e5m2:
      return 0x1p-3;
    default:
      return 0x1p-24;
  }
}

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

void Table::runOnce(Program& program, Layout layout, int variant) {
  const std::string where = text(program.kind, " ", program.name, ", ", layoutName(layout),
                                 variant > 0 ? text(" ", variant) : "");
  KernelArgumentHolder on_host;
  KernelArgumentHolder arguments;
  std::vector<Tensor> tensors;
  std::vector<PolymorphicValue> scalars;
  Fusion* fusion = program.cache->fusion();
  try {
    size_t operand = 0;
    for (const Definition::Input& input : program.inputs) {
      if (input.is_tensor) {
        const Sizes& sizes = layout == Layout::Empty && input.empty ? *input.empty : input.sizes;
        tensors.push_back(makeInput(input.dtype, sizes, input.values, layout, input.is_expanded,
                                    operand, variant * 5));
        on_host.push(tensors.back());
        arguments.push(onDevice(tensors.back(), device_));
      } else {
        const PolymorphicValue value =
            input.fixed.hasValue()
                ? input.fixed
                : elementOf(input.dtype, input.values, variant + 2 * static_cast<int>(layout), 0);
        scalars.push_back(value);
        on_host.push(value);
        arguments.push(value);
      }
      ++operand;
    }
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
          accuracy.absolute |= accuracy.roots_from < size && size < accuracy.roots_to;
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

void Table::runProgram(Program& program) {
  bool any_rank = false;
  bool any_tensor = false;
  bool any_scalar = false;
  bool any_empty = false;
  for (const Definition::Input& input : program.inputs) {
    any_tensor |= input.is_tensor;
    any_rank |= input.is_tensor && !input.sizes.empty();
    any_scalar |= !input.is_tensor && !input.fixed.hasValue();
    any_empty |= input.empty.has_value();
  }
  runOnce(program, Layout::Contiguous, 0);
  if (any_scalar) {
    for (int variant = 1; variant < 6; ++variant) {
      runOnce(program, Layout::Contiguous, variant);
    }
  }
  if (any_tensor) {
    runOnce(program, Layout::Misaligned, 1);
  }
  if (any_rank) {
    runOnce(program, Layout::Strided, 2);
    runOnce(program, Layout::Expanded, 3);
  }
  if (any_empty) {
    runOnce(program, Layout::Empty, 0);
  }
}

void Table::compileAll() {
  std::vector<KernelExecutor*> executors;
  auto flush = [&] {
    if (executors.empty()) {
      return;
    }
    num_kernels_ += static_cast<int64_t>(executors.size());
    ++num_batches_;
    try {
      compileBatch(executors, device_, PrimDataType::Int32);
    } catch (const std::exception& error) {
      // The kernels are compiled one by one when they run, which tells the wrong one.
      failed(text("batch ", num_batches_), error.what());
    }
    executors.clear();
  };
  for (Program& program : programs_) {
    for (KernelExecutor* executor : program.cache->executors()) {
      executors.push_back(executor);
    }
    if (executors.size() >= kBatch) {
      flush();
    }
  }
  flush();
}

void Table::run(int64_t least_cases) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  compileAll();
  const auto compiled = Clock::now();
  for (Program& program : programs_) {
    runProgram(program);
  }
  const auto end = Clock::now();
  auto seconds = [](auto from, auto to) {
    return std::chrono::duration<double>(to - from).count();
  };
  std::string counts;
  for (const auto& [kind, count] : cases_) {
    append(counts, text(counts.empty() ? "" : ", ", kind, " ", count));
  }
  std::string refusals;
  for (const auto& [wording, count] : refusals_) {
    append(refusals, text("\n    ", count, " × ", wording));
  }
  std::printf(
      "operation table, %s on %s: %lld cases (%lld elements) in %lld runs of %zu programs, %lld "
      "kernels in %lld "
      "compilations (%.1f s), runs and checks %.1f s, %lld wrong\n  cases: %s\n%s%s%s",
      family_.c_str(), std::string(deviceName(device_)).c_str(), static_cast<long long>(num_cases_),
      static_cast<long long>(num_elements_), static_cast<long long>(num_runs_), programs_.size(),
      static_cast<long long>(num_kernels_), static_cast<long long>(num_batches_),
      seconds(start, compiled), seconds(compiled, end), static_cast<long long>(failures_),
      counts.c_str(),
      refusals.empty() ? "" : "  refused, with their documented errors:", refusals.c_str(),
      refusals.empty() ? "" : "\n");
  CHECK(failures_ == 0);
  CHECK(num_cases_ >= least_cases);
}

}  // namespace nvfuser::table
