/// A compiled graph: what one call of it does, step by step, from the list of its arguments to its
/// results.
///
///   plan = GraphPlan(2)                                       # arguments, in slots 0 and 1
///   plan.add("aten.t", aten.t._op, (PlanSlot(1),), {}, [2])   # v2 = aten.t(v1)
///   plan.make_view("t", 1, [])                                # … which is a view: arithmetic
///   plan.add("aten.mm", aten.mm._op, (PlanSlot(0), PlanSlot(2)), {}, [3])
///   plan.make_library("mm", [0, 2], [], [])
///   plan.finish((PlanSlot(3),))
///   plan([x, w])
///
/// Each step is a call of Python, which is what it means to PyTorch; most have a shorter way
/// besides, which is taken where the values are as it wants them: plain tensors of PyTorch, which
/// it reads and makes without Python. A value is dropped after its last reader, a view's memory
/// after the view's.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "direct/executors.h"
#include "graph_plan/dispatched_call.h"
#include "graph_plan/library_call.h"
#include "graph_plan/python_call.h"
#include "graph_plan/values.h"
#include "graph_plan/view_form.h"

namespace nvfuser::python {

/// A view of `source`.
struct ViewStep {
  ViewKind kind;
  SlotIndex source;
  std::vector<PlanInteger> operands;
};

/// Arithmetic of sizes.
struct SizeStep {
  enum class Kind : uint8_t { Size, Stride, Add, Subtract, Multiply, FloorDivide, Remainder };
  Kind kind;
  std::optional<SlotIndex> tensor;    ///< of Size and Stride
  std::vector<PlanInteger> operands;  ///< of these, the axis
};

/// A call of a fusion without its CompiledRegion, which knows what to do where that fails.
struct RegionStep {
  nb::object compiled;
  nb::object keeps_cache;
  ExecutorCache* cache;
  std::vector<SlotIndex> inputs;
  std::vector<StrideOfOne> ones;
  std::vector<SlotIndex> updated;  ///< inputs that it writes to
  nb::object note_updates;         ///< function of these
  bool has_run = false;            ///< by way of `compiled`, and did not fail
};

struct LibraryStep {
  std::unique_ptr<LibraryCall> call;
};

class GraphPlan {
 public:
  /// The arguments are the first slots.
  explicit GraphPlan(SlotIndex num_arguments);
  GraphPlan(const GraphPlan&) = delete;
  GraphPlan& operator=(const GraphPlan&) = delete;

  // ---- made ----
  /// A step. `results`: its slots, of the parts of its result if there are several.
  void add(PythonCall call, std::vector<SlotIndex> results, bool has_parts);
  // A shorter way for the step that was added last. Throw `UserError` where there can be none.
  void makeView(std::string_view kind, SlotIndex source, std::vector<PlanInteger> operands);
  void makeSize(std::string_view kind, std::optional<SlotIndex> tensor,
                std::vector<PlanInteger> operands);
  void makeRegion(RegionStep region);
  /// Nothing where the operation has no C function here.
  void makeLibrary(std::string_view operation, LibraryOperands operands);
  /// Any operation of PyTorch, by its dispatcher; likewise.
  void makeDispatched(std::string_view name, std::string_view overload,
                      std::vector<DispatchedOperand> operands);
  /// `results`: what a call returns, with slots.
  void finish(nb::handle results);

  // ---- used ----
  /// Empties the list of arguments.
  nb::object run(nb::list arguments);
  std::string toString() const;
  /// The calls that Python made in the call that ended last.
  std::vector<std::string> callsOfPython() const;

 private:
  struct Step {
    PythonCall call;
    std::vector<SlotIndex> results;
    bool has_parts = false;
    std::variant<std::monostate, ViewStep, SizeStep, RegionStep, LibraryStep> shorter;
    std::vector<SlotIndex> dropped;  ///< after it
  };
  /// The values of a call, kept for the next one.
  class CallValues;

  Step& last();
  static std::vector<SlotIndex> slotsOf(const Step& step);
  static bool goShorter(const Step& step, Values& values);
  void goByPython(size_t place, Values& values);

  SlotIndex num_arguments_;
  SlotIndex num_slots_;
  std::vector<Step> steps_;
  std::vector<SlotIndex> unread_;  ///< arguments that nothing reads
  std::optional<Argument> results_;
  std::vector<size_t> by_python_;                     ///< steps of the call that ended last
  std::vector<std::unique_ptr<Values>> free_values_;  ///< under the interpreter's lock
};

// The shorter ways. False where the values are not for them: nothing was done then.
bool go(const ViewStep& step, std::span<const SlotIndex> results, Values& values);
bool go(const SizeStep& step, std::span<const SlotIndex> results, Values& values);
bool go(const RegionStep& step, std::span<const SlotIndex> results, Values& values);
bool go(const LibraryStep& step, std::span<const SlotIndex> results, Values& values);

/// Of `nvfuser._C`.
void bindGraphPlan(nb::module_& module);

}  // namespace nvfuser::python
