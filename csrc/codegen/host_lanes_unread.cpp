/// What a choice leaves unread, in loops of vectors: where all lanes choose alike, it is computed
/// only where it is read.
///
///   T3 = simdSin(T2)                    if (T1) {
///   T4 = lanesSelect(T1, T3, T0)   →      T3 = simdSin(T2);
///                                       }
///                                       T4 = lanesSelect(T1, T3, T0)
///
/// The parts of what is joined are such operands: a loop over the columns of eight sines and
/// cosines side by side computes one for each of them, not eight. (A vector that is not computed
/// has some value, which is not used.)
#include <algorithm>

#include <codegen/host_emitter.h>
#include <kernel_ir/accesses.h>

namespace nvfuser::codegen {

namespace {

/// Costs of operations (ops/table/pointwise.h) that are worth a branch.
constexpr int64_t kLeastCost = 8;

/// Truth values that all lanes share, and what they have to be.
using Choices = std::set<std::pair<const kir::Buffer*, bool>>;

struct Reader {
  size_t statement;
  std::optional<std::pair<const kir::Buffer*, bool>> choice;  ///< under which it reads
};

class Unread {
 public:
  Unread(const kir::Block& block, const LaneLoop& lanes) : block_(block), lanes_(lanes) {
    for (size_t i = 0; i < block.size(); ++i) {
      note(block[i], i, false);
      if (auto* branch = std::get_if<kir::If>(&block[i].node)) {
        kir::forEach(*branch->then_body, [&](const kir::Stmt& each) { note(each, i, true); });
      }
    }
  }

  std::vector<std::string> conditions() {
    std::vector<Choices> choices(block_.size());
    std::map<Choices, int64_t> costs;
    for (size_t i = block_.size(); i-- > 0;) {
      choices[i] = choicesOf(i, choices);
      if (auto* compute = std::get_if<kir::Compute>(&block_[i].node)) {
        costs[choices[i]] +=
            std::visit([](auto op) { return int64_t{pointwiseRow(op).cost}; }, compute->op);
      }
    }
    std::vector<std::string> result;
    for (const Choices& each : choices) {
      std::vector<std::string> names;
      for (const auto& [buffer, wanted] : each) {
        names.push_back(text(wanted ? "" : "!", buffer->name));
      }
      std::sort(names.begin(), names.end());
      result.push_back(costs[each] < kLeastCost ? std::string() : join(names, " && "));
    }
    return result;
  }

 private:
  /// The buffers that a statement reads and writes, by its place in the block.
  void note(const kir::Stmt& stmt, size_t statement, bool is_nested) {
    kir::forEachAccess(stmt, [&](const kir::Ref& ref, bool is_write) {
      if (is_write) {
        writers_[ref.buffer].push_back(statement);
      } else {
        readers_[ref.buffer].push_back(
            {statement, is_nested ? std::nullopt : choiceOf(stmt, ref.buffer)});
      }
    });
  }

  /// The choice of which a buffer is one side, if all lanes choose alike.
  std::optional<std::pair<const kir::Buffer*, bool>> choiceOf(const kir::Stmt& stmt,
                                                              const kir::Buffer* buffer) const {
    const auto* compute = std::get_if<kir::Compute>(&stmt.node);
    const auto* op = compute == nullptr ? nullptr : std::get_if<TernaryOpType>(&compute->op);
    if (op == nullptr || *op != TernaryOpType::Where) {
      return std::nullopt;
    }
    const auto bufferOf = [&](size_t i) {
      const auto* ref = std::get_if<kir::Ref>(&compute->operands[i]);
      return ref == nullptr ? nullptr : ref->buffer;
    };
    const kir::Buffer* condition = bufferOf(0);
    const bool is_shared = condition != nullptr && lanes_.scalars.count(condition) != 0;
    if (!is_shared || (bufferOf(1) == buffer) == (bufferOf(2) == buffer)) {
      return std::nullopt;
    }
    return std::pair(condition, bufferOf(1) == buffer);
  }

  Choices choicesOf(size_t statement, const std::vector<Choices>& later) const {
    const kir::Ref* value = resultOf(block_[statement]);
    if (value == nullptr || lanes_.registers.count(value->buffer) == 0 ||
        writers_.at(value->buffer).size() != 1) {
      return {};
    }
    const auto readers = readers_.find(value->buffer);
    const auto reads = lanes_.reads.find(value->buffer);
    if (readers == readers_.end() || reads == lanes_.reads.end() ||
        reads->second != static_cast<int64_t>(readers->second.size())) {
      return {};  // something outside of the block reads it
    }
    std::optional<Choices> common;
    for (const Reader& reader : readers->second) {
      Choices own = later[reader.statement];
      if (reader.choice) {
        own.insert(*reader.choice);
      }
      if (!common) {
        common = own;
        continue;
      }
      std::erase_if(*common, [&](const auto& choice) { return own.count(choice) == 0; });
    }
    std::erase_if(*common, [&](const auto& choice) {
      const auto written = writers_.find(choice.first);
      return written == writers_.end() || written->second.size() != 1 ||
             written->second[0] >= statement;
    });
    return *common;
  }

  const kir::Block& block_;
  const LaneLoop& lanes_;
  std::unordered_map<const kir::Buffer*, std::vector<size_t>> writers_;
  std::unordered_map<const kir::Buffer*, std::vector<Reader>> readers_;
};

}  // namespace

std::vector<std::string> HostEmitter::readUnder(const kir::Block& block,
                                                const LaneLoop& lanes) const {
  const bool chooses = std::any_of(block.begin(), block.end(), [](const kir::Stmt& stmt) {
    const auto* compute = std::get_if<kir::Compute>(&stmt.node);
    const auto* op = compute == nullptr ? nullptr : std::get_if<TernaryOpType>(&compute->op);
    return op != nullptr && *op == TernaryOpType::Where;
  });
  return chooses ? Unread(block, lanes).conditions() : std::vector<std::string>(block.size());
}

}  // namespace nvfuser::codegen
