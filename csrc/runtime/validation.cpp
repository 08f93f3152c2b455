#include <runtime/validation.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include <ir/internal_nodes.h>
#include <runtime/launch_values.h>
#include <settling/settle.h>

namespace nvfuser {

namespace {

/// What is known about the rounding of a value, from the operations that lead to it.
struct Path {
  int64_t operations = 0;  ///< on the longest path
  double unit = 0;         ///< widest half ulp of 1 among the intermediates
};

/// Half an ulp of 1; 0 where nothing is rounded.
double roundoff(DataType dtype) {
  const int bits = significandBits(dtype);
  return bits == 0 ? 0 : std::ldexp(1.0, -bits);
}

/// Paths to all values. The rounding to an output's own dtype is no part of its path.
std::unordered_map<const Val*, Path> findPaths(const Fusion& fusion) {
  std::unordered_map<const Val*, Path> paths;
  for (const Expr* expr : fusion.exprs()) {
    Path path;
    for (const Val* input : expr->inputs()) {
      if (auto found = paths.find(input); found != paths.end()) {
        path.operations = std::max(path.operations, found->second.operations);
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
      case ExprKind::OnlineSoftmaxOp:
      case ExprKind::MatmulOp:
      case ExprKind::LinearOp:
      case ExprKind::SdpaFwdOp:
      case ExprKind::SdpaBwdOp:
      case ExprKind::ScaledMmaOp:
      case ExprKind::GroupedMmaOp:
      case ExprKind::ScanOp:
      case ExprKind::ScatterOp:
      case ExprKind::CommunicationOp:
        path.operations += 1;
        break;
      default:
        break;
    }
    for (const Val* output : expr->outputs()) {
      paths[output] = path;
    }
  }
  return paths;
}

/// What the interpreter says of one output.
struct Reference {
  HostTensor value;                ///< v
  std::vector<HostTensor> others;  ///< w; the first: rounded after each operation
};

/// Tolerances of one output's elements: `expected` is v, or what else was given in its place.
class Tolerance {
 public:
  Tolerance(const Path& path, const HostTensor& expected, const Reference& reference)
      : expected_(expected), reference_(reference) {
    unit_out_ = path.operations > 0 ? roundoff(expected.dtype()) : 0;
    // A kernel computes reduced precision in Float.
    const double compute = roundoff(expected.dtype()) == 0x1p-53 ? 0x1p-53 : 0x1p-24;
    unit_ = path.operations > 0 ? std::max(path.unit, compute) : 0;
    growth_ = 8 + 4 * static_cast<double>(path.operations);
    smallest_ = unit_ == 0x1p-53 ? 0x1p-1022 : 0x1p-126;
    double squares = 0;
    for (int64_t i = 0; i < expected.numel(); ++i) {
      squares += deviation(i) * deviation(i);
    }
    typical_ = std::sqrt(squares / static_cast<double>(std::max<int64_t>(expected.numel(), 1)));
  }

  double at(int64_t i) const {
    const double size = std::abs(expected_.getComplex(i));
    return (2 * unit_out_ + unit_ * growth_) * size + 8 * (deviation(i) + typical_) + smallest_;
  }

 private:
  /// How far the others are from v at most. Infinite ones are compared as they are.
  double deviation(int64_t i) const {
    const std::complex<double> value = reference_.value.getComplex(i);
    double most = 0;
    for (const HostTensor& other : reference_.others) {
      const double distance = std::abs(value - other.getComplex(i));
      most = std::isfinite(distance) ? std::max(most, distance) : most;
    }
    return most;
  }

  const HostTensor& expected_;
  const Reference& reference_;
  double unit_out_ = 0;
  double unit_ = 0;
  double growth_ = 0;
  double typical_ = 0;
  double smallest_ = 0;  ///< numbers that a device may flush to zero
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
struct AskedAt {
  int line;
  const char* file;
  const std::string& message;

  std::string text() const {
    return nvfuser::text("\n  note: validated at ", file, ":", line, message.empty() ? "" : ": ",
                         message);
  }
};

void compareOutput(const Val* output, size_t number, const HostTensor& got,
                   const HostTensor& expected, const Reference& reference, const Path& path,
                   const AskedAt& place) {
  auto name = [&] { return text("output ", number, ", ", *output, ","); };
  if (got.dtype() != expected.dtype()) {
    throw ValidationError(text(name(), " has dtype ", dataTypeName(got.dtype()), ", but ",
                               dataTypeName(expected.dtype()), " is expected", place.text()));
  }
  if (got.sizes() != expected.sizes()) {
    throw ValidationError(text(name(), " has sizes [", join(got.sizes(), ", "), "], but [",
                               join(expected.sizes(), ", "), "] are expected", place.text()));
  }
  check(expected.sizes() == reference.value.sizes(), "results of other sizes are expected");
  const bool exact = !isFloatingPointType(got.dtype()) && !isComplexType(got.dtype());
  const Tolerance tolerance(path, expected, reference);
  const std::vector<HostTensor>& others = reference.others;
  int64_t wrong = 0;
  int64_t first = -1;
  int64_t worst = -1;
  double worst_ratio = -1;
  for (int64_t i = 0; i < got.numel(); ++i) {
    double ratio = 0;  // of the error to the tolerance
    if (exact) {
      const int64_t value = got.getInt(i);
      ratio = value == expected.getInt(i) || value == others.front().getInt(i) ? 0 : 2;
    } else {
      const std::complex<double> value = got.getComplex(i);
      const std::complex<double> right = expected.getComplex(i);
      auto same = [&](std::complex<double> to) {
        return sameNumber(value.real(), to.real()) && sameNumber(value.imag(), to.imag());
      };
      const bool overflowed = std::any_of(others.begin(), others.end(), [&](const auto& other) {
        return !isFinite(other.getComplex(i)) && same(other.getComplex(i));
      });
      if (same(right) || (isFinite(right) && overflowed)) {
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
std::vector<size_t> comparedOutputs(const Fusion& fusion, size_t count, const AskedAt& place) {
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

/// What the interpreter says of all outputs.
std::vector<Reference> references(const Fusion& fusion, std::span<const InterpreterInput> arguments,
                                  const InterpreterOptions& options) {
  constexpr uint64_t kSeeds = 3;
  std::vector<Reference> all;
  for (HostTensor& value : interpret(fusion, arguments, options)) {
    all.push_back({std::move(value), {}});
  }
  auto add = [&](const InterpreterOptions& other) {
    std::vector<HostTensor> values = interpret(fusion, arguments, other);
    for (size_t number = 0; number < all.size(); ++number) {
      all[number].others.push_back(std::move(values[number]));
    }
  };
  InterpreterOptions other = options;
  other.rounding = Rounding::EveryOperation;
  add(other);
  other.rounding = Rounding::Disturbed;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    other.disturbance = seed;
    add(other);
  }
  return all;
}

/// The fusion as it is meant for these sizes (settling/); null for one that was scheduled, whose
/// axes stay as they are.
std::unique_ptr<Fusion> settledFor(const Fusion& fusion, const KernelArgumentHolder& inputs) {
  for (const TensorView* tv : fusion.allTvs()) {
    const bool is_part =
        tv->hasRoot() && tv->definition() != nullptr && isReduction(tv->definition());
    if (tv->getLoopDomain() != tv->getLogicalDomain() || is_part) {
      return nullptr;
    }
  }
  const settling::FormQuestions questions(fusion);
  ExpressionEvaluator sizes = bindSizes(fusion, inputs);
  return settling::settle(fusion, questions, questions.answers(sizes));
}

}  // namespace

void testValidate(Fusion* fusion, const KernelArgumentHolder& outputs,
                  const KernelArgumentHolder& inputs, int line, const char* file,
                  const std::string& message, const InterpreterOptions& options) {
  const AskedAt place{line, file, message};
  const std::vector<size_t> compared = comparedOutputs(*fusion, outputs.size(), place);
  const KernelArgumentHolder on_host = inputs.onHost();
  const std::vector<InterpreterInput> arguments = on_host.inputs();
  auto paths = findPaths(*fusion);
  const std::unique_ptr<Fusion> settled = settledFor(*fusion, inputs);
  const Fusion& meant = settled != nullptr ? *settled : *fusion;
  const std::vector<Reference> all = references(meant, arguments, options);
  for (size_t n = 0; n < compared.size(); ++n) {
    const size_t number = compared[n];
    const Val* output = fusion->outputs()[number];
    compareOutput(output, number, onHost(outputs[n], output->dtype()), all[number].value,
                  all[number], paths[output], place);
  }
}

void testValidate(Fusion* fusion, const KernelArgumentHolder& outputs,
                  const KernelArgumentHolder& inputs, const KernelArgumentHolder& expected,
                  int line, const char* file, const std::string& message) {
  const AskedAt place{line, file, message};
  const std::vector<size_t> compared = comparedOutputs(*fusion, outputs.size(), place);
  if (expected.size() != outputs.size()) {
    throw ValidationError(text(outputs.size(), " results were given to compare with ",
                               expected.size(), " expected ones", place.text()));
  }
  const KernelArgumentHolder on_host = inputs.onHost();
  const std::vector<InterpreterInput> arguments = on_host.inputs();
  auto paths = findPaths(*fusion);
  const std::vector<Reference> all = references(*fusion, arguments, {});
  for (size_t n = 0; n < compared.size(); ++n) {
    const Val* output = fusion->outputs()[compared[n]];
    compareOutput(output, compared[n], onHost(outputs[n], output->dtype()),
                  onHost(expected[n], output->dtype()), all[compared[n]], paths[output], place);
  }
}

}  // namespace nvfuser
