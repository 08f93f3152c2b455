#include <runtime/compile_progress.h>

#include <unistd.h>

#include <cstdio>

namespace nvfuser {

namespace {

constexpr std::chrono::seconds kPatience{2};
constexpr std::chrono::seconds kPeriod{1};

}  // namespace

CompileProgress::CompileProgress(size_t kernels)
    : kernels_(kernels),
      begin_(Clock::now()),
      next_(isatty(STDERR_FILENO) != 0 ? begin_ + kPatience : Clock::time_point::max()) {}

CompileProgress::~CompileProgress() {
  if (is_shown_) {
    std::fputs("\r\033[K", stderr);  // to the line's begin, and wiped out from there
    std::fflush(stderr);
  }
}

void CompileProgress::show(size_t done) {
  const Clock::time_point now = Clock::now();
  if (now < next_) {
    return;
  }
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - begin_).count();
  std::fprintf(stderr, "\r\033[Knvfuser: compiling kernels, %zu of %zu done, %lld s", done,
               kernels_, static_cast<long long>(seconds));
  std::fflush(stderr);
  is_shown_ = true;
  next_ = now + kPeriod;
}

}  // namespace nvfuser
