#include <runtime/validation.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include <ir/internal_nodes.h>

namespace nvfuser {

namespace {

/// What is known about the rounding of a value, from the operations that lead to it.
struct Path {
  int64_t operations = 0;  ///< on the longest path
  double reduced = 1;      ///< elements combined into one
  double unit = 0;         ///< widest half ulp of 1 among the intermediates
};

/// Half an ulp of 1; 0 where nothing is rounded.
double roundoff(DataType dtype) {
  const int bits = significandBits(dtype);
  return bits == 0 ? 0 : std::ldexp(1.0, -bits);
}

/// Paths to all values. The rounding to an output's own dtype is no part of its path.
std::unordered_map<const Val*, Path> findPaths(const Fusion& fusion,
                                               ExpressionEvaluator& evaluator) {
  std::unordered_map<const Val*, Path> paths;
  for (const Expr* expr : fusion.exprs()) {
    Path path;
    for (const Val* input : expr->inputs()) {
      if (auto found = paths.find(input); found != paths.end()) {
        path.operations = std::max(path.operations, found->second.operations);
        path.reduced = std::max(path.reduced, found->second.reduced);
        path.unit = std::max(path.unit, found->second.unit);
        // Rounded when it was made, unless it is a copy of an input.
        if (found->second.operations > 0) {
          path.unit = std::max(path.unit, roundoff(input->dtype()));
        }
      }
    }
    switch (expr->kind()) {
      case ExprKind::UnaryOp:
      case ExprKind::BinaryOp:
      case ExprKind::TernaryOp:
      case ExprKind::RNGOp:
      case ExprKind::IotaOp:
      case ExprKind::ReductionOp:
      case ExprKind::WelfordOp:
        path.operations += 1;
        break;
      default:
        break;
    }
    if (expr->isA<ReductionOp>() || expr->isA<WelfordOp>()) {
      for (const IterDomain* id : expr->output(0)->as<TensorView>()->getLogicalDomain()) {
        const PolymorphicValue extent = evaluator.evaluate(id->getMaybeExpandedExtent());
        if (id->isReduction() && extent.hasValue()) {
          path.reduced *= std::max(1.0, extent.as<double>());
        }
      }
    }
    for (const Val* output : expr->outputs()) {
      paths[output] = path;
    }
  }
  return paths;
}

/// Tolerances of one output's elements.
class Tolerance {
 public:
  Tolerance(DataType dtype, const Path& path, const HostTensor& expected,
            const HostTensor& alternative)
      : expected_(expected), alternative_(alternative) {
    unit_out_ = path.operations > 0 ? roundoff(dtype) : 0;
    // A kernel computes reduced precision in Float.
    const double compute = roundoff(dtype) == 0x1p-53 ? 0x1p-53 : 0x1p-24;
    unit_ = path.operations > 0 ? std::max(path.unit, compute) : 0;
    growth_ = 8 + 4 * static_cast<double>(path.operations) + 4 * std::sqrt(path.reduced);
    magnitude_ = path.reduced > 1
                     ? rootMeanSquare([&](int64_t i) { return std::abs(expected_.getComplex(i)); })
                     : 0;
    deviation_ = rootMeanSquare([&](int64_t i) { return difference(i); });
  }

  double at(int64_t i) const {
    const double size = std::abs(expected_.getComplex(i));
    return 2 * unit_out_ * size + unit_ * growth_ * (size + magnitude_) +
           8 * (difference(i) + deviation_) + smallest_;
  }

 private:
  double difference(int64_t i) const {
    const double d = std::abs(expected_.getComplex(i) - alternative_.getComplex(i));
    return std::isfinite(d) ? d : 0;
  }

  template <typename Get>
  double rootMeanSquare(const Get& get) const {
    double sum = 0;
    int64_t count = 0;
    for (int64_t i = 0; i < expected_.numel(); ++i) {
      const double value = get(i);
      if (std::isfinite(value)) {
        sum += value * value;
        ++count;
      }
    }
    return count == 0 ? 0 : std::sqrt(sum / static_cast<double>(count));
  }

  const HostTensor& expected_;
  const HostTensor& alternative_;
  double unit_out_ = 0;
  double unit_ = 0;
  double growth_ = 0;
  double magnitude_ = 0;
  double deviation_ = 0;
  double smallest_ = 0x1p-126;  ///< numbers that a device may flush to zero
};

bool sameNumber(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

bool isFinite(std::complex<double> number) {
  return std::isfinite(number.real()) && std::isfinite(number.imag());
}

std::string elementText(const HostTensor& tensor, int64_t i) {
  if (isComplexType(tensor.dtype())) {
    return PolymorphicValue(tensor.getComplex(i)).toString();
  }
  if (isFloatingPointType(tensor.dtype())) {
    return PolymorphicValue(tensor.getDouble(i)).toString();
  }
  return text(tensor.getInt(i));
}

std::string indexText(const std::vector<int64_t>& sizes, int64_t i) {
  std::vector<int64_t> index(sizes.size());
  for (size_t axis = sizes.size(); axis-- > 0;) {
    index[axis] = i % sizes[axis];
    i /= sizes[axis];
  }
  return text("[", join(index, ", "), "]");
}

/// Where it was asked, and what was asked.
struct Place {
  int line;
  const char* file;
  const std::string& message;

  std::string text() const {
    return nvfuser::text("\n  note: validated at ", file, ":", line, message.empty() ? "" : ": ",
                         message);
  }
};

void compareOutput(const Val* output, size_t number, const HostTensor& got,
                   const HostTensor& expected, const HostTensor& alternative, const Path& path,
                   const Place& place) {
  auto name = [&] { return text("output ", number, ", ", *output, ","); };
  if (got.dtype() != expected.dtype()) {
    throw ValidationError(text(name(), " has dtype ", dataTypeName(got.dtype()), ", but ",
                               dataTypeName(expected.dtype()), " is expected", place.text()));
  }
  if (got.sizes() != expected.sizes()) {
    throw ValidationError(text(name(), " has sizes [", join(got.sizes(), ", "), "], but [",
                               join(expected.sizes(), ", "), "] are expected", place.text()));
  }
  const bool exact = !isFloatingPointType(got.dtype()) && !isComplexType(got.dtype());
  const Tolerance tolerance(got.dtype(), path, expected, alternative);
  int64_t wrong = 0;
  int64_t first = -1;
  int64_t worst = -1;
  double worst_ratio = -1;
  for (int64_t i = 0; i < got.numel(); ++i) {
    double ratio = 0;  // of the error to the tolerance
    if (exact) {
      const int64_t value = got.getInt(i);
      ratio = value == expected.getInt(i) || value == alternative.getInt(i) ? 0 : 2;
    } else {
      const std::complex<double> value = got.getComplex(i);
      const std::complex<double> right = expected.getComplex(i);
      const std::complex<double> other = alternative.getComplex(i);
      auto same = [&](std::complex<double> to) {
        return sameNumber(value.real(), to.real()) && sameNumber(value.imag(), to.imag());
      };
      if (same(right) || (isFinite(right) && !isFinite(other) && same(other))) {
        continue;
      }
      const bool comparable = isFinite(value) && isFinite(right);
      ratio = comparable ? std::abs(value - right) / tolerance.at(i)
                         : std::numeric_limits<double>::infinity();
    }
    if (ratio > 1) {
      ++wrong;
      first = first < 0 ? i : first;
      if (ratio > worst_ratio) {
        worst_ratio = ratio;
        worst = i;
      }
    }
  }
  if (wrong == 0) {
    return;
  }
  std::string error = text(name(), " is wrong in ", wrong, " of ", got.numel(),
                           " elements; the worst is at ", indexText(got.sizes(), worst), ": got ",
                           elementText(got, worst), ", expected ", elementText(expected, worst));
  if (exact) {
    error += ", which has to be exact";
  } else {
    error += text(", error ", std::abs(got.getComplex(worst) - expected.getComplex(worst)),
                  ", tolerance ", tolerance.at(worst));
  }
  error += text("\n  note: the first wrong element is at ", indexText(got.sizes(), first), ": got ",
                elementText(got, first), ", expected ", elementText(expected, first));
  throw ValidationError(error + place.text());
}

HostTensor onHost(const KernelArgument& argument, DataType dtype) {
  if (argument.isTensor()) {
    return argument.tensor().toHostTensor();
  }
  HostTensor host(dtype, {});
  if (argument.is<std::complex<double>>()) {
    host.setComplex(0, argument.as<std::complex<double>>());
  } else if (argument.is<double>()) {
    host.setDouble(0, argument.as<double>());
  } else {
    host.setInt(0, argument.as<int64_t>());
  }
  return host;
}

/// The outputs that a run gives back: all of them, or those that are not hidden.
std::vector<size_t> comparedOutputs(const Fusion& fusion, size_t count, const Place& place) {
  std::vector<size_t> all;
  std::vector<size_t> visible;
  for (size_t number = 0; number < fusion.outputs().size(); ++number) {
    all.push_back(number);
    if (fusion.getOutputAlias(fusion.outputs()[number]).visibility == OutputVisibility::kVisible) {
      visible.push_back(number);
    }
  }
  if (count == all.size()) {
    return all;
  }
  if (count != visible.size()) {
    throw ValidationError(text("the fusion has ", all.size(), " outputs, but ", count,
                               " results were given to compare", place.text()));
  }
  return visible;
}

/// The arguments with tensors in memory of the host. `kept` owns it.
std::vector<InterpreterInput> hostInputs(const KernelArgumentHolder& inputs,
                                         std::vector<Tensor>& kept) {
  std::vector<InterpreterInput> result;
  for (const KernelArgument& argument : inputs) {
    if (!argument.isTensor() || argument.tensor().isMeta() ||
        argument.tensor().device().kind() == DeviceKind::Cpu) {
      result.push_back(argument.input());
      continue;
    }
    // Element for element; the layout is given its original strides back for the check of
    // contiguity.
    const Tensor& tensor = argument.tensor();
    Tensor host = Tensor::emptyStrided(tensor.sizes(), tensor.strides(), tensor.dtype());
    host.copyFrom(tensor);
    kept.push_back(host);
    result.emplace_back(host.ref());
  }
  return result;
}

}  // namespace

void testValidate(Fusion* fusion, const KernelArgumentHolder& outputs,
                  const KernelArgumentHolder& inputs, int line, const char* file,
                  const std::string& message, const InterpreterOptions& options) {
  const Place place{line, file, message};
  const std::vector<size_t> compared = comparedOutputs(*fusion, outputs.size(), place);
  std::vector<Tensor> kept;
  const std::vector<InterpreterInput> arguments = hostInputs(inputs, kept);
  ExpressionEvaluator evaluator = bindInputs(*fusion, arguments);
  auto paths = findPaths(*fusion, evaluator);
  const std::vector<HostTensor> expected = interpret(*fusion, arguments, options);
  InterpreterOptions rounding = options;
  rounding.rounding = Rounding::EveryOperation;
  const std::vector<HostTensor> alternative = interpret(*fusion, arguments, rounding);
  for (size_t n = 0; n < compared.size(); ++n) {
    const size_t number = compared[n];
    const Val* output = fusion->outputs()[number];
    compareOutput(output, number, onHost(outputs[n], output->dtype()), expected[number],
                  alternative[number], paths[output], place);
  }
}

void testValidate(Fusion* fusion, const KernelArgumentHolder& outputs,
                  const KernelArgumentHolder& inputs, const KernelArgumentHolder& expected,
                  int line, const char* file, const std::string& message) {
  const Place place{line, file, message};
  const std::vector<size_t> compared = comparedOutputs(*fusion, outputs.size(), place);
  if (expected.size() != outputs.size()) {
    throw ValidationError(text(outputs.size(), " results were given to compare with ",
                               expected.size(), " expected ones", place.text()));
  }
  ExpressionEvaluator evaluator = bindInputs(*fusion, inputs.inputs());
  auto paths = findPaths(*fusion, evaluator);
  for (size_t n = 0; n < compared.size(); ++n) {
    const Val* output = fusion->outputs()[compared[n]];
    const HostTensor reference = onHost(expected[n], output->dtype());
    compareOutput(output, compared[n], onHost(outputs[n], output->dtype()), reference, reference,
                  paths[output], place);
  }
}

}  // namespace nvfuser
