#include <runtime/kernel_cache/loaded_kernels.h>

#include <unistd.h>

#include <algorithm>

#include <support/cancellation.h>

namespace nvfuser {

namespace {
constexpr size_t kMostUnused = 256;
}

/// Guarded by the mutex of the table.
struct LoadedKernels::Slot {
  std::string key;
  Kernel kernel;
  std::exception_ptr error;
  uint64_t used = 0;
  pid_t process = getpid();  ///< that compiles: a fork's child has none of its parent's threads
};

LoadedKernels::Ticket LoadedKernels::claim(const std::string& key) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = slots_.find(key);
  std::shared_ptr<Slot> slot = found != slots_.end() ? found->second : nullptr;
  const bool mine = slot == nullptr || (slot->kernel == nullptr && slot->process != getpid());
  if (mine) {
    // Whole before it is in the table: others would wait forever for one that is never compiled.
    slot = std::make_shared<Slot>();
    slot->key = key;
    slots_[key] = slot;
  }
  slot->used = ++clock_;
  return {std::move(slot), mine};
}

LoadedKernels::Ticket LoadedKernels::claimAlone() { return {std::make_shared<Slot>(), true}; }

void LoadedKernels::finish(const Ticket& ticket, Kernel kernel) {
  std::lock_guard<std::mutex> lock(mutex_);
  ticket.slot->kernel = std::move(kernel);
  changed_.notify_all();
  try {
    dropUnused();
  } catch (const std::bad_alloc&) {  // the next kernel does it
  }
}

void LoadedKernels::fail(const Ticket& ticket, std::exception_ptr error) {
  std::lock_guard<std::mutex> lock(mutex_);
  ticket.slot->error = std::move(error);
  const auto found = slots_.find(ticket.slot->key);
  if (found != slots_.end() && found->second == ticket.slot) {
    slots_.erase(found);
  }
  changed_.notify_all();
}

void LoadedKernels::giveUp(const Ticket& ticket, std::exception_ptr error) {
  std::lock_guard<std::mutex> lock(mutex_);
  ticket.slot->error = std::move(error);
  changed_.notify_all();
}

LoadedKernels::Kernel LoadedKernels::wait(const Ticket& ticket, Cancellation* cancellation) {
  std::unique_lock<std::mutex> lock(mutex_);
  const Slot& slot = *ticket.slot;
  auto answered = [&] { return slot.kernel != nullptr || slot.error != nullptr; };
  if (cancellation == nullptr) {
    changed_.wait(lock, answered);
  }
  while (!changed_.wait_for(lock, Cancellation::kPeriod, answered)) {
    lock.unlock();  // the caller's `cancellation` may take long
    cancellation->check();
    lock.lock();
  }
  if (slot.kernel == nullptr) {
    std::rethrow_exception(slot.error);
  }
  return slot.kernel;
}

void LoadedKernels::dropUnused() {
  std::vector<Slot*> unused;
  for (const auto& [key, slot] : slots_) {
    if (slot.use_count() == 1 && slot->kernel.use_count() == 1) {
      unused.push_back(slot.get());
    }
  }
  if (unused.size() <= most_unused_) {
    return;
  }
  std::sort(unused.begin(), unused.end(), [](auto* a, auto* b) { return a->used < b->used; });
  unused.resize(unused.size() - most_unused_);
  for (const Slot* slot : unused) {
    slots_.erase(std::string(slot->key));  // a copy: the key goes with the slot
  }
}

size_t LoadedKernels::size() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return slots_.size();
}

LoadedKernels& processLoadedKernels() {
  static auto* const kernels = new LoadedKernels(kMostUnused);
  return *kernels;
}

}  // namespace nvfuser
