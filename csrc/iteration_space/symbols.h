/// Scalars of the Fusion as index expressions of the kernel, and where the kernel gets them from.
///
/// Extents that must be equal are one symbol: in T2 = T0[i0] + T1[i1], i1 becomes i0 (a constant,
/// if one of them is). Every symbol that ends up in the kernel is a parameter; its source says what
/// the host reads it from.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <id_model/id_graph.h>
#include <kernel_ir/kernel.h>

namespace nvfuser {

class Symbols {
 public:
  Symbols(const Fusion& fusion, const IdGraph& exact, kir::ScalarPool& pool);

  /// An integer or boolean scalar as an expression of symbols. What has no index form (a double
  /// divided by another, …), or would be long (ir/spelling.h), becomes one symbol whose value the
  /// host evaluates.
  kir::Scalar of(const Val* val);
  kir::Scalar extent(const IterDomain* id) { return of(id->extent()); }
  /// Elements between neighbours along the i-th allocation axis of a tensor in global memory.
  kir::Scalar stride(const TensorView* tv, size_t allocation_axis);

  const std::unordered_map<kir::Scalar, kir::SymbolSource>& sources() const { return sources_; }
  kir::ScalarPool& pool() { return pool_; }

 private:
  const Val* canonical(const Val* val) const;
  kir::Scalar leaf(const Val* val);

  kir::ScalarPool& pool_;
  std::unordered_map<const Val*, const Val*> parent_;
  std::unordered_map<const Val*, kir::SymbolSource> input_extents_;
  std::unordered_set<Fingerprint, FingerprintHash> extents_;  ///< of all axes
  std::unordered_map<const Val*, kir::Scalar> cache_;
  std::unordered_map<Fingerprint, kir::Scalar, FingerprintHash> named_;  ///< long ones
  std::unordered_map<kir::Scalar, kir::SymbolSource> sources_;
};

}  // namespace nvfuser
