/// `./dev fuzz`: random fusions on the CPU and the emulated device against the interpreter.
#include <charconv>
#include <cstdio>
#include <cstring>
#include <exception>
#include <thread>

#include <fuzz/library/campaign.h>
#include <fuzz/library/draw_program.h>
#include <support/error.h>

namespace nvfuser::fuzz {
namespace {

constexpr const char* kUsage =
    "nvfuser_fuzz [--count N] [--seed S] [--first I] [--jobs J] [--schedules K] [--focus "
    "axes|sizes] "
    "[--ranks] [--nccl] [--interpret] [--folder DIR] [--no-shrink] [--reasons]\n"
    "nvfuser_fuzz --replay FILE… [--interpret] [--only STAGE] [--verbose]\n"
    "nvfuser_fuzz --shrink FILE [--interpret]\n"
    "nvfuser_fuzz [--focus axes|sizes] [--ranks] --show PROGRAM_SEED\n";

int64_t numberOf(const char* option, const char* digits) {
  int64_t number = -1;
  const char* end = digits + std::strlen(digits);
  if (std::from_chars(digits, end, number).ptr != end || number < 0) {
    userError("fuzz: ", std::string(option), " takes a number, not \"", std::string(digits), "\"");
  }
  return number;
}

Focus focusOf(const std::string& name) {
  if (name != "all" && name != "axes" && name != "sizes") {
    userError("fuzz: --focus is \"all\", \"axes\" or \"sizes\", not \"", name, "\"");
  }
  return name == "axes" ? Focus::Axes : name == "sizes" ? Focus::Sizes : Focus::All;
}

int run(int count, char** words) {
  CampaignOptions campaign;
  campaign.jobs = std::max(1u, std::thread::hardware_concurrency());
  RunOptions options;
  std::vector<std::string> files;
  std::string to_shrink;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    const auto next = [&]() -> const char* {
      if (++i >= count) {
        userError("fuzz: ", word, " needs a value\n", std::string(kUsage));
      }
      return words[i];
    };
    if (word == "--count") {
      campaign.count = numberOf("--count", next());
    } else if (word == "--seed") {
      campaign.seed = static_cast<uint64_t>(numberOf("--seed", next()));
    } else if (word == "--first") {
      campaign.first = numberOf("--first", next());
    } else if (word == "--jobs") {
      campaign.jobs = static_cast<size_t>(std::max<int64_t>(1, numberOf("--jobs", next())));
    } else if (word == "--schedules") {
      options.schedules = numberOf("--schedules", next());
    } else if (word == "--focus") {
      campaign.kind.focus = focusOf(next());
    } else if (word == "--ranks") {
      campaign.kind.on_devices = true;
    } else if (word == "--nccl") {
      campaign.kind.on_devices = true;
      options.nccl = true;
    } else if (word == "--interpret") {
      options.interpret = true;
    } else if (word == "--folder") {
      campaign.folder = next();
    } else if (word == "--no-shrink") {
      campaign.shrink_attempts = 0;
    } else if (word == "--reasons") {
      campaign.reasons = true;
    } else if (word == "--only") {
      options.only = next();
    } else if (word == "--verbose") {
      options.verbose = true;
    } else if (word == "--shrink") {
      to_shrink = next();
    } else if (word == "--show") {
      const auto seed = static_cast<uint64_t>(numberOf("--show", next()));
      std::printf("%s", drawProgram(seed, campaign.kind).toString().c_str());
      return 0;
    } else if (word == "--replay") {
      files.emplace_back(next());
    } else if (!word.starts_with("--") && !files.empty()) {
      files.push_back(word);
    } else {
      userError("fuzz: unknown argument \"", word, "\"\n", std::string(kUsage));
    }
  }
  if (!to_shrink.empty()) {
    return shrinkFile(to_shrink, 400, options) ? 0 : 1;
  }
  if (!files.empty()) {
    return replay(files, options) ? 0 : 1;
  }
  if (campaign.kind.on_devices && campaign.kind.focus == Focus::Sizes) {
    userError("fuzz: --ranks takes programs of known sizes; leave out --focus sizes");
  }
  campaign.run = options;
  return runCampaign(campaign) ? 0 : 1;
}

}  // namespace
}  // namespace nvfuser::fuzz

int main(int count, char** words) {
  try {
    return nvfuser::fuzz::run(count, words);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 2;
  }
}
