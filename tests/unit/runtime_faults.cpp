// Each thing that a fusion asks a machine for fails in turn, at its first time, its second, and so
// on: memory of the process, files and processes, what a device does. A call then gives the right
// result all the same or one error, the objects can be used on, and nothing is lost or leaked.
#include <doctest/doctest.h>

#include <dirent.h>
#include <sys/wait.h>

#include <cerrno>

#include "failing_calls.h"
#include <cache_folder.h>
#include <fusion.h>
#include <ops/all_ops.h>
#include <runtime/cannot_compile.h>
#include <runtime/fusion_executor_cache.h>
#include <runtime/host_compiler/host_compiler.h>
#include <runtime/launch_help.h>
#include <support/error.h>
#include <watched_device.h>

using namespace nvfuser;

namespace {

/// What is left over by division by the columns' sums, and the sum of all: two kernels.
std::unique_ptr<Fusion> shares() {
  auto fusion = std::make_unique<Fusion>();
  FusionGuard guard(fusion.get());
  TensorView* x = makeContigTensor(2);
  fusion->addInput(x);
  TensorView* share = div(x, sum(x, {0}, /*keep_dim=*/true));
  fusion->addOutput(share);
  fusion->addOutput(sum(sum(mul(share, x), {1}), {0}));
  return fusion;
}

constexpr int64_t kRows = 4;
constexpr int64_t kColumns = 8;

bool isRight(const KernelArgumentHolder& results) {
  return results[0].tensor().toHost<float>() == std::vector<float>(kRows * kColumns, 0.25F) &&
         results[1].tensor().toHost<float>() == std::vector<float>(1, kColumns);
}

Tensor ones(Device& device) { return Tensor::ones({kRows, kColumns}, DataType::Float, device); }

/// How a call went.
enum class Outcome : uint8_t { Right, Wrong, NoMemory, UserError, Other };

template <typename Call>
Outcome outcomeOf(const Call& call) {
  try {
    return call() ? Outcome::Right : Outcome::Wrong;
  } catch (const std::bad_alloc&) {
    return Outcome::NoMemory;
  } catch (const UserError&) {
    return Outcome::UserError;
  } catch (const CompileError&) {
    return Outcome::UserError;
  } catch (...) {
    return Outcome::Other;
  }
}

/// The first 200 calls, and then ever fewer of them.
int64_t nextOf(int64_t n) { return n < 200 ? n + 1 : n + n / 16; }

}  // namespace

TEST_CASE(
    "faults: each allocation of a definition and its first call fails, alone or with all "
    "behind it") {
  for (const bool lasting : {false, true}) {
    CAPTURE(lasting);
    WatchedDevice& device = WatchedDevice::over(cpuDevice());
    const Tensor x = ones(device);
    const auto call = [&] {
      FusionExecutorCache cache(shares());
      return isRight(cache.runFusionWithInputs({x}));
    };
    REQUIRE(call());  // from now on its kernels are known
    const int compiled = device.kernels;
    int failures = 0;
    int64_t live = 0;
    for (const bool counts : {false, true}) {  // tables of the process may grow the first time
      live = allocations.live;
      for (int64_t n = 0;; n = nextOf(n)) {
        CAPTURE(n);
        Outcome outcome = Outcome::Other;
        const bool failed = failAllocation(n, lasting, [&] { outcome = outcomeOf(call); });
        const bool fits = outcome == Outcome::NoMemory || (outcome == Outcome::Right && !lasting) ||
                          (outcome == Outcome::Right && !failed);
        CHECK_MESSAGE(fits, "outcome " << static_cast<int>(outcome) << " at allocation " << n);
        failures += outcome == Outcome::NoMemory;
        if (!failed) {
          break;
        }
      }
      CHECK(call());
      if (counts) {
        CHECK(allocations.live - live == 0);
      }
    }
    CHECK(failures > 300);
    CHECK(device.kernels == compiled);
    CHECK(device.held == 1);
  }
}

TEST_CASE("faults: each allocation of a call fails, and the same cache is right the next time") {
  WatchedDevice& device = WatchedDevice::over(cpuDevice());
  const Tensor x = ones(device);
  int failures = 0;
  for (int64_t n = 0;; n = nextOf(n)) {
    CAPTURE(n);
    FusionExecutorCache cache(shares());
    Outcome outcome = Outcome::Other;
    const bool failed = failAllocation(n, false, [&] {
      outcome = outcomeOf([&] { return isRight(cache.runFusionWithInputs({x})); });
    });
    CHECK((outcome == Outcome::NoMemory || outcome == Outcome::Right));
    failures += outcome == Outcome::NoMemory;
    CHECK(isRight(cache.runFusionWithInputs({x})));
    const std::string report = cache.report();
    CHECK_MESSAGE(report.find("failed before") == std::string::npos, report);
    CHECK(device.held == 1);
    if (!failed) {
      break;
    }
  }
  CHECK(failures > 100);
  FusionExecutorCache cache(shares());
  REQUIRE(isRight(cache.runFusionWithInputs({x})));
  for (int64_t n = 0;; ++n) {  // a warm call
    Outcome outcome = Outcome::Other;
    const bool failed = failAllocation(n, false, [&] {
      outcome = outcomeOf([&] { return isRight(cache.runFusionWithInputs({x})); });
    });
    CHECK((outcome == Outcome::NoMemory || outcome == Outcome::Right));
    CHECK(isRight(cache.runFusionWithInputs({x})));
    CHECK(device.held == 1);
    if (!failed) {
      break;
    }
  }
}

TEST_CASE("faults: each thing that a device is asked for fails") {
  using Ask = WatchedDevice::Ask;
  for (WatchedDevice* device : watchedDevices()) {
    CAPTURE(device->properties().name);
    for (const Ask what : {Ask::Allocate, Ask::Copy, Ask::Compile, Ask::Launch}) {
      CAPTURE(static_cast<int>(what));
      const Tensor x = ones(*device);
      int asked = 0;
      for (int n = 0; n <= asked && n < 200; ++n) {
        CAPTURE(n);
        FusionExecutorCache cache(shares());
        asked = 0;
        device->before = [&](Ask ask) {
          if (ask == what && asked++ == n) {
            switch (what) {
              case Ask::Allocate:
                throw UserError("no memory");
              case Ask::Compile:
                throw CompileError("no kernel", "");
              case Ask::Launch:
                throw LaunchError("no launch");
              default:
                throw UserError("no copy");
            }
          }
        };
        const Outcome outcome = outcomeOf([&] {
          const KernelArgumentHolder results = cache.runFusionWithInputs({x});
          device->before = nullptr;  // what the test looks at
          return isRight(results);
        });
        device->before = nullptr;
        CHECK((outcome == Outcome::UserError || outcome == Outcome::Right));
        // A kernel that does not compile or start is made by another scheduler.
        CHECK((outcome == Outcome::Right || (what != Ask::Compile && what != Ask::Launch)));
        CHECK(isRight(cache.runFusionWithInputs({x})));
        CHECK(device->held == 1);
      }
    }
  }
}

TEST_CASE("faults: where no kernel starts the host computes, after a few that did not") {
  for (WatchedDevice* device : watchedDevices()) {
    CAPTURE(device->properties().name);
    auto fusion = std::make_unique<Fusion>();
    {
      FusionGuard guard(fusion.get());
      TensorView* x = makeContigTensor(2);
      fusion->addInput(x);
      for (int step = 0; step < 24; ++step) {  // which can be cut in many ways
        x = add(x, IrBuilder::create<Val>(1.0));
        fusion->addOutput(x);
      }
    }
    FusionExecutorCache cache(std::move(fusion));
    int tried = 0;
    device->before = [&](WatchedDevice::Ask ask) {
      if (ask == WatchedDevice::Ask::Launch) {
        ++tried;
        throw LaunchError("no launch");
      }
    };
    const KernelArgumentHolder results = cache.runFusionWithInputs({ones(*device)});
    device->before = nullptr;
    CHECK(tried < 100);
    for (int step = 0; step < 24; ++step) {
      const auto values = results[static_cast<size_t>(step)].tensor().toHost<float>();
      CHECK(values == std::vector<float>(kRows * kColumns, static_cast<float>(step + 2)));
    }
  }
}

namespace {

/// Processes that nobody has waited for.
int children() {
  int count = 0;
  siginfo_t state{};
  while (waitid(P_ALL, 0, &state, WEXITED | WNOHANG) == 0 && state.si_pid != 0) {
    ++count;
    state = {};
  }
  return count;
}

int filesLike(const std::string& folder, std::string_view begin) {
  int count = 0;
  if (DIR* open = opendir(folder.c_str())) {
    while (const dirent* entry = readdir(open)) {
      count += std::string_view(entry->d_name).starts_with(begin);
    }
    closedir(open);
  }
  return count;
}

/// The temporary folder of this process, for as long as this lives.
struct TemporaryFolder {
  TemporaryDirectory folder;
  std::string before = getenv("TMPDIR") != nullptr ? getenv("TMPDIR") : "";

  TemporaryFolder() { setenv("TMPDIR", folder.path().c_str(), 1); }
  ~TemporaryFolder() { before.empty() ? unsetenv("TMPDIR") : setenv("TMPDIR", before.c_str(), 1); }
};

HostCompileRequest smallText() {
  HostCompileRequest request;
  request.text = "extern \"C\" int answer() { return 42; }\n";
  return request;
}

bool isAnswer(const SharedObject& object) {
  return reinterpret_cast<int (*)()>(object.symbol("answer"))() == 42;
}

}  // namespace

TEST_CASE("faults: each system call of a compilation fails") {
  const TemporaryFolder temporary;
  REQUIRE(isAnswer(compileSharedObject(smallText())));
  int left = 0;
  for (const int error : {ENOSPC, EMFILE, EIO}) {
    CAPTURE(error);
    const int descriptors = openDescriptors();
    int failures = 0;
    const int calls = failEachSystemCall(
        error, [] {},
        [&] {
          const Outcome outcome =
              outcomeOf([] { return isAnswer(compileSharedObject(smallText())); });
          CAPTURE(system_calls.fails);
          system_calls.armed = false;
          failures += outcome == Outcome::UserError;
          CHECK((outcome == Outcome::UserError || outcome == Outcome::Right));
          CHECK(openDescriptors() == descriptors);
        });
    CHECK(calls >= 10);
    CHECK(failures >= 5);
    CHECK(children() == 0);
    left += 4;  // where the folder, one of its two files or itself could not be removed
    CHECK(filesLike(temporary.folder.path(), "nvfuser-") <= left);
  }
  CHECK(isAnswer(compileSharedObject(smallText())));
  CHECK(filesLike(temporary.folder.path(), "nvfuser-") <= left);
}

TEST_CASE("faults: each allocation of a compilation fails, and no process or file is left") {
  const TemporaryFolder temporary;
  const int descriptors = openDescriptors();
  for (int64_t n = 0;; ++n) {
    CAPTURE(n);
    Outcome outcome = Outcome::Other;
    const bool failed = failAllocation(n, false, [&] {
      outcome = outcomeOf([] { return isAnswer(compileSharedObject(smallText())); });
    });
    CHECK((outcome == Outcome::NoMemory || outcome == Outcome::UserError ||
           outcome == Outcome::Right));
    CHECK(openDescriptors() == descriptors);
    CHECK(children() == 0);
    CHECK(filesLike(temporary.folder.path(), "nvfuser-") == 0);
    if (!failed) {
      break;
    }
  }
  CHECK(isAnswer(compileSharedObject(smallText())));
}
