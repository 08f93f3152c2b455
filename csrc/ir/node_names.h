/// The one door by which text gives nodes the numbers that it names them by.
#pragma once

#include <algorithm>
#include <unordered_set>

#include <ir/fusion.h>

namespace nvfuser {

class NodeNames {
 public:
  void set(Val* val, int64_t name) {
    val->name_ = name;
    named_.insert(val);
  }
  /// Nodes that text does not number (constants, …) get the numbers behind those that it does.
  void finish(Fusion& fusion) {
    for (int64_t& next : fusion.val_names_) {
      next = 0;
    }
    for (const Val* val : named_) {
      int64_t& next = fusion.val_names_[static_cast<size_t>(val->vtype())];
      next = std::max(next, val->name() + 1);
    }
    for (const auto& val : fusion.vals()) {
      if (named_.count(val.get()) == 0) {
        fusion.nameVal(val.get());
      }
    }
  }

 private:
  std::unordered_set<const Val*> named_;
};

}  // namespace nvfuser
