/// Launches that are beyond a device's limits or what a kernel was made for: the error, and the
/// ends of messages, which say what to do about it, the same on emulated and real devices.
#pragma once

#include <cstdint>
#include <string_view>

#include <support/error.h>
#include <support/text.h>

namespace nvfuser {

/// The arguments are good, but not for this kernel; one of another plan may take them.
class LaunchError : public UserError {
 public:
  using UserError::UserError;
};

template <typename... Parts>
[[noreturn]] void launchError(const Parts&... parts) {
  throw LaunchError(text(parts...));
}

}  // namespace nvfuser

namespace nvfuser::launch_help {

inline constexpr std::string_view kBlockExtent =
    "; split the axis that is bound to it by a smaller factor, and bind the inner part";
inline constexpr std::string_view kGridExtent =
    "; split the axis that is bound to it, and bind the parts to two grid dimensions (blockIdx.x "
    "takes most)";
inline constexpr std::string_view kThreads =
    "; bind smaller axes to threadIdx, so that the product of their extents fits";
inline constexpr std::string_view kCluster =
    "; bind another number of blocks to the grid, or choose a smaller cluster";
inline constexpr std::string_view kSharedBytes =
    "; use smaller tiles, or keep fewer tensors in shared memory at a time";
inline constexpr std::string_view kResident =
    "; bind fewer or smaller blocks to the axes that are reduced or shared across the grid";

/// `too_large`, for an extent that is; for none at all, what to do about that.
constexpr std::string_view ofExtent(int64_t extent, std::string_view too_large) {
  return extent < 1 ? "; leave out a launch without threads" : too_large;
}

}  // namespace nvfuser::launch_help
