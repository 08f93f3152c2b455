#include "nodes.h"

#include <algorithm>

#include <ir/internal_nodes.h>
#include <ir/view_ops.h>
#include <nanobind/stl/string.h>
#include <support/error.h>

namespace nvfuser::python {

Expr* ExprNode::expr() const {
  for (const auto& expr : owner->graph.allExprs()) {
    if (expr.get() == statement && expr->name() == name) {
      return expr.get();
    }
  }
  userError("the expression is no longer part of the fusion: scheduling has replaced it");
}

nb::object wrap(const DefinitionPtr& owner, Val* val) {
  if (val == nullptr) {
    return nb::none();
  }
  if (val->isA<TensorView>()) {
    return nb::cast(TensorNode{{owner, val}});
  }
  if (val->isA<IterDomain>()) {
    return nb::cast(IterDomainNode{{owner, val}});
  }
  if (val->isA<TensorDomain>()) {
    return nb::cast(TensorDomainNode{{owner, val}});
  }
  return nb::cast(ValNode{{owner, val}});
}

nb::object wrap(const DefinitionPtr& owner, Expr* expr) {
  if (expr == nullptr) {
    return nb::none();
  }
  const ExprNode node{{owner, expr}, expr->name()};
  switch (expr->kind()) {
    case ExprKind::Split:
      return nb::cast(SplitNode{node});
    case ExprKind::Merge:
      return nb::cast(MergeNode{node});
    case ExprKind::BroadcastOp:
      return nb::cast(BroadcastNode{node});
    case ExprKind::ReshapeOp:
      return nb::cast(ReshapeNode{node});
    case ExprKind::SqueezeOp:
      return nb::cast(SqueezeNode{node});
    default:
      return nb::cast(node);
  }
}

std::vector<TensorView*> tensorsOf(const nb::sequence& tensors, const char* what,
                                   const DefinitionPtr& owner) {
  std::vector<TensorView*> result;
  DefinitionPtr common = owner;
  for (nb::handle tensor : tensors) {
    if (!nb::isinstance<TensorNode>(tensor)) {
      const std::string message =
          text(std::string_view(what), ": a list of TensorViews is needed, but it has a ",
               nb::cast<std::string>(tensor.type().attr("__name__")));
      throw nb::type_error(message.c_str());
    }
    const TensorNode& node = nb::cast<TensorNode&>(tensor);
    common = common != nullptr ? common : node.owner;
    if (node.owner != common) {
      userError(what, ": ", *node.statement,
                " belongs to another fusion; choose among the tensors of one");
    }
    result.push_back(node.tv());
  }
  return result;
}

}  // namespace nvfuser::python
