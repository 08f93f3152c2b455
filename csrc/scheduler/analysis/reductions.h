/// What all reductions of a Fusion have in common: which axes are reduced and which are kept.
///
///   T2[i0, r1] = sum(T0)    T3[i0, r1] = max(T1)    reduced {i1}, kept {i0}
///
/// Reductions with one signature can share their loops; two signatures need two kernels.
#pragma once

#include <set>
#include <variant>
#include <vector>

#include <id_model/id_graph.h>
#include <scheduler/registry.h>

namespace nvfuser {

struct ReductionSignature {
  /// The reductions (and Welford's operations) in definition order.
  std::vector<Expr*> reductions;
  /// Classes of the permissive graph; broadcasts are in neither.
  std::set<int> reduced;
  std::set<int> kept;

  /// The first reduction's result and what it reduces: their axes, in one order, are those of the
  /// loops.
  TensorView* reference() const;
  TensorView* source() const;
  /// Whether an axis of `tv` is a reduced one that is still there.
  bool spansReduced(const TensorView* tv, const IdGraph& permissive) const;
  /// Whether `tv` has all axes of rows, so that each element of a row is one of its own.
  bool spansRows(const TensorView* tv, const IdGraph& permissive) const;
};

/// The signature, or which two reductions differ.
std::variant<ReductionSignature, Refusal> reductionSignature(const Fusion& fusion,
                                                             const IdGraph& permissive);

/// Reductions over the inner axes of a row, and over the outer ones of what the rows give.
///
///   T2[i0, r1] = sum(T0)    T3[r0, i1] = sum(T1)    T3 and what is computed of it is not read by
///                                                   anything that has i0
struct InnerOuterReductions {
  ReductionSignature inner;
  /// Their results have the axes that `inner` reduces.
  std::vector<Expr*> outer;
  /// What is computed from the outer ones' results, in definition order.
  std::vector<Expr*> tail;
};
std::variant<InnerOuterReductions, Refusal> innerOuterReductions(const Fusion& fusion,
                                                                 const IdGraph& permissive);

/// The signature of the loops over rows: the only one, or the inner one of two.
std::variant<ReductionSignature, Refusal> rowSignature(const Fusion& fusion,
                                                       const IdGraph& permissive);

}  // namespace nvfuser
