#include <runtime/kernel_cache/disk_cache.h>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>

#include <runtime/kernel_cache/entry.h>
#include <runtime/kernel_cache/private_folder.h>
#include <runtime/kernel_cache/sha256.h>
#include <support/dump.h>
#include <support/text.h>

namespace nvfuser {
namespace {

constexpr std::string_view kEntryEnding = ".kernel";
constexpr std::string_view kUnfinished = ".tmp-";
constexpr int64_t kAbandonedAfter = int64_t{600} * 1'000'000'000;  ///< nanoseconds
constexpr int64_t kRoomOneIn = 8;   ///< eviction makes room for this part of the cap
constexpr int64_t kLookOneIn = 16;  ///< look at the folder again after storing this part of the cap

int64_t nanoseconds(const timespec& time) {
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

timespec now() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return time;
}

/// The last use is kept as the file's own time. The clock's, because the system's "now" for files
/// moves in steps of milliseconds.
void touch(int fd) {
  const timespec times[2] = {{0, UTIME_OMIT}, now()};
  futimens(fd, times);
}

bool isEntryName(std::string_view name) {
  return name.size() > kEntryEnding.size() && name.ends_with(kEntryEnding) &&
         name.find_first_not_of("0123456789abcdef") == name.size() - kEntryEnding.size();
}

bool readAll(int fd, std::string& bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = read(fd, bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count <= 0) {
      return false;
    }
    done += static_cast<size_t>(count);
  }
  return true;
}

bool writeAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count <= 0) {
      return false;
    }
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

/// Calls `visit(name)` for all files of a folder.
template <typename Visit>
void overNames(int folder, Visit visit) {
  const int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* open = fd >= 0 ? fdopendir(fd) : nullptr;
  if (open == nullptr) {
    OwnedDescriptor closed(fd);
    return;
  }
  while (const dirent* found = readdir(open)) {
    visit(found->d_name);
  }
  closedir(open);
}

bool isAbandoned(int folder, const char* name) {
  struct stat info;
  return std::string_view(name).starts_with(kUnfinished) &&
         fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
         nanoseconds(now()) - nanoseconds(info.st_mtim) > kAbandonedAfter;
}

std::vector<DiskCacheEntry> entriesOf(int folder) {
  std::vector<DiskCacheEntry> entries;
  overNames(folder, [&](const char* name) {
    struct stat info;
    if (isEntryName(name) && fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(info.st_mode)) {
      entries.push_back({name, info.st_size, nanoseconds(info.st_mtim)});
    }
  });
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
    return a.used_ns != b.used_ns ? a.used_ns < b.used_ns : a.file < b.file;
  });
  return entries;
}

int64_t bytesOf(const std::vector<DiskCacheEntry>& entries) {
  int64_t bytes = 0;
  for (const DiskCacheEntry& entry : entries) {
    bytes += entry.bytes;
  }
  return bytes;
}

/// A new file of this process alone, whose name goes to `name`.
OwnedDescriptor makeUnfinished(int folder, std::string* name) {
  static std::atomic<uint64_t> counter{0};
  for (int attempt = 0; attempt < 3; attempt++) {
    *name = text(kUnfinished, getpid(), "-", nanoseconds(now()), "-", ++counter);
    const int fd =
        openat(folder, name->c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0 || errno != EEXIST) {
      return OwnedDescriptor(fd);
    }
  }
  return OwnedDescriptor();
}

/// Whether an opened entry can only have come from this user's processes: a plain file of his that
/// no other may write to and that has no second name (none at all if it was replaced just now).
bool isTrusted(const struct stat& info) {
  return S_ISREG(info.st_mode) && info.st_uid == geteuid() && info.st_nlink <= 1 &&
         (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

}  // namespace

DiskCache::DiskCache(std::string folder, int64_t cap_bytes)
    : DiskCache(std::move(folder), cap_bytes, warn) {}

DiskCache::DiskCache(std::string folder, int64_t cap_bytes, Warn warn)
    : folder_(std::move(folder)), cap_(cap_bytes), warn_(std::move(warn)) {}

std::string DiskCache::nameOf(std::string_view key) const {
  return hexOf(sha256({key})).substr(0, name_digits_) + std::string(kEntryEnding);
}

void DiskCache::warnOnce(std::string_view doing, std::string_view why) {
  if (!warned_.exchange(true)) {
    warn_(text("disk cache: compiled kernels cannot be ", doing, " ", folder_, ": ", why,
               "; without it every process compiles anew. NVFUSER_CACHE_DIR names another folder, "
               "NVFUSER_DISABLE=nvrtc_caching does without one"));
  }
}

std::optional<std::string> DiskCache::load(std::string_view key) noexcept {
  std::optional<std::string> payload;
  try {
    payload = tryLoad(key);
  } catch (const std::exception&) {  // no memory for it
    payload.reset();
  }
  ++(payload ? hits_ : misses_);
  return payload;
}

std::optional<std::string> DiskCache::tryLoad(std::string_view key) {
  std::string why;
  const OwnedDescriptor folder = openPrivateFolder(folder_, false, &why);
  if (!folder) {
    if (!why.empty()) {
      warnOnce("read from", why);
    }
    return {};
  }
  // Without O_NONBLOCK a pipe in the entry's place would be waited for.
  const OwnedDescriptor file(openat(folder.get(), nameOf(key).c_str(),
                                    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat info;
  if (!file || fstat(file.get(), &info) != 0 || !isTrusted(info) || info.st_size > cap_) {
    return {};
  }
  std::string bytes(static_cast<size_t>(info.st_size), '\0');
  if (!readAll(file.get(), bytes)) {
    return {};
  }
  std::optional<std::string> payload = decodeEntry(bytes, key);
  if (payload) {
    touch(file.get());
  }
  return payload;
}

bool DiskCache::store(std::string_view key, std::string_view payload) noexcept {
  try {
    return tryStore(key, payload);
  } catch (const std::exception&) {
    return false;
  }
}

bool DiskCache::tryStore(std::string_view key, std::string_view payload) {
  const std::string bytes = encodeEntry(key, payload);
  if (static_cast<int64_t>(bytes.size()) > cap_) {
    return false;
  }
  std::string why;
  const OwnedDescriptor folder = openPrivateFolder(folder_, true, &why);
  if (!folder) {
    warnOnce("kept in", why.empty() ? "it is gone" : why);
    return false;
  }
  std::string unfinished;
  OwnedDescriptor file = makeUnfinished(folder.get(), &unfinished);
  if (!file) {
    if (errno != ENOENT) {  // else the folder went away just now; the next store makes it anew
      warnOnce("kept in", std::strerror(errno));
    }
    return false;
  }
  const std::string name = nameOf(key);
  bool written = writeAll(file.get(), bytes);
  int error = errno;
  touch(file.get());
  if (!file.close() && written) {
    written = false;  // some file systems say only now that the disk is full
    error = errno;
  }
  if (written && renameat(folder.get(), unfinished.c_str(), folder.get(), name.c_str()) != 0) {
    written = false;
    error = errno;
  }
  if (!written) {
    unlinkat(folder.get(), unfinished.c_str(), 0);
    if (error != ENOENT) {
      warnOnce("kept in", std::strerror(error));
    }
    return false;
  }
  ++stores_;
  keepBelowCap(folder.get(), name, static_cast<int64_t>(bytes.size()));
  return true;
}

/// A look at the folder costs about a microsecond a file, so it is taken only when this process
/// stores for the first time, when it believes the cap to be passed, and now and then because
/// others store too.
void DiskCache::keepBelowCap(int folder, const std::string& newest, int64_t bytes) {
  const std::scoped_lock lock(mutex_);
  stored_since_look_ += bytes;
  total_ += bytes;
  if (total_ >= bytes && total_ <= cap_ && stored_since_look_ <= cap_ / kLookOneIn) {
    return;
  }
  std::vector<DiskCacheEntry> entries = entriesOf(folder);
  total_ = bytesOf(entries);
  stored_since_look_ = 0;
  overNames(folder, [&](const char* name) {
    if (isAbandoned(folder, name)) {
      unlinkat(folder, name, 0);
    }
  });
  if (total_ <= cap_) {
    return;
  }
  for (const DiskCacheEntry& entry : entries) {
    if (total_ <= cap_ - cap_ / kRoomOneIn) {
      break;
    }
    if (entry.file != newest) {
      // Another process may have been faster; the bytes are gone either way.
      evictions_ += unlinkat(folder, entry.file.c_str(), 0) == 0 ? 1 : 0;
      total_ -= entry.bytes;
    }
  }
}

int64_t DiskCache::clear() noexcept {
  int64_t removed = 0;
  try {
    std::string why;
    const OwnedDescriptor folder = openPrivateFolder(folder_, false, &why);
    if (!folder) {
      return 0;
    }
    const std::scoped_lock lock(mutex_);
    overNames(folder.get(), [&](const char* name) {
      const bool entry = isEntryName(name);
      if ((entry || std::string_view(name).starts_with(kUnfinished)) &&
          unlinkat(folder.get(), name, 0) == 0) {
        removed += entry ? 1 : 0;
      }
    });
    total_ = -1;
  } catch (const std::exception&) {
  }
  return removed;
}

std::vector<DiskCacheEntry> DiskCache::list() noexcept {
  try {
    std::string why;
    const OwnedDescriptor folder = openPrivateFolder(folder_, false, &why);
    return folder ? entriesOf(folder.get()) : std::vector<DiskCacheEntry>{};
  } catch (const std::exception&) {
    return {};
  }
}

int64_t DiskCache::size() noexcept { return bytesOf(list()); }

DiskCacheCounts DiskCache::counts() const { return {hits_, misses_, stores_, evictions_}; }

}  // namespace nvfuser
