#include <fuzz/library/isolated.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>

#include <support/error.h>

namespace nvfuser::fuzz {

namespace {

using Clock = std::chrono::steady_clock;

/// One line for any text.
std::string escaped(std::string_view plain) {
  std::string out;
  for (char c : plain) {
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\\') {
      out += "\\\\";
    } else {
      out += c;
    }
  }
  return out;
}
std::string unescaped(std::string_view line) {
  std::string out;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\' && i + 1 < line.size()) {
      ++i;
      out += line[i] == 'n' ? '\n' : line[i];
    } else {
      out += line[i];
    }
  }
  return out;
}

void writeAll(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written <= 0) {
      _exit(3);  // nobody listens
    }
    bytes.remove_prefix(static_cast<size_t>(written));
  }
}

// What the child says, a line each: `stage N NAME`, `file N TEXT`, `count N elements skipped
// schedules refused undefined failed`, `reason N TEXT`, `fail N mismatch|crash STAGE: MESSAGE`,
// `done N`.

[[noreturn]] void beChild(const std::vector<size_t>& numbers, const Source& source,
                          const RunOptions& options, int out) {
  const auto say = [&](const auto&... parts) { writeAll(out, text(parts..., "\n")); };
  std::vector<Program> programs;
  for (size_t number : numbers) {
    say("stage ", number, " draw");
    programs.push_back(source(number));
    say("file ", number, " ", escaped(programs.back().toString()));
  }
  runPrograms(
      programs, options,
      [&](size_t i, std::string_view stage) {
        say("stage ", i < numbers.size() ? text(numbers[i]) : std::string("-"), " ", stage);
      },
      [&](size_t i, const Outcome& outcome) {
        const size_t number = numbers[i];
        say("count ", number, " ", outcome.elements, " ", outcome.skipped, " ", outcome.schedules,
            " ", outcome.refused, " ", outcome.undefined, " ", outcome.failed_plans);
        for (const std::string& reason : outcome.reasons) {
          say("reason ", number, " ", escaped(reason));
        }
        for (const Failure& failure : outcome.failures) {
          say("fail ", number, " ", failure.is_mismatch ? "mismatch " : "crash ", failure.stage,
              ": ", escaped(failure.message));
        }
        say("done ", number);
      });
  std::fflush(nullptr);
  _exit(0);
}

struct Child {
  pid_t pid = -1;
  int out = -1;
  int errors = -1;  ///< a file that takes the child's standard error
  std::vector<size_t> numbers;
  std::string pending;  ///< a line that is not complete
  std::string stage;    ///< "N NAME"
  Clock::time_point heard;
  bool is_killed = false;
};

class Pool {
 public:
  Pool(const Source& source, const IsolatedOptions& options,
       const std::function<void(size_t, const Isolated&)>& finished)
      : source_(source), options_(options), finished_(finished) {}

  void run(size_t count) {
    for (size_t begin = 0; begin < count; begin += options_.batch) {
      std::vector<size_t> numbers;
      for (size_t i = begin; i < std::min(count, begin + options_.batch); ++i) {
        numbers.push_back(i);
      }
      waiting_.push_back(numbers);
    }
    while (!waiting_.empty() || !children_.empty()) {
      while (!waiting_.empty() && children_.size() < options_.jobs) {
        start(waiting_.front());
        waiting_.pop_front();
      }
      listen();
    }
  }

 private:
  void start(const std::vector<size_t>& numbers) {
    int ends[2];
    check(::pipe2(ends, O_CLOEXEC) == 0, "a pipe can be made");
    char name[] = "/tmp/nvfuser_fuzz_XXXXXX";
    const int errors = ::mkostemp(name, O_CLOEXEC);
    check(errors >= 0, "a file for messages can be made");
    ::unlink(name);
    std::fflush(nullptr);
    const pid_t pid = ::fork();
    check(pid >= 0, "a process can be made");
    if (pid == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // nobody would listen
      ::close(ends[0]);
      if (!options_.run.verbose) {
        ::dup2(errors, STDERR_FILENO);
      }
      try {
        beChild(numbers, source_, options_.run, ends[1]);
      } catch (const std::exception& e) {
        std::fprintf(stderr, "%s\n", e.what());
      }
      _exit(4);
    }
    ::close(ends[1]);
    children_.push_back({.pid = pid,
                         .out = ends[0],
                         .errors = errors,
                         .numbers = numbers,
                         .pending = {},
                         .stage = {},
                         .heard = Clock::now()});
  }

  void listen() {
    std::vector<pollfd> files;
    for (const Child& child : children_) {
      files.push_back({child.out, POLLIN, 0});
    }
    ::poll(files.data(), files.size(), 1000);
    for (size_t i = children_.size(); i-- > 0;) {
      Child& child = children_[i];
      if ((files[i].revents & (POLLIN | POLLHUP)) == 0) {
        if (!child.is_killed &&
            Clock::now() - child.heard > std::chrono::seconds(options_.seconds)) {
          child.is_killed = true;
          ::kill(child.pid, SIGKILL);
        }
        continue;
      }
      char buffer[65536];
      const ssize_t size = ::read(child.out, buffer, sizeof buffer);
      if (size > 0) {
        child.heard = Clock::now();
        child.pending.append(buffer, static_cast<size_t>(size));
        takeLines(child);
        continue;
      }
      Child ended = std::move(child);
      children_.erase(children_.begin() + static_cast<int64_t>(i));
      end(ended);
    }
  }

  void takeLines(Child& child) {
    for (size_t end; (end = child.pending.find('\n')) != std::string::npos;) {
      const std::string line = child.pending.substr(0, end);
      child.pending.erase(0, end + 1);
      const size_t space = line.find(' ');
      const std::string verb = line.substr(0, space);
      const std::string rest = line.substr(space + 1);
      if (verb == "stage") {
        child.stage = rest;
        continue;
      }
      const size_t number = std::stoul(rest);
      const size_t blank = rest.find(' ');
      const std::string said = blank == std::string::npos ? "" : rest.substr(blank + 1);
      Isolated& one = results_[number];
      if (verb == "file") {
        one.file = unescaped(said);
      } else if (verb == "count") {
        long long counts[6] = {};
        std::sscanf(said.c_str(), "%lld %lld %lld %lld %lld %lld", &counts[0], &counts[1],
                    &counts[2], &counts[3], &counts[4], &counts[5]);
        one.outcome.elements = counts[0];
        one.outcome.skipped = counts[1];
        one.outcome.schedules = counts[2];
        one.outcome.refused = counts[3];
        one.outcome.undefined = counts[4];
        one.outcome.failed_plans = counts[5];
      } else if (verb == "reason") {
        one.outcome.reasons.push_back(unescaped(said));
      } else if (verb == "fail") {
        const size_t kind = said.find(' ');
        const size_t colon = said.find(": ");
        one.outcome.failures.push_back({said.starts_with("mismatch"),
                                        said.substr(kind + 1, colon - kind - 1),
                                        unescaped(said.substr(colon + 2))});
      } else if (verb == "done") {
        std::erase(child.numbers, number);
        finish(number);
      }
    }
  }

  void finish(size_t number) {
    finished_(number, results_[number]);
    results_.erase(number);
  }

  /// The last words of a child, where it ended by itself in a bad way.
  static std::string lastWords(int file) {
    const off_t size = ::lseek(file, 0, SEEK_END);
    std::string words(static_cast<size_t>(std::min<off_t>(size, 4000)), '\0');
    const ssize_t got =
        ::pread(file, words.data(), words.size(), size - static_cast<off_t>(words.size()));
    words.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
    return words;
  }

  void end(Child& child) {
    int status = 0;
    ::waitpid(child.pid, &status, 0);
    const std::string words = lastWords(child.errors);
    ::close(child.out);
    ::close(child.errors);
    if (child.numbers.empty()) {
      return;
    }
    const std::string how = child.is_killed       ? text("no progress in ", options_.seconds, " s")
                            : WIFSIGNALED(status) ? text("signal ", WTERMSIG(status), " (",
                                                         strsignal(WTERMSIG(status)), ")")
                                                  : text("exit status ", WEXITSTATUS(status));
    const size_t blank = child.stage.find(' ');
    if (child.stage.starts_with("-") && child.numbers.size() > 1) {
      for (size_t number : child.numbers) {  // while they were compiled together
        results_.erase(number);
        waiting_.push_front({number});
      }
      return;
    }
    size_t culprit = child.numbers[0];
    if (!child.stage.empty() && !child.stage.starts_with("-")) {
      culprit = std::stoul(child.stage);
    }
    const std::string stage = blank == std::string::npos ? "start" : child.stage.substr(blank + 1);
    results_[culprit].outcome.failures.push_back(
        {false, stage, text(how, words.empty() ? "" : "\n", words)});
    std::erase(child.numbers, culprit);
    finish(culprit);
    for (size_t number : child.numbers) {
      results_.erase(number);
    }
    if (!child.numbers.empty()) {
      waiting_.push_front(child.numbers);
    }
  }

  const Source& source_;
  const IsolatedOptions& options_;
  const std::function<void(size_t, const Isolated&)>& finished_;
  std::deque<std::vector<size_t>> waiting_;
  std::vector<Child> children_;
  std::map<size_t, Isolated> results_;
};

}  // namespace

void runIsolated(size_t count, const Source& source, const IsolatedOptions& options,
                 const std::function<void(size_t, const Isolated&)>& finished) {
  Pool(source, options, finished).run(count);
}

}  // namespace nvfuser::fuzz
