/// Rewrites of a whole Fusion before it is cut into kernels. The passes are a table; the loop
/// around it sweeps, verifies, prints and skips them alike.
///
/// A pass is a function of the Fusion alone: it sees no sizes of a call and no device; some are run
/// for GPUs or for the CPU alone. After each, the Fusion has as many inputs and outputs, in the
/// same order, with the same dtypes, ranks and sizes, and computes the same values; inputs keep
/// their identity. Random operations keep their names, which say what they draw.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include <ir/fusion.h>
#include <support/device_properties.h>
#include <support/options.h>

namespace nvfuser::preseg_passes {

enum class PassFor : uint8_t { Everything, Gpus, Cpu };

struct Pass {
  std::string_view name;   ///< kebab-case, as in options and printed IR
  std::string_view does;   ///< in one line
  std::string_view keeps;  ///< what stays true though the graph changes
  void (*run)(Fusion&);
  PassFor devices = PassFor::Everything;
};

/// In order of execution.
std::span<const Pass> passes();

/// Called before and after each pass.
using Observer = std::function<void(const Pass&, const Fusion&, bool is_after)>;

/// Throws `UserError` where the options leave out a pass that does not exist.
void checkNames(const Options& options);

/// Runs all passes but those that NVFUSER_DISABLE=preseg or preseg(pass, …) leaves out; dumps as
/// NVFUSER_DUMP=pre_segmenter_logging asks, about `subject`. Throws `UserError` where the option
/// names no pass.
void runAll(Fusion& fusion, const Options& options, std::string_view subject, DeviceKind device,
            const Observer& observer = {});

/// One pass by its name, and what follows each pass.
void runOne(Fusion& fusion, std::string_view name);

}  // namespace nvfuser::preseg_passes
