/// What the emulated device found wrong with a kernel while running it.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace nvfuser {

/// One kind of mistake at one place of a kernel.
struct EmulationFinding {
  enum class Kind {
    OutOfBounds,
    UseAfterFree,
    WildAccess,  ///< an address in no buffer
    Misaligned,  ///< address not a multiple of the access's width
    UninitialisedRead,
    UnfinishedCopy,  ///< data of an asynchronous copy touched before its wait, or never waited for
    MissingFence,    ///< a bulk copy reads or writes what no fence made visible to it
    BarrierMisuse,   ///< an mbarrier out of its protocol: not initialised, too many arrivals, …
    SharedRace,
    GlobalRace,
    DivergentBarrier,  ///< not all threads of the block come to the barrier
    ShuffleMismatch,   ///< lanes named in a mask do not arrive with it, or a lane outside is read
    Deadlock,          ///< a grid or cluster barrier that some block never reaches
    Trap,
  };

  Kind kind;
  std::string message;  ///< all of it: what, kernel, thread, block, buffer, offset, line of the
                        ///< kernel's text
  int64_t line = 0;     ///< line of the kernel's text, from 1; 0 unknown
  int64_t count = 1;    ///< how often it was seen in this launch
};

/// A short name, e.g. "out of bounds".
const char* toString(EmulationFinding::Kind kind);

/// Thrown after a launch that broke a rule. Memory then holds whatever the kernel left.
class EmulationError : public std::runtime_error {
 public:
  EmulationError(const std::string& message, std::vector<EmulationFinding> findings)
      : std::runtime_error(message), findings_(std::move(findings)) {}

  const std::vector<EmulationFinding>& findings() const { return findings_; }
  /// Whether a finding of this kind is among them.
  bool has(EmulationFinding::Kind kind) const {
    for (const EmulationFinding& finding : findings_) {
      if (finding.kind == kind) {
        return true;
      }
    }
    return false;
  }

 private:
  std::vector<EmulationFinding> findings_;
};

}  // namespace nvfuser
