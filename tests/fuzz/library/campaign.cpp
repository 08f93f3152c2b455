#include <fuzz/library/campaign.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <thread>

#include <fuzz/library/draw_program.h>
#include <fuzz/library/isolated.h>
#include <fuzz/library/shrink.h>
#include <support/error.h>

namespace nvfuser::fuzz {

namespace {

/// Seeds of one campaign's programs; those of others are different up to this many.
constexpr uint64_t kProgramsPerSeed = 1000000;

/// Message without what differs from program to program: numbers, and what is in brackets.
std::string kindOfMessage(std::string_view message) {
  std::string out;
  int64_t depth = 0;
  for (char c : message.substr(0, message.find('\n'))) {
    depth += c == '[' || c == '(' ? 1 : 0;
    const bool is_inside = depth > 0;
    depth -= c == ']' || c == ')' ? 1 : 0;
    if (is_inside) {
      continue;
    }
    if (c < '0' || c > '9') {
      out += c;
    } else if (out.empty() || out.back() != '#') {
      out += '#';
    }
  }
  return out.substr(0, 150);
}

class Tally {
 public:
  void add(const Outcome& outcome) {
    ++fusions_;
    elements_ += outcome.elements;
    skipped_ += outcome.skipped;
    schedules_ += outcome.schedules;
    refused_ += outcome.refused;
    undefined_ += outcome.undefined;
    failed_plans_ += outcome.failed_plans;
    for (const std::string& reason : outcome.reasons) {
      ++reasons_[kindOfMessage(reason)];
    }
    const auto mismatches = std::count_if(outcome.failures.begin(), outcome.failures.end(),
                                          [](const Failure& f) { return f.is_mismatch; });
    mismatches_ += mismatches;
    crashes_ += static_cast<int64_t>(outcome.failures.size()) - mismatches;
  }
  bool isClean() const { return mismatches_ == 0 && crashes_ == 0; }
  int64_t fusions() const { return fusions_; }

  void print(bool with_reasons) const {
    if (with_reasons) {
      std::multimap<int64_t, std::string, std::greater<>> sorted;
      for (const auto& [reason, count] : reasons_) {
        sorted.emplace(count, reason);
      }
      for (const auto& [count, reason] : sorted) {
        std::printf("%6lld  %s\n", static_cast<long long>(count), reason.c_str());
      }
    }
    std::printf(
        "%lld elements compared; %lld random schedules ran, %lld were refused; "
        "%lld automatic plans failed; %lld programs have no result\n",
        static_cast<long long>(elements_), static_cast<long long>(schedules_),
        static_cast<long long>(refused_), static_cast<long long>(failed_plans_),
        static_cast<long long>(undefined_));
    std::printf("fuzz: %lld fusions, %lld mismatches, %lld crashes, %lld skipped elements\n",
                static_cast<long long>(fusions_), static_cast<long long>(mismatches_),
                static_cast<long long>(crashes_), static_cast<long long>(skipped_));
    std::fflush(stdout);
  }

 private:
  int64_t fusions_ = 0;
  int64_t elements_ = 0;
  int64_t skipped_ = 0;
  int64_t schedules_ = 0;
  int64_t refused_ = 0;
  int64_t undefined_ = 0;
  int64_t failed_plans_ = 0;
  int64_t mismatches_ = 0;
  int64_t crashes_ = 0;
  std::map<std::string, int64_t> reasons_;
};

std::string readFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    userError("fuzz: cannot read ", path);
  }
  return {std::istreambuf_iterator<char>(in), {}};
}

void writeFile(const std::string& path, const std::string& content) {
  std::ofstream out(path, std::ios::binary);
  out << content;
  if (!out.flush()) {
    userError("fuzz: cannot write ", path);
  }
}

/// Messages as comments, for the head of a file.
std::string comments(const std::vector<Failure>& failures) {
  std::string out;
  for (const Failure& failure : failures) {
    std::string line =
        text("# ", failure.is_mismatch ? "mismatch" : "crash", " in ", failure.stage, ": ");
    for (char c : failure.message) {
      line += c;
      if (c == '\n') {
        line += "#   ";
      }
    }
    append(out, line + "\n");
  }
  return out;
}

/// Only failures of the same stage, kind and wording count, so that another one is not mistaken for
/// it.
bool failsAlike(const Program& program, const Failure& failure, const RunOptions& run) {
  IsolatedOptions options;
  options.run = run;
  options.run.only = failure.stage;
  options.seconds = 30;
  bool found = false;
  runIsolated(
      1, [&](size_t) { return program; }, options,
      [&](size_t, const Isolated& result) {
        for (const Failure& other : result.outcome.failures) {
          found =
              found || (other.stage == failure.stage && other.is_mismatch == failure.is_mismatch &&
                        (failure.is_mismatch || kindOfMessage(other.message).substr(0, 60) ==
                                                    kindOfMessage(failure.message).substr(0, 60)));
        }
      });
  return found;
}

}  // namespace

bool runCampaign(const CampaignOptions& options) {
  std::filesystem::create_directories(options.folder);
  Tally tally;
  int64_t shrunk = 0;
  const auto begin = std::chrono::steady_clock::now();
  IsolatedOptions isolated;
  isolated.jobs = options.jobs;
  isolated.run = options.run;
  isolated.batch = static_cast<size_t>(std::clamp<int64_t>(options.count / 8, 1, 40));
  const auto seedOf = [&](size_t i) {
    return options.seed * kProgramsPerSeed + static_cast<uint64_t>(options.first) + i;
  };
  std::map<size_t, Isolated> failed;
  runIsolated(
      static_cast<size_t>(options.count),
      [&](size_t i) { return drawProgram(seedOf(i), options.kind); }, isolated,
      [&](size_t i, const Isolated& result) {
        tally.add(result.outcome);
        for (const std::string& reason : result.outcome.reasons) {
          if (options.reasons && reason.starts_with(kFailedPlan)) {
            std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seedOf(i)),
                        reason.c_str());
          }
        }
        if (!result.outcome.failures.empty()) {
          failed.emplace(i, result);
          const std::string path = text(options.folder, "/", seedOf(i), ".fuzz");
          std::printf("FAILED seed %llu; again: ./dev fuzz --replay %s\n%s",
                      static_cast<unsigned long long>(seedOf(i)), path.c_str(),
                      comments(result.outcome.failures).c_str());
          std::fflush(stdout);
          writeFile(path, comments(result.outcome.failures) + result.file);
        }
        if (tally.fusions() % 1000 == 0 && tally.fusions() < options.count) {
          const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
          std::printf("%lld fusions in %.0f s\n", static_cast<long long>(tally.fusions()),
                      passed.count());
          std::fflush(stdout);
        }
      });
  for (const auto& [i, result] : failed) {
    if (options.shrink_attempts == 0 || shrunk++ >= options.most_shrunk || result.file.empty()) {
      break;
    }
    const std::string path = text(options.folder, "/", seedOf(i), ".fuzz");
    shrinkFile(path, options.shrink_attempts, options.run);
  }
  tally.print(options.reasons);
  return tally.isClean();
}

bool shrinkFile(const std::string& path, int64_t attempts, const RunOptions& options) {
  const Program program = parseProgram(readFile(path));
  std::vector<Failure> failures;
  runIsolated(
      1, [&](size_t) { return program; }, IsolatedOptions{.run = options},
      [&](size_t, const Isolated& result) { failures = result.outcome.failures; });
  if (failures.empty()) {
    std::printf("%s does not fail when it is run alone\n", path.c_str());
    return false;
  }
  const Failure& failure = failures.front();
  const Program small = shrink(program, attempts, [&](const Program& candidate) {
    return failsAlike(candidate, failure, options);
  });
  const std::string target = std::filesystem::path(path).replace_extension("small.fuzz").string();
  writeFile(target, comments({failure}) + small.toString());
  std::printf("%s: %zu of %zu calls are left; %s\n%s", target.c_str(), small.calls.size(),
              program.calls.size(), failure.stage.c_str(), small.toString().c_str());
  std::fflush(stdout);
  return true;
}

bool replay(const std::vector<std::string>& paths, const RunOptions& options) {
  Tally tally;
  IsolatedOptions isolated;
  isolated.run = options;
  // (What is shown of one is not to be mixed with what is shown of others.)
  isolated.batch = options.verbose ? 1 : std::clamp<size_t>(paths.size() / 8, 1, 40);
  isolated.jobs = options.verbose ? 1 : std::max(1u, std::thread::hardware_concurrency());
  std::vector<Program> programs;
  for (const std::string& path : paths) {
    programs.push_back(parseProgram(readFile(path)));
  }
  runIsolated(
      programs.size(), [&](size_t i) { return programs[i]; }, isolated,
      [&](size_t i, const Isolated& result) {
        tally.add(result.outcome);
        if (!result.outcome.failures.empty()) {
          std::printf("FAILED %s\n%s", paths[i].c_str(), comments(result.outcome.failures).c_str());
          std::fflush(stdout);
        }
      });
  tally.print(true);
  return tally.isClean();
}

}  // namespace nvfuser::fuzz
