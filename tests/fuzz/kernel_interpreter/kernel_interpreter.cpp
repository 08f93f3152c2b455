#include <fuzz/kernel_interpreter/kernel_interpreter.h>

#include <algorithm>
#include <map>

#include <evaluator/operations.h>
#include <fuzz/kernel_interpreter/idle_iterations.h>
#include <fuzz/kernel_interpreter/lane_values.h>
#include <fuzz/kernel_interpreter/launch_lanes.h>

namespace nvfuser::fuzz {

namespace {

constexpr int64_t kMostSteps = 1 << 20;  ///< statements, over all threads

using Active = std::vector<int64_t>;  ///< lanes, in order

class Interpreter {
 public:
  Interpreter(const kir::Kernel& kernel, const LaunchShape& shape, std::span<void* const> args,
              const BytesAt& bytesAt)
      : kernel_(kernel),
        lanes_(kernel, shape),
        scalars_(lanes_.count()),
        memory_(kernel, lanes_.count(), lanes_.threads(), shape.shared_bytes, args, bytesAt),
        idle_(kernel),
        values_(kernel, args, scalars_, memory_) {
    lanes_.setParameters(args, scalars_);
  }

  void run() {
    for (int64_t first = 0; first < lanes_.blocks(); first += lanes_.blocksAtOnce()) {
      memory_.beginBlocks(scalars_);
      block(kernel_.body, lanes_.begin(first, scalars_));
    }
  }

 private:
  // ---- statements

  void block(const kir::Block& statements, const Active& active) {
    for (const kir::Stmt& stmt : statements) {
      steps_ += static_cast<int64_t>(active.size());
      if (steps_ > kMostSteps) {
        throw TooLong("interpreting a kernel: more steps than are worth waiting for");
      }
      std::visit([&](const auto& statement) { run(statement, active); }, stmt.node);
    }
  }

  void run(const kir::For& loop, const Active& active) {
    if (scalars_.isUniform(loop.extent)) {
      const int64_t extent =
          std::min(scalars_.uniform(loop.extent), idle_.from(loop, active, scalars_));
      for (int64_t i = 0; i < extent; ++i) {
        scalars_.set(loop.var, loop.descending ? extent - 1 - i : i);
        block(*loop.body, active);
      }
      return;
    }
    check(!loop.descending, "threads go backward along loops of one length");
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
    LaneOperand source(values_, load.src, DataType::Int);
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
    std::vector<LaneOperand> readers;
    for (const kir::Operand& operand : compute.operands) {
      const bool is_condition = selects(compute.op) && readers.empty();
      readers.emplace_back(values_, operand,
                           is_condition ? DataType(DataType::Bool) : compute.compute);
    }
    const LaneElements dst(values_, compute.dst);
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
    const LaneOperand source(values_, src, dst.buffer->dtype);
    const LaneElements to(values_, dst);
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
    const LaneOperand source(values_, bulk.src, bulk.dst.buffer->dtype);
    const LaneElements dst(values_, bulk.dst);
    const LaneScalars::Values counts = scalars_.of(bulk.count);
    int64_t block = -1;
    for (int64_t lane : active) {
      if (lanes_.blockOf(lane) == block) {
        continue;  // one thread of a block asks
      }
      block = lanes_.blockOf(lane);
      for (int64_t e = 0; e < counts[lane]; ++e) {
        dst.write(lane, source(lane, e), e);
      }
    }
  }
  void run(const kir::BoxCopy&, const Active&) {
    throw InternalError("the interpreter of kernels copies no boxes");
  }
  void run(const kir::MBarrierArrive&, const Active&) {}
  void run(const kir::SetRegisters&, const Active&) {}
  void run(const kir::GridDependency&, const Active&) {}
  void run(const kir::AsyncCommit&, const Active&) {}
  void run(const kir::AsyncWait&, const Active&) {}
  void run(const kir::MBarrierInit&, const Active&) {}
  void run(const kir::FenceAsyncProxy&, const Active&) {}
  void run(const kir::Sync&, const Active&) {}
  void run(const kir::Fetch&, const Active&) {}

  void run(const kir::Random& random, const Active& active) {
    const DataType dtype = random.dst.buffer->dtype;
    const DataType compute = dtype == DataType::Double ? DataType::Double : DataType::Float;
    LaneOperand seed(values_, random.seed, DataType::UInt64);
    LaneOperand offset(values_, random.offset, DataType::UInt64);
    const LaneElements dst(values_, random.dst);
    std::vector<LaneOperand> parameters;
    for (const kir::Operand& operand : random.parameters) {
      parameters.emplace_back(values_, operand, compute);
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

  void run(const kir::Combine& step, const Active& active) {
    std::vector<LaneOperand> readers;
    for (size_t i = 0; i < step.value.size(); ++i) {
      readers.emplace_back(values_, step.value[i], step.monoid.dtypes[i]);
    }
    const LaneStates states(values_, step.state);
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

  void run(const kir::CombineAt& step, const Active& active) {
    const DataType dtype = step.dst.buffer->dtype;
    const LaneOperand value(values_, step.value, dtype);
    const LaneElements elements(values_, step.dst);
    kir::Monoid monoid;
    monoid.op = step.op.value_or(BinaryOpType::Add);
    monoid.dtypes = {dtype};
    for (int64_t lane : active) {
      for (int64_t i = 0; i < step.dst.width; ++i) {
        std::vector<Number> written{value(lane, i)};
        if (step.op) {
          std::vector<Number> before{elements.read(lane, i)};
          combine(monoid, before, written);
          written = before;
        }
        elements.write(lane, written[0], i);
      }
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
    const LaneStates states(values_, refs);
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
          std::vector<int64_t> key{lanes_.blockOf(lane)};
          for (int d = 0; d < 3; ++d) {
            key.push_back(reduce.dims[d] ? 0 : lanes_.threadIndex(lane, d));
          }
          return key;
        },
        all);
  }

  void run(const kir::BlockScan& scan, const Active& active) {
    std::map<std::vector<int64_t>, Active> groups;
    for (int64_t lane : active) {
      std::vector<int64_t> key{lanes_.blockOf(lane)};
      for (int d = 0; d < 3; ++d) {
        key.push_back(scan.dims[d] ? 0 : lanes_.threadIndex(lane, d));
      }
      groups[key].push_back(lane);
    }
    const LaneStates states(values_, scan.state);
    const LaneStates totals(values_, scan.total);
    for (auto& [key, lanes] : groups) {
      if (scan.backward) {
        std::reverse(lanes.begin(), lanes.end());
      }
      std::vector<Number> sum = totals.read(lanes.front());
      for (int64_t lane : lanes) {
        const std::vector<Number> own = states.read(lane);
        states.write(lane, sum);
        combine(scan.monoid, sum, own);
      }
      for (int64_t lane : lanes) {
        totals.write(lane, sum);
      }
    }
  }

  void run(const kir::ClusterReduce& reduce, const Active& active) {
    // The threads that were combined in the block before hold the same.
    combineGroups(
        reduce.monoid, reduce.state, active,
        [&](int64_t lane) {
          std::vector<int64_t> key;
          for (int d = 0; d < 3; ++d) {
            key.push_back(lanes_.blockIndex(lane, d) / lanes_.shape().cluster[d]);
            key.push_back(lanes_.threadIndex(lane, d));
          }
          return key;
        },
        all);
  }

  void run(const kir::GridReduce& reduce, const Active& active) {
    const auto keyOf = [&](int64_t lane) {
      std::vector<int64_t> key{lanes_.threadOf(lane)};
      for (int d = 0; d < 3; ++d) {
        key.push_back(reduce.dims[d] ? 0 : lanes_.blockIndex(lane, d));
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
  LaunchLanes lanes_;
  int64_t steps_ = 0;
  LaneScalars scalars_;
  KernelMemory memory_;
  IdleIterations idle_;
  LaneValues values_;
};

}  // namespace

void interpretKernel(const kir::Kernel& kernel, const LaunchShape& shape,
                     std::span<void* const> args, const BytesAt& bytesAt) {
  Interpreter(kernel, shape, args, bytesAt).run();
}

}  // namespace nvfuser::fuzz
