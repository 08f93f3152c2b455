/// How processes that know nothing of each other find each other: each says one text, and gets
/// those of all.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace nvfuser::external {

/// The texts of all devices, in order, this one's among them. Throws `UserError` where they do not
/// come.
using GatherTexts = std::function<std::vector<std::string>(const std::string& own)>;

/// One process among those that a launcher such as torchrun has started.
struct Launched {
  int64_t rank = 0, size = 1;
  int64_t local_rank = 0;  ///< among those of this host: which GPU
  std::string address;     ///< where device 0 is
  int port = 0;            ///< where it waits for the others

  /// RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT. Where torchrun itself waits at that
  /// port (TORCHELASTIC_USE_AGENT_STORE), the next one. Throws `UserError` for one that is missing
  /// or no number.
  static Launched fromEnvironment();
};

/// By way of device 0, within the time limit.
GatherTexts gatherOverTcp(const Launched& own, double limit_s);

}  // namespace nvfuser::external
