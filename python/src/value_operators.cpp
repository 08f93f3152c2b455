#include "value_operators.h"

#include <functional>
#include <optional>

#include "arguments.h"
#include <capi/definition_text.h>
#include <support/error.h>

namespace nvfuser::python {

namespace {

/// Python's name of an operator on the left operand, that on the right one, and the operation.
struct BinaryOperator {
  const char* name;
  const char* reflected;  ///< null for comparisons, which Python turns round itself
  const char* operation;
};

constexpr BinaryOperator kBinary[] = {
    {"__add__", "__radd__", "add"},
    {"__sub__", "__rsub__", "sub"},
    {"__mul__", "__rmul__", "mul"},
    {"__truediv__", "__rtruediv__", "truediv"},
    {"__mod__", "__rmod__", "remainder"},
    {"__pow__", "__rpow__", "pow"},
    {"__and__", "__rand__", "bitwise_and"},
    {"__or__", "__ror__", "bitwise_or"},
    {"__xor__", "__rxor__", "bitwise_xor"},
    {"__lshift__", "__rlshift__", "bitwise_left_shift"},
    {"__rshift__", "__rrshift__", "bitwise_right_shift"},
    {"__lt__", nullptr, "lt"},
    {"__le__", nullptr, "le"},
    {"__gt__", nullptr, "gt"},
    {"__ge__", nullptr, "ge"},
};

constexpr struct {
  const char* name;
  const char* operation;
} kUnary[] = {{"__neg__", "neg"}, {"__abs__", "abs"}, {"__invert__", "bitwise_not"}};

bool isOperand(nb::handle object) {
  PyObject* raw = object.ptr();
  return valueOf(object) != nullptr || PyComplex_Check(raw) || PyFloat_Check(raw) ||
         PyLong_Check(raw);
}

/// Python asks the other operand, and then says itself what cannot be combined.
nb::object notForUs() { return nb::borrow(nb::handle(Py_NotImplemented)); }

/// Of elements; of the values themselves once the definition has ended, where schedules look them
/// up in lists.
nb::object compare(const ValNode& self, nb::handle lhs, nb::handle rhs, bool equal) {
  if (!isOperand(rhs)) {
    return notForUs();
  }
  if (isOpen(self)) {
    return callOnOpen(self, equal ? "eq" : "ne", {lhs, rhs});
  }
  const ValNode* other = valueOf(rhs);
  return nb::bool_((other != nullptr && other->statement == self.statement) == equal);
}

/// Rounded down, as Python's: remainder has the divisor's sign.
nb::object floorDivide(const ValNode& self, nb::handle lhs, nb::handle rhs) {
  const nb::object rest = callOnOpen(self, "remainder", {lhs, rhs});
  const nb::object whole = callOnOpen(self, "sub", {lhs, rest});
  return callOnOpen(self, "div", {whole, rhs});
}

}  // namespace

template <typename ValueClass>
void bindValueOperators(nb::class_<ValueClass>& value) {
  for (const auto& [name, reflected, operation] : kBinary) {
    value.def(
        name,
        [operation](const ValueClass& self, nb::handle other) {
          return isOperand(other) ? callOnOpen(self, operation, {nb::find(self), other})
                                  : notForUs();
        },
        nb::arg("other").none());
    if (reflected != nullptr) {
      value.def(
          reflected,
          [operation](const ValueClass& self, nb::handle other) {
            return isOperand(other) ? callOnOpen(self, operation, {other, nb::find(self)})
                                    : notForUs();
          },
          nb::arg("other").none());
    }
  }
  for (const auto& [name, operation] : kUnary) {
    value.def(name, [operation](const ValueClass& self) {
      return callOnOpen(self, operation, {nb::find(self)});
    });
  }
  value
      .def(
          "__eq__",
          [](const ValueClass& self, nb::handle other) {
            return compare(self, nb::find(self), other, true);
          },
          nb::arg("other").none())
      .def(
          "__ne__",
          [](const ValueClass& self, nb::handle other) {
            return compare(self, nb::find(self), other, false);
          },
          nb::arg("other").none())
      .def(
          "__floordiv__",
          [](const ValueClass& self, nb::handle other) {
            return isOperand(other) ? floorDivide(self, nb::find(self), other) : notForUs();
          },
          nb::arg("other").none())
      .def(
          "__rfloordiv__",
          [](const ValueClass& self, nb::handle other) {
            return isOperand(other) ? floorDivide(self, other, nb::find(self)) : notForUs();
          },
          nb::arg("other").none())
      .def("__hash__",
           [](const ValueClass& self) { return std::hash<const void*>()(self.statement); })
      .def("__bool__", [](const ValueClass& self) {
        if (self.val()->dtype() == DataType::Bool) {
          userError("bool: ", capi::valueText(*self.owner, self.owner->idOf(self.val())),
                    " is known only when the fusion runs, so that no `if` or `in` can decide by "
                    "it; use fd.ops.where, or `is` to compare the objects");
        }
        return true;
      });
}

template void bindValueOperators(nb::class_<FrontendTensor>& value);
template void bindValueOperators(nb::class_<FrontendScalar>& value);

}  // namespace nvfuser::python
