/// The frontend of the module nvfuser: `Fusion` by id, and what its FusionDefinition is made of.
/// One registry for the process, from any thread. A fusion has its id from the end of its
/// definition on, in the order of definitions; the same definition entered again is the same
/// fusion, compiled once.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "direct/executors.h"
#include "nodes.h"

namespace nvfuser::python {

struct FrontendTensor : ValNode {};
struct FrontendScalar : ValNode {};

/// A definition that nothing may be added to once it has ended.
struct FrontendDefinition : capi::Definition {
  bool is_open = true;
};

/// The value as a Python object, which belongs to a `FrontendDefinition`.
nb::object wrapFrontend(const DefinitionPtr& owner, Val* val);
/// Whether the definition of the value goes on.
bool isOpen(const ValNode& value);
/// Calls an operation in the definition of `self`; throws `UserError` once that has ended.
nb::object callOnOpen(const ValNode& self, std::string_view operation,
                      std::initializer_list<nb::handle> operands);

/// What an id stands for: a definition and its executor.
class DefinedFusion;

class FrontendFusion {
 public:
  /// Undefined, without an id.
  FrontendFusion();
  /// The one with this id; throws `UserError`, naming the known ids, if there is none.
  explicit FrontendFusion(int64_t id);

  /// Throws `UserError` before the end of the definition.
  int64_t id() const;
  bool defined() const { return defined_ != nullptr; }
  /// The definition as a Python function, and as intermediate representation.
  std::string definition() const;
  std::string ir() const;
  /// Text of the kernels that ran last.
  std::string kernels() const;
  /// The definition, how the last call was cut into kernels and why, and their text. `html`: None,
  /// or the path of a page to be written; `inputs`: what it is measured with (explanation.h).
  std::string explain(nb::handle html, nb::handle inputs) const;

  /// Throws `UserError` if it is (being) defined already.
  void beginDefinition();
  /// Nothing is added from here on, but it is not entered: it is to be scheduled by hand.
  void closeDefinition();
  /// `keep`: else what was defined is dropped, and it may be defined anew.
  void endDefinition(bool keep);
  /// For functions that define; throws `UserError` outside of a definition.
  DefinitionPtr defining() const;
  /// nvfuser_direct's Fusion of what is being defined, else of what is defined.
  IrFusion irFusion() const;
  /// nvfuser_direct's executor, one for all that have this id.
  std::shared_ptr<ExecutorCache> executor() const;

  /// Inputs are numbers and tensors of any framework that speaks DLPack; outputs are tensors of the
  /// inputs' framework. Other Python threads run meanwhile.
  nb::list execute(const nb::sequence& inputs) const;

 private:
  DefinedFusion& requireDefined() const;

  std::shared_ptr<FrontendDefinition> being_defined_;
  std::shared_ptr<DefinedFusion> defined_;
};

/// The registry as nvFuser shows it. Fusions that Python holds stay usable when it is emptied.
struct FusionCache {
  /// How many fusions there may be: one more is a `UserError`.
  static void limit(int64_t most);
  static void reset();
  static int64_t size();
  /// How often each fusion was defined again, and how often any was.
  static std::string stats();
};

/// Binds Fusion, FusionCache, FusionDefinitionBase with its Operators, Tensor and Scalar.
void bindFrontend(nb::module_& module);

}  // namespace nvfuser::python
