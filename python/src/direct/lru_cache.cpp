// LRUCache: executors by definition, the least recently used dropped.

#include <cstdio>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "direct/bindings.h"
#include "direct/executors.h"
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <support/decimal.h>
#include <support/error.h>

namespace nvfuser::python {

namespace {

class LruCache {
 public:
  explicit LruCache(int64_t most) : most_(most) {
    if (most <= 0) {
      userError("LRUCache: max_fusions must be greater than 0, got ", most);
    }
  }

  /// That of an equal definition, else a new one.
  std::shared_ptr<ExecutorCache> cacheCompile(const IrFusion& fusion) {
    std::lock_guard<std::mutex> lock(mutex_);
    ++lookups_;
    const size_t hash = fusion.definition->graph.hash();
    const auto [begin, end] = by_hash_.equal_range(hash);
    for (auto at = begin; at != end; ++at) {
      const auto entry = at->second;
      if (entry->executor->fusion.definition->graph.sameDefinition(fusion.definition->graph)) {
        ++entry->hits;
        ++hits_;
        recent_.splice(recent_.begin(), recent_, entry);
        return entry->executor;
      }
    }
    if (static_cast<int64_t>(recent_.size()) == most_) {
      drop(std::prev(recent_.end()));
    }
    recent_.push_front({std::make_shared<ExecutorCache>(fusion, next_id_++, true), hash, 0});
    by_hash_.emplace(hash, recent_.begin());
    return recent_.front().executor;
  }

  int64_t size() {
    std::lock_guard<std::mutex> lock(mutex_);
    return static_cast<int64_t>(recent_.size());
  }

  std::string stats() {
    std::lock_guard<std::mutex> lock(mutex_);
    std::string out = text("Max Fusions Allowed: ", most_, "\n");
    if (recent_.empty()) {
      return text(out, "The fusion cache is empty.\n");
    }
    append(out, text("Total Fusions in Cache: ", recent_.size(), "\n",
                     "Total Unique Fusions Compiled: ", next_id_, "\n",
                     "Cache Hits by LRU ordering:\n"));
    int64_t place = 0;
    for (const Entry& entry : recent_) {
      append(out, text("\t", place++, " -> ", entry.hits, " hits\n"));
    }
    const double rate = 100.0 * static_cast<double>(hits_) / static_cast<double>(lookups_);
    char percent[32];
    std::snprintf(percent, sizeof percent, "%g", rate);
    return text(out, "Cache Lookups: ", lookups_, "\nCache Hits: ", hits_,
                "\nHit Rate: ", withPoint(percent), "%\n");
  }

 private:
  struct Entry {
    std::shared_ptr<ExecutorCache> executor;
    size_t hash;
    int64_t hits;
  };
  using Place = std::list<Entry>::iterator;

  void drop(Place entry) {
    const auto [begin, end] = by_hash_.equal_range(entry->hash);
    for (auto at = begin; at != end; ++at) {
      if (at->second == entry) {
        by_hash_.erase(at);
        break;
      }
    }
    recent_.erase(entry);
  }

  const int64_t most_;
  std::mutex mutex_;
  std::list<Entry> recent_;  ///< last used first
  std::unordered_multimap<size_t, Place> by_hash_;
  int64_t next_id_ = 0;
  int64_t lookups_ = 0;
  int64_t hits_ = 0;
};

}  // namespace

void bindLruCache(nb::module_& direct) {
  using namespace nb::literals;
  nb::class_<LruCache>(direct, "LRUCache", "Executors by definition: equal ones share theirs.")
      .def(nb::init<int64_t>(), "max_fusions"_a)
      .def("cache_compile", &LruCache::cacheCompile, "fusion"_a,
           "The executor of an equal definition, else a new one.")
      .def("stats", &LruCache::stats)
      .def("num_fusions", &LruCache::size);
}

}  // namespace nvfuser::python
