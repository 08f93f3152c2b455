#include <external/thread_communicator.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>

#include <external/combine.h>

namespace nvfuser::external {

namespace {

/// One tensor of an exchange, as each device of the team brings it.
using Brought = std::vector<const ExchangedTensor*>;

const std::byte* partOf(const ExchangedTensor& x, size_t part, size_t bytes) {
  return static_cast<const std::byte*>(x.in) + part * bytes;
}

/// What all have at `part` of their operands, combined, to each of `to`.
void combineParts(const Brought& all, BinaryOpType by, size_t part, const std::vector<void*>& to) {
  const ExchangedTensor& first = *all[0];
  withElementType(first.dtype, "a communication", [&](auto type) {
    using T = decltype(type);
    for (int64_t i = 0; i < first.elements; ++i) {
      const auto at = [&](const ExchangedTensor* x) {
        return widened(static_cast<const T*>(x->in)[static_cast<int64_t>(part) * x->elements + i]);
      };
      Wide<T> sum = at(all[0]);
      for (size_t d = 1; d < all.size(); ++d) {
        sum = combine(by, sum, at(all[d]));
      }
      for (void* out : to) {
        storeNumber(static_cast<T*>(out)[i], sum, first.dtype);
      }
    }
  });
}

/// `all`: of the devices of a team, in order.
void carryOut(const Exchange& exchange, const Brought& all) {
  using enum CommunicationType;
  const std::optional<CommunicationType> type = exchange.type;
  const BinaryOpType by = exchange.reduction;
  const ExchangedTensor& first = *all[0];
  const size_t bytes =
      static_cast<size_t>(first.elements) * static_cast<size_t>(dataTypeSizeByte(first.dtype));
  if (bytes == 0) {
    return;
  }
  if (!type && exchange.shift != 0) {
    for (size_t from = 0; from < all.size(); ++from) {
      const size_t to = (from + static_cast<size_t>(exchange.shift)) % all.size();
      std::memcpy(all[to]->out, all[from]->in, bytes);
    }
    return;
  }
  if (!type) {
    for (size_t to = 1; to < all.size(); ++to) {
      std::memcpy(all[to]->out, first.in, bytes);
    }
    return;
  }
  switch (*type) {
    case Allgather:
    case Alltoall:
      for (size_t to = 0; to < all.size(); ++to) {
        for (size_t from = 0; from < all.size(); ++from) {
          std::memcpy(static_cast<std::byte*>(all[to]->out) + from * bytes,
                      partOf(*all[from], type == Alltoall ? to : 0, bytes), bytes);
        }
      }
      break;
    case Allreduce: {
      std::vector<void*> to;
      for (const ExchangedTensor* x : all) {
        to.push_back(x->out);
      }
      combineParts(all, by, 0, to);
      break;
    }
    case ReduceScatter:
      for (size_t place = 0; place < all.size(); ++place) {
        combineParts(all, by, place, {all[place]->out});
      }
      break;
  }
}

/// Where the devices of one team come together, time and again.
class Meeting {
 public:
  Meeting(std::vector<int64_t> team, double limit_s)
      : team_(std::move(team)),
        limit_s_(limit_s),
        all_(team_.size(), nullptr),
        has_left_(team_.size(), false) {}

  /// Returns when the exchange of all is done.
  void meet(size_t place, const Exchange& exchange) {
    std::unique_lock lock(mutex_);
    const auto deadline =
        std::chrono::steady_clock::now() + std::chrono::duration<double>(limit_s_);
    // The meeting before is over when its last device has left.
    if (!changed_.wait_until(lock, deadline, [&] { return !is_over_; }) && !error_) {
      error_ = text(exchange.what, ": the devices of the exchange before did not leave it");
    }
    if (error_) {
      userError(*error_);  // a team that failed once does not meet again
    }
    all_[place] = &exchange;
    if (++arrived_ == team_.size()) {
      finish();
      is_over_ = true;
      changed_.notify_all();
    } else if (findWhoLeft()) {
      changed_.notify_all();
    } else if (!changed_.wait_until(lock, deadline, [&] { return is_over_ || error_; })) {
      error_ = text(exchange.what, ": device ", team_[place], " has waited for ", limit_s_,
                    " s with ", exchange.toString(), ", but these have not come: ", missing(),
                    "; all devices have to run the same fusion with tensors of one size");
      changed_.notify_all();
    }
    const std::optional<std::string> error = error_;
    all_[place] = nullptr;
    if (--arrived_ == 0) {
      is_over_ = false;
      changed_.notify_all();
    }
    if (error) {
      lock.unlock();
      userError(*error);
    }
  }

  /// The device comes no more; those that wait for it end.
  void leave(int64_t device) {
    const std::lock_guard lock(mutex_);
    for (size_t i = 0; i < team_.size(); ++i) {
      has_left_[i] = has_left_[i] || team_[i] == device;
    }
    if (arrived_ > 0 && !is_over_ && findWhoLeft()) {
      changed_.notify_all();
    }
  }

 private:
  /// Sets the error where a device that has not come to this exchange has left.
  bool findWhoLeft() {
    for (size_t i = 0; i < team_.size() && !error_; ++i) {
      const auto other = std::find_if(all_.begin(), all_.end(),
                                      [](const Exchange* one) { return one != nullptr; });
      if (has_left_[i] && all_[i] == nullptr) {
        error_ = text((*other)->what, ": device ", team_[i], " has left, and device ",
                      team_[static_cast<size_t>(other - all_.begin())], " waits for it with ",
                      (*other)->toString());
      }
    }
    return error_.has_value();
  }

  void finish() {
    for (size_t i = 1; i < all_.size(); ++i) {
      if (!all_[0]->goesWith(*all_[i])) {
        error_ = text(all_[0]->what, ": device ", team_[0], " brings ", all_[0]->toString(),
                      ", but device ", team_[i], " brings ", all_[i]->toString(),
                      "; all devices have to run the same fusion with tensors of one size");
        return;
      }
    }
    try {
      for (size_t t = 0; t < all_[0]->tensors.size(); ++t) {
        Brought brought;
        for (const Exchange* exchange : all_) {
          brought.push_back(&exchange->tensors[t]);
        }
        carryOut(*all_[0], brought);
      }
    } catch (const std::exception& error) {
      error_ = error.what();
    }
  }

  std::string missing() const {
    std::vector<int64_t> devices;
    for (size_t i = 0; i < all_.size(); ++i) {
      if (all_[i] == nullptr) {
        devices.push_back(team_[i]);
      }
    }
    return nvfuser::join(devices, ", ");
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<int64_t> team_;
  double limit_s_;
  std::vector<const Exchange*> all_;
  std::vector<bool> has_left_;
  size_t arrived_ = 0;
  bool is_over_ = false;
  std::optional<std::string> error_;
};

struct World {
  World(int64_t devices, double limit) : size(devices), limit_s(limit) {}

  Meeting& meetingOf(std::span<const int64_t> team) {
    const std::lock_guard lock(mutex);
    const std::vector<int64_t> key(team.begin(), team.end());
    std::unique_ptr<Meeting>& meeting = meetings[key];
    if (meeting == nullptr) {
      meeting = std::make_unique<Meeting>(key, limit_s);
      for (const int64_t device : left) {
        meeting->leave(device);
      }
    }
    return *meeting;
  }

  void leave(int64_t device) {
    const std::lock_guard lock(mutex);
    left.push_back(device);
    for (const auto& [team, meeting] : meetings) {
      meeting->leave(device);
    }
  }

  int64_t size;
  double limit_s;
  std::mutex mutex;
  std::map<std::vector<int64_t>, std::unique_ptr<Meeting>> meetings;
  std::vector<int64_t> left;  ///< devices that come no more
};

class ThreadCommunicator final : public Communicator {
 public:
  ThreadCommunicator(std::shared_ptr<World> world, int64_t rank)
      : world_(std::move(world)), rank_(rank) {}
  ~ThreadCommunicator() override { world_->leave(rank_); }
  int64_t rank() const override { return rank_; }
  int64_t size() const override { return world_->size; }
  std::string_view name() const override { return "threads"; }

  void exchange(const Exchange& exchange) override {
    for (const int64_t device : exchange.team) {
      if (device >= world_->size) {
        userError(exchange.what, ": there is no device ", device, "; there are ", world_->size);
      }
    }
    const auto place = std::find(exchange.team.begin(), exchange.team.end(), rank_);
    check(place != exchange.team.end(), "a device exchanges within its own team");
    world_->meetingOf(exchange.team)
        .meet(static_cast<size_t>(place - exchange.team.begin()), exchange);
  }

  std::vector<int64_t> numbersOfAll(std::span<const int64_t> team, int64_t own,
                                    std::string_view what) override {
    std::vector<int64_t> all(team.size());
    const ExchangedTensor number{DataType::Int, 1, &own, all.data()};
    exchange({CommunicationType::Allgather, BinaryOpType::Add, team, {&number, 1}, what});
    return all;
  }

  void barrier() override {
    std::vector<int64_t> all(static_cast<size_t>(world_->size));
    std::iota(all.begin(), all.end(), 0);
    exchange({CommunicationType::Allgather, BinaryOpType::Add, all, {}, "barrier"});
  }

 private:
  std::shared_ptr<World> world_;
  int64_t rank_;
};

}  // namespace

std::vector<std::shared_ptr<Communicator>> threadCommunicators(int64_t size, double limit_s) {
  if (size < 1) {
    userError("threadCommunicators: there is at least one device, got ", size);
  }
  auto world = std::make_shared<World>(size, limit_s);
  std::vector<std::shared_ptr<Communicator>> devices;
  for (int64_t rank = 0; rank < size; ++rank) {
    devices.push_back(std::make_shared<ThreadCommunicator>(world, rank));
  }
  return devices;
}

}  // namespace nvfuser::external
