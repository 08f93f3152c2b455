/// What a user switches: torch._C._jit_set_nvfuser_* set these, the passes and operators read them.
#pragma once

#include <atomic>
#include <mutex>
#include <set>
#include <string>

namespace nvfuser::torchscript {

struct Knobs {
  std::atomic<bool> enabled = true;
  /// Groups of one operation, too.
  std::atomic<bool> single_node = false;
  /// Groups that share an input become one, too.
  std::atomic<bool> horizontal = false;
  /// Guards check what groups were made for.
  std::atomic<bool> guard = true;

  bool skips(const std::string& kind) const;
  /// Turns the kind of nodes off, or on again, if `toggle`; whether it was off before.
  bool skip(const std::string& kind, bool toggle);

 private:
  mutable std::mutex mutex_;
  std::set<std::string> skipped_;
};

Knobs& knobs();

}  // namespace nvfuser::torchscript
