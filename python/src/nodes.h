/// What Python holds of a fusion: its nodes, each with the definition that owns it, so that none
/// can outlive its memory.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <capi/definition.h>
#include <nanobind/nanobind.h>

namespace nvfuser::python {

namespace nb = nanobind;

using DefinitionPtr = std::shared_ptr<capi::Definition>;

struct Node {
  DefinitionPtr owner;
  Statement* statement = nullptr;

  bool operator==(const Node& other) const { return statement == other.statement; }
};

struct ValNode : Node {
  Val* val() const { return statement->as<Val>(); }
};
struct TensorNode : ValNode {
  TensorView* tv() const { return statement->as<TensorView>(); }
};
struct IterDomainNode : ValNode {
  IterDomain* id() const { return statement->as<IterDomain>(); }
};
struct TensorDomainNode : ValNode {};

struct ExprNode : Node {
  int64_t name = -1;  ///< tells it from a later one at the same address
  /// Throws `UserError` if a scheduling primitive has replaced it.
  Expr* expr() const;
};
struct SplitNode : ExprNode {};
struct MergeNode : ExprNode {};
struct BroadcastNode : ExprNode {};
struct ReshapeNode : ExprNode {};
struct SqueezeNode : ExprNode {};

/// The node as the Python class that fits; None for null.
nb::object wrap(const DefinitionPtr& owner, Val* val);
nb::object wrap(const DefinitionPtr& owner, Expr* expr);
template <typename Pointers>
nb::list wrapAll(const DefinitionPtr& owner, const Pointers& nodes) {
  nb::list result;
  for (auto* node : nodes) {
    result.append(wrap(owner, node));
  }
  return result;
}
/// The tensors of a Python sequence of them; `what` asks. `owner`: the fusion whose they have to
/// be; null: that of the first one.
std::vector<TensorView*> tensorsOf(const nb::sequence& tensors, const char* what,
                                   const DefinitionPtr& owner);

}  // namespace nvfuser::python
