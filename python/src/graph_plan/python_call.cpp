#include "graph_plan/python_call.h"

#include <algorithm>

#include <runtime/repeated_call.h>
#include <support/text.h>

namespace nvfuser::python {

namespace {

/// Longer constants are left out of texts.
constexpr size_t kLongText = 60;

std::string listed(const std::vector<Argument>& items) {
  std::string out;
  for (const Argument& item : items) {
    out += (out.empty() ? "" : ", ") + item.toString();
  }
  return out;
}

}  // namespace

Argument::Argument(nb::handle described) {
  const auto addItems = [this](const nb::object& items) {
    for (nb::handle item : items) {
      items_.emplace_back(item);
    }
  };
  if (nb::isinstance<PlanSlot>(described)) {
    kind_ = Kind::Slot;
    slot_ = nb::cast<PlanSlot>(described).index;
    return;
  }
  if (PyList_CheckExact(described.ptr()) || PyTuple_CheckExact(described.ptr())) {
    kind_ = PyList_CheckExact(described.ptr()) ? Kind::List : Kind::Tuple;
    addItems(nb::borrow(described));
  } else if (PyDict_CheckExact(described.ptr())) {
    kind_ = Kind::Dict;
    constant_ = nb::steal(PyDict_Keys(described.ptr()));
    addItems(nb::steal(PyDict_Values(described.ptr())));
  } else if (PySlice_Check(described.ptr())) {
    kind_ = Kind::Slice;
    for (const char* part : {"start", "stop", "step"}) {
      items_.emplace_back(described.attr(part));
    }
  }
  const bool varies = std::any_of(items_.begin(), items_.end(), [](const Argument& item) {
    return item.kind_ != Kind::Constant;
  });
  if (!varies) {
    kind_ = Kind::Constant;
    constant_ = nb::borrow(described);
    items_.clear();
  }
}

nb::object Argument::make(Values& values) const {
  switch (kind_) {
    case Kind::Constant:
      return constant_;
    case Kind::Slot:
      return nb::borrow(values.object(slot_));
    case Kind::Slice: {
      const nb::object parts[] = {items_[0].make(values), items_[1].make(values),
                                  items_[2].make(values)};
      return nb::steal(PySlice_New(parts[0].ptr(), parts[1].ptr(), parts[2].ptr()));
    }
    case Kind::Dict: {
      nb::dict made;
      size_t place = 0;
      for (nb::handle key : constant_) {
        made[key] = items_[place++].make(values);
      }
      return made;
    }
    case Kind::List:
    case Kind::Tuple:
      break;
  }
  const auto count = static_cast<Py_ssize_t>(items_.size());
  nb::object made = nb::steal(kind_ == Kind::List ? PyList_New(count) : PyTuple_New(count));
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* item = items_[static_cast<size_t>(i)].make(values).release().ptr();
    kind_ == Kind::List ? PyList_SetItem(made.ptr(), i, item)
                        : PyTuple_SetItem(made.ptr(), i, item);
  }
  return made;
}

void Argument::listSlots(std::vector<SlotIndex>& slots) const {
  if (kind_ == Kind::Slot) {
    slots.push_back(slot_);
  }
  for (const Argument& item : items_) {
    item.listSlots(slots);
  }
}

std::string Argument::toString() const {
  switch (kind_) {
    case Kind::Slot:
      return text("v", slot_);
    case Kind::List:
      return "[" + listed(items_) + "]";
    case Kind::Tuple:
      return "(" + listed(items_) + (items_.size() == 1 ? ",)" : ")");
    case Kind::Slice:
      return "slice(" + listed(items_) + ")";
    case Kind::Dict: {
      std::string out;
      size_t place = 0;
      for (nb::handle key : constant_) {
        out += (out.empty() ? "" : ", ") + std::string(nb::repr(key).c_str()) + ": " +
               items_[place++].toString();
      }
      return "{" + out + "}";
    }
    case Kind::Constant:
      break;
  }
  std::string out = nb::repr(constant_).c_str();
  const bool is_long = out.size() > kLongText || out.find('\n') != std::string::npos;
  return is_long ? text("<", nb::type_name(constant_.type()).c_str(), ">") : out;
}

PythonCall::PythonCall(std::string name, nb::callable function, const nb::sequence& arguments,
                       const nb::dict& named)
    : name_(std::move(name)), function_(std::move(function)) {
  for (nb::handle argument : arguments) {
    arguments_.emplace_back(argument);
  }
  nb::list names;
  for (auto [key, value] : named) {
    names.append(key);
    arguments_.emplace_back(value);
  }
  names_ = nb::tuple(names);
}

nb::object PythonCall::run(Values& values) const {
  values.lock().take();
  ShortList<nb::object, 8> made(arguments_.size());
  ShortList<PyObject*, 8> given(arguments_.size());
  for (size_t i = 0; i < arguments_.size(); ++i) {
    made[i] = arguments_[i].make(values);
    given[i] = made[i].ptr();
  }
  const size_t num_names = nb::len(names_);
  PyObject* result =
      PyObject_Vectorcall(function_.ptr(), given.data(), given.span().size() - num_names,
                          num_names > 0 ? names_.ptr() : nullptr);
  if (result == nullptr) {
    throw nb::python_error();
  }
  return nb::steal(result);
}

void PythonCall::listSlots(std::vector<SlotIndex>& slots) const {
  for (const Argument& argument : arguments_) {
    argument.listSlots(slots);
  }
}

std::string PythonCall::toString() const {
  const size_t unnamed = arguments_.size() - nb::len(names_);
  std::string out;
  for (size_t i = 0; i < arguments_.size(); ++i) {
    out += out.empty() ? "" : ", ";
    if (i >= unnamed) {
      out += std::string(nb::str(names_[i - unnamed]).c_str()) + "=";
    }
    out += arguments_[i].toString();
  }
  return name_ + "(" + out + ")";
}

}  // namespace nvfuser::python
