#include <runtime/bound_arguments.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include <ir/index_error.h>
#include <runtime/argument_bytes.h>
#include <runtime/bounds_error.h>
#include <runtime/launch_help.h>

namespace nvfuser {

namespace {

/// Knows the scalars of this call, too.
ExpressionEvaluator boundEvaluator(const ExpressionEvaluator& of_sizes, const Fusion& fusion,
                                   std::span<const LentArgument> args) {
  ExpressionEvaluator evaluator = of_sizes;
  const auto& inputs = fusion.inputs();
  for (size_t k = 0; k < inputs.size(); ++k) {
    if (!inputs[k]->isA<TensorView>()) {
      evaluator.invalidate(inputs[k]);  // -0 equals 0, but is another value
      evaluator.bind(inputs[k], *args[k].scalar());
    }
  }
  return evaluator;
}

}  // namespace

/// What an argument's value is taken from.
struct BoundArguments::Call {
  std::span<const LentArgument> args;
  std::span<void* const> outputs;
  uint64_t seed;
  uint64_t offset;
  std::byte* standing;  ///< the words that launches share; null: the kernel uses none
  /// Of scalars that are computed; made for the first one.
  std::optional<ExpressionEvaluator> evaluator = std::nullopt;
};

BoundArguments::BoundArguments(const LaunchPlan& plan, std::span<const LentArgument> args,
                               std::span<void* const> outputs, uint64_t seed, uint64_t offset,
                               const RunContext& context)
    : plan_(plan),
      values_(plan.arguments_.size()),
      pointers_(plan.arguments_.size()),
      maps_(plan.maps_.size()),
      bounds_(plan.bounds_) {
  allocateWorkspaces(context);
  Call call{args, outputs, seed, offset, standingWords(context)};
  LaunchPlan::Bytes* value = values_.data();
  void** pointer = pointers_.data();
  for (const LaunchPlan::Argument& argument : plan.arguments_) {
    if (argument.kind == LaunchPlan::Argument::Kind::Map) {
      *pointer = describeTensor(argument, call);
    } else {
      *pointer = value->data();
      findValue(argument, call, value);
    }
    ++pointer;
    ++value;
  }
  checkAddresses();
}

void BoundArguments::allocateWorkspaces(const RunContext& context) {
  Device& device = plan_.compiled().device();
  for (const LaunchPlan::Workspace& workspace : plan_.workspaces_) {
    workspaces_.emplace_back(workspace.bytes, device, context);
    if (workspace.zeroed_bytes > 0) {
      device.fillBytes(workspaces_.back().data(), 0, workspace.zeroed_bytes, context.stream);
    }
  }
}

std::byte* BoundArguments::standingWords(const RunContext& context) {
  if (plan_.standing_bytes_ == 0) {
    return nullptr;
  }
  Device& device = plan_.compiled().device();
  auto* standing = static_cast<std::byte*>(device.standingWords(context.stream));
  if (standing == nullptr) {
    workspaces_.emplace_back(plan_.standing_bytes_, device, context);
    standing = static_cast<std::byte*>(workspaces_.back().data());
    device.fillBytes(standing, 0, plan_.standing_bytes_, context.stream);
  }
  return standing;
}

TensorMapArgument* BoundArguments::describeTensor(const LaunchPlan::Argument& argument,
                                                  const Call& call) {
  const LaunchPlan::Map& map = plan_.maps_[argument.index];
  TensorMapArgument& made = maps_[argument.index];
  made = map.form;
  made.address = reinterpret_cast<uintptr_t>(map.is_output ? call.outputs[map.tensor]
                                                           : call.args[map.tensor].tensor()->data);
  made.fits = fitsEngine(made) ? 1 : 0;
  plan_.compiled().device().describeTensor(made);
  return &made;
}

void BoundArguments::findValue(const LaunchPlan::Argument& argument, Call& call,
                               LaunchPlan::Bytes* value) {
  using Kind = LaunchPlan::Argument::Kind;
  switch (argument.kind) {
    case Kind::Input:
      *value = bytesOf(call.args[argument.index].tensor()->data);
      break;
    case Kind::Element:
      std::memcpy(value->data(), call.args[argument.index].tensor()->data,
                  static_cast<size_t>(dataTypeSizeByte(argument.dtype)));
      break;
    case Kind::Output:
      *value = bytesOf(call.outputs[argument.index]);
      break;
    case Kind::Workspace:
      *value =
          bytesOf(static_cast<std::byte*>(workspaces_[argument.index].data()) + argument.offset);
      break;
    case Kind::Standing:
      *value = bytesOf(call.standing + argument.offset);
      break;
    case Kind::Map:
      break;  // it has a place of its own
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
      *value = bytesOf(*call.args[argument.index].scalar(), argument.dtype);
      break;
    case Kind::Computed:
      if (!call.evaluator) {
        call.evaluator = boundEvaluator(*plan_.evaluator_, plan_.compiled().fusion(), call.args);
      }
      *value = bytesOf(call.evaluator->evaluate(argument.val), argument.dtype);
      break;
    case Kind::Seed:
      *value = bytesOf(call.seed);
      break;
    case Kind::Offset:
      *value = bytesOf(call.offset);
      break;
  }
}

void BoundArguments::checkAddresses() {
  for (const LaunchPlan::AddressCheck& check : plan_.address_checks_) {
    uintptr_t address = 0;
    std::memcpy(&address, values_[check.argument].data(), sizeof(address));
    if (address % static_cast<uintptr_t>(check.divisor) != 0) {
      launchError("run: ", check.reason, ", which needs its address to be a multiple of ",
                  check.divisor, " bytes; use a narrower vector or pass a tensor that fits");
    }
  }
}

/// On the emulated device: whether the kernel left its zeroed words as it found them, so that those
/// of a GPU may stand from launch to launch.
void BoundArguments::checkWords() const {
  for (size_t i = 0; i < plan_.workspaces_.size(); ++i) {
    const auto* words = static_cast<const std::byte*>(workspaces_[i].data());
    check(std::all_of(words, words + plan_.workspaces_[i].zeroed_bytes,
                      [](std::byte byte) { return byte == std::byte{0}; }),
          "a kernel leaves zeroed words as it found them");
  }
}

void BoundArguments::checkReports() const {
  if (plan_.compiled().device().kind() == DeviceKind::Emulated) {
    checkWords();
  }
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
