/// Copies nodes from one Fusion to another, each once, with everything that they refer to.
#pragma once

#include <unordered_map>
#include <vector>

#include <ir/fusion.h>

namespace nvfuser {

class IrCloner {
 public:
  explicit IrCloner(Fusion* container) : to_(container) {}

  /// The copy of `node` (null for null). Copies it first if that has not happened.
  Statement* clone(const Statement* node);
  template <typename T>
  T* clone(const T* node) {
    return node ? static_cast<T*>(clone(static_cast<const Statement*>(node))) : nullptr;
  }
  template <typename T>
  std::vector<T*> clone(const std::vector<T*>& nodes) {
    std::vector<T*> result;
    result.reserve(nodes.size());
    for (const T* node : nodes) {
      result.push_back(clone(node));
    }
    return result;
  }
  Fusion* container() const { return to_; }

 private:
  friend class Fusion;
  Val* cloneVal(const Val* val);
  Expr* cloneExpr(const Expr* expr);
  IrBuilderPasskey passkey() const { return IrBuilderPasskey(to_); }
  Fusion* to_;
  std::unordered_map<const Statement*, Statement*> map_;
};

}  // namespace nvfuser
