/// Rows of few elements, on the CPU: rows are the lanes of vectors, not what lies in a row.
///
///   T1[i0] = sum(T0[i0, i1]) for i1 < 10, loops of 16 rows:
///
///     T2[r, i1] = T0[…]                for r: for i1        as memory has them
///     T3[i1, r] = T2[r, i1]            turned in registers
///     T1[r] += T3[i1, r]               for i1: 16 rows at once
///
/// A row of ten would fill a vector and a part of one, its sum would be a tree over lanes, and what
/// is computed of the sum would be computed for one row at a time. Turning an element costs less
/// than half an addition. What is written along rows is turned back.
#pragma once

#include <unordered_map>
#include <vector>

#include <scheduler/reduction/problem.h>

namespace nvfuser::reduction {

/// Behind `planHost`: whether rows are constant and short, many, and whole runs of memory, and
/// nothing but them, results of rows and weights is read and written; `params` for it then.
void planTurnedRows(const Problem& problem, ReductionParams& params);

/// The copies that it takes.
class TurnedRows {
 public:
  /// Copies what is read and written along rows. Before loops are made.
  void copy(Fusion* fusion, const ReductionParams& params);
  /// Gives the copies that lie as memory has them their loops, [… rows of a strip, row], once all
  /// tensors have those of the reference, [… row, rows of a strip], from `place` on. What is to be
  /// whole in front of these loops.
  void reorder(int64_t place, std::unordered_map<const TensorView*, int64_t>& held) const;

 private:
  std::vector<TensorView*> copies_;       ///< from and to memory, a strip's rows as one run
  std::vector<TensorView*> turned_back_;  ///< rows by rows
  std::vector<TensorView*> tiles_;
};

}  // namespace nvfuser::reduction
