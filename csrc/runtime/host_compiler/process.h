/// Running another program (a compiler, a disassembler) from inside a library: never through a
/// shell, never longer than a deadline or than somebody wants it, and without leaving processes or
/// descriptors behind.
///
/// The child leads a process group of its own, so that what it starts in turn is killed with it.
/// Its environment is a short list of what tools need (`PATH`, `HOME`, compiler search paths); its
/// standard input is empty; standard output and error come back as one text.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace nvfuser {

struct ProcessRequest {
  std::vector<std::string> argv = {};  ///< argv[0] is looked up in `PATH` when it has no slash
  std::string working_directory = {};  ///< also the child's `TMPDIR`; empty: this process's own
  double deadline_s = 60;              ///< 0: none
  /// Set by another thread when nobody wants the result any more; null: that does not happen.
  std::shared_ptr<const std::atomic<bool>> unwanted = nullptr;
  size_t output_limit = 256 * 1024;  ///< bytes of output kept; the rest is read and dropped
};

struct ProcessResult {
  bool started = false;  ///< false: `output` says why
  bool timed_out = false;
  bool stopped = false;  ///< since it was unwanted
  int exit_code =
      -1;  ///< as a shell reports it: 128 + n after signal n; −1 unknown (the host ignores SIGCHLD)
  std::string output;
};

/// Runs and waits. Never throws for what the child does; may be called from several threads.
ProcessResult runProcess(const ProcessRequest& request);

/// Those variables of the environment that change what a compiler makes of a text, as lines; part
/// of cache keys.
std::string compilerEnvironment();

/// `name` as a path that can be executed: itself when it has a slash, else the first match in
/// `PATH`; empty: none.
std::string findExecutable(const std::string& name);

/// A private directory (mode 0700) under `TMPDIR` or /tmp that goes away, with its files, with the
/// object.
class TemporaryDirectory {
 public:
  TemporaryDirectory();  ///< `UserError` when none can be made
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::string& path() const { return path_; }
  void write(const std::string& name, std::string_view bytes) const;
  /// The bytes of a file; false when it is not there.
  bool read(const std::string& name, std::string* bytes) const;

 private:
  std::string path_;
};

}  // namespace nvfuser
