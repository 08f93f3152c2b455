#include <device_lower/bank_conflict.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <kernel_ir/accesses.h>
#include <support/text.h>

namespace nvfuser {

using kir::Scalar;

namespace {

constexpr int64_t kBanks = 32;
constexpr int64_t kBankBytes = 4;
constexpr int64_t kIterations = 4;  ///< of each loop
constexpr int64_t kWarps = 8;       ///< of the block

/// An index that is not known before the kernel runs.
struct Unknown {};

using Values = std::map<Scalar, int64_t>;

class Finder {
 public:
  Finder(const kir::Kernel& kernel, const std::function<int64_t(Scalar)>& valueOf)
      : kernel_(kernel), size_of_(valueOf) {
    for (int d = 0; d < 3; ++d) {
      block_[d] = kernel.block[d] != nullptr ? valueOf(kernel.block[d]) : 1;
    }
  }

  std::vector<BankConflict> run() {
    collect(kernel_.body);
    const int64_t threads = block_[0] * block_[1] * block_[2];
    const int64_t warps = std::min((threads + kWarpSize - 1) / kWarpSize, kWarps);
    std::vector<Values> lanes;
    for (int64_t warp = 0; warp < warps; ++warp) {
      lanes.clear();
      for (int64_t t = warp * kWarpSize; t < std::min((warp + 1) * kWarpSize, threads); ++t) {
        lanes.push_back(threadValues(t));
      }
      walk(kernel_.body, lanes, std::vector<bool>(lanes.size(), true));
    }
    return std::move(found_);
  }

 private:
  Values threadValues(int64_t linear) const {
    const int64_t id[3] = {linear % block_[0], linear / block_[0] % block_[1],
                           linear / block_[0] / block_[1]};
    Values values;
    for (const auto& [symbol, dimension] : thread_symbols_) {
      values[symbol] = dimension < 3 ? id[dimension] : 0;
    }
    return values;
  }

  static void collectSymbols(Scalar a, std::set<Scalar>* all) {
    if (a != nullptr) {
      for (Scalar symbol : kir::ScalarPool::symbolsOf(a)) {
        all->insert(symbol);
      }
    }
  }

  /// Thread and block indices by name; the accesses, in order.
  void collect(const kir::Block& body) {
    std::set<Scalar> symbols;
    kir::forEach(body, [&](const kir::Stmt& stmt) {
      eachAccess(stmt, [&](const kir::Ref& ref, bool is_write) {
        slots_[&ref] = found_.size();
        found_.push_back({kir::toString(ref), is_write, ref.buffer->tv, 0});
        collectSymbols(ref.index, &symbols);
      });
      if (auto* let = std::get_if<kir::Let>(&stmt.node)) {
        collectSymbols(let->value, &symbols);
      }
      if (auto* branch = std::get_if<kir::If>(&stmt.node)) {
        collectSymbols(branch->condition, &symbols);
      }
      if (auto* loop = std::get_if<kir::For>(&stmt.node)) {
        collectSymbols(loop->extent, &symbols);
      }
      if (Scalar condition = conditionOf(stmt)) {
        collectSymbols(condition, &symbols);
      }
    });
    static constexpr std::string_view kNames[] = {"threadIdx.x", "threadIdx.y", "threadIdx.z",
                                                  "blockIdx.x",  "blockIdx.y",  "blockIdx.z"};
    for (Scalar symbol : symbols) {
      for (int i = 0; i < 6; ++i) {
        if (symbol->name == kNames[i]) {
          thread_symbols_[symbol] = i;
        }
      }
    }
  }

  static Scalar conditionOf(const kir::Stmt& stmt) {
    if (auto* guarded = std::get_if<kir::Guarded>(&stmt.node)) {
      return guarded->condition;
    }
    if (auto* copy = std::get_if<kir::CopyAsync>(&stmt.node)) {
      return copy->condition;
    }
    return nullptr;
  }

  /// Elements of shared memory only.
  template <typename Visit>
  static void eachAccess(const kir::Stmt& stmt, const Visit& visit) {
    kir::forEachAccess(stmt, [&](const kir::Ref& ref, bool is_write) {
      if (ref.buffer != nullptr && ref.buffer->memory == MemoryType::Shared &&
          ref.index != nullptr) {
        visit(ref, is_write);
      }
    });
  }

  int64_t evaluate(Scalar a, const Values& values) const {
    return kir::evaluate(a, [&](Scalar symbol) -> int64_t {
      if (auto found = values.find(symbol); found != values.end()) {
        return found->second;
      }
      if (kernel_.sources.count(symbol) != 0) {
        return size_of_(symbol);
      }
      throw Unknown();
    });
  }

  std::vector<bool> narrowed(const std::vector<bool>& active, Scalar condition, bool wanted,
                             const std::vector<Values>& lanes) const {
    std::vector<bool> result = active;
    for (size_t lane = 0; lane < lanes.size(); ++lane) {
      try {
        result[lane] = active[lane] && (evaluate(condition, lanes[lane]) != 0) == wanted;
      } catch (const Unknown&) {
        // Depends on data: any lane may come through.
      }
    }
    return result;
  }

  void walk(const kir::Block& body, std::vector<Values>& lanes, const std::vector<bool>& active) {
    if (std::find(active.begin(), active.end(), true) == active.end()) {
      return;
    }
    for (const kir::Stmt& stmt : body) {
      if (auto* let = std::get_if<kir::Let>(&stmt.node)) {
        for (Values& lane : lanes) {
          try {
            lane[let->var] = evaluate(let->value, lane);
          } catch (const Unknown&) {
            lane.erase(let->var);
          }
        }
      } else if (auto* loop = std::get_if<kir::For>(&stmt.node)) {
        walkLoop(*loop, lanes, active);
      } else if (auto* branch = std::get_if<kir::If>(&stmt.node)) {
        walk(*branch->then_body, lanes, narrowed(active, branch->condition, true, lanes));
        if (branch->else_body) {
          walk(*branch->else_body, lanes, narrowed(active, branch->condition, false, lanes));
        }
      } else {
        eachAccess(stmt, [&](const kir::Ref& ref, bool is_write) {
          // Only the reading side of these two is under their condition.
          Scalar condition = is_write ? nullptr : conditionOf(stmt);
          judge(ref, lanes,
                condition != nullptr ? narrowed(active, condition, true, lanes) : active);
        });
      }
    }
  }

  void walkLoop(const kir::For& loop, std::vector<Values>& lanes, const std::vector<bool>& active) {
    for (int64_t i = 0; i < kIterations; ++i) {
      std::vector<bool> inside = active;
      for (size_t lane = 0; lane < lanes.size(); ++lane) {
        try {
          inside[lane] = active[lane] && i < evaluate(loop.extent, lanes[lane]);
        } catch (const Unknown&) {
        }
        lanes[lane][loop.var] = i;
      }
      walk(*loop.body, lanes, inside);
    }
  }

  void judge(const kir::Ref& ref, const std::vector<Values>& lanes,
             const std::vector<bool>& active) {
    const int64_t element = dataTypeSizeByte(ref.buffer->dtype);
    std::vector<int64_t> first;
    std::vector<int> numbers;
    for (size_t lane = 0; lane < lanes.size(); ++lane) {
      if (!active[lane]) {
        continue;
      }
      try {
        first.push_back(evaluate(ref.index, lanes[lane]) * element);
        numbers.push_back(static_cast<int>(lane));
      } catch (const Unknown&) {
        return;
      }
    }
    int& worst = found_[slots_.at(&ref)].ways;
    worst = std::max(worst, conflictWays(first, numbers, ref.width * element));
  }

  const kir::Kernel& kernel_;
  const std::function<int64_t(Scalar)>& size_of_;
  int64_t block_[3] = {1, 1, 1};
  std::map<Scalar, int> thread_symbols_;
  std::map<const kir::Ref*, size_t> slots_;
  std::vector<BankConflict> found_;
};

}  // namespace

int conflictWays(const std::vector<int64_t>& first_bytes, const std::vector<int>& lanes,
                 int64_t bytes) {
  // Lanes that are served together.
  const int64_t group = kWarpSize * kBankBytes / std::max(bytes, kBankBytes);
  std::map<int64_t, std::map<int64_t, std::set<int64_t>>> words;  // by group and bank
  for (size_t i = 0; i < lanes.size(); ++i) {
    for (int64_t word = first_bytes[i] / kBankBytes;
         word <= (first_bytes[i] + bytes - 1) / kBankBytes; ++word) {
      words[lanes[i] / group][((word % kBanks) + kBanks) % kBanks].insert(word);
    }
  }
  size_t ways = 0;
  for (const auto& [number, banks] : words) {
    for (const auto& [bank, different] : banks) {
      ways = std::max(ways, different.size());
    }
  }
  return static_cast<int>(ways);
}

std::vector<BankConflict> findBankConflicts(const kir::Kernel& kernel,
                                            const std::function<int64_t(kir::Scalar)>& valueOf) {
  return Finder(kernel, valueOf).run();
}

std::string toString(const std::vector<BankConflict>& conflicts) {
  std::string out;
  for (const BankConflict& conflict : conflicts) {
    const std::string ways =
        conflict.ways == 0
            ? std::string("cannot be told")
            : text(conflict.ways, conflict.ways == 1 ? " way (free of conflicts)" : " ways");
    append(out, text(conflict.is_write ? "write " : "read  ", conflict.access, "  ", ways, "\n"));
  }
  return out.empty() ? "no access to shared memory\n" : out;
}

}  // namespace nvfuser
