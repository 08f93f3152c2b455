// Where the result of a scatter is written (scheduler/scatter/nests.h).
#include <doctest/doctest.h>

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
