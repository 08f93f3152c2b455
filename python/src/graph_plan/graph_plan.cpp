#include "graph_plan/graph_plan.h"

#include <algorithm>
#include <utility>

#include <support/error.h>

namespace nvfuser::python {

GraphPlan::GraphPlan(SlotIndex num_arguments)
    : num_arguments_(num_arguments), num_slots_(num_arguments) {}

void GraphPlan::add(PythonCall call, std::vector<SlotIndex> results, bool has_parts) {
  for (SlotIndex slot : results) {
    num_slots_ = std::max(num_slots_, slot + 1);
  }
  steps_.push_back({std::move(call), std::move(results), has_parts, {}, {}});
}

GraphPlan::Step& GraphPlan::last() {
  if (steps_.empty()) {
    userError("GraphPlan: there is no step yet; add one first");
  }
  return steps_.back();
}

void GraphPlan::makeView(std::string_view kind, SlotIndex source,
                         std::vector<PlanInteger> operands) {
  ViewStep view{ViewKind::Same, source, std::move(operands)};
  if (!viewKindOf(kind, view.kind) || !takesOperands(view.kind, view.operands.size())) {
    userError("GraphPlan: there is no view \"", kind, "\" with ", view.operands.size(),
              " operands");
  }
  last().shorter = std::move(view);
}

void GraphPlan::makeRegion(RegionStep region) { last().shorter = std::move(region); }

void GraphPlan::makeLibrary(std::string_view operation, LibraryOperands operands) {
  if (auto call = LibraryCall::make(operation, std::move(operands))) {
    last().shorter = LibraryStep{std::move(call)};
  }
}

void GraphPlan::makeDispatched(std::string_view name, std::string_view overload,
                               std::vector<DispatchedOperand> operands) {
  if (auto call = DispatchedCall::make(name, overload, std::move(operands))) {
    last().shorter = LibraryStep{std::move(call)};
  }
}

std::vector<SlotIndex> GraphPlan::slotsOf(const Step& step) {
  std::vector<SlotIndex>
      slots;  // the shorter way reads what the call does, or what that is made of
  step.call.listSlots(slots);
  const auto addIntegers = [&](const std::vector<PlanInteger>& operands) {
    for (const PlanInteger& operand : operands) {
      if (operand.slot) {
        slots.push_back(*operand.slot);
      }
    }
  };
  if (const auto* view = std::get_if<ViewStep>(&step.shorter)) {
    slots.push_back(view->source);
    addIntegers(view->operands);
  } else if (const auto* size = std::get_if<SizeStep>(&step.shorter)) {
    addIntegers(size->operands);
  }
  return slots;
}

void GraphPlan::finish(nb::handle results) {
  results_.emplace(results);
  // A view's memory is read as long as the view is.
  std::vector<SlotIndex> root(num_slots_);
  for (SlotIndex slot = 0; slot < num_slots_; ++slot) {
    root[slot] = slot;
  }
  for (const Step& step : steps_) {
    if (const auto* view = std::get_if<ViewStep>(&step.shorter)) {
      root[step.results[0]] = root[view->source];
    }
  }
  constexpr size_t kNever = ~size_t{0};
  std::vector<size_t> last_reader(num_slots_, kNever);
  const auto read = [&](SlotIndex slot, size_t place) {
    last_reader[slot] = place;
    last_reader[root[slot]] = place;
  };
  for (size_t place = 0; place < steps_.size(); ++place) {
    for (SlotIndex slot : slotsOf(steps_[place])) {
      read(slot, place);
    }
    for (SlotIndex slot : steps_[place].results) {
      read(slot, place);
    }
  }
  std::vector<SlotIndex> returned;
  results_->listSlots(returned);
  for (SlotIndex slot : returned) {
    read(slot, steps_.size());
  }
  for (SlotIndex slot = 0; slot < num_slots_; ++slot) {
    if (last_reader[slot] == kNever) {
      unread_.push_back(slot);
    } else if (last_reader[slot] < steps_.size()) {
      steps_[last_reader[slot]].dropped.push_back(slot);
    }
  }
}

namespace {

/// Whether somebody wants to see PyTorch's operations as they are called: a profiler or a dispatch
/// mode.
bool isObserved() {
  static PyObject* const has_profiler =  // of the process, as PyTorch is
      nb::object(nb::module_::import_("torch").attr("autograd").attr("_profiler_enabled"))
          .release()
          .ptr();
  static PyObject* const num_modes =
      nb::object(nb::module_::import_("torch").attr("_C").attr("_len_torch_dispatch_stack"))
          .release()
          .ptr();
  return nb::handle(has_profiler)().ptr() == Py_True ||
         nb::cast<int64_t>(nb::handle(num_modes)()) != 0;
}

}  // namespace

/// Values of an earlier call, or new ones, given back when the call ends.
class GraphPlan::CallValues {
 public:
  CallValues(GraphPlan& plan, InterpreterLock& lock) : plan_(plan) {
    if (plan.free_values_.empty()) {
      values_ = std::make_unique<Values>(
          [] {
            const Torch* torch = importedTorch();
            return torch != nullptr && torch->inside ? torch : nullptr;
          }(),
          plan.num_slots_);
    } else {
      values_ = std::move(plan.free_values_.back());
      plan.free_values_.pop_back();
    }
    values_->begin(&lock, isObserved());
  }
  ~CallValues() {
    values_->lock().take();
    values_->clear();
    plan_.free_values_.push_back(std::move(values_));
  }
  CallValues(const CallValues&) = delete;
  CallValues& operator=(const CallValues&) = delete;

  Values& operator*() { return *values_; }

 private:
  GraphPlan& plan_;
  std::unique_ptr<Values> values_;
};

nb::object GraphPlan::run(nb::list arguments) {
  if (!results_ || nb::len(arguments) != num_arguments_) {
    userError("GraphPlan: a graph of ", num_arguments_, " arguments was called with ",
              nb::len(arguments), results_ ? "" : " before it was finished");
  }
  InterpreterLock lock;
  CallValues of_call(*this, lock);
  Values& values = *of_call;
  for (SlotIndex slot = 0; slot < num_arguments_; ++slot) {
    PyObject* argument = PyList_GetItem(arguments.ptr(), slot);
    Py_INCREF(argument);
    values.setObject(slot, argument);
  }
  PyList_SetSlice(arguments.ptr(), 0, num_arguments_, nullptr);
  for (SlotIndex slot : unread_) {
    values.drop(slot);
  }
  for (size_t place = 0; place < steps_.size(); ++place) {
    if (!goShorter(steps_[place], values)) {
      goByPython(place, values);
    }
    for (SlotIndex slot : steps_[place].dropped) {
      values.drop(slot);
    }
  }
  lock.take();
  by_python_.swap(values.byPython());
  return results_->make(values);
}

bool GraphPlan::goShorter(const Step& step, Values& values) {
  const auto take = [&](const auto& shorter) {
    if constexpr (std::is_same_v<decltype(shorter), const std::monostate&>) {
      return false;
    } else {
      return go(shorter, step.results, values);
    }
  };
  return std::visit(take, step.shorter);
}

std::vector<std::string> GraphPlan::callsOfPython() const {
  std::vector<std::string> calls;
  for (size_t place : by_python_) {
    calls.push_back(steps_[place].call.toString());
  }
  return calls;
}

void GraphPlan::goByPython(size_t place, Values& values) {
  Step& step = steps_[place];
  values.byPython().push_back(place);
  nb::object result = step.call.run(values);
  if (auto* region = std::get_if<RegionStep>(&step.shorter)) {
    region->has_run = region->compiled.attr("failure").is_none();
  }
  if (!step.has_parts) {
    values.setObject(step.results[0], result.release().ptr());
    return;
  }
  const size_t count = nb::len(result);
  check(count == step.results.size(), "a step of a plan has as many results as the graph says");
  for (size_t i = 0; i < count; ++i) {
    values.setObject(step.results[i], nb::object(result[i]).release().ptr());
  }
}

}  // namespace nvfuser::python
