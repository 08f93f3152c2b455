/// The two kinds of failure. `UserError`: the program, schedule, input or environment is wrong; the
/// message says what was asked, which object, what was found against what is needed, and what to
/// do. `InternalError`: our own bug.
#pragma once

#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>

#include <support/text.h>

namespace nvfuser {

/// A wrong program, schedule, input or environment. One sentence in lower case, then notes on lines
/// of their own.
class UserError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A call failed after it had written to some of the inputs that it updates: running it again in
/// another way would update those twice.
class PartialUpdateError : public UserError {
 public:
  using UserError::UserError;
};

/// A compiler at run time (NVRTC, the host compiler) refused generated text; holds its log.
class CompileError : public std::runtime_error {
 public:
  CompileError(const std::string& message, std::string log)
      : std::runtime_error(message + "\n" + log), log_(std::move(log)) {}
  const std::string& log() const { return log_; }

 private:
  std::string log_;
};

/// A broken invariant of ours.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn]] void throwInternal(std::string_view what, std::source_location where);

/// Throws `InternalError` unless `ok`. `what` names the invariant.
inline void check(bool ok, std::string_view what,
                  std::source_location where = std::source_location::current()) {
  if (!ok) {
    throwInternal(what, where);
  }
}

/// Throws `UserError` with the parts written one after the other. Call it under an `if`, so that
/// text stays lazy.
template <typename... Parts>
[[noreturn]] void userError(const Parts&... parts) {
  throw UserError(text(parts...));
}

}  // namespace nvfuser
