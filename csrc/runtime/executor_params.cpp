#include <runtime/executor_params.h>

#include <support/error.h>

namespace nvfuser {

size_t LaunchParams::slot(ParallelType type) {
  switch (type) {
    case ParallelType::BIDx:
      return 0;
    case ParallelType::BIDy:
      return 1;
    case ParallelType::BIDz:
      return 2;
    case ParallelType::TIDx:
      return 3;
    case ParallelType::TIDy:
      return 4;
    case ParallelType::TIDz:
      return 5;
    default:
      userError("LaunchParams: ", parallelTypeName(type), " is no block or thread dimension");
  }
}

void LaunchParams::bind(int64_t extent, ParallelType type) {
  int64_t& dim = dims_[slot(type)];
  if (dim != UNINITIALIZED_VAL && dim != extent) {
    userError("LaunchParams: ", parallelTypeName(type), " is ", dim,
              " already and cannot be set to ", extent, "; use bindUnsafe to replace it");
  }
  dim = extent;
}

std::string LaunchParams::toString() const {
  return text("grid (", gdimx(), ", ", gdimy(), ", ", gdimz(), "), block (", bdimx(), ", ", bdimy(),
              ", ", bdimz(), "), shared memory ", smem_, " bytes");
}

}  // namespace nvfuser
