// Where the result of a scatter is written (scheduler/scatter/nests.h), and when blocks of a GPU
// add up entries for it.
#include <doctest/doctest.h>

#include "planned.h"
#include <fusion.h>
#include <ir/builder.h>
#include <ops/all_ops.h>
#include <scheduler/scatter/nests.h>

using namespace nvfuser;

namespace {

struct Program {
  Fusion fusion;
  TensorView* target = nullptr;
  TensorView* result = nullptr;
  const ScatterOp* op = nullptr;

  Program() {
    FusionGuard guard(&fusion);
    target = makeContigConcreteTensor({64, 8});
    TensorView* index = makeContigConcreteTensor({100, 8}, DataType::Int);
    TensorView* source = makeContigConcreteTensor({100, 8});
    for (TensorView* tv : {target, index, source}) {
      fusion.addInput(tv);
    }
    result = scatter(target, 0, index, source, BinaryOpType::Add);
    op = result->definition()->as<ScatterOp>();
  }
};

}  // namespace

TEST_CASE("scatters: the result is written where a copy of it would go") {
  Program program;
  FusionGuard guard(&program.fusion);
  TensorView* stored = set(program.result);
  program.fusion.addOutput(stored);
  CHECK(scatters::storedResult(program.op) == stored);
}

TEST_CASE("scatters: the result has memory of its own beside other readers") {
  Program program;
  FusionGuard guard(&program.fusion);
  program.fusion.addOutput(set(program.result));
  program.fusion.addOutput(exp(program.result));
  CHECK(scatters::storedResult(program.op) == program.result);
}

TEST_CASE("scatters: the result has memory of its own where the copy is an argument, or turned") {
  {
    Program program;
    FusionGuard guard(&program.fusion);
    TensorView* stored = set(program.result);
    program.fusion.addOutput(stored);
    program.fusion.aliasOutputToInput(stored, program.target, AllocationType::ReuseBuffer);
    CHECK(scatters::storedResult(program.op) == program.result);
  }
  Program program;
  FusionGuard guard(&program.fusion);
  TensorView* stored = set(program.result);
  stored->setAllocationDomain({stored->axis(1), stored->axis(0)}, true);
  program.fusion.addOutput(stored);
  CHECK(scatters::storedResult(program.op) == program.result);
}

namespace {

/// What is planned for `entries` that are combined in rows of `columns` (0: none) of a target.
std::string plannedFor(int64_t rows, int64_t columns, int64_t entries,
                       BinaryOpType type = BinaryOpType::Add) {
  std::vector<int64_t> target{rows};
  std::vector<int64_t> of_entries{entries};
  if (columns > 0) {
    target.push_back(columns);
    of_entries.push_back(columns);
  }
  return planned(
      scatterScheduler(),
      [&](Fusion& fusion) {
        TensorView* self = makeContigConcreteTensor(target);
        TensorView* index = makeContigConcreteTensor(of_entries, DataType::Int);
        TensorView* source = makeContigConcreteTensor(of_entries);
        for (TensorView* tv : {self, index, source}) {
          fusion.addInput(tv);
        }
        fusion.addOutput(scatter(self, 0, index, source, type));
      },
      Call{{target, of_entries, of_entries}});
}

bool isByBlocks(const std::string& plan) {
  return plan.find("sums of blocks") != std::string::npos;
}

}  // namespace

TEST_CASE("scatters: blocks add up many entries of few elements") {
  CHECK(isByBlocks(plannedFor(4096, 0, 1 << 21)));
  CHECK(isByBlocks(plannedFor(64, 128, 1 << 18)));
  CHECK(isByBlocks(plannedFor(3, 0, 1 << 18)));
}

TEST_CASE("scatters: entries are added to memory where blocks would add no less") {
  CHECK_FALSE(isByBlocks(plannedFor(4096, 0, 1 << 17)));
  CHECK_FALSE(isByBlocks(plannedFor(64, 128, 1 << 13)));
  CHECK_FALSE(isByBlocks(plannedFor(1 << 20, 0, 1 << 27)));  // no block has room for the target
  CHECK_FALSE(isByBlocks(plannedFor(3, 0, 200)));            // one block is enough
  CHECK_FALSE(isByBlocks(plannedFor(4096, 0, 1 << 21, BinaryOpType::Max)));
}
