/// Tables of wrong programs, schedules and inputs (tests/error/malformed_*.cpp), and what each must
/// bring about: one `UserError` with the documented words, and a state that can be used on.
#pragma once

#include <doctest/doctest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <device_lower/lower.h>
#include <ir/builder.h>
#include <ir/fusion.h>
#include <ops/all_ops.h>
#include <runtime/executor.h>
#include <runtime/validation.h>
#include <scheduler/utils.h>
#include <user_error.h>

namespace nvfuser::malformed {

/// A Fusion under construction; `ready()` marks the state that the wrong step has to leave alone.
struct Program {
  Fusion fusion;
  FusionGuard guard{&fusion};
  std::optional<std::string> before;

  TensorView* input(const std::vector<int64_t>& shape, DataType dtype = DataType::Float) {
    TensorView* tv = makeContigConcreteTensor(shape, dtype);
    fusion.addInput(tv);
    return tv;
  }
  TensorView* symbolicInput(int64_t rank, DataType dtype = DataType::Float) {
    TensorView* tv = makeContigTensor(rank, dtype);
    fusion.addInput(tv);
    return tv;
  }
  TensorView* output(TensorView* tv) {
    fusion.addOutput(tv);
    return tv;
  }
  void ready() { before = fusion.toString(); }
  /// Lowers for a GPU; a refused schedule stays as it is.
  void lower(LowerTarget target = LowerTarget::Cuda, int compute_capability = 80) {
    ready();
    LowerOptions options;
    options.target = target;
    options.compute_capability = compute_capability;
    nvfuser::lower(&fusion, options);
  }
};

struct Case {
  std::string name;
  std::string words;  ///< what the message must contain
  std::function<void(Program&)> use;
};

std::vector<Case> programs();
std::vector<Case> refusedByPrimitives();
std::vector<Case> refusedByLowering();
std::vector<Case> sharedMemory();
std::vector<Case> scans();
std::vector<Case> wrongArguments();
std::vector<Case> wrongStorage();
/// Those of both schedules' tables, and of both arguments' tables.
std::vector<Case> bulkCopies();
std::vector<Case> hopperSchedules();
std::vector<Case> schedules();
std::vector<Case> inputs();

inline Val* num(int64_t value) { return IrBuilder::create<Val>(PolymorphicValue(value)); }
inline Val* real(double value) { return IrBuilder::create<Val>(PolymorphicValue(value)); }

/// Runs a case and checks everything about it. Gives back the message.
std::string checkCase(const Case& wrong);

}  // namespace nvfuser::malformed
