/// Which operations of a Fusion over several meshes are one stage: those on one mesh, none of which
/// waits for another mesh that waits for one of them.
///
///   T1 = exp(T0) on {0 1}       level 0 on {0 1}
///   T2 = neg(T1) on {2 3}       level 1 on {2 3}: it waits for T1
///   T3 = add(T1, 1) on {0 1}    level 0 on {0 1}
///
/// Tensors that nothing is said of are on the mesh of the first operand that has one, or of whoever
/// reads them; inputs that nothing is said of are everywhere.
#pragma once

#include <unordered_map>
#include <vector>

#include <ir/device_mesh.h>
#include <ir/fusion.h>

namespace nvfuser::multidevice {

struct StageKey {
  size_t level;  ///< how many times data has been handed over before it
  DeviceMesh mesh;
  friend bool operator==(const StageKey&, const StageKey&) = default;
};

class StageKeys {
 public:
  explicit StageKeys(const Fusion& global);

  /// In the order in which stages run.
  const std::vector<StageKey>& all() const { return keys_; }
  /// Operations on tensors.
  const std::vector<Expr*>& exprs() const { return exprs_; }
  /// Those of a stage, in order.
  std::vector<Expr*> exprsOf(const StageKey& key) const;

  /// Of an input that is everywhere: none.
  DeviceMesh meshOf(const TensorView* tv) const;
  DeviceMesh meshOf(const Expr* expr) const;
  size_t levelOf(const TensorView* tv) const;
  /// Whether what that mesh reads of a tensor comes from another one.
  bool crosses(const TensorView* in, const DeviceMesh& to) const {
    return !meshOf(in).empty() && meshOf(in) != to;
  }

 private:
  void findMeshes(const Fusion& global);
  void findKeys();
  void add(const StageKey& key);

  std::vector<Expr*> exprs_;
  std::unordered_map<const TensorView*, DeviceMesh> mesh_;
  DeviceMesh first_;
  std::unordered_map<const TensorView*, size_t> level_;
  std::vector<StageKey> keys_;
};

}  // namespace nvfuser::multidevice
