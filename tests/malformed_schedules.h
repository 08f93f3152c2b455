/// The programs that wrong schedules are tried on
/// (tests/error/malformed_{primitives,lowering}.cpp).
#pragma once

#include <malformed.h>

namespace nvfuser::malformed {

/// T0[8, 64] → T1 = set → T2 = exp → T3 = set (output): room to schedule each on its own.
struct Chain {
  TensorView* in;
  TensorView* load;
  TensorView* body;
  TensorView* out;

  explicit Chain(Program& p, const std::vector<int64_t>& shape = {8, 64},
                 DataType dtype = DataType::Float)
      : in(p.input(shape, dtype)), load(set(in)), body(exp(load)), out(p.output(set(body))) {}

  void splitAll(int64_t axis, int64_t factor) {
    for (TensorView* tv : {load, body, out}) {
      tv->split(axis, factor);
    }
  }
  void bindAll(int64_t axis, ParallelType type) {
    for (TensorView* tv : {load, body, out}) {
      tv->axis(axis)->parallelize(type);
    }
  }
};

/// T0[8, 64] → T1 = set → T2 = sum over axis 1 → T3 = broadcast → T4 = T1 − T3 (output).
struct Centred {
  TensorView* in;
  TensorView* row;
  TensorView* total;
  TensorView* wide;
  TensorView* out;

  explicit Centred(Program& p)
      : in(p.input({8, 64})),
        row(set(in)),
        total(sum(row, {1})),
        wide(broadcast(total, {false, true})),
        out(p.output(sub(row, wide))) {}
};

}  // namespace nvfuser::malformed
