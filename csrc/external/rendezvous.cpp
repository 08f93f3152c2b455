#include <external/rendezvous.h>

#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>

#include <external/sockets.h>
#include <support/error.h>
#include <support/options.h>

namespace nvfuser::external {

namespace {

std::string variable(const char* name) {
  const char* value = systemVariable(name);
  if (value == nullptr) {
    userError("devices: the environment has no ", name,
              "; start the processes by torchrun, or set RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR "
              "and MASTER_PORT");
  }
  return value;
}

int64_t number(const char* name) {
  const std::string value = variable(name);
  int64_t result = 0;
  const char* end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, result);
  if (error != std::errc() || stop != end || result < 0) {
    userError("devices: ", name, " is \"", value, "\", which is no number from 0");
  }
  return result;
}

constexpr std::string_view kWhat = "the meeting of all devices";

/// One message that holds many.
std::string packed(const std::vector<std::string>& texts) {
  std::string result;
  for (const std::string& one : texts) {
    const auto length = static_cast<uint32_t>(one.size());
    result.append(reinterpret_cast<const char*>(&length), sizeof(length));
    result += one;
  }
  return result;
}

std::vector<std::string> unpacked(std::string_view message) {
  std::vector<std::string> texts;
  while (message.size() >= sizeof(uint32_t)) {
    uint32_t length = 0;
    std::memcpy(&length, message.data(), sizeof(length));
    message.remove_prefix(sizeof(length));
    texts.emplace_back(message.substr(0, length));
    message.remove_prefix(texts.back().size());
  }
  return texts;
}

std::vector<std::string> gatherAtFirst(const Launched& own, double limit_s,
                                       const std::string& said) {
  const Deadline deadline = deadlineIn(limit_s);
  const Socket listening = listenAt(own.port);
  std::vector<std::string> texts(static_cast<size_t>(own.size));
  std::vector<Socket> others(static_cast<size_t>(own.size));
  texts[0] = said;
  for (int64_t come = 1; come < own.size;) {
    Socket socket = acceptFrom(listening, deadline, kWhat);
    const std::optional<std::string> message = receiveMessage(socket, deadline);
    const std::vector<std::string> parts =
        message ? unpacked(*message) : std::vector<std::string>();
    const size_t rank = parts.size() == 2 ? static_cast<size_t>(std::atoll(parts[0].c_str())) : 0;
    if (rank == 0 || rank >= others.size() || others[rank].isOpen()) {
      continue;  // none of ours, or one that has come already
    }
    texts[rank] = parts[1];
    others[rank] = std::move(socket);
    ++come;
  }
  for (size_t rank = 1; rank < others.size(); ++rank) {
    sendMessage(others[rank], packed(texts));
  }
  return texts;
}

std::vector<std::string> gatherAtOther(const Launched& own, double limit_s,
                                       const std::string& said) {
  const Deadline deadline = deadlineIn(limit_s);
  const Socket first = connectTo(own.address, own.port, deadline, kWhat);
  sendMessage(first, packed({std::to_string(own.rank), said}));
  const std::optional<std::string> all = receiveMessage(first, deadline);
  if (!all) {
    userError(kWhat, ": device 0 at ", own.address, ", port ", own.port,
              " has not answered within ", limit_s, " s; start all ", own.size, " devices");
  }
  return unpacked(*all);
}

}  // namespace

Launched Launched::fromEnvironment() {
  Launched own;
  own.rank = number("RANK");
  own.size = number("WORLD_SIZE");
  own.local_rank = systemVariable("LOCAL_RANK") != nullptr ? number("LOCAL_RANK") : own.rank;
  own.address = variable("MASTER_ADDR");
  own.port = static_cast<int>(number("MASTER_PORT"));
  if (own.rank >= own.size) {
    userError("devices: RANK is ", own.rank, ", but WORLD_SIZE is ", own.size,
              "; ranks go from 0 to one less than the size");
  }
  const char* agent = systemVariable("TORCHELASTIC_USE_AGENT_STORE");
  own.port += agent != nullptr && std::string_view(agent) == "True" ? 1 : 0;
  return own;
}

GatherTexts gatherOverTcp(const Launched& own, double limit_s) {
  return [own, limit_s](const std::string& said) {
    return own.rank == 0 ? gatherAtFirst(own, limit_s, said) : gatherAtOther(own, limit_s, said);
  };
}

}  // namespace nvfuser::external
