// Devices that are threads of one process: who does not come any more.
#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <string>
#include <thread>

#include <external/thread_communicator.h>

namespace nvfuser::external {
namespace {

using Devices = std::vector<std::shared_ptr<Communicator>>;

/// What devices 0 and 1 end with, who ask all for a number.
std::array<std::string, 2> errorsOf(Devices& devices) {
  std::array<std::string, 2> errors;
  std::vector<std::thread> threads;
  for (const size_t d : {0, 1}) {
    threads.emplace_back([&, d] {
      try {
        const std::array<int64_t, 3> team = {0, 1, 2};
        devices[d]->numbersOfAll(team, static_cast<int64_t>(d), "a question");
      } catch (const UserError& error) {
        errors[d] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  return errors;
}

TEST_CASE("thread communicators: a device that leaves ends those that wait for it") {
  const auto begin = std::chrono::steady_clock::now();
  Devices devices = threadCommunicators(3, 600);
  std::thread last([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    devices[2].reset();
  });
  for (const std::string& error : errorsOf(devices)) {
    CAPTURE(error);
    CHECK(error.find("a question: device 2 has left, and device ") == 0);
    CHECK(error.find("waits for it with allgather of 1 elements of dtype int64") !=
          std::string::npos);
  }
  last.join();
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(300));
}

TEST_CASE("thread communicators: a device that has left is not waited for") {
  Devices devices = threadCommunicators(3, 600);
  devices[2].reset();
  for (const std::string& error : errorsOf(devices)) {
    CAPTURE(error);
    CHECK(error.find("a question: device 2 has left, and device ") == 0);
  }
}

TEST_CASE("thread communicators: a device may leave an exchange that is over") {
  for (int turn = 0; turn < 50; ++turn) {
    Devices devices = threadCommunicators(3, 600);
    std::thread last([&] {
      const std::array<int64_t, 3> team = {0, 1, 2};
      devices[2]->numbersOfAll(team, 2, "a question");
      devices[2].reset();
    });
    for (const std::string& error : errorsOf(devices)) {
      CHECK(error == "");
    }
    last.join();
  }
}

}  // namespace
}  // namespace nvfuser::external
