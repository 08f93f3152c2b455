/// Runs programs in every way there is, and compares the results with the interpreter's.
///
/// For each program: what must hold of the Fusion itself (equal hashes of equal definitions, copies
/// that print alike, files that read back), then `FusionExecutorCache`, then two schedules drawn at
/// random; each on the CPU and on the emulated device. All kernels of a batch are compiled
/// together.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <fuzz/library/program.h>

namespace nvfuser::fuzz {

struct Failure {
  bool is_mismatch = false;  ///< false: there was no result
  std::string stage;         ///< "auto cpu", "schedule 1 emulated", "structure", …
  std::string message;
};

/// Begins the reasons that are about automatic plans.
inline constexpr std::string_view kFailedPlan = "failed plan";

struct Outcome {
  int64_t elements = 0;              ///< compared, over all runs
  int64_t skipped = 0;               ///< of these: not determined well enough
  int64_t schedules = 0;             ///< random ones that ran
  int64_t refused = 0;               ///< random ones that were refused with a `UserError`
  int64_t undefined = 0;             ///< 1 if the interpreter says that the program has no result
  int64_t failed_plans = 0;          ///< automatic ones, which others stood in for
  std::vector<std::string> reasons;  ///< of refusals and failed plans
  std::vector<Failure> failures;
};

struct RunOptions {
  /// The stage to run alone (see `Failure`); empty: all.
  std::string only;
  /// Schedules drawn for each program.
  int64_t schedules = 2;
  /// Kernels are interpreted instead of compiled (kernel_interpreter/).
  bool interpret = false;
  /// Programs for several devices run on GPUs of this host, which NCCL connects, and nowhere else.
  bool nccl = false;
  /// Prints the Fusion, the schedules, their kernels.
  bool verbose = false;
};

/// Told before each stage of a program, so that a crash can be attributed.
using Progress = std::function<void(size_t program, std::string_view stage)>;
using Finished = std::function<void(size_t program, const Outcome& outcome)>;

void runPrograms(const std::vector<Program>& programs, const RunOptions& options,
                 const Progress& progress, const Finished& finished);

}  // namespace nvfuser::fuzz
