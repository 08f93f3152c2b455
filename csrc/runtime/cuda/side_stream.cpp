#include <runtime/cuda/side_stream.h>

#include <map>
#include <mutex>

#include <runtime/cuda/current_device.h>

namespace nvfuser::cuda {

namespace {

constexpr int kFirst = -100;  ///< a priority; the driver takes its own first one

std::mutex lanes_mutex;

}  // namespace

/// With the mutex held.
std::vector<SideStream::Lane>& SideStream::idleLanes(int device) {
  static auto* lanes = new std::map<int, std::vector<Lane>>;  // the driver may go before they do
  return (*lanes)[device];
}

SideStream::SideStream(Device& device, Stream of_caller) : device_(device), of_caller_(of_caller) {
  if (device.kind() != DeviceKind::Cuda) {
    return;
  }
  driver_ = driver();
  {
    const std::lock_guard lock(lanes_mutex);
    std::vector<Lane>& idle = idleLanes(device.index());
    if (!idle.empty()) {
      lane_ = std::move(idle.back());
      idle.pop_back();
      return;
    }
  }
  const CurrentDevice current(device);
  throwIfFailed(*driver_,
                driver_->StreamCreateWithPriority(&lane_.stream, kStreamNonBlocking, kFirst),
                "cuStreamCreateWithPriority");
}

SideStream::~SideStream() {
  if (driver_ == nullptr) {
    return;
  }
  try {
    if (used_ > 0) {
      waitFor(mark());
    }
  } catch (const std::exception&) {  // the context has failed, as every later call says
  }
  const std::lock_guard lock(lanes_mutex);
  idleLanes(device_.index()).push_back(std::move(lane_));
}

/// An event serves again in the next call: a stream that waits for it waits for the last record.
Event SideStream::nextEvent() {
  if (used_ == lane_.events.size()) {
    Event event = nullptr;
    throwIfFailed(*driver_, driver_->EventCreate(&event, kEventDisableTiming), "cuEventCreate");
    lane_.events.push_back(event);
  }
  return lane_.events[used_++];
}

void SideStream::follow() {
  if (driver_ == nullptr) {
    return;
  }
  const CurrentDevice current(device_);
  const Event event = nextEvent();
  throwIfFailed(*driver_, driver_->EventRecord(event, static_cast<StreamHandle>(of_caller_)),
                "cuEventRecord");
  throwIfFailed(*driver_, driver_->StreamWaitEvent(lane_.stream, event, 0), "cuStreamWaitEvent");
}

SideStream::Mark SideStream::mark() {
  if (driver_ == nullptr) {
    return 0;
  }
  const CurrentDevice current(device_);
  marks_.push_back(nextEvent());
  throwIfFailed(*driver_, driver_->EventRecord(marks_.back(), lane_.stream), "cuEventRecord");
  return marks_.size();
}

void SideStream::waitFor(Mark mark) {
  if (driver_ == nullptr || mark <= waited_) {
    return;  // the stream has one order
  }
  const CurrentDevice current(device_);
  throwIfFailed(
      *driver_,
      driver_->StreamWaitEvent(static_cast<StreamHandle>(of_caller_), marks_[mark - 1], 0),
      "cuStreamWaitEvent");
  waited_ = mark;
}

}  // namespace nvfuser::cuda
