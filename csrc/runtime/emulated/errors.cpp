#include <runtime/emulated/errors.h>

namespace nvfuser {

const char* toString(EmulationFinding::Kind kind) {
  using enum EmulationFinding::Kind;
  switch (kind) {
    case OutOfBounds:
      return "out of bounds";
    case UseAfterFree:
      return "use after free";
    case WildAccess:
      return "wild access";
    case Misaligned:
      return "misaligned";
    case UninitialisedRead:
      return "uninitialised";
    case UnfinishedCopy:
      return "unfinished copy";
    case MissingFence:
      return "missing fence";
    case BarrierMisuse:
      return "barrier misuse";
    case SharedRace:
      return "shared race";
    case GlobalRace:
      return "global race";
    case DivergentBarrier:
      return "divergent barrier";
    case ShuffleMismatch:
      return "shuffle mismatch";
    case Deadlock:
      return "deadlock";
    case Trap:
      return "trap";
  }
  return "";
}

}  // namespace nvfuser
