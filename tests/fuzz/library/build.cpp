#include <fuzz/library/build.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <random>
#include <set>

#include <capi/operations.h>
#include <ir/builder.h>
#include <ops/all_ops.h>
#include <ops/table/pointwise.h>

namespace nvfuser::fuzz {

double roundoff(DataType dtype) {
  const int bits = significandBits(dtype);
  return bits == 0 ? 0 : std::ldexp(1.0, -bits);
}

namespace {

bool isRealOrComplex(DataType dtype) { return isFloatingPointType(dtype) || isComplexType(dtype); }

/// Operations that give elements of their operands, or numbers that a float has exactly.
bool isExact(std::string_view operation) {
  static const std::set<std::string_view> kExact = {"set",
                                                    "segment_set",
                                                    "neg",
                                                    "abs",
                                                    "relu",
                                                    "sign",
                                                    "floor",
                                                    "ceil",
                                                    "round",
                                                    "trunc",
                                                    "real",
                                                    "imag",
                                                    "maximum",
                                                    "minimum",
                                                    "where",
                                                    "threshold",
                                                    "clamp",
                                                    "max",
                                                    "min",
                                                    "broadcast",
                                                    "broadcast_in_dim",
                                                    "expand",
                                                    "expand_as",
                                                    "repeat",
                                                    "reshape",
                                                    "flatten",
                                                    "permute",
                                                    "transpose",
                                                    "squeeze",
                                                    "unsqueeze",
                                                    "slice",
                                                    "pad",
                                                    "cat",
                                                    "strided_slice",
                                                    "flip",
                                                    "chunk",
                                                    "view_as_real",
                                                    "select",
                                                    "index_select",
                                                    "gather",
                                                    "take_along_axis",
                                                    "scatter_max",
                                                    "scatter_min",
                                                    "full",
                                                    "full_like",
                                                    "zeros_like",
                                                    "ones_like",
                                                    "eye",
                                                    "rand_like",
                                                    "randn_like",
                                                    "uniform",
                                                    "normal",
                                                    "iota",
                                                    "triu",
                                                    "nextafter",
                                                    "complex",
                                                    "cummax",
                                                    "cummin"};
  return kExact.count(operation) != 0;
}

/// Operations that round inside, where only their operands can be disturbed.
bool isComposite(std::string_view operation) {
  return operation == "lerp" || (!isExact(operation) && operation != "cast" &&
                                 findPointwiseFunction(operation) == nullptr);
}

bool isReduction(std::string_view operation) {
  static const std::set<std::string_view> kReductions = {
      "sum",      "prod",    "max",     "min",         "mean",       "var",
      "var_mean", "welford", "softmax", "log_softmax", "layer_norm", "rms_norm"};
  return kReductions.count(operation) != 0;
}

bool drawsRandomly(std::string_view operation) {
  static const std::set<std::string_view> kRandom = {"rand_like", "randn_like", "uniform", "normal",
                                                     "dropout"};
  return kRandom.count(operation) != 0;
}

double product(const std::vector<int64_t>& sizes) {
  double result = 1;
  for (int64_t size : sizes) {
    result *= static_cast<double>(size);
  }
  return result;
}

/// The C interface's form of arguments; keeps what lists point to.
class CArguments {
 public:
  CArguments(const std::vector<Argument>& arguments, const std::map<int64_t, int64_t>& positions)
      : positions_(positions) {
    for (const Argument& argument : arguments) {
      top_.push_back(convert(argument));
    }
  }
  const std::vector<nvf_argument>& get() const { return top_; }

 private:
  nvf_argument convert(const Argument& argument) {
    nvf_argument result{};
    result.name = argument.name.empty() ? nullptr : argument.name.c_str();
    result.integer = argument.integer;
    result.real = argument.real;
    switch (argument.kind) {
      case Argument::Kind::None:
        result.kind = NVF_ARG_NONE;
        break;
      case Argument::Kind::Value: {
        auto found = positions_.find(argument.integer);
        if (found == positions_.end()) {
          userError("fuzz: v", argument.integer, " is used before it is defined");
        }
        result.kind = NVF_ARG_VALUE;
        result.integer = found->second;
        break;
      }
      case Argument::Kind::Bool:
        result.kind = NVF_ARG_BOOL;
        break;
      case Argument::Kind::Int:
        result.kind = NVF_ARG_INT;
        break;
      case Argument::Kind::Double:
        result.kind = NVF_ARG_DOUBLE;
        break;
      case Argument::Kind::Dtype:
        result.kind = NVF_ARG_DTYPE;
        result.integer = capi::codeOf(argument.dtype);
        break;
      case Argument::Kind::List: {
        std::vector<nvf_argument> items;
        for (const Argument& item : argument.items) {
          items.push_back(convert(item));
        }
        result.kind = NVF_ARG_LIST;
        result.count = static_cast<int64_t>(items.size());
        result.items = kept_.emplace_back(std::move(items)).data();
        break;
      }
    }
    return result;
  }

  const std::map<int64_t, int64_t>& positions_;
  std::deque<std::vector<nvf_argument>> kept_;
  std::vector<nvf_argument> top_;
};

}  // namespace

Builder::Builder(bool noise, bool sized)
    : fusion_(std::make_unique<Fusion>()), has_noise_(noise), is_sized_(sized) {}

const Value& Builder::at(int64_t id) const {
  auto found = values_.find(id);
  if (found == values_.end()) {
    userError("fuzz: there is no v", id);
  }
  return found->second;
}

std::vector<int64_t> Builder::sizesOfTensor(const TensorView* tv) {
  std::vector<int64_t> sizes;
  for (const IterDomain* axis : TensorDomain::noReductions(tv->getLogicalDomain())) {
    sizes.push_back(evaluator_.evaluateInt(axis->getMaybeExpandedExtent(), "the size of an axis"));
  }
  return sizes;
}

std::vector<int64_t> Builder::sizesOf(const Val* val) {
  return is_sized_ && val->isA<TensorView>() ? sizesOfTensor(val->as<TensorView>())
                                             : std::vector<int64_t>{};
}

void Builder::add(const Input& input) {
  FusionGuard guard(fusion_.get());
  const size_t rank = input.sizes.size();
  std::vector<Val*> shape;
  std::vector<bool> expanded(rank, false);
  for (size_t i = 0; i < rank; ++i) {
    const bool constant = input.axes[i] == 'c' || input.axes[i] == 'b';
    shape.push_back(constant
                        ? IrBuilder::create<Val>(PolymorphicValue(input.sizes[i]), DataType::Index)
                        : IrBuilder::create<Val>(DataType::Index));
    expanded[i] = input.axes[i] == 'e';
  }
  Contiguity contiguity;
  for (size_t i = 0; i < rank; ++i) {
    const size_t axis = input.order.empty() ? i : static_cast<size_t>(input.order[i]);
    const bool broadcast = expanded[axis] || input.axes[axis] == 'b';
    contiguity.push_back(broadcast ? std::nullopt : std::optional<bool>(input.contiguity[i] != 0));
  }
  TensorViewBuilder builder;
  builder.ndims(static_cast<int64_t>(rank)).dtype(input.dtype).shape(shape).expanded(expanded);
  if (!input.order.empty()) {
    std::vector<int64_t> stride_order(rank);
    for (size_t i = 0; i < rank; ++i) {
      stride_order[static_cast<size_t>(input.order[i])] = static_cast<int64_t>(rank - 1 - i);
    }
    builder.strideOrder(stride_order);
  }
  TensorView* tv = builder.contiguity(contiguity).build();
  fusion_->addInput(tv);
  if (is_sized_) {
    evaluator_.bindTensor(tv, input.sizes);
  }
  values_[input.id] = {.val = tv, .sizes = input.sizes};
}

void Builder::add(const ScalarInput& scalar) {
  FusionGuard guard(fusion_.get());
  Val* val = IrBuilder::create<Val>(scalar.dtype);
  fusion_->addInput(val);
  evaluator_.bind(val, scalar.dtype == DataType::Int
                           ? PolymorphicValue(static_cast<int64_t>(scalar.value))
                           : PolymorphicValue(scalar.value));
  values_[scalar.id] = {.val = val};
}

Val* Builder::noisy(Val* val, const std::vector<int64_t>& sizes) {
  if (!val->isA<TensorView>() || !isRealOrComplex(val->dtype())) {
    return val;
  }
  const DataType of = getTypeFromComplexType(val->dtype());
  const DataType dtype = of == DataType::Double ? of : DataType(DataType::Float);
  const double amplitude = isReducedPrecisionFloat(of) ? roundoff(of) : 4 * roundoff(dtype);
  std::vector<int64_t> shape;
  for (const IterDomain* axis :
       TensorDomain::noReductions(val->as<TensorView>()->getLogicalDomain())) {
    // What is known of a size stays known: an axis of one element may meet others.
    const bool is_known = !axis->hasExpandedExtent() && axis->extent()->isConstInt();
    shape.push_back(is_known ? axis->extent()->evaluate().as<int64_t>() : -1);
  }
  TensorView* factor = TensorViewBuilder()
                           .ndims(static_cast<int64_t>(shape.size()))
                           .shape(shape)
                           .dtype(dtype)
                           .contiguity(true)
                           .build();
  fusion_->addInput(factor);
  evaluator_.bindTensor(factor, sizes);
  noise_.push_back({dtype, sizes, amplitude});
  return castOp(val->dtype(), mul(val, factor));
}

/// With Python's meaning of bounds; the table's own function refuses constants that count from the
/// end.
Val* Builder::sliced(const Call& call, Val* operand) const {
  std::vector<Slice> ranges;
  const auto bound = [&](const Argument& argument) -> Val* {
    return argument.kind == Argument::Kind::Value
               ? at(argument.integer).val
               : IrBuilder::create<Val>(argument.integer, DataType::Index);
  };
  for (const Argument& argument : call.arguments) {
    for (size_t i = 0; i < argument.items.size(); ++i) {
      ranges.resize(std::max(ranges.size(), i + 1));
      Slice& range = ranges[i];
      (argument.name == "start_indices" ? range.start
       : argument.name == "end_indices" ? range.stop
                                        : range.step) = bound(argument.items[i]);
    }
  }
  return slice(operand->as<TensorView>(), ranges);
}

void Builder::add(const Call& call) {
  FusionGuard guard(fusion_.get());
  const capi::Operation& operation = capi::findOperation(call.operation);
  std::vector<Val*> operands;
  std::map<int64_t, int64_t> positions;
  std::vector<int64_t> ids;
  for (const Argument& argument : call.arguments) {
    collectValues(argument, ids);
  }
  Value path;
  double elements = 1;
  const bool composite = isComposite(call.operation);
  for (int64_t id : ids) {
    const Value& operand = at(id);
    if (positions.emplace(id, static_cast<int64_t>(operands.size())).second) {
      operands.push_back(has_noise_ && composite ? noisy(operand.val, operand.sizes) : operand.val);
    }
    path.operations = std::max(path.operations, operand.operations);
    path.reduced = std::max(path.reduced, operand.reduced);
    path.unit = std::max(path.unit, operand.unit);
    path.is_random = path.is_random || operand.is_random;
    elements = std::max(elements, product(operand.sizes));
  }
  const CArguments arguments(call.arguments, positions);
  const std::vector<Val*> results =
      call.operation == "slice" ? std::vector<Val*>{sliced(call, operands.at(0))}
                                : operation.define(capi::Call(operation.name, operation.parameters,
                                                              arguments.get(), operands));
  if (results.size() != call.results.size()) {
    userError("fuzz: ", call.operation, " has ", results.size(), " results, but the call names ",
              call.results.size());
  }
  path.operations += composite ? 8 : 1;
  path.is_random = path.is_random || drawsRandomly(call.operation);
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i] == nullptr || call.results[i] < 0) {
      continue;
    }
    Value result = path;
    result.val = results[i];
    result.sizes = sizesOf(results[i]);
    if (call.operation == "cumsum" || call.operation == "cumprod") {
      const int64_t dim = call.arguments.at(1).integer;
      result.reduced *=
          result.sizes.empty()
              ? 1.0
              : std::max(1.0, static_cast<double>(result.sizes[static_cast<size_t>(dim)]));
    }
    if (isReduction(call.operation)) {
      const bool keeps = product(result.sizes) == elements;  // softmax and the like
      result.reduced *= std::max(1.0, keeps && !result.sizes.empty()
                                          ? static_cast<double>(result.sizes.back())
                                          : elements / std::max(1.0, product(result.sizes)));
    }
    if (isRealOrComplex(result.val->dtype())) {
      const bool wide = getTypeFromComplexType(result.val->dtype()) == DataType::Double;
      result.unit = std::max(result.unit, wide ? 0x1p-53 : 0x1p-24);
    }
    if (has_noise_ && !isExact(call.operation)) {
      result.val = noisy(result.val, result.sizes);
    }
    values_[call.results[i]] = std::move(result);
  }
}

void Builder::addOutput(int64_t id) {
  FusionGuard guard(fusion_.get());
  Val* val = at(id).val;
  if (!val->isA<TensorView>()) {
    userError("fuzz: v", id, " is a scalar and cannot be an output");
  }
  fusion_->addOutput(val);
}

void Builder::add(const Update& update) {
  FusionGuard guard(fusion_.get());
  fusion_->aliasOutputToInput(at(update.result).val, at(update.input).val,
                              AllocationType::ReuseBuffer);
}

Builder build(const Program& program, bool noise) {
  Builder builder(noise, !program.sizes_vary);
  for (const Input& input : program.inputs) {
    builder.add(input);
  }
  for (const ScalarInput& scalar : program.scalars) {
    builder.add(scalar);
  }
  for (const Call& call : program.calls) {
    builder.add(call);
  }
  for (int64_t output : program.outputs) {
    builder.addOutput(output);
  }
  for (const Update& update : program.updates) {
    builder.add(update);
  }
  return builder;
}

}  // namespace nvfuser::fuzz
