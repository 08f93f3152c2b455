/// Short messages among the devices of a team, each a process, over TCP: what they agree on before
/// they move data by other means.
///
///   device 0 and 1:   channel.say({0, 1}, signatureOf(x));   …   channel.hear(x)
///   both bring the same, or both throw
#pragma once

#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <external/communicator.h>
#include <external/rendezvous.h>
#include <external/sockets.h>

namespace nvfuser::external {

/// What two devices have to have in common, as bytes.
std::string signatureOf(const Exchange& exchange);

class TeamChannel {
 public:
  /// Connects all devices with each other. `address`: where others reach this host. Throws
  /// `UserError` where they do not come within the time limit.
  TeamChannel(int64_t rank, int64_t size, const std::string& address, const GatherTexts& gather,
              double limit_s);
  /// The others know that this one is done.
  ~TeamChannel();
  TeamChannel(const TeamChannel&) = delete;
  TeamChannel& operator=(const TeamChannel&) = delete;

  int64_t rank() const { return rank_; }
  int64_t size() const { return static_cast<int64_t>(sockets_.size()); }

  /// Tells the others of a team; does not wait.
  void say(std::span<const int64_t> team, std::string_view own, std::string_view what);
  /// What each device of a team has said, in its order; `own` is what this one did. Throws
  /// `UserError` where one does not come within the time limit or has gone; `described` is what
  /// this one came with.
  std::vector<std::string> hear(std::span<const int64_t> team, std::string_view own,
                                std::string_view what,
                                const std::function<std::string()>& described);
  /// One number of each device of a team, in its order.
  std::vector<int64_t> numbersOfAll(std::span<const int64_t> team, int64_t own,
                                    std::string_view what);
  /// Behind `say` with the exchange's signature: returns where all devices of the team bring the
  /// same; else each throws a `UserError` that names both sides. After an error of any kind all
  /// later calls throw it again.
  void hear(const Exchange& exchange, std::string_view signature);
  /// Ends all: later calls here throw `error`, and so do those of devices that wait for this one.
  void fail(const std::string& error);

  /// A device that left before it was done, for a thread that watches. None: all are there.
  std::optional<int64_t> gone() const;

 private:
  void throwIfFailed();

  int64_t rank_;
  double limit_s_;
  std::vector<Socket> sockets_;  ///< by rank; none to itself
  std::mutex mutex_;             ///< of what follows
  std::optional<std::string> error_;
};

}  // namespace nvfuser::external
