#include <external/team_channel.h>

#include <algorithm>
#include <cstring>

#include <support/error.h>

namespace nvfuser::external {

namespace {

// The first letter of a message says what it is.
constexpr char kSays = 's', kFailed = 'f';
constexpr int64_t kBroadcast = -1;  ///< in a signature, for a type
constexpr std::string_view kDone = "d";
constexpr std::string_view kConnecting = "the connection of all devices";

std::string describe(std::string_view signature, std::string_view what) {
  std::vector<int64_t> numbers(signature.size() / sizeof(int64_t));
  std::memcpy(numbers.data(), signature.data(), numbers.size() * sizeof(int64_t));
  if (numbers.size() < 3) {
    return "something else";
  }
  std::vector<ExchangedTensor> tensors;
  for (size_t i = 3; i + 1 < numbers.size(); i += 2) {
    tensors.push_back({static_cast<PrimDataType>(numbers[i]), numbers[i + 1], nullptr, nullptr});
  }
  Exchange exchange{std::nullopt, static_cast<BinaryOpType>(numbers[1]), {}, tensors, what};
  exchange.shift = numbers[2];
  if (numbers[0] != kBroadcast) {
    exchange.type = static_cast<CommunicationType>(numbers[0]);
  }
  return exchange.toString();
}

}  // namespace

std::string signatureOf(const Exchange& exchange) {
  std::vector<int64_t> numbers = {exchange.type ? static_cast<int64_t>(*exchange.type) : kBroadcast,
                                  static_cast<int64_t>(exchange.reduction), exchange.shift};
  for (const ExchangedTensor& tensor : exchange.tensors) {
    numbers.push_back(static_cast<int64_t>(tensor.dtype.type));
    numbers.push_back(tensor.elements);
  }
  const auto* bytes = reinterpret_cast<const char*>(numbers.data());
  return {bytes, numbers.size() * sizeof(int64_t)};
}

TeamChannel::TeamChannel(int64_t rank, int64_t size, const std::string& address,
                         const GatherTexts& gather, double limit_s)
    : rank_(rank), limit_s_(limit_s), sockets_(static_cast<size_t>(size)) {
  const Deadline deadline = deadlineIn(limit_s);
  const Socket listening = listenAt(0);
  const std::vector<std::string> all = gather(text(address, ":", portOf(listening)));
  if (all.size() != sockets_.size()) {
    userError(kConnecting, ": ", all.size(), " devices have come instead of ", size,
              "; start them with one WORLD_SIZE");
  }
  // Each connects to those before it.
  for (int64_t other = 0; other < rank; ++other) {
    const std::string& where = all[static_cast<size_t>(other)];
    const size_t colon = where.rfind(':');
    const int port = colon == std::string::npos ? 0 : std::atoi(where.c_str() + colon + 1);
    Socket socket = connectTo(where.substr(0, colon), port, deadline, kConnecting);
    sendMessage(socket, std::to_string(rank));
    sockets_[static_cast<size_t>(other)] = std::move(socket);
  }
  for (int64_t left = size - rank - 1; left > 0; --left) {
    Socket socket = acceptFrom(listening, deadline, kConnecting);
    const std::optional<std::string> who = receiveMessage(socket, deadline);
    const int64_t other = who ? std::atoll(who->c_str()) : -1;
    if (other <= rank || other >= size) {
      userError(kConnecting, ": device ", rank, " was called by none of the ", size, " devices");
    }
    sockets_[static_cast<size_t>(other)] = std::move(socket);
  }
}

TeamChannel::~TeamChannel() {
  const std::lock_guard lock(mutex_);
  for (const Socket& socket : sockets_) {
    if (socket.isOpen() && !error_) {
      sendMessage(socket, kDone);
    }
  }
}

void TeamChannel::throwIfFailed() {
  const std::lock_guard lock(mutex_);
  if (error_) {
    userError(*error_);
  }
}

void TeamChannel::fail(const std::string& error) {
  const std::lock_guard lock(mutex_);
  if (error_) {
    return;  // the first one is the cause
  }
  error_ = error;
  for (const Socket& socket : sockets_) {
    if (socket.isOpen()) {
      sendMessage(socket, kFailed + error);
    }
  }
}

std::optional<int64_t> TeamChannel::gone() const {
  for (size_t other = 0; other < sockets_.size(); ++other) {
    if (sockets_[other].isOpen() && hasGone(sockets_[other], kDone)) {
      return static_cast<int64_t>(other);
    }
  }
  return std::nullopt;
}

void TeamChannel::say(std::span<const int64_t> team, std::string_view own, std::string_view what) {
  throwIfFailed();
  for (const int64_t device : team) {
    if (device >= size()) {
      userError(what, ": there is no device ", device, "; there are ", size());
    }
  }
  const std::string message = text(kSays, own);
  for (const int64_t device : team) {
    if (device != rank_) {
      sendMessage(sockets_[static_cast<size_t>(device)],
                  message);  // (a device that has left does not hear it)
    }
  }
}

std::vector<std::string> TeamChannel::hear(std::span<const int64_t> team, std::string_view own,
                                           std::string_view what,
                                           const std::function<std::string()>& described) {
  const Deadline deadline = deadlineIn(limit_s_);
  std::vector<std::string> all;
  std::vector<int64_t> missing;
  for (const int64_t device : team) {
    if (device == rank_) {
      all.emplace_back(own);
      continue;
    }
    std::optional<std::string> said =
        receiveMessage(sockets_[static_cast<size_t>(device)], deadline);
    if (said && said->front() == kFailed) {
      fail(said->substr(1));
      break;
    }
    if (!said || said->front() != kSays) {
      missing.push_back(device);
    }
    all.push_back(said ? said->substr(1) : std::string());
  }
  if (!missing.empty()) {
    const bool in_time = std::chrono::steady_clock::now() < deadline;
    fail(text(what, ": device ", rank_, " has waited for ",
              in_time ? text("the others") : text(limit_s_, " s"), " with ", described(),
              ", but these ", in_time ? "have left: " : "have not come: ", join(missing, ", "),
              "; all devices have to run the same fusion with tensors of one size"));
  }
  throwIfFailed();
  return all;
}

std::vector<int64_t> TeamChannel::numbersOfAll(std::span<const int64_t> team, int64_t own,
                                               std::string_view what) {
  const std::string said(reinterpret_cast<const char*>(&own), sizeof(own));
  say(team, said, what);
  std::vector<int64_t> numbers;
  for (const std::string& one : hear(team, said, what, [&] { return std::string(what); })) {
    if (one.size() != sizeof(own)) {  // (an exchange has a longer signature)
      fail(text(what, ": device ", team[numbers.size()], " brings ", describe(one, what),
                "; all devices have to run the same fusion with tensors of one size"));
      throwIfFailed();
    }
    std::memcpy(&numbers.emplace_back(), one.data(), sizeof(own));
  }
  return numbers;
}

void TeamChannel::hear(const Exchange& exchange, std::string_view signature) {
  const std::vector<std::string> all =
      hear(exchange.team, signature, exchange.what, [&] { return exchange.toString(); });
  for (size_t i = 1; i < all.size(); ++i) {
    if (all[i] != all[0]) {
      fail(text(exchange.what, ": device ", exchange.team[0], " brings ",
                describe(all[0], exchange.what), ", but device ", exchange.team[i], " brings ",
                describe(all[i], exchange.what),
                "; all devices have to run the same fusion with tensors of one size"));
      break;
    }
  }
  throwIfFailed();
}

}  // namespace nvfuser::external
