/// Shape inference: the sizes of every tensor of a Fusion for the inputs of one call, operation by
/// operation, and whether they fit each other.
///
///   T0[i0, i1]   T1[i2, i3]   T2 = T0 + T1   T3 = reshape(T2, [i4, -1])
///
///   called with T0 of 1x6, T1 of 5x6: T2 is 5x6, T0 is stretched; i4 has to divide 30
///
/// A Fusion is read once, into steps over *sizes*: axes that are equally long in every call share
/// one, so that a call computes and checks only what the symbols leave open.
///
/// Not here: extents as scalars of the Fusion (ops::sizesOf), sizes of loops.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include <evaluator/expression_evaluator.h>
#include <ir/fusion.h>

namespace nvfuser {

class Split;

/// Throws `UserError` where the factor of a split of `tv`, in a call, is not positive.
void requirePositive(int64_t factor, const Split* split, const TensorView* tv);

class ShapeInference {
 public:
  /// Operations that lead to an output, or all that were defined: what a user wrote is checked,
  /// whether it is needed or not.
  enum class Scope : uint8_t { Used, Defined };
  ShapeInference(const Fusion& fusion, Scope scope);

  /// Throws `UserError` where sizes do not fit: it names the operation, the tensors and the sizes.
  /// `call` has the extents and scalars of the inputs; what depends on others is not checked.
  void check(ExpressionEvaluator& call) const;
  /// The same. False where some axis that is iterated as defined cannot be in this call: it has one
  /// element and is stretched or dropped, or there is a reshape and something has no elements.
  bool canIterate(ExpressionEvaluator& call) const;
  /// The same as `check`, and throws where an axis is stretched or dropped: a schedule iterates
  /// over the axes that it was made for.
  void requireIterated(ExpressionEvaluator& call) const;

 private:
  using Size = size_t;  ///< place in the list of sizes of a call
  struct Axis {
    const TensorView* tensor;
    size_t place;
    Size size;
  };
  // What a call does, in order. `found` is the size that a step finds.
  struct Evaluate {
    Size found;
    const Val* extent;
    const TensorView* tensor;
    const IterDomain* id;
  };
  struct Multiply {
    Size found, outer, inner;
  };
  /// What a split leaves, the extent of `id`.
  struct Divide {
    Size found, in;
    const Split* split;
    const TensorView* tensor;
    const IterDomain* id;
  };
  /// Axes that become one; of unlike lengths those of one element are stretched.
  struct Meet {
    Size found;
    const Expr* expr;
    std::vector<Axis> axes;
    bool can_stretch;
  };
  struct Stretch {
    Size found;
    const Expr* expr;
    Axis from;
    const Val* wanted;
  };
  struct Drop {
    const Expr* expr;
    Axis axis;
  };
  struct Cut {
    const Expr* expr;
    Axis axis;
    const Val* start;
    const Val* stop;
    int64_t step;
  };
  /// The first axis, of an index, is not longer than the other one.
  struct Fit {
    const Expr* expr;
    Axis index, other;
  };
  /// The second axis is as long as the first one or, where it stretches, has one element.
  struct Match {
    const Expr* expr;
    Axis first, second;
    bool can_stretch;
  };
  struct Regroup {
    const Expr* expr;
    std::vector<Size> from, to;
  };
  struct Count {
    const TensorView* tensor;
    std::vector<Size> sizes;
  };
  using Step = std::variant<Evaluate, Multiply, Divide, Meet, Stretch, Drop, Cut, Fit, Match,
                            Regroup, Count>;
  class Reader;
  class Call;

  bool run(ExpressionEvaluator& values, bool must_iterate) const;

  const Fusion* fusion_;
  std::vector<Step> steps_;
  size_t num_sizes_ = 0;
};

}  // namespace nvfuser
