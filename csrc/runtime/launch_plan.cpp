#include <runtime/launch_plan.h>

#include <algorithm>
#include <tuple>
#include <unordered_set>

#include <evaluator/zero_divisor.h>
#include <ir/index_error.h>
#include <ir/internal_nodes.h>
#include <runtime/argument_bytes.h>
#include <runtime/launch_help.h>
#include <runtime/output_layout.h>

namespace nvfuser {

namespace {

constexpr size_t kWorkspaceAlignment = 256;  ///< bytes, of each buffer in a workspace

size_t alignedToWorkspace(size_t bytes) {
  return (bytes + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment;
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
  const bool all_empty = placeOutputs(values);
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
                         : param.kind == kir::ParamKind::MapArg  ? mapArgument(*param.map, values)
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
    checkLaunch(check, values);
  }
}

void LaunchPlan::checkLaunch(const kir::LaunchCheck& check, LaunchValues& values) {
  switch (check.kind) {
    case kir::LaunchCheck::Kind::Divisible: {
      const int64_t value = values.of(check.value);
      if (value % check.divisor != 0) {
        launchError("run: ", check.reason, ", which needs ", check.value->toString(),
                    " to be a multiple of ", check.divisor, ", got ", value,
                    "; use a narrower vector or pass a tensor that fits");
      }
      return;
    }
    case kir::LaunchCheck::Kind::NotEmpty:
      return;  // such a launch is interpreted
    case kir::LaunchCheck::Kind::InRange: {
      const int64_t index = values.of(check.value);
      const int64_t extent = values.of(check.extent);
      if (index < 0 || index >= extent) {
        indexOutOfRange(*check.reads, index, extent);
      }
      return;
    }
    case kir::LaunchCheck::Kind::Aligned:
      break;  // an address, which only a call knows
  }
  const std::vector<kir::Param>& params = compiled_->kernel().params;
  for (size_t i = 0; i < params.size(); ++i) {
    if (params[i].kind == kir::ParamKind::TensorArg && params[i].buffer == check.buffer) {
      address_checks_.push_back({i, check.divisor, check.reason});
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
  shape_.dependent = kernel.dependent;
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

LaunchPlan::Argument LaunchPlan::mapArgument(const kir::TensorMap& map, LaunchValues& values) {
  const Fusion& fusion = compiled_->fusion();
  Map made;
  made.is_output = map.buffer->role == kir::BufferRole::Output;
  made.tensor = positionOf(made.is_output ? fusion.outputs() : fusion.inputs(), map.buffer->tv);
  made.form.rank = static_cast<int32_t>(map.axes.size());
  made.form.element_bytes = static_cast<int32_t>(dataTypeSizeByte(map.buffer->dtype));
  made.form.swizzle = static_cast<int32_t>(map.swizzle);
  for (size_t axis = 0; axis < map.axes.size(); ++axis) {
    made.form.sizes[axis] = values.of(map.axes[axis].extent);
    made.form.strides[axis] = values.of(map.axes[axis].stride) * made.form.element_bytes;
    made.form.box[axis] = static_cast<int32_t>(map.axes[axis].box);
    // The stride along an axis of one element says nothing.
    if (axis > 0 && made.form.sizes[axis] == 1) {
      made.form.strides[axis] = made.form.strides[axis - 1] * made.form.sizes[axis - 1];
      made.form.strides[axis] = (made.form.strides[axis] + 15) / 16 * 16;
    }
  }
  Argument argument;
  argument.kind = Argument::Kind::Map;
  argument.index = maps_.size();
  maps_.push_back(made);
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

/// Words that are left as they were found go where all launches have theirs, as far as there is
/// room.
void LaunchPlan::placeStandingWords(LaunchValues& values) {
  size_t used[2] = {};  // tickets, barriers
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const kir::Buffer* buffer = compiled_->kernel().params[i].buffer;
    if (arguments_[i].kind != Argument::Kind::Workspace || !buffer->zeroed) {
      continue;
    }
    size_t& begin = used[buffer->barrier ? 1 : 0];
    const auto bytes =
        static_cast<size_t>(values.of(buffer->elements) * dataTypeSizeByte(buffer->dtype));
    if (bytes > kStandingBytes - begin) {
      continue;
    }
    arguments_[i].kind = Argument::Kind::Standing;
    arguments_[i].offset = begin + (buffer->barrier ? kStandingBytes : 0);
    standing_bytes_ = std::max(standing_bytes_, arguments_[i].offset + bytes);
    begin = std::min(kStandingBytes, alignedToWorkspace(begin + bytes));
  }
}

/// All in one, for one allocation and one write of zeros; each by itself on the emulated device,
/// which tells accesses beyond a buffer by what lies behind it.
void LaunchPlan::placeWorkspaces(LaunchValues& values) {
  const bool apart = compiled_->device().kind() == DeviceKind::Emulated;
  if (compiled_->device().kind() == DeviceKind::Cuda) {
    placeStandingWords(values);
  }
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
      arguments_[i].offset = alignedToWorkspace(workspace.bytes);
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

}  // namespace nvfuser
