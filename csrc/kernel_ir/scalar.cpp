#include <kernel_ir/scalar.h>

#include <algorithm>

namespace nvfuser::kir {

ScalarPool::ScalarPool() {
  zero_ = constant(0);
  one_ = constant(1);
}

size_t ScalarPool::Hash::operator()(Scalar node) const {
  size_t hash = std::hash<std::string>()(node->name);
  const auto mix = [&hash](int64_t value) {
    hash = (hash ^ static_cast<size_t>(value)) * 0x9e3779b97f4a7c15u;  // 2^64 / golden ratio
    hash ^= hash >> 32;
  };
  mix(static_cast<int64_t>(node->op));
  mix(node->value);
  for (const auto& [term, coefficient] : node->terms) {
    mix(term->id);
    mix(coefficient);
  }
  for (Scalar arg : node->args) {
    mix(arg->id);
  }
  return hash;
}

bool ScalarPool::Same::operator()(Scalar a, Scalar b) const {
  return a->op == b->op && a->value == b->value && a->terms == b->terms && a->args == b->args &&
         a->name == b->name;
}

Scalar ScalarPool::intern(ScalarNode node) {
  auto found = interned_.find(&node);
  if (found != interned_.end()) {
    return *found;
  }
  node.id = static_cast<int>(nodes_.size());
  nodes_.push_back(std::move(node));
  return *interned_.insert(&nodes_.back()).first;
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
