// Processes that meet and agree over TCP: here threads, with sockets of their own.
#include <doctest/doctest.h>

#include "on_threads.h"
#include <external/team_channel.h>
#include <support/error.h>

namespace nvfuser::external {
namespace {

using unit::onThreads;

/// Each device's channel, connected at a free port of this host.
std::vector<std::string> connected(int64_t devices, double limit_s,
                                   const std::function<void(TeamChannel&)>& run) {
  const int port = portOf(listenAt(0));  // free again when it is asked for
  return onThreads(devices, [&](int64_t rank) {
    const Launched own{rank, devices, rank, "127.0.0.1", port};
    TeamChannel channel(rank, devices, addressTowards(own.address), gatherOverTcp(own, limit_s),
                        limit_s);
    run(channel);
  });
}

void agree(TeamChannel& channel, std::span<const int64_t> team, CommunicationType type,
           DataType dtype, int64_t elements) {
  const ExchangedTensor tensor{dtype, elements, nullptr, nullptr};
  const Exchange exchange{type, BinaryOpType::Add, team, {&tensor, 1}, communicationName(type)};
  const std::string signature = signatureOf(exchange);
  channel.say(team, signature, exchange.what);
  channel.hear(exchange, signature);
}

TEST_CASE("team channel: numbers of all, in the order of the team") {
  const std::vector<std::string> errors = connected(4, 20, [](TeamChannel& channel) {
    const std::vector<int64_t> team = {3, 1, 0, 2};
    for (int turn = 0; turn < 3; ++turn) {
      CHECK(channel.numbersOfAll(team, 10 * channel.rank() + turn, "numbers") ==
            std::vector<int64_t>{30 + turn, 10 + turn, turn, 20 + turn});
    }
    if (channel.rank() != 2) {  // teams that do not know of each other
      const std::vector<int64_t> others = {0, 1, 3};
      agree(channel, others, CommunicationType::Allreduce, DataType::Half, 7);
    }
  });
  CHECK(errors == std::vector<std::string>(4));
}

TEST_CASE("team channel: devices that bring unlike exchanges get one error, which stays") {
  const std::vector<int64_t> team = {0, 1};
  const std::vector<std::string> errors = connected(2, 20, [&](TeamChannel& channel) {
    agree(channel, team, CommunicationType::Allgather, DataType::Float, 12);
    CHECK_THROWS_WITH_AS(agree(channel, team, CommunicationType::Allgather, DataType::Float,
                               12 + 3 * channel.rank()),
                         doctest::Contains("device 0 brings allgather of 12 elements of dtype "
                                           "float, but device 1 brings allgather of 15"),
                         UserError);
    agree(channel, team, CommunicationType::Allgather, DataType::Float, 12);
  });
  for (const std::string& error : errors) {
    CHECK(error.find("device 0 brings allgather of 12") != std::string::npos);
  }
}

TEST_CASE("team channel: an exchange where another device has a barrier") {
  const std::vector<int64_t> team = {0, 1};
  const std::vector<std::string> errors = connected(2, 20, [&](TeamChannel& channel) {
    if (channel.rank() == 0) {
      agree(channel, team, CommunicationType::Allreduce, DataType::Int, 3);
    } else {
      channel.numbersOfAll(team, 0, "barrier");
    }
  });
  for (const std::string& error : errors) {
    CHECK(error.find("allreduce of 3 elements") != std::string::npos);
  }
}

TEST_CASE("team channel: devices that do not come, and devices that leave") {
  const std::vector<int64_t> team = {0, 1, 2};
  const std::vector<std::string> late = connected(3, 0.3, [&](TeamChannel& channel) {
    if (channel.rank() == 2) {
      std::this_thread::sleep_for(std::chrono::milliseconds(600));
      return;
    }
    agree(channel, team, CommunicationType::Allreduce, DataType::Float, 3);
  });
  CHECK(late[0].find("have not come: 2") != std::string::npos);
  CHECK(late[1].find("have not come: 2") != std::string::npos);
  CHECK(late[2].empty());
  const std::vector<std::string> left = connected(3, 20, [&](TeamChannel& channel) {
    if (channel.rank() == 0) {
      agree(channel, team, CommunicationType::Allreduce, DataType::Float, 3);
    } else if (channel.rank() == 1) {
      const std::vector<int64_t> pair = {0, 1};
      agree(channel, team, CommunicationType::Allreduce, DataType::Float, 3);
    }
  });
  CHECK(left[0].find("have left: 2") != std::string::npos);
  CHECK(left[1].find("have left: 2") != std::string::npos);
}

TEST_CASE("team channel: who has gone shows to who watches, but not who is done") {
  std::atomic<int> watched{0};
  const std::vector<std::string> errors = connected(2, 20, [&](TeamChannel& channel) {
    if (channel.rank() == 1) {
      return;  // done
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    CHECK(!channel.gone());
    ++watched;
  });
  CHECK(errors == std::vector<std::string>(2));
  CHECK(watched == 1);
  Socket listening = listenAt(0);
  const Socket here = connectTo("127.0.0.1", portOf(listening), deadlineIn(5), "a test");
  {
    const Socket there = acceptFrom(listening, deadlineIn(5), "a test");
    CHECK(!hasGone(here, "d"));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK(hasGone(here, "d"));
}

TEST_CASE("team channel: an environment that says nothing of devices") {
  unsetenv("RANK");
  CHECK_THROWS_WITH_AS(Launched::fromEnvironment(),
                       doctest::Contains("the environment has no RANK"), UserError);
  setenv("RANK", "1", 1);
  setenv("WORLD_SIZE", "one", 1);
  CHECK_THROWS_WITH_AS(Launched::fromEnvironment(), doctest::Contains("WORLD_SIZE is \"one\""),
                       UserError);
  setenv("WORLD_SIZE", "2", 1);
  setenv("MASTER_ADDR", "127.0.0.1", 1);
  setenv("MASTER_PORT", "1234", 1);
  CHECK(Launched::fromEnvironment().port == 1234);
  setenv("TORCHELASTIC_USE_AGENT_STORE", "True", 1);
  CHECK(Launched::fromEnvironment().port == 1235);
  for (const char* name :
       {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_USE_AGENT_STORE"}) {
    unsetenv(name);
  }
}

}  // namespace
}  // namespace nvfuser::external
