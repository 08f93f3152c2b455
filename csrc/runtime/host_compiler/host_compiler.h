/// The host's C++ compiler: found once, run on text, its result loaded into this process.
///
/// Used by the CPU device (generated host C++) and by the emulated CUDA device (the CUDA text with
/// a prelude). Nothing is run through a shell. Files live in a private directory that is gone
/// before the call returns.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace nvfuser {

/// A compiler and how to start it.
struct HostCompiler {
  enum class Family { Gnu, Clang };

  std::vector<std::string> command;  ///< the first words of its command line, e.g. {"/usr/bin/g++"}
  std::string identity;  ///< path and first line of `--version`; part of every cache key
  Family family = Family::Gnu;
  bool is_zig = false;  ///< `zig c++` in whatever spelling: it brings its own linker and runtime
};

/// Looks for a compiler: `cxx` (the value of CXX; a path, or words separated by spaces such as
/// "ccache g++"), then c++, g++, clang++, then the `ziglang` wheel. A `command` that is empty means
/// none; `why` then lists what was tried.
HostCompiler findHostCompiler(const std::string& cxx, std::string* why = nullptr);

/// The compiler of this process: `findHostCompiler` with CXX of the environment, looked for once.
/// `CannotCompile` with what to install when there is none.
const HostCompiler& hostCompiler();
bool hasHostCompiler();

/// Flags of generated host code: fast to compile, fast to run, IEEE results except for errno and
/// traps; each operation of the text is rounded. Added to by what the text needs.
std::vector<std::string> hostFlags(const HostCompiler& compiler);

/// What `-march=native` means here: part of a cache key, because compiled code must not move to
/// another CPU.
std::string cpuIdentity();

struct HostCompileRequest {
  std::string text = {};
  std::vector<std::string> flags =
      {};                   ///< language standard, optimisation, …; -shared and -fPIC are added
  double deadline_s = 120;  ///< 0: none
  /// As in `ProcessRequest`.
  std::shared_ptr<const std::atomic<bool>> unwanted = nullptr;
};

/// A loaded shared object; unloaded with the last copy.
class SharedObject {
 public:
  /// Address of a function or variable; `InternalError` when there is none of this name.
  void* symbol(const std::string& name) const;

 private:
  friend SharedObject loadSharedObject(std::string_view bytes);
  std::shared_ptr<void> handle_;
};

/// Compiles to the bytes of a shared object (what a disk cache keeps). `CompileError` with the
/// compiler's log when it refuses the text or is stopped at the deadline, `Cancelled` when it is
/// stopped since nobody wants it, `CannotCompile` where there is no room for its files. The text's
/// file is called kernel.cpp in messages. `warnings`, if given, receives what a successful compiler
/// said.
std::string compileHostText(const HostCompiler& compiler, const HostCompileRequest& request,
                            std::string* warnings = nullptr);

/// Loads bytes that this process made or verified: they are copied to anonymous memory first, so
/// nobody can change them in between. libm's functions are available to them. `CompileError` for an
/// unresolved name.
SharedObject loadSharedObject(std::string_view bytes);

/// Both, with the compiler of this process.
SharedObject compileSharedObject(const HostCompileRequest& request);

}  // namespace nvfuser
