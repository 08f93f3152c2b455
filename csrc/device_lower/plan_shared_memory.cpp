#include <device_lower/plan_shared_memory.h>

#include <algorithm>
#include <map>
#include <set>

#include <kernel_ir/accesses.h>

namespace nvfuser {

using kir::Scalar;

namespace {

constexpr int64_t kBufferAlignment = 16;  ///< bytes, of each buffer that does not ask for more

struct Lifetime {
  size_t first = 0;
  size_t last = 0;
};

/// One stretch of shared memory and the buffer that had it last.
struct Slot {
  Scalar bytes = nullptr;
  const kir::Buffer* user = nullptr;
  size_t last = 0;
  std::vector<kir::Buffer*> users;
};

bool isBlockBarrier(const kir::Stmt& stmt) {
  auto* sync = std::get_if<kir::Sync>(&stmt.node);
  return sync != nullptr && sync->kind != kir::SyncKind::WarpBarrier &&
         sync->kind != kir::SyncKind::ClusterArrive;
}

}  // namespace

void planSharedMemory(kir::Kernel& kernel) {
  kir::ScalarPool& pool = *kernel.pool;
  std::map<const kir::Buffer*, Lifetime> lifetimes;
  std::set<size_t> barriers;
  for (size_t at = 0; at < kernel.body.size(); ++at) {
    for (const kir::Buffer* buffer : kir::buffersOf(kernel.body[at])) {
      lifetimes.emplace(buffer, Lifetime{at, at}).first->second.last = at;
    }
    if (isBlockBarrier(kernel.body[at])) {
      barriers.insert(at);
    }
  }
  std::vector<kir::Buffer*> shared;
  for (auto& buffer : kernel.buffers) {
    if (buffer->memory == MemoryType::Shared) {
      shared.push_back(buffer.get());
      lifetimes.try_emplace(buffer.get());
    }
  }
  std::stable_sort(shared.begin(), shared.end(),
                   [&](auto* a, auto* b) { return lifetimes[a].first < lifetimes[b].first; });

  std::vector<Slot> slots;
  std::set<size_t> added;  // barriers in front of these statements
  for (kir::Buffer* buffer : shared) {
    Scalar bytes = pool.mul(buffer->elements, dataTypeSizeByte(buffer->dtype));
    bytes = pool.mul(pool.ceilDiv(bytes, pool.constant(kBufferAlignment)), kBufferAlignment);
    const Lifetime life = lifetimes[buffer];
    auto fits = [&](const Slot& slot) {
      if (buffer->keeps_place || slot.user->keeps_place) {
        return false;
      }
      if (slot.last >= life.first ||
          !(slot.bytes == bytes || pool.provesLess(bytes, pool.add(slot.bytes, pool.one())))) {
        return false;
      }
      auto barrier = barriers.upper_bound(slot.last);
      if (barrier != barriers.end() && *barrier < life.first) {
        return true;
      }
      if (slot.user->tv == nullptr || !slot.user->tv->shouldPromoteReuse()) {
        return false;
      }
      added.insert(life.first);
      return true;
    };
    auto slot = std::find_if(slots.begin(), slots.end(), fits);
    if (slot == slots.end()) {
      slot = slots.insert(slots.end(), Slot{bytes, nullptr, 0, {}});
    }
    slot->user = buffer;
    slot->last = life.last;
    slot->users.push_back(buffer);
  }
  Scalar offset = pool.zero();
  for (const Slot& slot : slots) {
    for (const kir::Buffer* buffer : slot.users) {
      if (buffer->alignment > kBufferAlignment) {
        offset =
            pool.mul(pool.ceilDiv(offset, pool.constant(buffer->alignment)), buffer->alignment);
      }
    }
    for (kir::Buffer* buffer : slot.users) {
      buffer->shared_offset = offset;
    }
    offset = pool.add(offset, slot.bytes);
  }
  kernel.shared_bytes = offset;
  for (auto at = added.rbegin(); at != added.rend(); ++at) {
    kernel.body.insert(
        kernel.body.begin() + static_cast<std::ptrdiff_t>(*at),
        {kir::Sync{kir::SyncKind::BlockBarrier, nullptr, "shared memory gets its next user"}});
  }
}

}  // namespace nvfuser
