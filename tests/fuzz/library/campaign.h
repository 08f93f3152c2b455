/// Many random programs: counts, files of what failed, the closing line.
#pragma once

#include <cstdint>
#include <string>

#include <fuzz/library/draw_program.h>
#include <fuzz/library/run_programs.h>

namespace nvfuser::fuzz {

struct CampaignOptions {
  int64_t count = 1000;
  uint64_t seed = 1;
  Kind kind;
  /// The first program's index among those of the seed: a long campaign can be run in parts.
  int64_t first = 0;
  size_t jobs = 1;
  RunOptions run;
  /// Where files of failing programs go.
  std::string folder = "build/fuzz";
  /// Attempts at cutting down each failing program; 0: none.
  int64_t shrink_attempts = 200;
  /// At most so many failing programs are cut down.
  int64_t most_shrunk = 20;
  /// Lists why random schedules were refused, and each automatic plan that failed with its program.
  bool reasons = false;
};

/// Prints each failure with the file that shows it again, and at the end
/// "fuzz: N fusions, M mismatches, C crashes, S skipped elements". True if nothing failed.
bool runCampaign(const CampaignOptions& options);

/// Runs the programs of files again, with the same closing line. `only`: a stage.
bool replay(const std::vector<std::string>& paths, const RunOptions& options);

/// Cuts a file's program down, and writes the result beside it.
bool shrinkFile(const std::string& path, int64_t attempts, const RunOptions& options);

}  // namespace nvfuser::fuzz
