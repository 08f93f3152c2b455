/// Parameters of compiling and launching one kernel, under their public names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <ir/type.h>
#include <runtime/device.h>
#include <support/options.h>

namespace nvfuser {

struct CompileParams {
  /// Int32 or Int; chosen from the arguments' sizes where not given.
  std::optional<PrimDataType> index_type;
  /// Largest number of registers a thread may use; 0: the compiler's choice.
  int maxrregcount = 0;
  bool enable_ptxas_verbose = false;
  /// Where to run; that of the arguments' tensors where null.
  Device* device = nullptr;
  /// Dumps, features, settings; those of the scope or the environment where not given.
  std::optional<Options> options = {};
  /// Of the call that lowers the kernel; not kept. Null: none.
  Cancellation* cancellation = nullptr;
};

/// Launch dimensions; −1 where the kernel's own are used.
class LaunchParams {
 public:
  static constexpr int64_t UNINITIALIZED_VAL = -1;

  explicit LaunchParams(int64_t gdimx = -1, int64_t gdimy = -1, int64_t gdimz = -1,
                        int64_t bdimx = -1, int64_t bdimy = -1, int64_t bdimz = -1)
      : dims_{gdimx, gdimy, gdimz, bdimx, bdimy, bdimz} {}

  int64_t gdimx() const { return value(0); }
  int64_t gdimy() const { return value(1); }
  int64_t gdimz() const { return value(2); }
  int64_t bdimx() const { return value(3); }
  int64_t bdimy() const { return value(4); }
  int64_t bdimz() const { return value(5); }
  int64_t nBlocks() const { return gdimx() * gdimy() * gdimz(); }
  int64_t nThreads() const { return bdimx() * bdimy() * bdimz(); }
  int64_t smem() const { return smem_; }
  void setSmem(int64_t bytes) { smem_ = bytes; }

  bool hasDim(ParallelType type) const { return dims_[slot(type)] != UNINITIALIZED_VAL; }
  int64_t getDim(ParallelType type) const { return value(slot(type)); }
  int64_t getRawVal(ParallelType type) const { return dims_[slot(type)]; }
  /// Sets a dimension; throws `UserError` if it was set to something else before.
  void bind(int64_t extent, ParallelType type);
  void bindUnsafe(int64_t extent, ParallelType type) { dims_[slot(type)] = extent; }

  std::string toString() const;
  friend bool operator==(const LaunchParams&, const LaunchParams&) = default;

 private:
  static size_t slot(ParallelType type);
  int64_t value(size_t i) const { return dims_[i] == UNINITIALIZED_VAL ? 1 : dims_[i]; }
  int64_t dims_[6];
  int64_t smem_ = 0;
};

}  // namespace nvfuser
