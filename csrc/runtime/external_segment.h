/// A segment that is one operation of a library: allocates its results and hands it to external/,
/// by way of the host's memory where nobody takes it on the device.
#pragma once

#include <string>
#include <vector>

#include <runtime/fusion_segment.h>
#include <scheduler/analysis/view_layout.h>

namespace nvfuser {

/// What one call leaves for the next with the same sizes, and for reports.
struct ExternalRun {
  std::vector<ViewLayout> results;  ///< of all the operation's outputs
  std::string ran_by;
};

/// The outputs of `segment`, in its order. `sizes`: those of the whole fusion, by name. Throws
/// `UserError` for shapes or indices that the operation does not take. Without the device's library
/// it works on the host, with one warning that says what is missing.
KernelArgumentHolder runExternal(const Fusion& segment, const KernelArgumentHolder& args,
                                 Device& device, const KnownScalars& sizes, ExternalRun& run);

}  // namespace nvfuser
