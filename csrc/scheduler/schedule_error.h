/// How a scheduling primitive says no, and the checks that all of them share. Every message names
/// the primitive, the axis with its extent and the tensor; a note shows the tensor's loop domain, a
/// help line what to do instead.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <ir/interface_nodes.h>

namespace nvfuser {

/// `axis 1 (rS5{i2}, extent i2) of T3`
std::string axisText(const TensorView* tv, int64_t axis);
/// `loop domain of T3 [iS4{i0}, rS5{i2}]`
std::string loopDomainText(const TensorView* tv);

/// Throws `UserError`: "<primitive>: <what>", the note with the loop domain of `tv`, and the help.
[[noreturn]] void scheduleError(std::string_view primitive, const TensorView* tv,
                                std::string_view what, std::string_view help);

/// The axis counted from the front; refuses one outside the loop domain.
int64_t requireAxis(std::string_view primitive, const TensorView* tv, int64_t axis);
/// A position between axes, 0 … nDims; −1 is the last one.
int64_t requirePosition(std::string_view primitive, const TensorView* tv, int64_t position);
/// The tensor shares none of its axes from `axis` on with a producer or a consumer.
void requireNotShared(std::string_view primitive, const TensorView* tv, int64_t axis);
/// The axis is bound to nothing yet: transforms would lose the binding.
void requireSerial(std::string_view primitive, const TensorView* tv, int64_t axis);

}  // namespace nvfuser
