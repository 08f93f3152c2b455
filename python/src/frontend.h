/// The documented frontend: `Fusion` by id, `FusionDefinition(fusion)`. One registry for the
/// process, from any thread. A fusion has its id from the end of its definition on, in the order of
/// definitions; the same definition entered again is the same fusion, compiled once.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "nodes.h"

namespace nvfuser::python {

struct FrontendTensor : ValNode {};
struct FrontendScalar : ValNode {};

/// What an id stands for: a definition and its executor, until the process ends.
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
  /// `keep`: else what was defined is dropped, and it may be defined anew.
  void endDefinition(bool keep);
  /// For functions that define; throws `UserError` outside of a definition.
  const DefinitionPtr& defining() const;

  /// Inputs are numbers and tensors of any framework that speaks DLPack; outputs are tensors of the
  /// inputs' framework. Other Python threads run meanwhile.
  nb::list execute(const nb::sequence& inputs) const;

 private:
  DefinedFusion& requireDefined() const;

  DefinitionPtr being_defined_;
  DefinedFusion* defined_ = nullptr;
};

/// Binds Fusion, FusionDefinition, its Operators, Tensor and Scalar.
void bindFrontend(nb::module_& module);

}  // namespace nvfuser::python
