/// Where dumps go: the standard output, or numbered files in a folder.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <string_view>

#include <support/options.h>

namespace nvfuser {

/// Writes whole dumps, one after the other, from any thread.
class DumpSink {
 public:
  using Write = std::function<void(std::string_view)>;
  /// To the standard output.
  DumpSink();
  /// `write` gets each dump with its heading.
  explicit DumpSink(Write write);

  void show(std::string_view text);
  /// Writes `folder/003-subject-what.extension` and gives its path; `UserError` if it cannot. The
  /// folder is made where its parent exists.
  std::string file(const std::string& folder, std::string_view name, std::string_view body);

 private:
  std::mutex mutex_;
  Write write_;
  int next_ = 1;
};

/// Shows `body` under a heading that names `subject` (a kernel) and `what`, or puts it into a
/// numbered file if NVFUSER_DUMP_DIR is set. `what` may say more than the option's name.
void dump(const Options& options, std::string_view subject, std::string_view what,
          std::string_view body, std::string_view extension = "txt");

/// One line on the standard error.
void warn(std::string_view message);

}  // namespace nvfuser
