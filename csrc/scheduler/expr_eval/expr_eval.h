/// The scheduler of one operation that belongs to a library (ir/external_ops.h), a product with its
/// epilogue (epilogue.h) included: no kernel is made; a run hands the operation to its library
/// (external/).
#pragma once

#include <scheduler/registry.h>

namespace nvfuser {

struct ExprEvalParams : HeuristicParams {
  std::string operation;  ///< for reports

  ExprEvalParams() : HeuristicParams(SchedulerType::ExprEval) {}
  std::string toString() const override { return operation; }
  std::unique_ptr<HeuristicParams> clone() const override {
    auto copy = std::make_unique<ExprEvalParams>();
    copy->operation = operation;
    return copy;
  }
};

const SchedulerEntry& exprEvalScheduler();

}  // namespace nvfuser
