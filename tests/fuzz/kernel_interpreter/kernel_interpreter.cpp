#include <fuzz/kernel_interpreter/kernel_interpreter.h>

#include <algorithm>
#include <limits>
#include <map>

#include <codegen/scalar_text.h>
#include <evaluator/operations.h>
#include <fuzz/kernel_interpreter/kernel_memory.h>

namespace nvfuser::fuzz {

namespace {

constexpr int64_t kMostLanes = 512;             ///< of blocks that do not depend on each other
constexpr int64_t kMostSteps = 1 << 20;         ///< statements, over all threads
constexpr size_t kMostBytes = size_t{1} << 28;  ///< of registers, all threads that run together

[[noreturn]] void tooMuch(const std::string& what) {
  throw TooLong(text("interpreting a kernel: more ", what, " than are worth waiting for"));
}

using Active = std::vector<int64_t>;  ///< lanes, in order

class Interpreter {
 public:
  Interpreter(const kir::Kernel& kernel, const LaunchShape& shape, std::span<void* const> args,
              const BytesAt& bytesAt)
      : kernel_(kernel),
        shape_(shape),
        args_(args),
        threads_(shape.block[0] * shape.block[1] * shape.block[2]),
        blocks_(shape.grid[0] * shape.grid[1] * shape.grid[2]),
        blocks_at_once_(blocksAtOnce()),
        scalars_(threads_ * blocks_at_once_),
        memory_(kernel, threads_ * blocks_at_once_, threads_, shape.shared_bytes, args, bytesAt) {
    for (const kir::Param& param : kernel.params) {
      param_numbers_[param.name] = param_numbers_.size();
    }
  }

  void run() {
    setParameters();
    memory_.beginBlocks(scalars_);
    for (int64_t first = 0; first < blocks_; first += blocks_at_once_) {
      if (first > 0) {
        memory_.beginBlocks(scalars_);
      }
      first_block_ = first;
      setLaunchIndices();
      Active all(static_cast<size_t>(std::min(blocks_at_once_, blocks_ - first) * threads_));
      for (size_t lane = 0; lane < all.size(); ++lane) {
        all[lane] = static_cast<int64_t>(lane);
      }
      block(kernel_.body, all);
    }
  }

 private:
  int64_t blocksAtOnce() const {
    bool together = kernel_.cooperative;
    kir::forEach(kernel_.body, [&](const kir::Stmt& stmt) {
      const auto* sync = std::get_if<kir::Sync>(&stmt.node);
      together = together || std::holds_alternative<kir::GridReduce>(stmt.node) ||
                 std::holds_alternative<kir::ClusterReduce>(stmt.node) ||
                 (sync != nullptr && sync->kind == kir::SyncKind::GridBarrier);
    });
    const size_t bytes =
        std::max<size_t>(1, KernelMemory::registerBytes(kernel_) * static_cast<size_t>(threads_) +
                                static_cast<size_t>(shape_.shared_bytes));
    const auto room = static_cast<int64_t>(kMostBytes / bytes);
    const int64_t wanted = together ? blocks_
                                    : std::min({blocks_, std::max<int64_t>(1, room),
                                                std::max<int64_t>(1, kMostLanes / threads_)});
    if (wanted > room) {
      tooMuch("bytes");
    }
    if (wanted > kMostSteps / threads_) {
      tooMuch("threads");
    }
    return wanted;
  }

  // ---- scalars

  void setParameters() {
    for (size_t i = 0; i < kernel_.params.size(); ++i) {
      const kir::Param& param = kernel_.params[i];
      if (param.kind == kir::ParamKind::IndexArg) {
        scalars_.set(
            param.symbol,
            fuzz::load(args_[i], param.dtype == DataType::Int32 ? DataType::Int32 : DataType::Int)
                .integer);
      }
    }
    const int64_t* extents[] = {shape_.block, shape_.grid};
    for (const codegen::LaunchIndex& index : codegen::kLaunchIndices) {
      const bool is_dim = index.symbol.find("Dim.") != std::string_view::npos;
      if (is_dim) {
        scalars_.set(launchSymbol(index),
                     extents[index.symbol.starts_with("grid") ? 1 : 0][dimensionOf(index)]);
      }
    }
  }

  kir::Scalar launchSymbol(const codegen::LaunchIndex& index) const {
    return kernel_.pool->symbol(std::string(index.symbol));
  }
  static int dimensionOf(const codegen::LaunchIndex& index) { return index.symbol.back() - 'x'; }

  static int64_t coordinate(int64_t linear, const int64_t (&extents)[3], int dimension) {
    for (int d = 0; d < dimension; ++d) {
      linear /= extents[d];
    }
    return linear % extents[dimension];
  }
  int64_t threadIndex(int64_t lane, int dimension) const {
    return coordinate(lane % threads_, shape_.block, dimension);
  }
  int64_t blockIndex(int64_t lane, int dimension) const {
    return coordinate(first_block_ + lane / threads_, shape_.grid, dimension);
  }

  void setLaunchIndices() {
    for (const codegen::LaunchIndex& index : codegen::kLaunchIndices) {
      const bool of_thread = index.symbol.starts_with("threadIdx");
      if (!of_thread && !index.symbol.starts_with("blockIdx")) {
        continue;
      }
      int64_t* values = scalars_.setLanes(launchSymbol(index));
      for (int64_t lane = 0; lane < scalars_.lanes(); ++lane) {
        values[lane] = of_thread ? threadIndex(lane, dimensionOf(index))
                                 : blockIndex(lane, dimensionOf(index));
      }
    }
  }

  // ---- values

  /// Where 32 bits index everything, the limits of 64 bits are theirs.
  Number literal(const kir::Literal& literal) const {
    if (literal.dtype == DataType::Index && kernel_.index_type == DataType::Int32) {
      constexpr std::numeric_limits<int32_t> kIndex;
      return {0, 0, std::clamp<int64_t>(literal.value.as<int64_t>(), kIndex.min(), kIndex.max())};
    }
    return numberOf(literal.value, literal.dtype);
  }

  Number parameter(const kir::ParamRef& ref, DataType dtype) const {
    const size_t i = param_numbers_.at(ref.name);
    const kir::Param& param = kernel_.params[i];
    if (param.kind == kir::ParamKind::IndexArg) {
      return converted({0, 0, scalars().uniform(param.symbol)}, DataType::Int, dtype);
    }
    return converted(fuzz::load(args_[i], param.dtype), param.dtype, dtype);
  }
  LaneScalars& scalars() const { return const_cast<LaneScalars&>(scalars_); }

  /// Reads an operand in all lanes: calls `body(lane, number of dtype)`.
  class Reader {
   public:
    Reader(Interpreter& in, const kir::Operand& operand, DataType dtype)
        : in_(in), from_(dtype), dtype_(dtype) {
      if (const auto* ref = std::get_if<kir::Ref>(&operand)) {
        buffer_ = ref->buffer;
        from_ = buffer_->dtype;
        values_ = in_.scalars_.of(ref->index);
      } else if (const auto* literal = std::get_if<kir::Literal>(&operand)) {
        constant_ = converted(in_.literal(*literal), literal->dtype, dtype);
      } else if (const auto* param = std::get_if<kir::ParamRef>(&operand)) {
        constant_ = in_.parameter(*param, dtype);
      } else {
        const auto& index = std::get<kir::IndexValue>(operand);
        is_index_ = true;
        from_ = index.dtype;
        values_ = in_.scalars_.of(index.index);
      }
    }
    Number operator()(int64_t lane, int64_t offset = 0) const {
      if (buffer_ != nullptr) {
        return converted(in_.memory_.load(*buffer_, lane, values_[lane] + offset), from_, dtype_);
      }
      if (is_index_) {
        return converted(converted({0, 0, values_[lane]}, DataType::Int, from_), from_, dtype_);
      }
      return constant_;
    }

   private:
    Interpreter& in_;
    const kir::Buffer* buffer_ = nullptr;
    bool is_index_ = false;
    LaneScalars::Values values_;  ///< places in the buffer, or the index itself
    DataType from_, dtype_;
    Number constant_;
  };

  /// Elements of one buffer, in all lanes.
  class Elements {
   public:
    Elements(Interpreter& in, const kir::Ref& ref)
        : in_(in), buffer_(*ref.buffer), places_(in.scalars_.of(ref.index)) {}
    void write(int64_t lane, const Number& number, int64_t offset = 0) const {
      in_.memory_.store(buffer_, lane, places_[lane] + offset, number);
    }
    Number read(int64_t lane) const { return in_.memory_.load(buffer_, lane, places_[lane]); }

   private:
    Interpreter& in_;
    const kir::Buffer& buffer_;
    LaneScalars::Values places_;
  };

  // ---- statements

  void block(const kir::Block& statements, const Active& active) {
    for (const kir::Stmt& stmt : statements) {
      steps_ += static_cast<int64_t>(active.size());
      if (steps_ > kMostSteps) {
        tooMuch("steps");
      }
      std::visit([&](const auto& statement) { run(statement, active); }, stmt.node);
    }
  }

  void run(const kir::For& loop, const Active& active) {
    if (scalars_.isUniform(loop.extent)) {
      const int64_t extent = std::min(scalars_.uniform(loop.extent), idleFrom(loop, active));
      for (int64_t i = 0; i < extent; ++i) {
        scalars_.set(loop.var, i);
        block(*loop.body, active);
      }
      return;
    }
    Active inside = active;
    for (int64_t i = 0;; ++i) {
      const LaneScalars::Values extents = scalars_.of(loop.extent);
      std::erase_if(inside, [&](int64_t lane) { return i >= extents[lane]; });
      if (inside.empty()) {
        return;
      }
      scalars_.set(loop.var, i);
      block(*loop.body, inside);
    }
  }

  /// first + step · (the loop's variable) < end, which no later iteration meets again.
  struct Limit {
    kir::Scalar first, end;
    int64_t step;
  };
  /// Of each `If` of a loop that has nothing else in it: limits that all have to hold.
  struct Limits {
    bool is_known = false;
    bool is_limited = true;  ///< whether each `If` has one
    std::vector<std::vector<Limit>> of_branches;
  };

  const Limits& limitsOf(const kir::For& loop) {
    Limits& limits = limits_[&loop];
    if (limits.is_known) {
      return limits;
    }
    limits.is_known = true;
    kir::ScalarPool& pool = *kernel_.pool;
    std::unordered_map<kir::Scalar, kir::Scalar> lets;
    for (const kir::Stmt& stmt : *loop.body) {
      if (const auto* let = std::get_if<kir::Let>(&stmt.node)) {
        lets[let->var] = pool.substitute(let->value, lets);
      } else if (const auto* branch = std::get_if<kir::If>(&stmt.node);
                 branch != nullptr && branch->else_body == nullptr) {
        limits.of_branches.push_back(limitsOf(pool.substitute(branch->condition, lets), loop.var));
        limits.is_limited = limits.is_limited && !limits.of_branches.back().empty();
      } else if (!std::holds_alternative<kir::Declare>(stmt.node)) {
        limits.is_limited = false;
      }
    }
    return limits;
  }

  std::vector<Limit> limitsOf(kir::Scalar condition, kir::Scalar var) {
    const std::vector<kir::Scalar> conjuncts =
        condition->op == kir::ScalarOp::And ? condition->args : std::vector<kir::Scalar>{condition};
    std::vector<Limit> limits;
    for (kir::Scalar one : conjuncts) {
      Limit limit{nullptr, nullptr, 0};
      if (one->op == kir::ScalarOp::Less && !kir::ScalarPool::contains(one->args[1], var) &&
          kernel_.pool->splitLinear(one->args[0], var, &limit.step, &limit.first) &&
          limit.step > 0) {
        limit.end = one->args[1];
        limits.push_back(limit);
      }
    }
    return limits;
  }

  /// The iteration from which on a loop does nothing in any lane, as far as that is seen: loops
  /// over thousands of elements, of which a small tensor has two, would take most of the time.
  int64_t idleFrom(const kir::For& loop, const Active& active) {
    const Limits& limits = limitsOf(loop);
    if (!limits.is_limited) {
      return INT64_MAX;
    }
    int64_t idle_from = 0;
    for (const std::vector<Limit>& branch : limits.of_branches) {
      int64_t most = INT64_MAX;
      for (const Limit& limit : branch) {
        const LaneScalars::Values first = scalars_.of(limit.first), end = scalars_.of(limit.end);
        int64_t most_of_lanes = 0;
        for (int64_t lane : active) {
          const int64_t left = end[lane] - first[lane];
          most_of_lanes =
              std::max(most_of_lanes, left <= 0 ? 0 : (left + limit.step - 1) / limit.step);
        }
        most = std::min(most, most_of_lanes);
      }
      idle_from = std::max(idle_from, most);
    }
    return idle_from;
  }

  void run(const kir::If& branch, const Active& active) {
    const LaneScalars::Values holds = scalars_.of(branch.condition);
    Active then_lanes, else_lanes;
    for (int64_t lane : active) {
      (holds[lane] != 0 ? then_lanes : else_lanes).push_back(lane);
    }
    if (!then_lanes.empty()) {
      block(*branch.then_body, then_lanes);
    }
    if (!else_lanes.empty() && branch.else_body != nullptr) {
      block(*branch.else_body, else_lanes);
    }
  }

  void run(const kir::Declare& declare, const Active& active) {
    for (int64_t lane : active) {
      memory_.declare(*declare.buffer, lane);
    }
  }

  void run(const kir::Let& let, const Active&) {
    if (scalars_.isUniform(let.value)) {
      scalars_.set(let.var, scalars_.uniform(let.value));
      return;
    }
    const LaneScalars::Values values = scalars_.of(let.value);
    std::vector<int64_t> copy;
    for (int64_t lane = 0; lane < scalars_.lanes(); ++lane) {
      copy.push_back(values[lane]);
    }
    std::copy(copy.begin(), copy.end(), scalars_.setLanes(let.var));
  }

  void run(const kir::LoadIndex& load, const Active& active) {
    Reader source(*this, load.src, DataType::Int);
    std::vector<std::pair<int64_t, int64_t>> read;
    for (int64_t lane : active) {
      read.emplace_back(lane, heldToRange(source(lane).integer, load.range));
    }
    int64_t* values = scalars_.setLanes(load.var);
    for (const auto& [lane, value] : read) {
      values[lane] = value;
    }
  }

  /// What lies outside counts as the last, and is reported.
  int64_t heldToRange(int64_t index, int range) {
    if (range < 0) {
      return index;
    }
    const int64_t extent =
        scalars_.uniform(kernel_.index_reads.at(static_cast<size_t>(range)).extent);
    if (index >= 0 && index < extent) {
      return index;
    }
    memory_.store(*kernel_.index_report, 0, 0, {0, 0, range + 1});
    memory_.store(*kernel_.index_report, 0, 1, {0, 0, index});
    return extent - 1;
  }

  void run(const kir::Compute& compute, const Active& active) {
    std::vector<Reader> readers;
    for (const kir::Operand& operand : compute.operands) {
      const bool is_condition = selects(compute.op) && readers.empty();
      readers.emplace_back(*this, operand,
                           is_condition ? DataType(DataType::Bool) : compute.compute);
    }
    const Elements dst(*this, compute.dst);
    Number operands[3];
    for (int64_t lane : active) {
      for (size_t i = 0; i < readers.size(); ++i) {
        operands[i] = readers[i](lane);
      }
      dst.write(lane, computed(compute.op, compute.compute, compute.dst.buffer->dtype,
                               std::span(operands, readers.size())));
    }
  }

  void copy(const kir::Ref& dst, const kir::Operand& src, const Active& active) {
    const Reader source(*this, src, dst.buffer->dtype);
    const Elements to(*this, dst);
    for (int64_t lane : active) {
      for (int64_t e = 0; e < dst.width; ++e) {
        to.write(lane, source(lane, e), e);
      }
    }
  }
  void run(const kir::Assign& assign, const Active& active) {
    copy(assign.dst, assign.src, active);
  }
  void run(const kir::CopyVector& vector, const Active& active) {
    copy(vector.dst, vector.src, active);
  }

  void chosen(const kir::Ref& dst, kir::Scalar condition, const kir::Operand& src,
              const kir::Operand& otherwise, const Active& active) {
    Active holds, does_not;
    const LaneScalars::Values conditions = scalars_.of(condition);
    for (int64_t lane : active) {
      (conditions[lane] != 0 ? holds : does_not).push_back(lane);
    }
    copy(dst, src, holds);
    copy(dst, otherwise, does_not);
  }
  void run(const kir::Guarded& guarded, const Active& active) {
    chosen(guarded.dst, guarded.condition, guarded.src, guarded.otherwise, active);
  }
  void run(const kir::CopyAsync& async, const Active& active) {
    if (async.condition == nullptr) {
      copy(async.dst, async.src, active);
    } else {
      chosen(async.dst, async.condition, async.src,
             kir::Literal{PolymorphicValue(0), async.dst.buffer->dtype}, active);
    }
  }

  void run(const kir::BulkCopy& bulk, const Active& active) {
    const Reader source(*this, bulk.src, bulk.dst.buffer->dtype);
    const Elements dst(*this, bulk.dst);
    const LaneScalars::Values counts = scalars_.of(bulk.count);
    int64_t block = -1;
    for (int64_t lane : active) {
      if (lane / threads_ == block) {
        continue;  // one thread of a block asks
      }
      block = lane / threads_;
      for (int64_t e = 0; e < counts[lane]; ++e) {
        dst.write(lane, source(lane, e), e);
      }
    }
  }
  void run(const kir::AsyncCommit&, const Active&) {}
  void run(const kir::AsyncWait&, const Active&) {}
  void run(const kir::MBarrierInit&, const Active&) {}
  void run(const kir::FenceAsyncProxy&, const Active&) {}
  void run(const kir::Sync&, const Active&) {}

  void run(const kir::Random& random, const Active& active) {
    const DataType dtype = random.dst.buffer->dtype;
    const DataType compute = dtype == DataType::Double ? DataType::Double : DataType::Float;
    Reader seed(*this, random.seed, DataType::UInt64);
    Reader offset(*this, random.offset, DataType::UInt64);
    const Elements dst(*this, random.dst);
    std::vector<Reader> parameters;
    for (const kir::Operand& operand : random.parameters) {
      parameters.emplace_back(*this, operand, compute);
    }
    for (int64_t lane : active) {
      const int64_t element = random.block == nullptr ? scalars_.of(random.element)[lane]
                                                      : 4 * scalars_.of(random.block)[lane] +
                                                            scalars_.of(random.word)[lane];
      double values[2] = {};
      for (size_t i = 0; i < parameters.size(); ++i) {
        values[i] = parameters[i](lane).real;
      }
      const double drawn =
          reference::drawnNumber(random.type, dtype, static_cast<uint64_t>(seed(lane).integer),
                                 static_cast<uint64_t>(offset(lane).integer + random.draw),
                                 static_cast<uint64_t>(element), values);
      dst.write(lane, {drawn, 0, 0});
    }
  }

  // ---- reductions

  /// The parts of a reduction's state, in all lanes.
  class States {
   public:
    States(Interpreter& in, const std::vector<kir::Ref>& refs) {
      for (const kir::Ref& ref : refs) {
        parts_.emplace_back(in, ref);
      }
    }
    std::vector<Number> read(int64_t lane) const {
      std::vector<Number> numbers;
      for (const Elements& part : parts_) {
        numbers.push_back(part.read(lane));
      }
      return numbers;
    }
    void write(int64_t lane, const std::vector<Number>& numbers) const {
      for (size_t i = 0; i < parts_.size(); ++i) {
        parts_[i].write(lane, numbers[i]);
      }
    }

   private:
    std::vector<Elements> parts_;
  };

  void run(const kir::Combine& step, const Active& active) {
    std::vector<Reader> readers;
    for (size_t i = 0; i < step.value.size(); ++i) {
      readers.emplace_back(*this, step.value[i], step.monoid.dtypes[i]);
    }
    const States states(*this, step.state);
    std::vector<Number> value(readers.size());
    for (int64_t lane : active) {
      for (size_t i = 0; i < readers.size(); ++i) {
        value[i] = readers[i](lane);
      }
      std::vector<Number> sum = states.read(lane);
      combine(step.monoid, sum, value);
      states.write(lane, sum);
    }
  }

  /// Combines the states of lanes with equal keys, in the order of lanes; all of them get it, or
  /// those for which `gets(group, lane)` holds.
  template <typename Key, typename Gets>
  void combineGroups(const kir::Monoid& monoid, const std::vector<kir::Ref>& refs,
                     const Active& active, const Key& keyOf, const Gets& gets) {
    std::map<std::vector<int64_t>, Active> groups;
    for (int64_t lane : active) {
      groups[keyOf(lane)].push_back(lane);
    }
    const States states(*this, refs);
    for (const auto& [key, lanes] : groups) {
      std::vector<Number> sum = states.read(lanes.front());
      for (size_t i = 1; i < lanes.size(); ++i) {
        combine(monoid, sum, states.read(lanes[i]));
      }
      for (int64_t lane : lanes) {
        if (gets(lanes, lane)) {
          states.write(lane, sum);
        }
      }
    }
  }
  static bool all(const Active&, int64_t) { return true; }

  void run(const kir::BlockReduce& reduce, const Active& active) {
    combineGroups(
        reduce.monoid, reduce.state, active,
        [&](int64_t lane) {
          std::vector<int64_t> key{lane / threads_};
          for (int d = 0; d < 3; ++d) {
            key.push_back(reduce.dims[d] ? 0 : threadIndex(lane, d));
          }
          return key;
        },
        all);
  }

  void run(const kir::ClusterReduce& reduce, const Active& active) {
    // The threads that were combined in the block before hold the same.
    combineGroups(
        reduce.monoid, reduce.state, active,
        [&](int64_t lane) {
          std::vector<int64_t> key;
          for (int d = 0; d < 3; ++d) {
            key.push_back(blockIndex(lane, d) / shape_.cluster[d]);
            key.push_back(threadIndex(lane, d));
          }
          return key;
        },
        all);
  }

  void run(const kir::GridReduce& reduce, const Active& active) {
    const auto keyOf = [&](int64_t lane) {
      std::vector<int64_t> key{lane % threads_};
      for (int d = 0; d < 3; ++d) {
        key.push_back(reduce.dims[d] ? 0 : blockIndex(lane, d));
      }
      return key;
    };
    if (reduce.all) {
      combineGroups(reduce.monoid, reduce.state, active, keyOf, all);
      return;
    }
    // Any may come last: the one in the middle.
    std::vector<std::pair<int64_t, int64_t>> last;
    combineGroups(reduce.monoid, reduce.state, active, keyOf,
                  [&](const Active& group, int64_t lane) {
                    const bool is_last = lane == group[group.size() / 2];
                    last.emplace_back(lane, is_last ? 1 : 0);
                    return is_last;
                  });
    int64_t* values = scalars_.setLanes(reduce.last);
    for (const auto& [lane, is_last] : last) {
      values[lane] = is_last;
    }
  }

  const kir::Kernel& kernel_;
  const LaunchShape& shape_;
  std::span<void* const> args_;
  int64_t threads_;  ///< of a block
  int64_t blocks_;
  int64_t blocks_at_once_;
  int64_t first_block_ = 0;
  int64_t steps_ = 0;
  LaneScalars scalars_;
  KernelMemory memory_;
  std::map<std::string, size_t> param_numbers_;
  std::unordered_map<const kir::For*, Limits> limits_;
};

}  // namespace

void interpretKernel(const kir::Kernel& kernel, const LaunchShape& shape,
                     std::span<void* const> args, const BytesAt& bytesAt) {
  Interpreter(kernel, shape, args, bytesAt).run();
}

}  // namespace nvfuser::fuzz
