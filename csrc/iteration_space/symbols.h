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
  void readInputs(const Fusion& fusion);
  /// An input's extent that is a known product in the kernel, too, is that product: more is known
  /// of it than of a name.
  void spellOutProducts(const IdGraph& exact);
  /// Axes of one class have one extent. Those that are all computed are united `with_computed`.
  void unite(const std::vector<IterDomain*>& axes, bool with_computed);
  bool isOfInput(const Val* extent) const {
    return input_extents_.count(extent->fingerprint()) != 0;
  }
  /// Whether it is a name, a constant, or a product of such.
  bool isKnown(const Val* extent) const;
  const Val* canonical(const Val* val) const;
  /// Whether `part` is needed to compute `val`, which then cannot be the name of `part`.
  bool isMadeOf(const Val* val, const Val* part) const;
  kir::Scalar leaf(const Val* val);
  /// What an operation computes of integers; null where that has no index form.
  kir::Scalar computed(const Expr* def);
  kir::Scalar binary(BinaryOpType type, const Expr* def);

  kir::ScalarPool& pool_;
  std::unordered_map<Fingerprint, const Val*, FingerprintHash> parent_;  ///< equal extents
  std::unordered_map<Fingerprint, kir::SymbolSource, FingerprintHash> input_extents_;
  std::unordered_set<Fingerprint, FingerprintHash> extents_;  ///< of all axes
  std::unordered_map<Fingerprint, kir::Scalar, FingerprintHash> cache_;
  std::unordered_map<kir::Scalar, kir::SymbolSource> sources_;
};

}  // namespace nvfuser
