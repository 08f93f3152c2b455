/// The form of a call: what of its sizes decides how the Fusion is planned. Each extent that is no
/// constant has no element, one, or more.
///
///   T0[i0, i1]   T1[min(1, i0), i1] = slice(T0)     called with T0 of 3x4: i0 many, i1 many,
///                                                   min(1, i0) one
#pragma once

#include <string>
#include <vector>

#include <evaluator/expression_evaluator.h>
#include <ir/fusion.h>

namespace nvfuser::settling {

enum class Count : char { None = '0', One = '1', Many = 'n' };

class FormQuestions {
 public:
  explicit FormQuestions(const Fusion& fusion);
  /// Extents of axes that are no constants, each once.
  const std::vector<Val*>& extents() const { return extents_; }
  /// A `Count` for each of them. A size that is not known counts as many.
  std::string answers(ExpressionEvaluator& sizes) const;
  /// The form of which no axis has less than two elements.
  std::string many() const;
  /// Whether scalars are the same where extents of this call are taken for many: a comparison of an
  /// extent with one, which is false then, decides between equal values only.
  bool areAsOfMany(ExpressionEvaluator& sizes) const;

 private:
  std::vector<Val*> extents_;
  std::vector<const Val*> comparisons_;  ///< of one of the extents with 1
};

/// The value that `val` compares with 1; null where it is no such comparison.
Val* comparedWithOne(const Val* val);

}  // namespace nvfuser::settling
