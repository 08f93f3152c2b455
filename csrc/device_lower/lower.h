/// Scheduled Fusion → kernel IR. The passes are a table (`loweringPasses()`); the loop around it
/// names, times, verifies and prints them alike.
#pragma once

#include <functional>
#include <span>

#include <device_lower/kernel_builder.h>

namespace nvfuser {

/// Everything that lowering finds out about one fusion, filled in by the passes one after the
/// other.
struct Lowering {
  Fusion* fusion = nullptr;
  LowerOptions options;
  kir::Kernel kernel;
  std::unique_ptr<IdGraph> exact;
  std::unique_ptr<Symbols> symbols;
  std::unique_ptr<LoopModel> loops;
  std::unique_ptr<Allocations> allocations;
  LoopNode tree;
  std::vector<const Val*> scalar_operands;
};

struct LoweringPass {
  std::string_view name;   ///< kebab-case, as in options and printed IR
  std::string_view needs;  ///< what earlier passes must have left
  std::string_view gives;  ///< what is there after it
  std::string_view why;
  void (*run)(Lowering&);
  bool optional = false;  ///< may be skipped by name
};

/// In order of execution.
std::span<const LoweringPass> loweringPasses();

/// What a pass left behind, as text: the loop tree while there is no kernel, the kernel afterwards.
std::string printLowering(const Lowering& lowering);

/// Called after each pass.
using LoweringObserver =
    std::function<void(const LoweringPass&, const Lowering&, double milliseconds)>;

/// Lowers `fusion` (which stays as it is; the kernel refers to it). Throws `UserError` for a
/// schedule that cannot be carried out.
Lowering lower(Fusion* fusion, const LowerOptions& options, const LoweringObserver& observer = {});

}  // namespace nvfuser
