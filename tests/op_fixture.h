/// A Fusion in which tests define operations, and a check of what they defined.
#pragma once

#include <doctest/doctest.h>

#include <vector>

#include <ir/axis_map.h>
#include <ir/builder.h>
#include <ir/fusion.h>

namespace nvfuser {

struct OpFixture {
  Fusion fusion;
  FusionGuard guard{&fusion};

  /// An input of constant shape.
  TensorView* constant(const std::vector<int64_t>& shape, DataType dtype = DataType::Float) {
    TensorView* tv = makeContigConcreteTensor(shape, dtype);
    fusion.addInput(tv);
    return tv;
  }
  TensorView* symbolic(int64_t rank, DataType dtype = DataType::Float) {
    TensorView* tv = makeContigTensor(rank, dtype);
    fusion.addInput(tv);
    return tv;
  }
  static Val* extent(TensorView* tv, size_t axis) {
    return tv->getLogicalDomain().at(axis)->extent();
  }
  static Val* num(int64_t value) { return IrBuilder::create<Val>(PolymorphicValue(value)); }
  static Val* real(double value) { return IrBuilder::create<Val>(PolymorphicValue(value)); }

  /// The axes of every definition must correspond, and the graph must keep the rules of the IR.
  void checkSound(const std::vector<TensorView*>& outputs) {
    for (TensorView* out : outputs) {
      if (!out->isFusionInput() && !out->isFusionOutput()) {
        fusion.addOutput(out);
      }
    }
    for (Expr* expr : fusion.exprs()) {
      for (TensorView* producer : tensorInputs(expr)) {
        for (TensorView* consumer : tensorOutputs(expr)) {
          CHECK_NOTHROW(mapAxes(expr, producer, consumer));
        }
      }
    }
    CHECK_NOTHROW(fusion.verify());
  }
  void checkSound(TensorView* out) { checkSound(std::vector<TensorView*>{out}); }
};

}  // namespace nvfuser
