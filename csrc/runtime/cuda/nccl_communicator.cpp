#include <runtime/cuda/nccl_communicator.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <future>
#include <map>
#include <mutex>
#include <thread>
#include <unordered_set>

#include <runtime/cuda/collectives_in_flight.h>
#include <runtime/cuda/nccl_elements.h>
#include <support/error.h>

namespace nvfuser {

namespace {

using external::Exchange;
using external::ExchangedTensor;
using external::TeamChannel;
using namespace cuda::nccl;

class NcclCommunicator final : public external::Communicator {
 public:
  NcclCommunicator(std::unique_ptr<TeamChannel> channel, const NcclOptions& options,
                   const Table& table, const cuda::Driver& driver)
      : channel_(std::move(channel)), options_(options), table_(table), driver_(driver) {
    cuda::DeviceId id = 0;
    cuda::throwIfFailed(driver_, driver_.DeviceGet(&id, options_.gpu), "cuDeviceGet",
                        text("GPU ", options_.gpu));
    cuda::throwIfFailed(driver_, driver_.DevicePrimaryCtxRetain(&context_, id),
                        "cuDevicePrimaryCtxRetain");
    flight_.emplace(
        driver_, context_, options_.limit_s, [this] { return whatFailed(); },
        [this](const std::string& error) { end(error); });
  }

  ~NcclCommunicator() override {
    flight_.reset();
    cuda::Context current = nullptr;
    if (driver_.CtxGetCurrent(&current) == cuda::kErrorDeinitialized) {
      return;  // the process ends, and the driver has gone
    }
    const std::lock_guard lock(mutex_);
    for (const auto& [team, comm] : comms_) {
      table_.CommDestroy(comm);
    }
  }

  int64_t rank() const override { return channel_->rank(); }
  int64_t size() const override { return channel_->size(); }
  std::string_view name() const override { return "NCCL"; }
  bool takes(DeviceKind memory) const override { return memory == DeviceKind::Cuda; }

  void exchange(const Exchange& x) override {
    try {
      requireOwnMemory(x);
      const std::vector<Elements> elements = elementsOf(x);
      if (!x.type && x.shift > 1) {
        launch(x, elements);  // the shift by one, which comes first, was agreed on for all
        return;
      }
      const std::string signature = signatureOf(x);
      std::string key = signature;
      key.append(reinterpret_cast<const char*>(x.team.data()), x.team.size_bytes());
      channel_->say(x.team, signature, x.what);
      // What was agreed on before is launched while the others' answers are on their way.
      const bool is_known = known_.count(key) != 0;
      if (is_known) {
        launch(x, elements);
      }
      channel_->hear(x, signature);
      if (!is_known) {
        launch(x, elements);
        known_.insert(std::move(key));
      }
    } catch (const UserError& error) {
      end(error.what());
      throw;
    }
  }

  std::vector<int64_t> numbersOfAll(std::span<const int64_t> team, int64_t own,
                                    std::string_view what) override {
    return channel_->numbersOfAll(team, own, what);
  }

  void barrier() override {
    std::vector<int64_t> all;
    for (int64_t device = 0; device < size(); ++device) {
      all.push_back(device);
    }
    channel_->numbersOfAll(all, 0, "barrier");
  }

 private:
  void requireOwnMemory(const Exchange& x) const {
    cuda::Context current = nullptr;
    driver_.CtxGetCurrent(&current);
    if (x.memory != DeviceKind::Cuda || current != context_) {
      userError(x.what, ": device ", rank(), " has GPU ", options_.gpu, ", but its tensors are ",
                x.memory == DeviceKind::Cuda ? "on another one" : "in memory of the host",
                "; move them there");
    }
  }

  std::vector<Elements> elementsOf(const Exchange& x) const {
    const bool combines =
        x.type == CommunicationType::Allreduce || x.type == CommunicationType::ReduceScatter;
    std::vector<Elements> all;
    for (const ExchangedTensor& tensor : x.tensors) {
      all.push_back(combines ? asNumbers(tensor, x.reduction, x.what, table_.version)
                             : asBytes(tensor));
    }
    return all;
  }

  /// Without the mutex that the watching thread needs: NCCL may wait for the team in here.
  void launch(const Exchange& x, const std::vector<Elements>& elements) {
    const std::lock_guard one_at_a_time(launching_);
    const Comm comm = commOf(x);
    throwIfFailed(table_.GroupStart(), x.what);
    for (size_t i = 0; i < elements.size(); ++i) {
      put(x, x.tensors[i], elements[i], comm);
    }
    throwIfFailed(table_.GroupEnd(), x.what);
    flight_->add(std::string(x.what), static_cast<cuda::StreamHandle>(x.stream));
  }

  void put(const Exchange& x, const ExchangedTensor& tensor, const Elements& elements, Comm comm) {
    const auto [kind, count] = elements;
    const int reduction = reductionOf(x.reduction, tensor.dtype);
    if (count == 0) {
      return;
    }
    if (!x.type && x.shift != 0) {
      const auto devices = static_cast<int64_t>(x.team.size());
      const int64_t place = std::find(x.team.begin(), x.team.end(), rank()) - x.team.begin();
      const auto to = static_cast<int>((place + x.shift) % devices);
      const auto from = static_cast<int>((place + devices - x.shift) % devices);
      throwIfFailed(table_.Send(tensor.in, count, kind, to, comm, x.stream), x.what);
      throwIfFailed(table_.Recv(tensor.out, count, kind, from, comm, x.stream), x.what);
      return;
    }
    if (!x.type) {
      const bool is_first = x.team.front() == rank();
      void* out = is_first ? const_cast<void*>(tensor.in) : tensor.out;
      throwIfFailed(table_.Broadcast(out, out, count, kind, 0, comm, x.stream), x.what);
      return;
    }
    switch (*x.type) {
      case CommunicationType::Allgather:
        throwIfFailed(table_.AllGather(tensor.in, tensor.out, count, kind, comm, x.stream), x.what);
        break;
      case CommunicationType::Allreduce:
        throwIfFailed(
            table_.AllReduce(tensor.in, tensor.out, count, kind, reduction, comm, x.stream),
            x.what);
        break;
      case CommunicationType::ReduceScatter:
        throwIfFailed(
            table_.ReduceScatter(tensor.in, tensor.out, count, kind, reduction, comm, x.stream),
            x.what);
        break;
      case CommunicationType::Alltoall:
        for (size_t peer = 0; peer < x.team.size(); ++peer) {
          const size_t offset = peer * count;  // in bytes
          throwIfFailed(table_.Send(static_cast<const char*>(tensor.in) + offset, count, kind,
                                    static_cast<int>(peer), comm, x.stream),
                        x.what);
          throwIfFailed(table_.Recv(static_cast<char*>(tensor.out) + offset, count, kind,
                                    static_cast<int>(peer), comm, x.stream),
                        x.what);
        }
        break;
    }
  }

  /// Made when a team comes together for the first time; its first device says the id.
  Comm commOf(const Exchange& x) {
    const std::vector<int64_t> team(x.team.begin(), x.team.end());
    {
      const std::lock_guard lock(mutex_);
      requireAlive(x.what);
      if (const auto found = comms_.find(team); found != comms_.end()) {
        return found->second;
      }
    }
    UniqueId id{};
    std::string said = "no id";
    if (team.front() == rank()) {
      throwIfFailed(table_.GetUniqueId(&id), x.what);
      said.assign(id.bytes, sizeof(id.bytes));
    }
    channel_->say(team, said, x.what);
    const std::string first =
        channel_->hear(team, said, x.what, [&] { return std::string("a new team"); }).front();
    if (first.size() != sizeof(id.bytes)) {
      userError(x.what, ": device ", team.front(), " did not come to make the team ",
                join(team, ", "), "; all devices have to run the same fusion");
    }
    std::memcpy(id.bytes, first.data(), sizeof(id.bytes));
    const auto place = std::find(team.begin(), team.end(), rank()) - team.begin();
    const Comm comm = connect(static_cast<int>(team.size()), id, static_cast<int>(place), x.what);
    const std::lock_guard lock(mutex_);
    requireAlive(x.what);
    return comms_[team] = comm;
  }

  /// NCCL waits for the whole team, however long that takes; so it does that in a thread, which is
  /// left to itself where a device has gone. (Communicators that do not block start a thread for
  /// each collective: 100 µs.)
  Comm connect(int devices, const UniqueId& id, int place, std::string_view what) {
    auto made = std::make_shared<std::promise<std::pair<Status, Comm>>>();
    std::future<std::pair<Status, Comm>> connection = made->get_future();
    std::thread([made, devices, id, place, &table = table_, &driver = driver_, context = context_] {
      Comm comm = nullptr;
      Config config;
      driver.CtxSetCurrent(context);
      const Status status = table.CommInitRankConfig(&comm, devices, id, place, &config);
      made->set_value({status, comm});
    }).detach();
    const external::Deadline deadline = external::deadlineIn(options_.limit_s);
    while (connection.wait_for(std::chrono::milliseconds(20)) != std::future_status::ready) {
      if (const auto other = channel_->gone()) {
        userError(what, ": device ", *other, " has left");
      }
      if (std::chrono::steady_clock::now() > deadline) {
        userError(what, ": device ", rank(), " has waited for ", options_.limit_s,
                  " s for the connection of its team");
      }
    }
    const auto [status, comm] = connection.get();
    throwIfFailed(status, what);
    return comm;
  }

  void throwIfFailed(Status status, std::string_view what) const {
    if (status != kSuccess) {
      userError(what, ": NCCL failed: ", table_.GetErrorString(status),
                "; NCCL_DEBUG=WARN says more");
    }
  }

  /// With the mutex held.
  void requireAlive(std::string_view what) const {
    if (ended_) {
      userError(what, ": an earlier exchange failed: ", *ended_);
    }
  }

  /// For the watching thread.
  std::optional<std::string> whatFailed() {
    {
      const std::lock_guard lock(mutex_);
      for (const auto& [team, comm] : comms_) {
        Status status = kSuccess;
        table_.CommGetAsyncError(comm, &status);
        if (status != kSuccess) {
          return text("NCCL failed: ", table_.GetErrorString(status));
        }
      }
    }
    if (const auto other = channel_->gone()) {
      return text("device ", *other, " has left");
    }
    return std::nullopt;
  }

  /// What is on its way ends, and all later calls say why.
  void end(const std::string& error) {
    channel_->fail(error);
    // A launch that goes on for longer waits for a device that does not come; aborting ends it.
    std::unique_lock launching(launching_, std::defer_lock);
    // (By the system's clock: ThreadSanitizer of GCC 13 does not see waits by the steady one.)
    (void)launching.try_lock_until(std::chrono::system_clock::now() + std::chrono::seconds(1));
    const std::lock_guard lock(mutex_);
    if (ended_) {
      return;
    }
    ended_ = error;
    for (const auto& [team, comm] : comms_) {
      table_.CommAbort(comm);
    }
    comms_.clear();
  }

  std::unique_ptr<TeamChannel> channel_;
  NcclOptions options_;
  const Table& table_;
  const cuda::Driver& driver_;
  cuda::Context context_ = nullptr;
  std::unordered_set<std::string> known_;  ///< signatures and teams that were agreed on
  std::timed_mutex launching_;             ///< one collective after the other
  std::mutex mutex_;                       ///< of what follows
  std::map<std::vector<int64_t>, Comm> comms_;
  std::optional<std::string> ended_;
  std::optional<cuda::CollectivesInFlight> flight_;
};

}  // namespace

std::shared_ptr<external::Communicator> ncclCommunicator(std::unique_ptr<TeamChannel> channel,
                                                         const NcclOptions& options,
                                                         const Table& table,
                                                         const cuda::Driver& driver) {
  return std::make_shared<NcclCommunicator>(std::move(channel), options, table, driver);
}

std::shared_ptr<external::Communicator> ncclCommunicator(std::unique_ptr<TeamChannel> channel,
                                                         const NcclOptions& options) {
  std::string why;
  const cuda::Driver* driver = cuda::driver(&why);
  const Table* table = driver != nullptr ? cuda::nccl::library(&why) : nullptr;
  if (table == nullptr) {
    const std::string error = text("NCCL cannot connect the devices: ", why);
    channel->fail(error);
    userError(error);
  }
  return ncclCommunicator(std::move(channel), options, *table, *driver);
}

std::shared_ptr<external::Communicator> ncclCommunicatorOfLaunch(const external::Launched& own,
                                                                 double limit_s) {
  return ncclCommunicator(
      std::make_unique<TeamChannel>(own.rank, own.size, external::addressTowards(own.address),
                                    external::gatherOverTcp(own, limit_s), limit_s),
      {static_cast<int>(own.local_rank), limit_s});
}

}  // namespace nvfuser
