/// The few objects that were of use last. A thread takes one out while it uses it, so that nobody
/// waits for a lock; others pass it over meanwhile.
///
///   RecentlyUsed<KnownCall, 8> known;
///   if (!known.useOne([&](KnownCall& call) { return call.run(inputs); })) {
///     known.keep(callFor(inputs));
///   }
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

namespace nvfuser {

template <typename Object, size_t kSlots>
class RecentlyUsed {
 public:
  RecentlyUsed() = default;
  /// Nobody uses one any more.
  ~RecentlyUsed() {
    for (Slot& slot : slots_) {
      exchange(slot, nullptr);
    }
  }
  RecentlyUsed(const RecentlyUsed&) = delete;
  RecentlyUsed& operator=(const RecentlyUsed&) = delete;

  /// Tries one after another, the one that was of use last first, until `use` gives true: whether
  /// it did. From any thread. An object whose use throws is dropped.
  template <typename Use>
  bool useOne(const Use& use) {
    for (Slot& slot : slots_) {
      if (slot.load(std::memory_order_relaxed) == nullptr) {
        continue;
      }
      std::unique_ptr<Object> object = exchange(slot, nullptr);
      if (object == nullptr) {
        continue;
      }
      const bool done = use(*object);
      if (done && &slot != &slots_[0]) {
        object = exchange(slots_[0], std::move(object));
      }
      putBack(slot, std::move(object));
      if (done) {
        return true;
      }
    }
    return false;
  }

  /// The one that was not used for longest goes, more or less.
  void keep(std::unique_ptr<Object> object) {
    object = exchange(slots_[0], std::move(object));
    if (object != nullptr) {
      const size_t place = next_.fetch_add(1, std::memory_order_relaxed) % (kSlots - 1);
      exchange(slots_[place + 1], std::move(object));
    }
  }

 private:
  using Slot = std::atomic<Object*>;

  static std::unique_ptr<Object> exchange(Slot& slot, std::unique_ptr<Object> object) {
    return std::unique_ptr<Object>(slot.exchange(object.release(), std::memory_order_acq_rel));
  }

  /// Into the slot that it came from, unless another thread filled that meanwhile.
  void putBack(Slot& slot, std::unique_ptr<Object> object) {
    Object* none = nullptr;
    if (object == nullptr) {
      return;
    }
    if (slot.compare_exchange_strong(none, object.get(), std::memory_order_acq_rel,
                                     std::memory_order_relaxed)) {
      static_cast<void>(object.release());
    } else {
      keep(std::move(object));
    }
  }

  std::array<Slot, kSlots> slots_ = {};  ///< the one that was of use last comes first
  std::atomic<size_t> next_ = 0;
};

}  // namespace nvfuser
