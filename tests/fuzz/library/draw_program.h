/// Random programs: operations from the table of operations, shapes, strides and dtypes, valid by
/// construction as far as shapes go.
#pragma once

#include <fuzz/library/program.h>

namespace nvfuser::fuzz {

/// What programs are about. `Axes`: few exact operations on tensors that are reshapes, transposes,
/// parts and sums of each other, where one axis is met in several ways. `Sizes`: axes that come out
/// with one element, or none, by computation, in calls whose sizes change (sizes_drawer.h).
enum class Focus { All, Axes, Sizes };

/// What to draw.
struct Kind {
  Focus focus = Focus::All;
  bool on_devices = false;  ///< over a mesh of devices (draw_shares.h); not with `Focus::Sizes`
};

/// The same program for the same seed and kind. A call that the front end breaks on
/// (`InternalError`) ends the program and is its output, so that building it breaks again.
Program drawProgram(uint64_t seed, const Kind& kind = {});
/// With `Focus::Sizes`.
Program drawProgramOfSizes(uint64_t seed);

}  // namespace nvfuser::fuzz
