// Folders and warnings of the disk cache's tests.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include <runtime/host_compiler/process.h>
#include <runtime/kernel_cache/disk_cache.h>
#include <support/text.h>

namespace nvfuser::cache_test {

/// A cache in a folder of its own, and what it warned of.
struct CacheFolder {
  TemporaryDirectory base;
  std::string path = base.path() + "/cache";
  std::vector<std::string> warnings;

  DiskCache cache(int64_t cap = 1'000'000) {
    return DiskCache(path, cap, [this](std::string_view words) { warnings.emplace_back(words); });
  }
};

inline std::vector<std::string> filesIn(const std::string& folder) {
  std::vector<std::string> names;
  if (DIR* open = opendir(folder.c_str())) {
    while (const dirent* entry = readdir(open)) {
      if (entry->d_name[0] != '.' || std::string_view(entry->d_name).starts_with(".tmp-")) {
        names.emplace_back(entry->d_name);
      }
    }
    closedir(open);
  }
  return names;
}

inline std::string readFile(const std::string& path) {
  std::string bytes;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  char buffer[4096];
  for (ssize_t count = 0; fd >= 0 && (count = read(fd, buffer, sizeof buffer)) > 0;) {
    bytes.append(buffer, static_cast<size_t>(count));
  }
  if (fd >= 0) {
    close(fd);
  }
  return bytes;
}

inline void writeFile(const std::string& path, std::string_view bytes, mode_t mode = 0600) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
  while (!bytes.empty()) {
    const ssize_t count = write(fd, bytes.data(), bytes.size());
    if (count <= 0) {
      break;
    }
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  close(fd);
}

/// The exit code of `work` in a forked process; 128 + n after signal n.
template <typename Work>
int inChild(Work work) {
  const pid_t child = fork();
  if (child == 0) {
    _exit(work());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace nvfuser::cache_test
