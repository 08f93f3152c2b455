// The communicator of GPUs, with an NCCL and a driver made of threads and memory of the host.
#include <runtime/cuda/nccl_communicator.h>

#include <doctest/doctest.h>

#include <atomic>
#include <cstring>
#include <map>
#include <mutex>

#include "on_threads.h"
#include <external/thread_communicator.h>
#include <support/error.h>

namespace nvfuser {
namespace {

using namespace cuda::nccl;
using external::Communicator;
using external::Exchange;
using external::ExchangedTensor;

struct Member {
  std::shared_ptr<Communicator> team;
  std::vector<int64_t> all;
};

std::mutex made;
std::map<std::string, std::vector<std::shared_ptr<Communicator>>> teams;
std::atomic<int> ids{0}, aborted{0}, never_ends{0}, launches{0};

/// What was called between GroupStart and GroupEnd.
struct Queued {
  std::optional<CommunicationType> type;
  BinaryOpType reduction;
  ExchangedTensor tensor;
  int peer = 0;  ///< of a send
};
thread_local std::vector<Queued> queue;
thread_local Member* queue_of = nullptr;

DataType dtypeOf(int kind) {
  switch (kind) {
    case Uint8:
      return DataType::Byte;
    case Int64:
      return DataType::Int;
    case Float16:
      return DataType::Half;
    case Float64:
      return DataType::Double;
    default:
      return DataType::Float;
  }
}

BinaryOpType operationOf(int reduction) {
  constexpr BinaryOpType kAll[] = {BinaryOpType::Add, BinaryOpType::Mul, BinaryOpType::Max,
                                   BinaryOpType::Min};
  return kAll[reduction];
}

Status put(std::optional<CommunicationType> type, int reduction, const void* in, void* out,
           size_t count, int kind, Comm comm) {
  queue_of = reinterpret_cast<Member*>(comm);
  queue.push_back(
      {type, operationOf(reduction), {dtypeOf(kind), static_cast<int64_t>(count), in, out}});
  return kSuccess;
}

Table fakeTable() {
  Table t{};
  t.version = 21400;
  t.GetErrorString = [](Status) { return "a failure"; };
  t.GetUniqueId = [](UniqueId* id) -> Status {
    *id = {};
    std::snprintf(id->bytes, sizeof(id->bytes), "team %d", ids++);
    return kSuccess;
  };
  t.CommInitRankConfig = [](Comm* comm, int ranks, UniqueId id, int rank, const Config* config) {
    CHECK(config->blocking == 1);
    const std::lock_guard lock(made);
    auto& team = teams[id.bytes];
    if (team.empty()) {
      team = external::threadCommunicators(ranks, 20);
    }
    auto* member = new Member{team[static_cast<size_t>(rank)], {}};
    for (int64_t one = 0; one < ranks; ++one) {
      member->all.push_back(one);
    }
    *comm = reinterpret_cast<Comm>(member);
    return kSuccess;
  };
  t.CommDestroy = [](Comm comm) -> Status {
    delete reinterpret_cast<Member*>(comm);
    return kSuccess;
  };
  t.CommAbort = [](Comm comm) -> Status {
    ++aborted;
    delete reinterpret_cast<Member*>(comm);
    return kSuccess;
  };
  t.CommGetAsyncError = [](Comm, Status* status) -> Status {
    *status = kSuccess;
    return kSuccess;
  };
  t.GroupStart = []() -> Status { return kSuccess; };
  t.GroupEnd = []() -> Status {
    // Sends and receives of a team, in its order, are an alltoall.
    std::vector<Queued> all;
    std::swap(all, queue);
    for (size_t i = 0; i < all.size(); ++i) {
      Queued one = all[i];
      const auto devices = static_cast<int64_t>(queue_of->all.size());
      if (one.type == CommunicationType::Alltoall && all.size() == 2 && devices > 1) {
        one.tensor.out = all[1].tensor.out;  // one goes on, one comes
        Exchange shift{std::nullopt, one.reduction, queue_of->all, {&one.tensor, 1}, "a shift"};
        shift.shift = (one.peer + devices - queue_of->team->rank()) % devices;
        queue_of->team->exchange(shift);
        break;
      }
      if (one.type == CommunicationType::Alltoall) {
        one.tensor.out = all[i + 1].tensor.out;
        i += 2 * queue_of->all.size() - 1;
      }
      queue_of->team->exchange(
          {one.type, one.reduction, queue_of->all, {&one.tensor, 1}, "an exchange"});
    }
    ++launches;
    return kSuccess;
  };
  t.AllReduce = [](const void* in, void* out, size_t count, int kind, int reduction, Comm comm,
                   Stream) {
    return put(CommunicationType::Allreduce, reduction, in, out, count, kind, comm);
  };
  t.ReduceScatter = [](const void* in, void* out, size_t count, int kind, int reduction, Comm comm,
                       Stream) {
    return put(CommunicationType::ReduceScatter, reduction, in, out, count, kind, comm);
  };
  t.AllGather = [](const void* in, void* out, size_t count, int kind, Comm comm, Stream) {
    return put(CommunicationType::Allgather, Sum, in, out, count, kind, comm);
  };
  t.Broadcast = [](const void* in, void* out, size_t count, int kind, int root, Comm comm, Stream) {
    CHECK(root == 0);
    return put(std::nullopt, Sum, in, out, count, kind, comm);
  };
  t.Send = [](const void* in, size_t count, int kind, int peer, Comm comm, Stream) {
    put(CommunicationType::Alltoall, Sum, in, nullptr, count, kind, comm);
    queue.back().peer = peer;
    return kSuccess;
  };
  t.Recv = [](void* out, size_t count, int kind, int, Comm comm, Stream) {
    return put(CommunicationType::Alltoall, Sum, nullptr, out, count, kind, comm);
  };
  return t;
}

const cuda::Context kContext = reinterpret_cast<cuda::Context>(0x10);

cuda::Driver fakeDriver() {
  cuda::Driver d{};
  d.DeviceGet = [](cuda::DeviceId* id, int ordinal) -> cuda::Result {
    *id = ordinal;
    return cuda::kSuccess;
  };
  d.DevicePrimaryCtxRetain = [](cuda::Context* context, cuda::DeviceId) -> cuda::Result {
    *context = kContext;
    return cuda::kSuccess;
  };
  d.CtxGetCurrent = [](cuda::Context* context) -> cuda::Result {
    *context = kContext;
    return cuda::kSuccess;
  };
  d.CtxSetCurrent = [](cuda::Context) -> cuda::Result { return cuda::kSuccess; };
  d.StreamIsCapturing = [](cuda::StreamHandle, int* status) -> cuda::Result {
    *status = 0;
    return cuda::kSuccess;
  };
  d.EventCreate = [](cuda::Event* event, unsigned) -> cuda::Result {
    *event = nullptr;
    return cuda::kSuccess;
  };
  d.EventDestroy = [](cuda::Event) -> cuda::Result { return cuda::kSuccess; };
  d.EventRecord = [](cuda::Event, cuda::StreamHandle) -> cuda::Result { return cuda::kSuccess; };
  d.EventQuery = [](cuda::Event) -> cuda::Result {
    return never_ends > 0 ? cuda::kErrorNotReady : cuda::kSuccess;
  };
  return d;
}

std::vector<std::string> connected(int64_t devices, double limit_s,
                                   const std::function<void(Communicator&)>& run) {
  static const Table table = fakeTable();
  static const cuda::Driver driver = fakeDriver();
  const int port = external::portOf(external::listenAt(0));
  return unit::onThreads(devices, [&](int64_t rank) {
    const external::Launched own{rank, devices, rank, "127.0.0.1", port};
    const auto communicator =
        ncclCommunicator(std::make_unique<external::TeamChannel>(
                             rank, devices, external::addressTowards(own.address),
                             external::gatherOverTcp(own, 20), limit_s),
                         {0, limit_s}, table, driver);
    run(*communicator);
  });
}

Exchange onGpu(std::optional<CommunicationType> type, BinaryOpType by,
               std::span<const int64_t> team, std::span<const ExchangedTensor> tensors) {
  Exchange exchange{type, by, team, tensors, "", DeviceKind::Cuda, nullptr};
  exchange.what = exchange.name();
  return exchange;
}

TEST_CASE("nccl communicator: what devices exchange is what threads exchange") {
  const std::vector<std::string> errors = connected(3, 20, [](Communicator& own) {
    CHECK(own.name() == "NCCL");
    CHECK(own.takes(DeviceKind::Cuda));
    CHECK(!own.takes(DeviceKind::Cpu));
    const auto r = static_cast<float>(own.rank());
    const std::vector<int64_t> team = {0, 1, 2};
    for (int turn = 0; turn < 2; ++turn) {  // agreed on first, then known
      std::vector<float> in = {r, 10 + r, 20 + r}, out(9);
      ExchangedTensor tensor{DataType::Float, 3, in.data(), out.data()};
      own.exchange(onGpu(CommunicationType::Allgather, BinaryOpType::Add, team, {&tensor, 1}));
      CHECK(out == std::vector<float>{0, 10, 20, 1, 11, 21, 2, 12, 22});
      tensor.elements = 1;
      out.resize(3);
      own.exchange(onGpu(CommunicationType::Alltoall, BinaryOpType::Add, team, {&tensor, 1}));
      CHECK(out == std::vector<float>{10 * r, 10 * r + 1, 10 * r + 2});
      own.exchange(onGpu(CommunicationType::ReduceScatter, BinaryOpType::Max, team, {&tensor, 1}));
      CHECK(out[0] == 10 * r + 2);
      own.exchange(
          onGpu(std::nullopt, BinaryOpType::Add, std::vector<int64_t>{2, 0, 1}, {&tensor, 1}));
      CHECK(out[0] == (own.rank() == 2 ? 22 : 2));
      for (const int64_t shift : {1, 2}) {  // what each has goes to the next one, or the one behind
        Exchange exchange = onGpu(std::nullopt, BinaryOpType::Add, team, {&tensor, 1});
        exchange.shift = shift;
        own.exchange(exchange);
        CHECK(out[0] == static_cast<float>((own.rank() + 3 - shift) % 3));
      }
      // Several at once: numbers, and whether any is true.
      std::vector<int64_t> counts = {own.rank() + 1}, product(1);
      std::vector<unsigned char> truth = {own.rank() == 1, 0}, all(2);
      const ExchangedTensor both[] = {{DataType::Int, 1, counts.data(), product.data()},
                                      {DataType::Bool, 2, truth.data(), all.data()}};
      const int before = launches;
      own.exchange(onGpu(CommunicationType::Allreduce, BinaryOpType::Mul, team, both));
      CHECK(launches > before);
      CHECK(product[0] == 6);
      CHECK(all == std::vector<unsigned char>{0, 0});
      own.exchange(onGpu(CommunicationType::Allreduce, BinaryOpType::Add, team, {both + 1, 1}));
      CHECK(all == std::vector<unsigned char>{1, 0});
    }
    if (own.rank() > 0) {
      std::vector<double> in = {1.0 + r}, out(1);
      const std::vector<int64_t> pair = {1, 2};
      const ExchangedTensor tensor{DataType::Double, 1, in.data(), out.data()};
      own.exchange(onGpu(CommunicationType::Allreduce, BinaryOpType::Add, pair, {&tensor, 1}));
      CHECK(out[0] == 5);
    }
    CHECK(own.numbersOfAll(team, own.rank(), "numbers") == team);
    own.barrier();
  });
  CHECK(errors == std::vector<std::string>(3));
}

TEST_CASE("nccl communicator: unlike sizes, of new and of known exchanges, are one error") {
  for (const bool are_known : {false, true}) {
    aborted = 0;
    const std::vector<std::string> errors = connected(2, 20, [&](Communicator& own) {
      const std::vector<int64_t> team = {0, 1};
      std::vector<float> in(8), out(16);
      const auto gather = [&](int64_t elements) {
        const ExchangedTensor tensor{DataType::Float, elements, in.data(), out.data()};
        own.exchange(onGpu(CommunicationType::Allgather, BinaryOpType::Add, team, {&tensor, 1}));
      };
      for (const int64_t elements : {4, 8}) {
        gather(are_known ? elements : 1);
      }
      gather(own.rank() == 0 ? 4 : 8);
    });
    for (const std::string& error : errors) {
      CAPTURE(error);
      CHECK((error.find("device 0 brings allgather of 4 elements") != std::string::npos ||
             error.find("device 0 brings allgather of 16 elements") != std::string::npos));
    }
    CHECK(aborted == 2);
  }
}

TEST_CASE("nccl communicator: what it does not take is said on each device") {
  std::vector<std::string> errors = connected(2, 20, [](Communicator& own) {
    const std::vector<int64_t> team = {0, 1};
    std::vector<int16_t> in(1), out(1);
    const ExchangedTensor tensor{DataType::Short, 1, in.data(), out.data()};
    own.exchange(onGpu(CommunicationType::Allreduce, BinaryOpType::Add, team, {&tensor, 1}));
  });
  for (const std::string& error : errors) {
    CHECK(error.find("does not combine numbers of dtype int16_t by add") != std::string::npos);
  }
  errors = connected(2, 20, [](Communicator& own) {  // only one of them is wrong
    const std::vector<int64_t> team = {0, 1};
    std::vector<float> in(1), out(1);
    const ExchangedTensor tensor{DataType::Float, 1, in.data(), out.data()};
    Exchange exchange = onGpu(CommunicationType::Allreduce, BinaryOpType::Add, team, {&tensor, 1});
    exchange.memory = own.rank() == 1 ? DeviceKind::Cpu : DeviceKind::Cuda;
    own.exchange(exchange);
  });
  for (const std::string& error : errors) {
    CHECK(error.find("device 1 has GPU 0, but its tensors are in memory of the host") !=
          std::string::npos);
  }
}

TEST_CASE("nccl communicator: a collective that does not end is ended, and later calls say so") {
  never_ends = 1;
  aborted = 0;
  const std::vector<std::string> errors = connected(2, 0.2, [](Communicator& own) {
    const std::vector<int64_t> team = {0, 1};
    std::vector<float> in(1), out(1);
    const ExchangedTensor tensor{DataType::Float, 1, in.data(), out.data()};
    const Exchange exchange =
        onGpu(CommunicationType::Allreduce, BinaryOpType::Add, team, {&tensor, 1});
    own.exchange(exchange);
    std::this_thread::sleep_for(std::chrono::milliseconds(600));
    own.exchange(exchange);
  });
  never_ends = 0;
  for (const std::string& error : errors) {
    CAPTURE(error);
    CHECK(error.find("allreduce: it has not ended within 0.2 s") != std::string::npos);
  }
  CHECK(aborted == 2);
}

}  // namespace
}  // namespace nvfuser
