/// The public door to single passes:
///
///   OptimizationPass<preseg_passes::ConsecutiveCastPass>::runPass(&fusion);
///   OptimizationPassGuard<preseg_passes::ConsecutiveCastPass> off(false);   // for caches made
///   here
#pragma once

#include <string>
#include <string_view>

#include <preseg_passes/pipeline.h>

namespace nvfuser {

namespace preseg_passes {

/// Names of passes (`passes()`) as types.
struct ExactMappedExtentSubstitutionPass {
  static constexpr std::string_view kName = "substitute-extents";
};
struct RemoveEmptyPass {
  static constexpr std::string_view kName = "remove-empty";
};
struct ConsecutiveCastPass {
  static constexpr std::string_view kName = "consecutive-casts";
};
struct ShortAxesPass {
  static constexpr std::string_view kName = "short-axes";
};
struct ShortPlanesPass {
  static constexpr std::string_view kName = "short-planes";
};
struct JoinEqualPass {
  static constexpr std::string_view kName = "join-equal";
};
struct RemoveBcastSqueeze {
  static constexpr std::string_view kName = "broadcast-squeeze";
};
struct MoveSplitCatPass {
  static constexpr std::string_view kName = "cancel-split-cat";
};
struct TranslateRepeatToExpand {
  static constexpr std::string_view kName = "cat-to-repeat";
};
struct NarrowJoinsPass {
  static constexpr std::string_view kName = "narrow-joins";
};
struct MoveGatherPass {
  static constexpr std::string_view kName = "hoist-reads";
};
struct MovePadPass {
  static constexpr std::string_view kName = "move-pad";
};
struct AllocationDomainPass {
  static constexpr std::string_view kName = "memory-order";
};
struct MarkAliasesPreparePass {
  static constexpr std::string_view kName = "mark-views";
};
/// All of them.
struct PreSegmenter {
  static constexpr std::string_view kName = "";
};

}  // namespace preseg_passes

template <typename DerivedClass>
class OptimizationPass {
 public:
  static constexpr std::string_view name() { return DerivedClass::kName; }
  /// Rewrites `fusion` in place, whatever options and guards say.
  static void runPass(Fusion* fusion) {
    if (name().empty()) {
      preseg_passes::runAll(*fusion, Options(), "fusion", DeviceKind::Cuda);
    } else {
      preseg_passes::runOne(*fusion, name());
    }
  }
};

/// While it lives, fusions that this thread gives to a `FusionExecutorCache` are not rewritten by
/// the pass if `enable` is false; with true, nothing changes. Nests.
template <typename OptPass>
class OptimizationPassGuard {
 public:
  explicit OptimizationPassGuard(bool enable)
      : guard_(enable ? Options::current() : without(OptPass::kName)) {}
  OptimizationPassGuard(const OptimizationPassGuard&) = delete;
  OptimizationPassGuard& operator=(const OptimizationPassGuard&) = delete;

 private:
  static Options without(std::string_view pass) {
    const Options& now = Options::current();
    const auto& names = now.arguments(DisableOption::Preseg);
    if (pass.empty() || (now.isDisabled(DisableOption::Preseg) && names.empty())) {
      return now.disable("preseg");
    }
    std::string list(pass);
    for (const std::string& name : names) {
      list += "," + name;
    }
    return now.disable("preseg(" + list + ")");
  }

  OptionsGuard guard_;
};

}  // namespace nvfuser
