/// Python objects as arguments of operations, and results as Python objects.
#pragma once

#include <cstdint>
#include <deque>
#include <initializer_list>
#include <string>
#include <vector>

#include "nodes.h"
#include <capi/operations.h>

namespace nvfuser::python {

/// The arguments of one call. They point into this object.
class Arguments {
 public:
  Arguments(const DefinitionPtr& definition, std::string_view operation)
      : definition_(definition), operation_(operation) {}

  void add(nb::handle argument) { given_.push_back(convert(argument)); }
  void add(const nb::args& arguments, const nb::kwargs& named);
  /// Throws `nb::type_error` for what is no argument, `UserError` for values of other fusions.
  nvf_argument convert(nb::handle object, const char* name = nullptr);
  const std::vector<nvf_argument>& given() const { return given_; }

 private:
  int64_t idOf(const ValNode& value);

  const DefinitionPtr& definition_;
  std::string_view operation_;
  std::vector<nvf_argument> given_;
  std::deque<std::vector<nvf_argument>> lists_;
  std::deque<std::string> names_;
};

/// Null unless the object is a value of a fusion (of either frontend).
const ValNode* valueOf(nb::handle object);
/// A bool, an int, a float or a complex; anything else throws `nb::type_error` in the name of
/// `what`.
PolymorphicValue numberOf(nb::handle object, const char* what);

/// Calls the operation; gives its result, a tuple or a list of them. `wrapOne` makes a Python
/// object of each.
using WrapValue = nb::object (*)(const DefinitionPtr& owner, Val* val);
nb::object callOperation(const DefinitionPtr& definition, const capi::Operation& operation,
                         const nb::args& arguments, const nb::kwargs& named, WrapValue wrapOne);
/// The same with operands alone, for Python's operators.
nb::object callOperation(const DefinitionPtr& definition, const capi::Operation& operation,
                         std::initializer_list<nb::handle> operands, WrapValue wrapOne);

/// "def sum(self, arg: Tensor, …) -> Tensor": what help() and the stubs show. `direct`: a function
/// of nvfuser_direct, without self and with its names of types.
std::string pythonSignature(const capi::Operation& operation, bool direct);
std::string pythonDoc(const capi::Operation& operation);

}  // namespace nvfuser::python
