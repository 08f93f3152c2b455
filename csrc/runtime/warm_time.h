/// How long a piece of work takes on a device that has just done it: what profiles show.
#pragma once

#include <functional>

#include <runtime/device.h>

namespace nvfuser {

/// Milliseconds of one `work`, the median of `repeats` measurements after one that does not count.
/// Short work is measured many times in a row, since a clock, an event or a thread that wakes up
/// would be most of it otherwise. At least one repeat.
double warmTime(Device& device, const std::function<void()>& work, int repeats);

}  // namespace nvfuser
