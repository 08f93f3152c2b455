/// A TCP connection and a port that waits for some, with time limits: what processes use to agree
/// before they move data.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace nvfuser::external {

using Deadline = std::chrono::steady_clock::time_point;
/// So many seconds from now.
Deadline deadlineIn(double seconds);

class Socket {
 public:
  Socket() = default;
  explicit Socket(int handle) : handle_(handle) {}
  Socket(Socket&& other) noexcept : handle_(std::exchange(other.handle_, -1)) {}
  Socket& operator=(Socket&& other) noexcept;
  ~Socket() { close(); }
  void close();
  int handle() const { return handle_; }
  bool isOpen() const { return handle_ >= 0; }

 private:
  int handle_ = -1;
};

/// Waits for connections at a port of this host; 0: any free one. Throws `UserError` where it is
/// taken.
Socket listenAt(int port);
int portOf(const Socket& socket);
/// The next connection; throws `UserError` after the deadline.
Socket acceptFrom(const Socket& listening, Deadline deadline, std::string_view what);
/// Tries until the deadline; then throws `UserError`.
Socket connectTo(const std::string& host, int port, Deadline deadline, std::string_view what);
/// This host's address as seen on the way to another host.
std::string addressTowards(const std::string& host);

/// A message is its length and its bytes. False where the other side has gone.
bool sendMessage(const Socket& socket, std::string_view message);
/// None where the other side has gone, or after the deadline.
std::optional<std::string> receiveMessage(const Socket& socket, Deadline deadline);
/// Whether the other side has gone without a last message `farewell`. What is there to be received
/// stays there.
bool hasGone(const Socket& socket, std::string_view farewell);

}  // namespace nvfuser::external
