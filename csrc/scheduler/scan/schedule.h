/// Carries a plan of the scan scheduler out.
#pragma once

#include <scheduler/scan/scan.h>

namespace nvfuser::scans {

void schedule(Fusion* fusion, const ScanParams& params);

/// Why the loops of the reference are not loops of all of a scheduled fusion; none: they are.
std::optional<Refusal> refusesLoops(const Fusion& scheduled, const ScanParams& params);

}  // namespace nvfuser::scans
