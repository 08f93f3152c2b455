#include <external/sockets.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include <netdb.h>
#include <support/error.h>

namespace nvfuser::external {

namespace {

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Addresses resolve(const std::string& host, int port, int kind) {
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = kind;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) {
    found = nullptr;
  }
  return {found, &freeaddrinfo};
}

/// Waits until it can be read; false after the deadline.
bool waitFor(int handle, Deadline deadline) {
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    pollfd one{handle, POLLIN, 0};
    const int ready = poll(&one, 1, static_cast<int>(std::max<int64_t>(left.count() + 1, 0)));
    if (ready > 0) {
      return true;
    }
    if (ready == 0) {
      return false;
    }
    if (errno != EINTR) {
      return false;
    }
  }
}

/// A device that is as far as this one answers within less; to sleep and be woken takes as long.
constexpr std::chrono::microseconds kBusy(60);

bool receiveAll(int handle, char* to, size_t bytes, Deadline deadline) {
  const auto busy_until = std::chrono::steady_clock::now() + kBusy;
  while (bytes > 0) {
    const ssize_t got = recv(handle, to, bytes, MSG_DONTWAIT);
    if (got > 0) {
      to += got;
      bytes -= static_cast<size_t>(got);
    } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
      return false;
    } else if (std::chrono::steady_clock::now() < busy_until) {
      std::this_thread::yield();
    } else if (!waitFor(handle, deadline)) {
      return false;
    }
  }
  return true;
}

/// Short messages go at once.
void sendWithoutDelay(int handle) {
  const int on = 1;
  setsockopt(handle, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

std::string framed(std::string_view message) {
  const auto length = static_cast<uint32_t>(message.size());
  std::string frame(sizeof(length) + message.size(), '\0');
  std::memcpy(frame.data(), &length, sizeof(length));
  std::memcpy(frame.data() + sizeof(length), message.data(), message.size());
  return frame;
}

}  // namespace

Deadline deadlineIn(double seconds) {
  return std::chrono::steady_clock::now() +
         std::chrono::duration_cast<std::chrono::steady_clock::duration>(
             std::chrono::duration<double>(seconds));
}

Socket& Socket::operator=(Socket&& other) noexcept {
  if (this != &other) {
    close();
    handle_ = std::exchange(other.handle_, -1);
  }
  return *this;
}

void Socket::close() {
  if (handle_ >= 0) {
    ::close(std::exchange(handle_, -1));
  }
}

Socket listenAt(int port) {
  Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  setsockopt(socket.handle(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  address.sin_port = htons(static_cast<uint16_t>(port));
  if (!socket.isOpen() ||
      bind(socket.handle(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      listen(socket.handle(), SOMAXCONN) != 0) {
    userError("devices cannot meet at port ", port, " of this host: ", std::strerror(errno),
              "; set MASTER_PORT to a free one on all of them");
  }
  return socket;
}

int portOf(const Socket& socket) {
  sockaddr_in address{};
  socklen_t length = sizeof(address);
  getsockname(socket.handle(), reinterpret_cast<sockaddr*>(&address), &length);
  return ntohs(address.sin_port);
}

Socket acceptFrom(const Socket& listening, Deadline deadline, std::string_view what) {
  Socket socket;
  while (!socket.isOpen()) {
    if (!waitFor(listening.handle(), deadline)) {
      userError(what, ": not all devices have come within the time limit; start all of them");
    }
    socket = Socket(accept4(listening.handle(), nullptr, nullptr, SOCK_CLOEXEC));
  }
  sendWithoutDelay(socket.handle());
  return socket;
}

Socket connectTo(const std::string& host, int port, Deadline deadline, std::string_view what) {
  while (true) {
    const Addresses addresses = resolve(host, port, SOCK_STREAM);
    for (const addrinfo* one = addresses.get(); one != nullptr; one = one->ai_next) {
      Socket socket(::socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC, 0));
      if (socket.isOpen() && connect(socket.handle(), one->ai_addr, one->ai_addrlen) == 0) {
        sendWithoutDelay(socket.handle());
        return socket;
      }
    }
    if (std::chrono::steady_clock::now() > deadline) {
      userError(what, ": nobody answers at ", host, ", port ", port,
                "; start all devices, with one MASTER_ADDR and MASTER_PORT");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

std::string addressTowards(const std::string& host) {
  constexpr int kAnyPort = 9;  // nothing is sent
  const Addresses addresses = resolve(host, kAnyPort, SOCK_DGRAM);
  if (addresses != nullptr) {
    const Socket socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_in own{};
    socklen_t length = sizeof(own);
    char name[INET_ADDRSTRLEN] = {};
    if (connect(socket.handle(), addresses->ai_addr, addresses->ai_addrlen) == 0 &&
        getsockname(socket.handle(), reinterpret_cast<sockaddr*>(&own), &length) == 0 &&
        inet_ntop(AF_INET, &own.sin_addr, name, sizeof(name)) != nullptr) {
      return name;
    }
  }
  userError("devices cannot meet at ", host,
            ": this host has no way there; set MASTER_ADDR to the address of device 0");
}

bool sendMessage(const Socket& socket, std::string_view message) {
  const std::string frame = framed(message);
  size_t sent = 0;
  while (sent < frame.size()) {
    const ssize_t now =
        send(socket.handle(), frame.data() + sent, frame.size() - sent, MSG_NOSIGNAL);
    if (now < 0 && errno != EINTR) {
      return false;
    }
    sent += now > 0 ? static_cast<size_t>(now) : 0;
  }
  return true;
}

std::optional<std::string> receiveMessage(const Socket& socket, Deadline deadline) {
  uint32_t length = 0;
  char bytes[sizeof(length)];
  if (!receiveAll(socket.handle(), bytes, sizeof(bytes), deadline)) {
    return std::nullopt;
  }
  std::memcpy(&length, bytes, sizeof(length));
  std::string message(length, '\0');
  if (!receiveAll(socket.handle(), message.data(), length, deadline)) {
    return std::nullopt;
  }
  return message;
}

bool hasGone(const Socket& socket, std::string_view farewell) {
  pollfd one{socket.handle(), POLLRDHUP, 0};
  if (poll(&one, 1, 0) <= 0 || (one.revents & (POLLRDHUP | POLLHUP | POLLERR)) == 0) {
    return false;
  }
  std::vector<char> waiting(1 << 16);
  const ssize_t got =
      recv(socket.handle(), waiting.data(), waiting.size(), MSG_PEEK | MSG_DONTWAIT);
  const std::string last = framed(farewell);
  return got < static_cast<ssize_t>(last.size()) ||
         std::string_view(waiting.data(), static_cast<size_t>(got))
                 .substr(static_cast<size_t>(got) - last.size()) != last;
}

}  // namespace nvfuser::external
