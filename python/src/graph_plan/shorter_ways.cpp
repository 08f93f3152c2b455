// The shorter ways of views, sizes and operations of libraries.

#include <algorithm>
#include <array>

#include "graph_plan/graph_plan.h"
#include <support/error.h>

namespace nvfuser::python {

namespace {

constexpr std::string_view kSizeNames[] = {"size",     "stride",       "add",      "subtract",
                                           "multiply", "floor_divide", "remainder"};

bool goSizeOf(const SizeStep& step, SlotIndex result, Values& values) {
  const ViewForm* form = values.form(*step.tensor);
  int64_t axis = 0;
  if (form == nullptr || !values.integer(step.operands[0], axis)) {
    return false;
  }
  const auto rank = static_cast<int64_t>(form->rank);
  axis += axis < 0 ? rank : 0;
  if (axis < 0 || axis >= rank) {
    return false;
  }
  const auto place = static_cast<size_t>(axis);
  values.setInteger(result,
                    step.kind == SizeStep::Kind::Size ? form->sizes[place] : form->strides[place]);
  return true;
}

/// Rounded as Python's.
bool compute(SizeStep::Kind kind, int64_t a, int64_t b, int64_t& result) {
  using enum SizeStep::Kind;
  switch (kind) {
    case Add:
      return !__builtin_add_overflow(a, b, &result);
    case Subtract:
      return !__builtin_sub_overflow(a, b, &result);
    case Multiply:
      return !__builtin_mul_overflow(a, b, &result);
    case FloorDivide:
    case Remainder: {
      if (b <= 0) {
        return false;
      }
      const int64_t rest = ((a % b) + b) % b;
      result = kind == Remainder ? rest : (a - rest) / b;
      return true;
    }
    case Size:
    case Stride:
      break;
  }
  return false;
}

}  // namespace

bool go(const ViewStep& step, std::span<const SlotIndex> results, Values& values) {
  const ViewForm* source = values.form(step.source);
  if (source == nullptr || step.operands.size() > kMostAxes) {
    return false;
  }
  std::array<int64_t, kMostAxes> operands;
  for (size_t i = 0; i < step.operands.size(); ++i) {
    if (!values.integer(step.operands[i], operands[i])) {
      return false;
    }
  }
  ViewForm view;
  if (!viewForm(step.kind, *source, {operands.data(), step.operands.size()}, view)) {
    return false;
  }
  values.setView(results[0], step.source, view);
  return true;
}

bool go(const SizeStep& step, std::span<const SlotIndex> results, Values& values) {
  if (step.tensor) {
    return goSizeOf(step, results[0], values);
  }
  int64_t a = 0;
  int64_t b = 0;
  int64_t result = 0;
  if (!values.integer(step.operands[0], a) || !values.integer(step.operands[1], b) ||
      !compute(step.kind, a, b, result)) {
    return false;
  }
  values.setInteger(results[0], result);
  return true;
}

bool go(const LibraryStep& step, std::span<const SlotIndex> results, Values& values) {
  return values.torch() != nullptr && !values.isObserved() && step.call->run(values, results);
}

void GraphPlan::makeSize(std::string_view kind, std::optional<SlotIndex> tensor,
                         std::vector<PlanInteger> operands) {
  const auto* found = std::find(std::begin(kSizeNames), std::end(kSizeNames), kind);
  if (found == std::end(kSizeNames) || operands.size() != (tensor ? 1 : 2)) {
    userError("GraphPlan: there is no arithmetic \"", kind, "\" with ", operands.size(),
              " integers");
  }
  last().shorter = SizeStep{static_cast<SizeStep::Kind>(found - std::begin(kSizeNames)), tensor,
                            std::move(operands)};
}

}  // namespace nvfuser::python
