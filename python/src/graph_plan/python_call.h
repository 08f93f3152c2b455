/// A call of a Python function with values of a plan: what a step means to PyTorch.
#pragma once

#include <string>
#include <vector>

#include "graph_plan/values.h"
#include <nanobind/nanobind.h>

namespace nvfuser::python {

namespace nb = nanobind;

/// Stands for a slot where arguments are described in Python: `PlanSlot(3)`.
struct PlanSlot {
  SlotIndex index;
};

/// An argument: an object, a slot's, or a list, tuple, dict or slice with slots in it, which is
/// made anew for each call.
class Argument {
 public:
  explicit Argument(nb::handle described);

  /// A new reference. The interpreter's lock is held.
  nb::object make(Values& values) const;
  /// The slots in it, in order.
  void listSlots(std::vector<SlotIndex>& slots) const;
  /// As Python has it, with `v3` for a slot.
  std::string toString() const;

 private:
  enum class Kind : uint8_t { Constant, Slot, List, Tuple, Dict, Slice };

  Kind kind_ = Kind::Constant;
  SlotIndex slot_ = 0;
  nb::object constant_;          ///< of a dict: its keys, a list
  std::vector<Argument> items_;  ///< of a dict: its values
};

class PythonCall {
 public:
  PythonCall(std::string name, nb::callable function, const nb::sequence& arguments,
             const nb::dict& named);

  /// The result, with the interpreter's lock, which it takes.
  nb::object run(Values& values) const;
  void listSlots(std::vector<SlotIndex>& slots) const;
  /// "aten.mm.default(v1, v2)"
  std::string toString() const;

 private:
  std::string name_;
  nb::callable function_;
  std::vector<Argument> arguments_;  ///< first those without names
  nb::tuple names_;
};

}  // namespace nvfuser::python
