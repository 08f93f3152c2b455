/// Opening a folder that nobody else can have put anything into.
#pragma once

#include <string>

namespace nvfuser {

/// A descriptor that is closed at the end of a scope; −1: none.
class OwnedDescriptor {
 public:
  explicit OwnedDescriptor(int fd = -1) : fd_(fd) {}
  ~OwnedDescriptor();
  OwnedDescriptor(OwnedDescriptor&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  OwnedDescriptor& operator=(OwnedDescriptor&&) = delete;
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  /// Closes now. False if the system reports that something was not written.
  bool close();

 private:
  int fd_;
};

/// The folder `path`, opened so that everything after is relative to the descriptor. Its last part
/// must be no link, it must belong to this process's user, and no group or other user may write to
/// it. With `make` it is made where it is missing (mode 0700, parents too), unless the first parent
/// that exists belongs to another user than this one and root.
///
/// None on failure; `why` then says what was found and what to do, and stays empty where the folder
/// is only missing.
OwnedDescriptor openPrivateFolder(const std::string& path, bool make, std::string* why);

}  // namespace nvfuser
