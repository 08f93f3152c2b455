/// `FusionGuard` says which Fusion `add(a, b)` and `IrBuilder::create` work on, in this thread and
/// scope. Only the builder asks; nothing below the API's edge does.
#pragma once

namespace nvfuser {

class Fusion;

class FusionGuard {
 public:
  explicit FusionGuard(Fusion* fusion);
  ~FusionGuard();
  FusionGuard(const FusionGuard&) = delete;
  FusionGuard& operator=(const FusionGuard&) = delete;

  /// The innermost guard's Fusion of this thread; null without one.
  static Fusion* getCurFusion();
  static void setCurFusion(Fusion* fusion);

 private:
  Fusion* previous_;
};

}  // namespace nvfuser
