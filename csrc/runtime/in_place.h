/// Outputs that reuse the storage of an input (`Fusion::aliasOutputToInput`): what they mean, and
/// when a kernel may write there itself.
///
/// The rule: a call computes all outputs from its arguments as they were passed, whatever kernels
/// and views it is made of; at its end it writes those that reuse storage, in the order of outputs.
///
///   add_output(set(b), a)
///   add_output(add(a, 5), b)      a' = b, b' = a + 5: neither reads what the other one wrote
///   add_output(transpose(a))      shows a as it was
///
/// So such an output is computed into memory of its own and copied when all kernels have run
/// (`writeBack`). A kernel writes straight to the argument only where the caller cannot tell the
/// difference:
///
/// - It cannot fail when it runs, nor can those after it, and none of these reads the input. (At a
///   plan's first run a kernel may turn out not to do; then only the last one writes directly.)
/// - Neither the input nor a view of it is an output (mark_views.h sees to the views).
/// - The argument lies as the kernel writes, but for gaps between its rows where no other kernel
///   reads the output, on a GPU it is aligned like memory of its own, and no other argument has a
///   part of its memory.
/// - The kernel reads each element before it writes it, and writes it once: no loop around the
///   update is over an axis of another tensor, where it would be repeated (`directWrites`).
///
///   p' = p - lr · g               every element of p is read where p' is written: directly
///   x' = x - broadcast(x[0])      row 0 is read by all rows: copied
///   a' = b, b' = a                an element of a could be overwritten before it is read: copied
#pragma once

#include <optional>
#include <vector>

#include <ir/fusion.h>
#include <iteration_space/target.h>
#include <runtime/executor_kernel_arg.h>
#include <runtime/run_context.h>

namespace nvfuser {

class ExpressionEvaluator;

/// An output that is written to the storage of an input (positions).
struct InPlace {
  size_t output;
  size_t input;
  bool with_gaps = false;  ///< the output lies as the input is declared, not without gaps
};

/// For each output of `fusion` the input whose storage it reuses, if any.
std::vector<std::optional<size_t>> updatedInputs(const Fusion& fusion);

/// Throws `UserError` where an argument cannot take what is to be written to it: it has other
/// sizes, or several of its elements are one place in memory. Depends on sizes and strides alone.
/// `written`: the fusion as the user wrote it, which `fusion` is or was made from, for names.
void requireUpdatable(const Fusion& fusion, const Fusion& written, const KernelArgumentHolder& args,
                      ExpressionEvaluator& evaluator);

/// Those of `wanted` that a kernel of the scheduled `fusion` may write itself: each
/// read of an element of the input serves the output's same element, in the thread that then writes
/// it. (Threads that compute that element, too, but do not write it, may read either value.)
std::vector<InPlace> directWrites(const Fusion& fusion, const std::vector<InPlace>& wanted,
                                  LowerTarget target);

/// Whether the memory of a tensor may have gaps, by its declaration.
bool hasGaps(const TensorView* tv);

/// Whether `in`, which may have gaps, has the axes of `out` in the same order in memory.
bool mayTakeGaps(const TensorView* out, const TensorView* in);

/// `out`, which is to be written to what is given for `in`, is declared to have its gaps. As long
/// as it reuses that storage its strides are those of `in` (`Symbols::stride`).
void takeGaps(TensorView* out, const TensorView* in);

/// The same sizes and strides, but for strides of axes that have one element or none.
bool sameLayout(const Tensor& tensor, const std::vector<int64_t>& sizes,
                const std::vector<int64_t>& strides);

/// Whether both have the same elements at the same places in memory.
bool isSameView(const Tensor& a, const Tensor& b);

/// Memory of the context with the same strides, and the same elements.
Tensor copyInPlaceOf(const Tensor& tensor, const RunContext& context);

/// A copy in memory of the context, with the same strides if they leave no gaps.
Tensor copyOf(const Tensor& tensor, const RunContext& context);

/// The end of a call. `values`: its outputs as computed; `targets`: where they go, null for those
/// that stay where they are. A value that is in the memory of a target is saved before the first
/// one is written. Afterwards `values` is what the caller gets.
void writeBack(std::vector<Tensor>& values, const std::vector<const Tensor*>& targets,
               const RunContext& context);

}  // namespace nvfuser
