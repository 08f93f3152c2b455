/// The families of operations of the reference interpreter: each function gives the results of one
/// expression. Results stand in the output's root domain (logical where it has none), without
/// reduction axes; `interpreter.cpp` brings them to the logical domain, rounds and keeps them.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <evaluator/array.h>
#include <evaluator/interpreter.h>
#include <ir/composite_nodes.h>

namespace nvfuser::reference {

struct Context {
  ExpressionEvaluator evaluator;
  InterpreterOptions options;
  std::unordered_map<const Val*, Array> arrays;           ///< tensors computed so far
  std::unordered_map<const Expr*, int64_t> random_index;  ///< k of each random operation

  /// The elements of a tensor, or a scalar's value as a 0-dim array.
  Array operand(const Val* val);
  /// The sizes of a tensor's logical domain without reductions, as the Fusion states them.
  std::vector<int64_t> logicalSizes(const TensorView* tv);
};

// pointwise.cpp
Array unary(const UnaryOp* op, Context& context);
Array binary(const BinaryOp* op, Context& context);
Array ternary(const TernaryOp* op, Context& context);

// shape.cpp
Array broadcast(const BroadcastOp* op, Context& context);
Array squeeze(const SqueezeOp* op, Context& context);
Array expand(const ExpandOp* op, Context& context);
Array repeat(const RepeatOp* op, Context& context);
Array reshape(const ReshapeOp* op, Context& context);
Array slice(const SliceOp* op, Context& context);
Array pad(const PadOp* op, Context& context);
Array cat(const CatOp* op, Context& context);
Array viewAsScalar(const ViewAsScalar* op, Context& context);
Array full(const FullOp* op, Context& context);
Array iota(const IotaOp* op, Context& context);
Array eye(const EyeOp* op, Context& context);

// transform_axes.cpp
/// `array`, whose axes are `from`, with the axes `to`: replays the splits, merges and resizes
/// between the two, and orders the axes. `fill` stands where a split or a resize makes room.
Array transformAxes(const Array& array, const std::vector<IterDomain*>& from,
                    const std::vector<IterDomain*>& to, const PolymorphicValue& fill,
                    Context& context);

// reduction.cpp: axes are the logical ones, the transforms of an rFactor included.
Array reduce(const ReductionOp* op, Context& context);
std::vector<Array> welford(const WelfordOp* op, Context& context);
std::vector<Array> onlineSoftmax(const OnlineSoftmaxOp* op, Context& context);
/// Calls `body(result, element)` for each element that `op` combines, in row-major order; `result`
/// counts the results in row-major order. `T` holds the output's numbers.
template <typename T>
void forEachReduced(const ReductionOp* op, Context& context,
                    const std::function<void(size_t result, T element)>& body);

// disturbance.cpp: `Rounding::Disturbed`, by a unit of rounding times the size that matters.
Array disturbed(const Array& array, uint64_t seed);
/// Of a function: by units of its result, or of larger terms that cancel on the way to it.
Array disturbedFunction(const UnaryOp* op, const Array& result, uint64_t seed, Context& context);
/// Of a comparison: either result where rounding errors of both operands may decide.
Array disturbedComparison(const BinaryOp* op, const Array& result, uint64_t seed, Context& context);
/// Of a power of complex numbers.
Array disturbedComplexPower(const BinaryOp* op, const Array& result, uint64_t seed,
                            Context& context);
/// Of a product of two numbers, which is exact where one of them is a power of two.
Array disturbedProductOfTwo(const BinaryOp* op, const Array& result, uint64_t seed,
                            Context& context);
/// Of random numbers; the uniform ones have no roundings.
Array disturbedDraw(const RNGOp* op, const Array& result, uint64_t seed, Context& context);
Array disturbedLerp(const TernaryOp* op, const Array& result, uint64_t seed, Context& context);

// disturbed_sums.cpp: the same of what combines many elements, by what their order may do to them.
Array disturbedReduction(const ReductionOp* op, const Array& result, uint64_t seed,
                         Context& context);
Array disturbedProduct(const Expr* op, const Array& result, uint64_t seed, Context& context);
Array disturbedScan(const ScanOp* op, const Array& result, uint64_t seed, Context& context);
void disturbWelford(std::vector<Array>& results, uint64_t seed);
/// A sum in Float of `steps` terms, whose squares add up to `squares`, moved likewise: its i-th
/// one.
double disturbedSum(double sum, double squares, double steps, uint64_t seed, uint64_t i);

// jumps.cpp: where roundings decide between results that lie far apart.
/// The result where operands beside a jump, a pole, a zero or the end of the function's domain meet
/// it or lie beyond; none where no operand is beside one.
std::optional<Array> resultAcrossJump(const UnaryOp* op, uint64_t seed, Context& context);
Array disturbedSilu(const UnaryOp* op, const Array& result, uint64_t seed, Context& context);
/// Of a remainder, with the sign of either operand: beside a multiple of the divisor, and where the
/// errors are as large as that.
Array disturbedRemainder(const BinaryOp* op, const Array& result, uint64_t seed, Context& context);
/// Integers and truth values that are computed of numbers that may be any: either of two.
Array disturbedIntegers(const Expr* expr, const Array& result, uint64_t seed, Context& context);

// random.cpp
/// The `element`-th uniform Float of a random operation with this state.
double uniformFloat(uint64_t seed, uint64_t sequence, uint64_t element);
/// The `element`-th number of a random operation of any kind, with its parameters as it computes.
double drawnNumber(RNGOpType type, DataType dtype, uint64_t seed, uint64_t sequence,
                   uint64_t element, const double* parameters);
Array random(const RNGOp* op, Context& context);

// indexing.cpp
Array select(const SelectOp* op, Context& context);
Array indexSelect(const IndexSelectOp* op, Context& context);
Array gather(const GatherOp* op, Context& context);
Array scatter(const ScatterOp* op, Context& context);

// matrix_product.cpp
Array matmul(const MatmulOp* op, Context& context);
Array linear(const LinearOp* op, Context& context);
/// The sums of the squares of what a product of matrices adds: real numbers.
Array sizesOfProductTerms(const Expr* op, Context& context);

// external.cpp: operations of a library that take an axis line by line
Array scan(const ScanOp* op, Context& context);
Array argsort(const ArgsortOp* op, Context& context);
std::vector<Array> topk(const TopKOp* op, Context& context);
/// Combines the elements of `source` with those of `out` (row-major) that `index` names.
void accumulate(const ScatterOp* op, Array& out, const Array& source, const Array& index);
/// The sums of the squares of what a scan adds, times the number of additions: real numbers.
Array sizesOfScanTerms(const ScanOp* op, const Array& result, Context& context);
/// Each element in the order in which a scan takes them, line by line, with the place of its result
/// among those of a contiguous array. Instantiated for double and Complex.
template <typename T>
void forEachScanned(const ScanOp* op, Context& context,
                    const std::function<void(size_t result, T element, bool is_first)>& body);

// attention.cpp: disturbed where a seed is given.
std::vector<Array> attention(const SdpaFwdOp* op, Context& context,
                             std::optional<uint64_t> disturbance = std::nullopt);
std::vector<Array> attentionBackward(const SdpaBwdOp* op, Context& context,
                                     std::optional<uint64_t> disturbance = std::nullopt);

// scaled_product.cpp: of a ScaledMmaOp or a GroupedMmaOp, disturbed where a seed is given.
Array scaledProduct(const Expr* op, Context& context,
                    std::optional<uint64_t> disturbance = std::nullopt);

}  // namespace nvfuser::reference
