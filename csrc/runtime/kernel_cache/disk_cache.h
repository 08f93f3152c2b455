/// Compiled kernels that outlive the process: a folder with one file an entry.
///
/// A load gives the bytes that were stored under exactly this key, or nothing. Whatever is doubtful
/// or fails (a damaged entry, a link, a foreign owner, a full or read-only disk, the folder gone)
/// is a miss, never an exception, and at most one warning in the life of the object. Many processes
/// may use one folder: an entry is written to a file of its own and renamed, so a reader sees a
/// whole one or none, and what a killed writer leaves fails its checksum or is never looked at.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nvfuser {

struct DiskCacheEntry {
  std::string file;  ///< name within the folder
  int64_t bytes = 0;
  int64_t used_ns = 0;  ///< when it was last stored or loaded, nanoseconds since 1970
};

struct DiskCacheCounts {
  int64_t hits = 0;
  int64_t misses = 0;
  int64_t stores = 0;
  int64_t evictions = 0;
};

/// All members may be called from several threads.
class DiskCache {
 public:
  using Warn = std::function<void(std::string_view)>;

  /// Nothing is touched before the first load or store. `cap_bytes` bounds the size of all entries;
  /// those used longest ago go first.
  DiskCache(std::string folder, int64_t cap_bytes);
  /// `warn` gets the one warning instead of the standard error.
  DiskCache(std::string folder, int64_t cap_bytes, Warn warn);

  std::optional<std::string> load(std::string_view key) noexcept;
  /// False if it was not kept.
  bool store(std::string_view key, std::string_view payload) noexcept;
  /// Removes all entries and what killed writers left; gives the number of entries. Other files in
  /// the folder stay.
  int64_t clear() noexcept;
  /// All entries, the one used longest ago first.
  std::vector<DiskCacheEntry> list() noexcept;
  /// Bytes of all entries.
  int64_t size() noexcept;

  const std::string& folder() const { return folder_; }
  int64_t cap() const { return cap_; }
  DiskCacheCounts counts() const;

  /// Names of files from so few digits of the key's hash, so that a test meets collisions.
  void shortenNames(size_t digits) { name_digits_ = digits; }

 private:
  std::string nameOf(std::string_view key) const;
  std::optional<std::string> tryLoad(std::string_view key);
  bool tryStore(std::string_view key, std::string_view payload);
  void keepBelowCap(int folder, const std::string& newest, int64_t bytes);
  void warnOnce(std::string_view doing, std::string_view why);

  const std::string folder_;
  const int64_t cap_;
  const Warn warn_;
  size_t name_digits_ = 64;
  std::atomic<bool> warned_{false};
  std::atomic<int64_t> hits_{0}, misses_{0}, stores_{0}, evictions_{0};
  std::mutex mutex_;               ///< of the two below
  int64_t total_ = -1;             ///< bytes in the folder as far as known; −1: not looked yet
  int64_t stored_since_look_ = 0;  ///< then others may have stored as much
};

}  // namespace nvfuser
