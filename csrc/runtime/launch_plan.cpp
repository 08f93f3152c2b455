#include <runtime/launch_plan.h>

#include <algorithm>
#include <cstring>
#include <unordered_set>

#include <evaluator/element_codec.h>
#include <evaluator/zero_divisor.h>
#include <ir/index_error.h>
#include <ir/internal_nodes.h>
#include <runtime/bounds_error.h>
#include <runtime/in_place.h>
#include <runtime/launch_help.h>
#include <runtime/memory_overlap.h>

namespace nvfuser {

namespace {

constexpr size_t kWorkspaceAlignment = 256;  ///< bytes, of each buffer in a workspace

/// Sizes and strides of an output: dense in the order of its allocation domain; expanded axes have
/// stride 0.
std::pair<std::vector<int64_t>, std::vector<int64_t>> outputLayout(const TensorView* tv,
                                                                   LaunchValues& values) {
  const std::vector<IterDomain*> logical = TensorDomain::noReductions(tv->getLogicalDomain());
  std::vector<int64_t> sizes;
  for (const IterDomain* id : logical) {
    sizes.push_back(
        values.evaluator().evaluateInt(id->getMaybeExpandedExtent(), "an output's size"));
  }
  std::vector<int64_t> strides(logical.size(), 0);
  int64_t stride = 1;
  const auto& memory = tv->getMaybeAllocationDomain();
  for (auto it = memory.rbegin(); it != memory.rend(); ++it) {
    auto place = std::find(logical.begin(), logical.end(), *it);
    if (place == logical.end()) {
      if ((*it)->isReduction()) {
        continue;
      }
      userError("run: output ", tv,
                " has an allocation domain that is no permutation of its logical axes; "
                "give the output tensor to run()");
    }
    const auto axis = static_cast<size_t>(place - logical.begin());
    if ((*it)->isBroadcast()) {
      strides[axis] = (*it)->hasExpandedExtent() ? 0 : stride;
      continue;
    }
    strides[axis] = stride;
    stride *= std::max<int64_t>(sizes[axis], 1);
  }
  return {sizes, strides};
}

/// The first element in memory and the last one + 1, counted from the tensor's address.
std::pair<int64_t, int64_t> placesOf(std::span<const int64_t> sizes,
                                     std::span<const int64_t> strides) {
  if (std::count(sizes.begin(), sizes.end(), 0) != 0) {
    return {0, 0};
  }
  std::pair<int64_t, int64_t> places{0, 1};
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    const int64_t distance = (sizes[axis] - 1) * strides[axis];
    (distance < 0 ? places.first : places.second) += distance;
  }
  return places;
}

size_t positionOf(const std::vector<Val*>& list, const Val* val) {
  return static_cast<size_t>(std::find(list.begin(), list.end(), val) - list.begin());
}

template <typename T>
std::array<std::byte, 16> bytesOf(T value) {
  std::array<std::byte, 16> bytes{};
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

std::array<std::byte, 16> bytesOf(const PolymorphicValue& value, DataType dtype) {
  std::array<std::byte, 16> bytes{};
  if (isComplexType(dtype)) {
    storeElement(bytes.data(), dtype, value.as<std::complex<double>>());
  } else if (isFloatingPointType(dtype)) {
    storeElement(bytes.data(), dtype, value.as<double>());
  } else {
    storeElement(bytes.data(), dtype, value.as<int64_t>());
  }
  return bytes;
}

/// Whether a scalar is made of some that the caller gives.
bool dependsOnInput(const Val* val, const Fusion& fusion) {
  std::vector<const Val*> open{val};
  std::unordered_set<const Val*> seen;
  while (!open.empty()) {
    const Val* next = open.back();
    open.pop_back();
    if (!seen.insert(next).second) {
      continue;
    }
    if (positionOf(fusion.inputs(), next) < fusion.inputs().size()) {
      return true;
    }
    if (next->definition() != nullptr) {
      const auto& inputs = next->definition()->inputs();
      open.insert(open.end(), inputs.begin(), inputs.end());
    }
  }
  return false;
}

/// Whether some reduction has no elements: what follows from that is not what a kernel computes
/// (a variance of nothing is NaN). Or whether a broadcast is expanded to nothing: a kernel takes
/// its one element, which no memory has.
bool reducesNothing(const Fusion& fusion, LaunchValues& values) {
  for (const TensorView* tv : fusion.allTvs()) {
    for (const IterDomain* id : tv->getLogicalDomain()) {
      const bool combined = id->isReduction() || (id->isBroadcast() && id->hasExpandedExtent());
      if (combined && values.evaluator().evaluateInt(id->getMaybeExpandedExtent(),
                                                     "a reduced or expanded axis's size") == 0) {
        return true;
      }
    }
  }
  return false;
}

/// Whether loops over an axis without elements go around something that has some.
bool leavesOut(const kir::Kernel& kernel, LaunchValues& values) {
  return std::any_of(
      kernel.checks.begin(), kernel.checks.end(), [&](const kir::LaunchCheck& check) {
        return check.kind == kir::LaunchCheck::Kind::NotEmpty && values.of(check.value) == 0;
      });
}

}  // namespace

LaunchPlan::LaunchPlan(const CompiledKernel& compiled, LaunchValues& values,
                       const LaunchParams& launch)
    : compiled_(&compiled) {
  const Fusion& fusion = compiled.fusion();
  const kir::Kernel& kernel = compiled.kernel();
  const std::vector<Val*>& declared = fusion.outputs();
  bool all_empty = true;
  KernelArgumentHolder shapes;
  const std::vector<std::optional<size_t>> updated = updatedInputs(fusion);
  std::vector<InPlace> in_place;
  for (size_t i = 0; i < declared.size(); ++i) {
    if (updated[i]) {
      in_place.push_back({i, *updated[i]});
      has_targets_ = true;
    }
  }
  in_place = directWrites(fusion, in_place);
  for (size_t i = 0; i < declared.size(); ++i) {
    Output& output = outputs_.emplace_back();
    std::tie(output.sizes, output.strides) = outputLayout(declared[i]->as<TensorView>(), values);
    if (updated[i] && hasGaps(declared[i]->as<TensorView>())) {
      output.strides = values.arguments()[*updated[i]].tensor().strides();
    }
    output.dtype = declared[i]->dtype();
    const size_t first = positionOf(declared, declared[i]);
    const bool direct = std::any_of(in_place.begin(), in_place.end(),
                                    [&](const InPlace& pair) { return pair.output == i; });
    output.target = updated[i];
    if (first < i) {
      output.same_as = first;
    } else if (declared[i]->isFusionInput()) {
      output.input = positionOf(fusion.inputs(), declared[i]);
    } else if (direct) {
      output.input = updated[i];
    }
    all_empty &= std::count(output.sizes.begin(), output.sizes.end(), 0) != 0;
    shapes.pushTensorProxy(output.sizes, output.strides, output.dtype);
  }
  has_large_outputs_ = shapes.getSmallestIndexTypeOfArguments() == PrimDataType::Int;
  for (const auto& expr : fusion.exprs()) {
    num_draws_ += expr->isA<RNGOp>() && expr->as<RNGOp>()->seed() == nullptr ? 1 : 0;
  }
  if (all_empty || fusion.isNoOp()) {
    kind_ = Kind::Nothing;
    return;
  }
  chooseShape(values, launch);
  if (kind_ == Kind::Interpret || reducesNothing(fusion, values) || leavesOut(kernel, values)) {
    kind_ = Kind::Interpret;
    return;
  }
  for (const kir::Param& param : kernel.params) {
    arguments_.push_back(param.kind == kir::ParamKind::TensorArg ? tensorArgument(param)
                                                                 : scalarArgument(param, values));
    const bool computed = arguments_.back().kind == Argument::Kind::Computed;
    if (computed && evaluator_ == nullptr) {
      evaluator_ = std::make_shared<ExpressionEvaluator>(values.evaluator());
    }
  }
  placeWorkspaces(values);
  shape_.bytes = tensorBytes(values.arguments());
  if (kernel.bounds != nullptr) {
    findBounds(values);
  }
  for (const kir::Kernel::IndexRead& read : kernel.index_reads) {
    index_extents_.push_back(values.of(read.extent));
  }
  for (const kir::LaunchCheck& check : kernel.checks) {
    if (check.kind == kir::LaunchCheck::Kind::Divisible) {
      const int64_t value = values.of(check.value);
      if (value % check.divisor != 0) {
        launchError("run: ", check.reason, ", which needs ", check.value->toString(),
                    " to be a multiple of ", check.divisor, ", got ", value,
                    "; use a narrower vector or pass a tensor that fits");
      }
      continue;
    }
    if (check.kind == kir::LaunchCheck::Kind::NotEmpty) {
      continue;
    }
    if (check.kind == kir::LaunchCheck::Kind::InRange) {
      const int64_t index = values.of(check.value);
      const int64_t extent = values.of(check.extent);
      if (index < 0 || index >= extent) {
        indexOutOfRange(*check.reads, index, extent);
      }
      continue;
    }
    for (size_t i = 0; i < kernel.params.size(); ++i) {
      if (kernel.params[i].kind == kir::ParamKind::TensorArg &&
          kernel.params[i].buffer == check.buffer) {
        address_checks_.push_back({i, check.divisor, check.reason});
      }
    }
  }
}

void LaunchPlan::chooseShape(LaunchValues& values, const LaunchParams& launch) {
  const kir::Kernel& kernel = compiled_->kernel();
  const ParallelType grid[] = {ParallelType::BIDx, ParallelType::BIDy, ParallelType::BIDz};
  const ParallelType block[] = {ParallelType::TIDx, ParallelType::TIDy, ParallelType::TIDz};
  for (int d = 0; d < 3; ++d) {
    if (kernel.grid[d] != nullptr) {
      shape_.grid[d] = values.of(kernel.grid[d]);
    }
    if (kernel.cluster[d] != nullptr) {
      shape_.cluster[d] = values.of(kernel.cluster[d]);
    }
    if (kernel.block[d] != nullptr) {
      shape_.block[d] = values.of(kernel.block[d]);
    }
    for (auto [type, size, given] :
         {std::tuple{grid[d], shape_.grid[d], launch.getRawVal(grid[d])},
          std::tuple{block[d], shape_.block[d], launch.getRawVal(block[d])}}) {
      if (given != LaunchParams::UNINITIALIZED_VAL && given != size) {
        userError("run: LaunchParams ask for ", parallelTypeName(type), " of ", given,
                  ", but the schedule needs ", size);
      }
      if (size <= 0) {
        kind_ = Kind::Interpret;
      }
      launch_params_.bindUnsafe(size, type);
    }
  }
  if (kind_ == Kind::Interpret) {
    return;
  }
  if (kernel.shared_bytes != nullptr) {
    shape_.shared_bytes = values.of(kernel.shared_bytes);
  }
  shape_.cooperative = kernel.cooperative;
  launch_params_.setSmem(shape_.shared_bytes);
}

LaunchPlan::Argument LaunchPlan::tensorArgument(const kir::Param& param) {
  const Fusion& fusion = compiled_->fusion();
  Argument argument;
  if (param.buffer->role == kir::BufferRole::Input) {
    argument.kind = param.buffer->by_value ? Argument::Kind::Element : Argument::Kind::Input;
    argument.dtype = param.buffer->dtype;
    argument.index = positionOf(fusion.inputs(), param.buffer->tv);
  } else if (param.buffer->role == kir::BufferRole::Output) {
    argument.kind = Argument::Kind::Output;
    argument.index = positionOf(fusion.outputs(), param.buffer->tv);
  } else {
    if (param.buffer == compiled_->kernel().index_report) {
      argument.kind = Argument::Kind::IndexReport;
      return argument;
    }
    if (param.buffer == compiled_->kernel().bounds) {
      argument.kind = Argument::Kind::Bounds;
      return argument;
    }
    argument.kind = Argument::Kind::Workspace;
  }
  return argument;
}

/// Elements that lie in memory once, of inputs and outputs.
int64_t LaunchPlan::tensorBytes(const KernelArgumentHolder& args) const {
  auto bytesOf = [](const auto& sizes, const auto& strides, DataType dtype) {
    int64_t bytes = dataTypeSizeByte(dtype);
    for (size_t axis = 0; axis < sizes.size(); ++axis) {
      bytes *= strides[axis] == 0 ? 1 : sizes[axis];
    }
    return bytes;
  };
  int64_t total = 0;
  for (const Argument& argument : arguments_) {
    if (argument.kind == Argument::Kind::Input) {
      const Tensor& input = args[argument.index].tensor();
      total += bytesOf(input.sizes(), input.strides(), input.dtype());
    } else if (argument.kind == Argument::Kind::Output) {
      const Output& output = outputs_[argument.index];
      total += bytesOf(output.sizes, output.strides, output.dtype);
    }
  }
  return total;
}

/// All in one, for one allocation and one write of zeros; each by itself on the emulated device,
/// which tells accesses beyond a buffer by what lies behind it.
void LaunchPlan::placeWorkspaces(LaunchValues& values) {
  const bool apart = compiled_->device().kind() == DeviceKind::Emulated;
  for (const bool zeroed : {true, false}) {
    for (size_t i = 0; i < arguments_.size(); ++i) {
      const kir::Buffer* buffer = compiled_->kernel().params[i].buffer;
      if (arguments_[i].kind != Argument::Kind::Workspace || buffer->zeroed != zeroed) {
        continue;
      }
      if (apart || workspaces_.empty()) {
        workspaces_.emplace_back();
      }
      Workspace& workspace = workspaces_.back();
      const auto bytes =
          static_cast<size_t>(values.of(buffer->elements) * dataTypeSizeByte(buffer->dtype));
      arguments_[i].index = workspaces_.size() - 1;
      arguments_[i].offset =
          (workspace.bytes + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment;
      workspace.bytes = arguments_[i].offset + bytes;
      workspace.zeroed_bytes = zeroed ? workspace.bytes : workspace.zeroed_bytes;
    }
  }
}

/// Where the elements of each tensor argument lie, counted from its address.
void LaunchPlan::findBounds(LaunchValues& values) {
  bounds_.assign(kir::Kernel::kBoundsReport, 0);
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const kir::Param& param = compiled_->kernel().params[i];
    if (param.kind != kir::ParamKind::TensorArg || param.buffer == compiled_->kernel().bounds) {
      break;  // the tensors come first
    }
    std::pair<int64_t, int64_t> places;
    if (arguments_[i].kind == Argument::Kind::Input ||
        arguments_[i].kind == Argument::Kind::Element) {
      const Tensor& input = values.arguments()[arguments_[i].index].tensor();
      places = placesOf(input.sizes(), input.strides());
    } else if (arguments_[i].kind == Argument::Kind::Output) {
      places = placesOf(outputs_[arguments_[i].index].sizes, outputs_[arguments_[i].index].strides);
    } else {
      places = {0, values.of(param.buffer->elements)};
    }
    bounds_.push_back(places.first);
    bounds_.push_back(places.second);
  }
}

LaunchPlan::Argument LaunchPlan::scalarArgument(const kir::Param& param, LaunchValues& values) {
  const Fusion& fusion = compiled_->fusion();
  Argument argument;
  argument.dtype = param.dtype;
  if (param.kind == kir::ParamKind::IndexArg) {
    const int64_t value = values.of(param.symbol);
    argument.bytes =
        param.dtype == DataType::Int32 ? bytesOf(static_cast<int32_t>(value)) : bytesOf(value);
    return argument;
  }
  if (param.val == nullptr) {
    argument.kind = param.name == "philox_seed" ? Argument::Kind::Seed : Argument::Kind::Offset;
    return argument;
  }
  argument.index = positionOf(fusion.inputs(), param.val);
  if (argument.index < fusion.inputs().size()) {
    argument.kind = Argument::Kind::Scalar;
    return argument;
  }
  const PolymorphicValue value = values.of(param.val);
  if (!value.hasValue()) {
    requireDivisors(param.val, values.evaluator(), "run: a scalar");
    userError("run: scalar ", param.val->toInlineString(),
              " has no value: it is neither an input of the Fusion nor computed from its "
              "inputs and their sizes; addInput it and pass a number");
  }
  argument.val = param.val;
  argument.bytes = bytesOf(value, param.dtype);
  argument.kind =
      dependsOnInput(param.val, fusion) ? Argument::Kind::Computed : Argument::Kind::Constant;
  return argument;
}

KernelArgumentHolder LaunchPlan::allocateOutputs(const KernelArgumentHolder& args,
                                                 const RunContext& context) const {
  KernelArgumentHolder outputs;
  outputs.reserve(outputs_.size());
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const Output& output = outputs_[i];
    if (output.same_as) {
      outputs.push(outputs[*output.same_as].tensor());
    } else if (output.input) {
      outputs.push(args[*output.input].tensor());
    } else {
      outputs.push(allocateOutput(i, context));
    }
  }
  return outputs;
}

Tensor LaunchPlan::allocateOutput(size_t i, const RunContext& context) const {
  const Output& output = outputs_[i];
  return Tensor::emptyStrided(output.sizes, output.strides, output.dtype, compiled_->device(),
                              context);
}

bool LaunchPlan::writesDirectly(size_t i, const Tensor& memory,
                                const OccupiedMemory& occupied) const {
  const Output& output = outputs_[i];
  return output.input && occupied.tensorsAt(memory) == 1 &&
         sameLayout(memory, output.sizes, output.strides);
}

std::vector<const Tensor*> LaunchPlan::targets(const KernelArgumentHolder& args) const {
  std::vector<const Tensor*> targets;
  for (const Output& output : outputs_) {
    targets.push_back(output.target ? &args[*output.target].tensor() : nullptr);
  }
  return targets;
}

void LaunchPlan::checkOutputs(const KernelArgumentHolder& outputs) const {
  if (outputs.size() != outputs_.size()) {
    userError("run: ", outputs.size(), " output tensors were given for a fusion with ",
              outputs_.size(), " outputs");
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const Output& needed = outputs_[i];
    const Tensor& given = outputs[i].tensor();
    if (given.dtype() != needed.dtype || given.sizes() != needed.sizes ||
        (given.numel() > 0 && given.strides() != needed.strides)) {
      userError("run: output ", i, ", ", compiled_->fusion().outputs()[i]->toString(),
                ", needs a tensor ", needed.dtype, "[", join(needed.sizes, ", "),
                "] with strides [", join(needed.strides, ", "), "], got ", given.toString());
    }
  }
}

bool LaunchPlan::isRepeatable() const {
  // Where a CPU scalar's tensor lies is looked at by the calls that are planned.
  const bool looks_at_device =
      compiled_->device().kind() != DeviceKind::Cpu &&
      std::any_of(arguments_.begin(), arguments_.end(), [](const Argument& argument) {
        return argument.kind == Argument::Kind::Element;
      });
  return kind_ != Kind::Interpret && !looks_at_device &&
         std::none_of(outputs_.begin(), outputs_.end(), [](const Output& output) {
           return output.target && output.target != output.input && !output.same_as;
         });
}

BoundArguments::BoundArguments(const LaunchPlan& plan, std::span<const LentArgument> args,
                               std::span<void* const> outputs, uint64_t seed, uint64_t offset,
                               const RunContext& context)
    : plan_(plan),
      values_(plan.arguments_.size()),
      pointers_(plan.arguments_.size()),
      bounds_(plan.bounds_) {
  using Kind = LaunchPlan::Argument::Kind;
  Device& device = plan.compiled().device();
  for (const LaunchPlan::Workspace& workspace : plan.workspaces_) {
    workspaces_.emplace_back(workspace.bytes, device, context);
    if (workspace.zeroed_bytes > 0) {
      device.fillBytes(workspaces_.back().data(), 0, workspace.zeroed_bytes, context.stream);
    }
  }
  LaunchPlan::Bytes* value = values_.data();
  void** pointer = pointers_.data();
  std::optional<ExpressionEvaluator> evaluator;
  for (const LaunchPlan::Argument& argument : plan.arguments_) {
    *pointer++ = value->data();
    switch (argument.kind) {
      case Kind::Input:
        *value = bytesOf(args[argument.index].tensor()->data);
        break;
      case Kind::Element:
        std::memcpy(value->data(), args[argument.index].tensor()->data,
                    static_cast<size_t>(dataTypeSizeByte(argument.dtype)));
        break;
      case Kind::Output:
        *value = bytesOf(outputs[argument.index]);
        break;
      case Kind::Workspace:
        *value =
            bytesOf(static_cast<std::byte*>(workspaces_[argument.index].data()) + argument.offset);
        break;
      case Kind::IndexReport:
        *value = bytesOf(index_report_.data());
        break;
      case Kind::Bounds:
        *value = bytesOf(bounds_.data());
        break;
      case Kind::Constant:
        *value = argument.bytes;
        break;
      case Kind::Scalar:
        *value = bytesOf(*args[argument.index].scalar(), argument.dtype);
        break;
      case Kind::Computed: {
        if (!evaluator) {
          evaluator = *plan.evaluator_;
          const auto& inputs = plan.compiled().fusion().inputs();
          for (size_t k = 0; k < inputs.size(); ++k) {
            if (!inputs[k]->isA<TensorView>()) {
              evaluator->invalidate(inputs[k]);  // -0 equals 0, but is another value
              evaluator->bind(inputs[k], *args[k].scalar());
            }
          }
        }
        *value = bytesOf(evaluator->evaluate(argument.val), argument.dtype);
        break;
      }
      case Kind::Seed:
        *value = bytesOf(seed);
        break;
      case Kind::Offset:
        *value = bytesOf(offset);
        break;
    }
    ++value;
  }
  for (const LaunchPlan::AddressCheck& check : plan.address_checks_) {
    uintptr_t address = 0;
    std::memcpy(&address, values_[check.argument].data(), sizeof(address));
    if (address % static_cast<uintptr_t>(check.divisor) != 0) {
      launchError("run: ", check.reason, ", which needs its address to be a multiple of ",
                  check.divisor, " bytes; use a narrower vector or pass a tensor that fits");
    }
  }
}

void BoundArguments::checkReports() const {
  if (index_report_[0] != 0) {
    const auto read = static_cast<size_t>(index_report_[0] - 1);
    indexOutOfRange(*plan_.compiled().kernel().index_reads.at(read).expr, index_report_[1],
                    plan_.index_extents_.at(read));
  }
  if (!bounds_.empty() && bounds_[0] != 0) {
    const auto tensor = static_cast<size_t>(bounds_[0] - 1);
    const size_t at = kir::Kernel::kBoundsReport + 2 * tensor;
    accessOutside(plan_.compiled().kernel(), tensor, {bounds_[1], bounds_[1] + bounds_[2]},
                  {bounds_[at], bounds_[at + 1]});
  }
}

}  // namespace nvfuser
