#include <kernel_ir/scalar.h>

#include <algorithm>

#include <support/text.h>

namespace nvfuser::kir {

ScalarPool::ScalarPool() {
  zero_ = constant(0);
  one_ = constant(1);
}

Scalar ScalarPool::intern(ScalarNode node) {
  std::string key = text(static_cast<int>(node.op), ":", node.value, ":", node.name);
  for (const auto& [term, coefficient] : node.terms) {
    key += text(";", term->id, "*", coefficient);
  }
  for (Scalar arg : node.args) {
    key += text(",", arg->id);
  }
  auto found = interned_.find(key);
  if (found != interned_.end()) {
    return found->second;
  }
  node.id = static_cast<int>(nodes_.size());
  nodes_.push_back(std::move(node));
  return interned_[key] = &nodes_.back();
}

Scalar ScalarPool::constant(int64_t value) {
  return intern({.op = ScalarOp::Constant, .id = 0, .value = value, .lo = value, .hi = value});
}

Scalar ScalarPool::symbol(const std::string& name, Scalar bound, int64_t lo, int64_t hi) {
  if (bound != nullptr && bound->hi != INT64_MAX) {
    hi = std::min(hi, std::max(lo, bound->hi - 1));
  }
  return intern(
      {.op = ScalarOp::Symbol, .id = 0, .name = name, .bound = bound, .lo = lo, .hi = hi});
}

}  // namespace nvfuser::kir
