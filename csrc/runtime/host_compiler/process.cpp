#include <runtime/host_compiler/process.h>

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include <support/error.h>
#include <support/options.h>

extern char** environ;

namespace nvfuser {
namespace {

using Clock = std::chrono::steady_clock;

/// How often it is asked whether a process is still wanted.
constexpr int kLookMs = 50;

/// Closes a descriptor at the end of a scope.
struct Descriptor {
  int fd = -1;
  explicit Descriptor(int opened) : fd(opened) {}
  ~Descriptor() { reset(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  void reset() {
    if (fd >= 0) {
      close(fd);
    }
    fd = -1;
  }
};

/// What a compiler may need to know of its surroundings, and nothing else: LD_PRELOAD, for
/// instance, stays here.
constexpr std::string_view kPassedVariables[] = {"PATH",
                                                 "HOME",
                                                 "LD_LIBRARY_PATH",
                                                 "CPATH",
                                                 "CPLUS_INCLUDE_PATH",
                                                 "LIBRARY_PATH",
                                                 "COMPILER_PATH",
                                                 "GCC_EXEC_PREFIX",
                                                 "SDKROOT",
                                                 "CONDA_PREFIX",
                                                 "VIRTUAL_ENV",
                                                 "PYTHONPATH",
                                                 "PYTHONHOME",
                                                 "CCACHE_DIR",
                                                 "CCACHE_DISABLE",
                                                 "ZIG_LIB_DIR",
                                                 "ZIG_GLOBAL_CACHE_DIR",
                                                 "XDG_CACHE_HOME",
                                                 "PYENV_VERSION",
                                                 "PYENV_ROOT"};

std::vector<std::string> childEnvironment(const std::string& temporary) {
  std::vector<std::string> result;
  for (char** entry = environ; entry && *entry; entry++) {
    std::string_view variable(*entry);
    std::string_view name = variable.substr(0, variable.find('='));
    for (std::string_view passed : kPassedVariables) {
      if (name == passed) {
        result.emplace_back(variable);
      }
    }
  }
  result.emplace_back("LC_ALL=C");  // messages in one language, floats with a point
  const char* fallback = systemVariable("TMPDIR");
  if (!temporary.empty()) {
    result.push_back("TMPDIR=" + temporary);
  } else if (fallback) {
    result.push_back(std::string("TMPDIR=") + fallback);
  }
  return result;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (std::string& s : strings) {
    result.push_back(s.data());
  }
  result.push_back(nullptr);
  return result;
}

/// Reads what is there without waiting. True at the end of the stream.
bool drain(int fd, size_t limit, std::string& output) {
  char buffer[8192];
  for (;;) {
    ssize_t count = read(fd, buffer, sizeof buffer);
    if (count > 0) {
      size_t room = limit > output.size() ? limit - output.size() : 0;
      output.append(buffer, std::min(room, static_cast<size_t>(count)));
    } else if (count == 0) {
      return true;
    } else if (errno != EINTR) {
      return errno != EAGAIN && errno != EWOULDBLOCK;
    }
  }
}

int exitCode(int status) {
  if (WIFEXITED(status)) {
    return WEXITSTATUS(status);
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : -1;
}

/// posix_spawn's attributes and file actions, released together.
struct SpawnSetup {
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_t actions;

  SpawnSetup(int output_fd, const std::string& directory) {
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_init(&actions);
    // A group of its own, no blocked signal, no ignored SIGPIPE or SIGINT inherited from the host
    // (Python's).
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(
        &attributes,
        static_cast<short>(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output_fd, 1);
    posix_spawn_file_actions_adddup2(&actions, output_fd, 2);
    if (!directory.empty()) {
      posix_spawn_file_actions_addchdir_np(&actions, directory.c_str());
    }
  }
  ~SpawnSetup() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
};

/// A process that was started. It ends with this, whatever happens meanwhile, and so does what it
/// has started.
class RunningChild {
 public:
  explicit RunningChild(pid_t pid) : pid_(pid) {}
  ~RunningChild() { end(); }
  RunningChild(const RunningChild&) = delete;
  RunningChild& operator=(const RunningChild&) = delete;

  /// Its state, if nobody else has taken it.
  std::optional<int> end() {
    if (pid_ <= 0) {
      return std::nullopt;
    }
    kill(-pid_, SIGKILL);
    int status = 0;
    pid_t reaped = 0;
    do {
      reaped = waitpid(pid_, &status, 0);
    } while (reaped < 0 && errno == EINTR);
    const bool is_own = reaped == std::exchange(pid_, 0);
    return is_own ? std::optional<int>(status) : std::nullopt;
  }

 private:
  pid_t pid_;
};

}  // namespace

ProcessResult runProcess(const ProcessRequest& request) {
  ProcessResult result;
  check(!request.argv.empty(), "a process has a name");
  std::string program = findExecutable(request.argv[0]);
  if (program.empty()) {
    result.output = text("no executable '", request.argv[0], "'");
    return result;
  }
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    result.output = text("pipe: ", std::strerror(errno));
    return result;
  }
  Descriptor reader(ends[0]), writer(ends[1]);
  fcntl(reader.fd, F_SETFL, O_NONBLOCK);

  std::vector<std::string> argv = request.argv;
  std::vector<std::string> environment = childEnvironment(request.working_directory);
  pid_t pid = 0;
  int error = 0;
  {
    SpawnSetup setup(writer.fd, request.working_directory);
    error = posix_spawn(&pid, program.c_str(), &setup.actions, &setup.attributes,
                        pointers(argv).data(), pointers(environment).data());
  }
  writer.reset();
  if (error != 0) {
    result.output = text("cannot start '", program, "': ", std::strerror(error));
    return result;
  }
  result.started = true;

  RunningChild running(pid);
  // The child's end is what counts, not the end of its output: something it left in the background
  // may keep the pipe. Kernels before 5.3 have no pidfd; there the state is asked for every few
  // milliseconds.
  Descriptor child(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  constexpr double kForever = 1e9;  // seconds
  auto deadline =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(
                         request.deadline_s > 0 ? request.deadline_s : kForever));
  bool stream_open = true;
  for (;;) {
    // The child is only looked at here and reaped below: until then nobody else can have its
    // process id.
    siginfo_t state{};
    int looked = waitid(P_PID, static_cast<id_t>(pid), &state, WEXITED | WNOHANG | WNOWAIT);
    if (looked == 0 && state.si_pid == pid) {
      break;
    }
    if (looked != 0 && errno != EINTR) {
      break;  // ECHILD: the host ignores SIGCHLD, or reaped it for us
    }
    if (request.unwanted != nullptr && request.unwanted->load(std::memory_order_relaxed)) {
      result.stopped = true;
      kill(pid, SIGKILL);
      break;
    }
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) {
      result.timed_out = true;
      kill(pid, SIGKILL);
      break;
    }
    pollfd waiting[2] = {{child.fd, POLLIN, 0}, {stream_open ? reader.fd : -1, POLLIN, 0}};
    const int patience_ms = child.fd < 0 ? 5 : request.unwanted != nullptr ? kLookMs : 1000;
    int wait_ms = static_cast<int>(std::min<long long>(left.count() + 1, patience_ms));
    poll(waiting, 2, wait_ms);
    if (stream_open && drain(reader.fd, request.output_limit, result.output)) {
      stream_open = false;
    }
  }
  if (const std::optional<int> status = running.end()) {
    result.exit_code = exitCode(*status);
  }
  if (stream_open) {
    drain(reader.fd, request.output_limit, result.output);
  }
  return result;
}

std::string compilerEnvironment() {
  std::string result;
  for (std::string_view name : {"COMPILER_PATH", "CPATH", "CPLUS_INCLUDE_PATH", "GCC_EXEC_PREFIX",
                                "LIBRARY_PATH", "SDKROOT", "ZIG_LIB_DIR"}) {
    for (char** entry = environ; entry && *entry; entry++) {
      const std::string_view variable(*entry);
      if (variable.substr(0, variable.find('=')) == name) {
        append(result, text(variable, "\n"));
      }
    }
  }
  return result;
}

std::string findExecutable(const std::string& name) {
  auto executable = [](const std::string& path) {
    struct stat info;
    return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
           access(path.c_str(), X_OK) == 0;
  };
  if (name.empty() || name.find('\0') != std::string::npos) {
    return "";
  }
  if (name.find('/') != std::string::npos) {
    return executable(name) ? name : "";
  }
  const char* variable = systemVariable("PATH");
  std::string_view left = variable ? variable : "/usr/local/bin:/usr/bin:/bin";
  while (!left.empty()) {
    std::string_view folder = left.substr(0, left.find(':'));
    left.remove_prefix(std::min(left.size(), folder.size() + 1));
    if (folder.empty() || folder[0] != '/') {
      continue;  // the current directory is nobody's tool folder
    }
    std::string path = text(folder, "/", name);
    if (executable(path)) {
      return path;
    }
  }
  return "";
}

namespace {

/// Removes a directory's files and folders below it. Links are removed, not followed.
void removeTree(int parent, const char* name) {
  int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd >= 0) {
    if (DIR* folder = fdopendir(fd)) {
      while (dirent* entry = readdir(folder)) {
        std::string_view file(entry->d_name);
        if (file == "." || file == "..") {
          continue;
        }
        if (unlinkat(fd, entry->d_name, 0) != 0) {
          removeTree(fd, entry->d_name);
        }
      }
      closedir(folder);
    } else {
      close(fd);
    }
  }
  unlinkat(parent, name, AT_REMOVEDIR);
}

}  // namespace

TemporaryDirectory::TemporaryDirectory() {
  const char* base = systemVariable("TMPDIR");
  std::string tried;
  for (std::string folder : {std::string(base && base[0] == '/' ? base : "/tmp"),
                             std::string("/tmp"), std::string("/dev/shm")}) {
    std::string pattern = folder + "/nvfuser-XXXXXX";
    if (mkdtemp(pattern.data())) {
      path_ = std::move(pattern);  // which needs no memory, as what is made now has to be removed
      return;
    }
    tried += text("\n  note: ", folder, ": ", std::strerror(errno));
  }
  userError("temporary directory: none can be made; set TMPDIR to a folder that can be written",
            tried);
}

TemporaryDirectory::~TemporaryDirectory() { removeTree(AT_FDCWD, path_.c_str()); }

void TemporaryDirectory::write(const std::string& name, std::string_view bytes) const {
  std::string path = path_ + "/" + name;
  Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (file.fd < 0) {
    userError("temporary file: cannot create '", path, "': ", std::strerror(errno));
  }
  while (!bytes.empty()) {
    ssize_t count = ::write(file.fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count <= 0) {
      userError("temporary file: cannot write '", path, "': ", std::strerror(errno));
    }
    bytes.remove_prefix(static_cast<size_t>(count));
  }
}

bool TemporaryDirectory::read(const std::string& name, std::string* bytes) const {
  Descriptor file(open((path_ + "/" + name).c_str(), O_RDONLY | O_CLOEXEC));
  bytes->clear();
  struct stat info;
  if (file.fd < 0 || fstat(file.fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    return false;
  }
  bytes->resize(static_cast<size_t>(info.st_size));
  size_t done = 0;
  while (done < bytes->size()) {
    ssize_t count = ::read(file.fd, bytes->data() + done, bytes->size() - done);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count <= 0) {
      return false;
    }
    done += static_cast<size_t>(count);
  }
  return true;
}

}  // namespace nvfuser
