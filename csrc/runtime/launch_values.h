/// What a kernel's symbols and scalars are worth for given arguments: sizes and strides of tensors,
/// values of scalars.
#pragma once

#include <evaluator/expression_evaluator.h>
#include <kernel_ir/kernel.h>
#include <runtime/executor_kernel_arg.h>

namespace nvfuser {

/// Sizes of a whole Fusion by name, which tell those of its parts.
using KnownScalars = std::vector<std::pair<std::string, PolymorphicValue>>;

class LaunchValues {
 public:
  /// Checks every argument against its input (kind, dtype, rank, extents, contiguity) and binds it.
  /// Throws `UserError` in the words of docs/errors.md. `of_whole`: scalars by name that the
  /// arguments of a part do not tell; the sizes of the whole are checked already. Null: the fusion
  /// is all there is, and is checked here.
  LaunchValues(const Fusion& fusion, const kir::Kernel& kernel,
               const KernelArgumentHolder& arguments, const KnownScalars* of_whole = nullptr);

  int64_t of(kir::Scalar scalar);
  PolymorphicValue of(const Val* val) { return evaluator_.evaluate(val); }
  ExpressionEvaluator& evaluator() { return evaluator_; }
  const KernelArgumentHolder& arguments() const { return arguments_; }

 private:
  const Fusion& fusion_;
  const kir::Kernel& kernel_;
  const KernelArgumentHolder& arguments_;
  ExpressionEvaluator evaluator_;
  std::unordered_map<kir::Scalar, int64_t> cache_;
};

/// Scalars and sizes of all inputs, before axes are settled: strides are not looked at.
ExpressionEvaluator bindSizes(const Fusion& fusion, const KernelArgumentHolder& arguments);

/// Values of all inputs, each checked against its declaration.
ExpressionEvaluator bindAllInputs(const Fusion& fusion, const KernelArgumentHolder& arguments);

/// Whether the strides of all tensors are as declared. `sizes`: of `bindSizes`.
bool layoutsFit(const Fusion& fusion, const KernelArgumentHolder& arguments,
                ExpressionEvaluator& sizes);

/// Whether a call has the sizes that a schedule can iterate over: those that meet are equal, and
/// all factors of splits are positive. Throws `UserError`.
void requireScheduled(const Fusion& fusion, ExpressionEvaluator& call);

}  // namespace nvfuser
