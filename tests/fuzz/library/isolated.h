/// Programs in a child process, so that a crash or a hang is an outcome like others.
#pragma once

#include <functional>

#include <fuzz/library/run_programs.h>

namespace nvfuser::fuzz {

/// Gives the program with a number; is called in the child.
using Source = std::function<Program(size_t)>;

struct Isolated {
  Outcome outcome;
  std::string file;  ///< the program's text; empty where drawing it crashed
};

struct IsolatedOptions {
  RunOptions run;
  size_t batch = 20;      ///< programs in one child
  size_t jobs = 1;        ///< children at a time
  int64_t seconds = 120;  ///< without any progress before a child is taken to hang
};

/// Runs programs 0 … count − 1 and calls `finished` for each, in any order. What a child that
/// crashed had not finished is run again, without the program at fault.
void runIsolated(size_t count, const Source& source, const IsolatedOptions& options,
                 const std::function<void(size_t, const Isolated&)>& finished);

}  // namespace nvfuser::fuzz
