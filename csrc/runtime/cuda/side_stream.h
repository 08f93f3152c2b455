/// A stream of a GPU beside a caller's own, for the duration of a call: exchanges between devices
/// run there while kernels run on the caller's.
///
///   SideStream side(device, context.stream);
///   side.follow();                      // behind what the caller's stream has by now
///   …put on side.stream()…
///   const SideStream::Mark done = side.mark();
///   …put on the caller's stream…        // runs beside it
///   side.waitFor(done);                 // the caller's stream goes on behind the mark
///
/// When it is destroyed, the caller's stream waits for all that the side has.
#pragma once

#include <cstddef>
#include <vector>

#include <runtime/cuda/driver.h>
#include <runtime/device.h>

namespace nvfuser::cuda {

class SideStream {
 public:
  using Mark = size_t;

  /// Of a device that has no streams it is the caller's own, where nothing runs beside anything.
  SideStream(Device& device, Stream of_caller);
  ~SideStream();
  SideStream(const SideStream&) = delete;
  SideStream& operator=(const SideStream&) = delete;

  Stream stream() const { return lane_.stream != nullptr ? lane_.stream : of_caller_; }
  void follow();
  Mark mark();
  void waitFor(Mark mark);
  void waitForAll() { waitFor(marks_.size()); }

 private:
  /// Kept from call to call.
  struct Lane {
    StreamHandle stream = nullptr;
    std::vector<Event> events;
  };
  Event nextEvent();
  static std::vector<Lane>& idleLanes(int device);

  const Driver* driver_ = nullptr;
  Device& device_;
  Stream of_caller_;
  Lane lane_;
  size_t used_ = 0;           ///< events
  std::vector<Event> marks_;  ///< in order
  size_t waited_ = 0;         ///< marks that the caller's stream waits for
};

}  // namespace nvfuser::cuda
