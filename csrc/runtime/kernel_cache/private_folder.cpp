#include <runtime/kernel_cache/private_folder.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <support/text.h>

namespace nvfuser {
namespace {

constexpr mode_t kOthersMayWrite = S_IWGRP | S_IWOTH;

/// `link/` and `link/.` name what a link points to; only `link` names the link.
std::string withoutTail(std::string path) {
  for (;;) {
    if (path.size() > 1 && path.ends_with('/')) {
      path.pop_back();
    } else if (path.size() > 2 && path.ends_with("/.")) {
      path.resize(path.size() - 2);
    } else {
      return path;
    }
  }
}

/// Makes `path` and the parents that are missing. False, with errno or words in `why`, if it
/// cannot.
bool makeFolders(const std::string& path, std::string* why) {
  std::string existing = path;
  struct stat info;
  while (stat(existing.c_str(), &info) != 0) {
    const size_t slash = existing.rfind('/');
    if (errno != ENOENT || slash == std::string::npos) {
      *why = std::strerror(errno);
      return false;
    }
    existing.resize(std::max<size_t>(slash, 1));
  }
  if (info.st_uid != geteuid() && info.st_uid != 0) {
    *why = text("its parent ", existing, " belongs to user ", info.st_uid, ", not to ", geteuid(),
                " or root");
    return false;
  }
  for (size_t end = existing.size(); end < path.size();) {
    end = std::min(path.find('/', end + 1), path.size());
    if (mkdir(path.substr(0, end).c_str(), 0700) != 0 && errno != EEXIST) {
      *why = std::strerror(errno);
      return false;
    }
  }
  return true;
}

}  // namespace

OwnedDescriptor::~OwnedDescriptor() { close(); }

bool OwnedDescriptor::close() {
  const int fd = fd_;
  fd_ = -1;
  return fd < 0 || ::close(fd) == 0;
}

OwnedDescriptor openPrivateFolder(const std::string& given, bool make, std::string* why) {
  const std::string path = withoutTail(given);
  why->clear();
  auto openFolder = [&] {
    return openat(AT_FDCWD, path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  };
  int fd = openFolder();
  if (fd < 0 && errno == ENOENT) {
    if (!make || !makeFolders(path, why)) {
      return OwnedDescriptor();
    }
    fd = openFolder();
  }
  if (fd < 0) {
    struct stat info;
    const int error = errno;
    const bool is_link = lstat(path.c_str(), &info) == 0 && S_ISLNK(info.st_mode);
    *why = is_link ? "it is a link, and a link is not followed" : std::strerror(error);
    return OwnedDescriptor();
  }
  OwnedDescriptor folder(fd);
  struct stat info;
  if (fstat(fd, &info) != 0) {
    *why = std::strerror(errno);
  } else if (info.st_uid != geteuid()) {
    *why = text("it belongs to user ", info.st_uid, ", not to ", geteuid());
  } else if ((info.st_mode & kOthersMayWrite) != 0) {
    *why = "other users may write to it; chmod 700 it, after a look at what is in it";
  }
  return why->empty() ? std::move(folder) : OwnedDescriptor();
}

}  // namespace nvfuser
