// Operations other than the pointwise functions of two operands or fewer, one entry each: name,
// parameters with their defaults, doc, and the function that defines it. Types in signatures are
// those of the function's parameters.

#include <functional>
#include <utility>

#include <capi/operations.h>
#include <ir/builder.h>
#include <ops/all_ops.h>
#include <ops/axes.h>

namespace nvfuser::capi {

namespace {

using Vals = std::vector<Val*>;
using Tv = TensorView*;
using Scalar = ScalarOperand;

Vals results(Val* one) { return {one}; }
Vals results(TensorView* one) { return {one}; }
Vals results(Vals several) { return several; }

/// "arg, axes=None, scale?" cut at the commas, each with its default; "?": required, but None may
/// be given.
std::vector<Parameter> parseParameters(std::string_view list) {
  std::vector<Parameter> parameters;
  while (!list.empty()) {
    const size_t comma = list.find(", ");
    std::string_view one = list.substr(0, comma);
    list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 2);
    Parameter parameter;
    const size_t equals = one.find('=');
    parameter.may_be_none = one.ends_with('?');
    parameter.name = one.substr(0, parameter.may_be_none ? one.size() - 1 : equals);
    if (equals != std::string_view::npos) {
      parameter.default_text = one.substr(equals + 1);
    }
    parameters.push_back(std::move(parameter));
  }
  return parameters;
}

template <typename Function>
struct Define;
template <typename Result, typename... Parameters>
struct Define<Result (*)(Parameters...)> {
  static constexpr size_t kArity = sizeof...(Parameters);

  /// `Lambda` captures nothing, so its type alone says what it does.
  template <typename Lambda>
  static Vals define(const Call& call) {
    return [&]<size_t... i>(std::index_sequence<i...>) {
      return results(Lambda{}(call.get<Parameters>(i)...));
    }(std::make_index_sequence<kArity>());
  }
  static void describe(std::vector<Parameter>& parameters) {
    const TypeName types[] = {typeName<Parameters>()...};
    check(parameters.size() == kArity, "an operation's line names each parameter");
    for (size_t i = 0; i < kArity; ++i) {
      parameters[i].type = types[i].text;
      parameters[i].is_operand = types[i].is_operand;
    }
  }
};

template <typename Lambda>
Operation op(std::string_view name, std::string_view parameters, std::string_view result,
             std::string_view doc, Lambda lambda) {
  using Defined = Define<decltype(+lambda)>;
  Operation operation;
  operation.name = name;
  operation.parameters = parseParameters(parameters);
  operation.result = result;
  operation.doc = doc;
  operation.define = [](const Call& call) { return Defined::template define<Lambda>(call); };
  Defined::describe(operation.parameters);
  return operation;
}

/// What a call without the scalar means.
Val* orDefault(Val* given, double value) {
  return given != nullptr ? given : IrBuilder::create<Val>(PolymorphicValue(value));
}

DataType orBFloat16(DataType dtype) {
  return dtype == DataType::Null ? DataType(DataType::BFloat16) : dtype;
}

/// Which results of a backward function are wanted.
Flags orAll(const Flags& mask, size_t count) { return mask.empty() ? Flags(count, true) : mask; }

TensorView* broadcastInDim(TensorView* arg, const Sizes& shape, const Ints& dims) {
  const auto rank = static_cast<int64_t>(shape.size());
  if (static_cast<int64_t>(dims.size()) != ops::rankOf(arg)) {
    userError("broadcast_in_dim: broadcast_dims has ", dims.size(),
              " entries for a tensor of rank ", ops::rankOf(arg));
  }
  std::vector<bool> is_new(shape.size(), true);
  int64_t previous = -1;
  for (int64_t dim : dims) {
    const int64_t at = dim < 0 ? dim + rank : dim;
    if (at < 0 || at >= rank) {
      userError("broadcast_in_dim: ", dim, " in broadcast_dims is no axis of a result of rank ",
                rank);
    }
    if (!is_new[static_cast<size_t>(at)]) {
      userError("broadcast_in_dim: nonbroadcast_dim (", at, ") is specified more than once.");
    }
    if (at < previous) {
      userError("broadcast_in_dim: broadcast_dims must ascend; permute the tensor first");
    }
    previous = at;
    is_new[static_cast<size_t>(at)] = false;
  }
  return expand(broadcast(arg, is_new), shape);
}

/// A copy whose axis i has the order[i]-th smallest stride.
TensorView* inStrideOrder(TensorView* arg, const Ints& order) {
  TensorView* out = set(arg);
  const std::vector<IterDomain*>& logical = out->getLogicalDomain();
  const auto rank = static_cast<int64_t>(logical.size());
  if (static_cast<int64_t>(order.size()) != rank) {
    userError("stride_order: stride_order has ", order.size(), " entries for a tensor of rank ",
              rank);
  }
  std::vector<IterDomain*> allocation(logical.size(), nullptr);
  for (size_t i = 0; i < logical.size(); ++i) {
    const int64_t place = order[i] < 0 ? order[i] + rank : order[i];
    if (place < 0 || place >= rank) {
      userError("stride_order: stride_order argument is out of range: ", order[i],
                " for a tensor of rank ", rank);
    }
    IterDomain*& slot = allocation[static_cast<size_t>(rank - 1 - place)];
    if (slot != nullptr) {
      userError("stride_order: duplicated stride_order entries: ", order[i]);
    }
    slot = logical[i];
  }
  out->setAllocationDomain(allocation, true);
  return out;
}

/// A scan whose errors about the axis name the operation.
TensorView* scanned(std::string_view op, TensorView* arg, int64_t dim, BinaryOpType type, Val* init,
                    bool backward) {
  const int64_t rank = std::max<int64_t>(ops::rankOf(arg), 1);  // without axes: one element
  return scan(arg, wrapDim(dim, rank, op, arg->toInlineString()), type, init, backward);
}

/// Constant bounds count from the start, and ascend.
void requireOrder(const TensorView* arg, size_t axis, const Val* start, const Val* end) {
  const auto first = ops::constantOf(start);
  const auto last = ops::constantOf(end);
  if (first && *first < 0) {
    userError(
        "slice: Slice operation start_indices must be greater than or equal to 0. Start "
        "Indices: ",
        *first, "; axis ", axis, " of ", ops::describe(arg),
        "; to count from the end, subtract from fd.ops.size(tensor, dim)");
  }
  if (first && last && *last < *first) {
    userError(
        "slice: Slice operation end_indices must be greater than or equal to start_indices. "
        "Start Indices: ",
        *first, " End Indices: ", *last, "; axis ", axis, " of ", ops::describe(arg));
  }
}

TensorView* sliced(TensorView* arg, const Sizes& starts, const Sizes& ends, const Sizes& strides,
                   bool manual_normalization) {
  const auto rank = static_cast<size_t>(ops::rankOf(arg));
  const bool has_strides = !strides.empty();
  if (starts.size() != ends.size()) {
    userError("slice: Slice indexing attribute dimensions don't match! Start Indices: ",
              starts.size(), " End Indices: ", ends.size(), "; give one of each for each of the ",
              rank, " axes of ", ops::describe(arg));
  }
  if (has_strides && strides.size() != starts.size()) {
    userError("slice: Slice start_indices and strides don't match! Start Indices: ", starts.size(),
              " Strides: ", strides.size(), "; give one of each for each of the ", rank,
              " axes of ", ops::describe(arg));
  }
  if (starts.size() != rank) {
    userError("slice: Number of tensor dimensions does not match slice dimensions! Tensor-dims: ",
              rank, " Slice-dims: ", starts.size(), "; ", ops::describe(arg));
  }
  std::vector<Slice> ranges;
  for (size_t i = 0; i < rank; ++i) {
    requireOrder(arg, i, starts[i], ends[i]);
    ranges.push_back({starts[i], ends[i], has_strides ? strides[i] : nullptr});
  }
  return slice(arg, ranges, manual_normalization);
}

TensorView* strided(TensorView* arg, const Sizes& starts, const Sizes& sizes,
                    const std::vector<int64_t>& strides) {
  const auto rank = static_cast<size_t>(ops::rankOf(arg));
  if (starts.size() != rank || sizes.size() != rank || strides.size() != rank) {
    userError("strided_slice: ", ops::describe(arg), " has ", rank, " axes, but there are ",
              starts.size(), " start_indices, ", sizes.size(), " sizes and ", strides.size(),
              " strides; give one of each for each axis");
  }
  std::vector<Steps> steps;
  for (size_t i = 0; i < rank; ++i) {
    steps.push_back({starts[i], sizes[i], strides[i]});
  }
  return stridedSlice(arg, steps);
}

}  // namespace

std::vector<Operation> operationTable() {
  return {
      // Pointwise, with names for their operands or with optional ones.
      op("where", "condition, a, b", kSameAsOperands, "a where the condition is true, else b.",
         [](Val* condition, Val* a, Val* b) { return where(condition, a, b); }),
      op("lerp", "start, end, weight", kSameAsOperands, "start + weight * (end - start).",
         [](Val* start, Val* end, Val* weight) { return lerp(start, end, weight); }),
      op("addcmul", "a, b, c, value=None", kSameAsOperands,
         "a + b * c * value; value is 1 unless given.",
         [](Val* a, Val* b, Val* c, Scalar value) {
           // The integer 1 leaves the category of the others as it is.
           return addcmul(a, b, c,
                          value.val != nullptr
                              ? value.val
                              : IrBuilder::create<Val>(PolymorphicValue(int64_t{1})));
         }),
      op("clamp", "arg, min=None, max=None", kSameAsOperands,
         "arg held between the bounds; NaN stays NaN.",
         [](Val* arg, Scalar low, Scalar high) { return clamp(arg, low, high); }),
      op("threshold", "arg, thresh, value", kSameAsOperands, "value where arg <= thresh, else arg.",
         [](Val* arg, Scalar thresh, Scalar value) { return threshold(arg, thresh, value); }),
      op("complex", "real, imag", kSameAsOperands,
         "A complex number from its parts, which have one real dtype.",
         [](Val* real, Val* imag) { return complex(real, imag); }),
      op("cast", "arg, dtype", kSameAsOperands, "arg converted to the dtype.",
         [](Val* arg, DataType dtype) { return castOp(dtype, arg); }),
      op("bitcast", "arg, dtype", kSameAsOperands,
         "The same bits read as another dtype of equal size.",
         [](Val* arg, DataType dtype) { return bitCastOp(dtype, arg); }),
      op("set", "arg", kSameAsOperands, "A copy.", [](Val* arg) { return set(arg); }),
      op("segment_set", "arg", kSameAsOperands, "A copy at which the fusion is cut into kernels.",
         [](Val* arg) { return segment_set(arg); }),
      // Reductions.
      op("sum", "arg, axes=None, keepdim=False, dtype=None", "Tensor",
         "Sum over the axes (all unless given). Integers and Bool become Int; dtype is what to "
         "cast to before.",
         [](Tv arg, Axes axes, bool keepdim, DataType dtype) {
           return sum(arg, axes.of(arg), keepdim, dtype);
         }),
      op("prod", "arg, axes=None, keepdim=False, dtype=None", "Tensor",
         "Product over the axes (all unless given). Integers and Bool become Int; dtype is what to "
         "cast to before.",
         [](Tv arg, Axes axes, bool keepdim, DataType dtype) {
           return prod(arg, axes.of(arg), keepdim, dtype);
         }),
      op("max", "arg, axes=None, keepdim=False, dtype=None", "Tensor",
         "Greatest element over the axes (all unless given); NaN if there is one.",
         [](Tv arg, Axes axes, bool keepdim, DataType dtype) {
           return max(arg, axes.of(arg), keepdim, dtype);
         }),
      op("min", "arg, axes=None, keepdim=False, dtype=None", "Tensor",
         "Least element over the axes (all unless given); NaN if there is one.",
         [](Tv arg, Axes axes, bool keepdim, DataType dtype) {
           return min(arg, axes.of(arg), keepdim, dtype);
         }),
      op("mean", "arg, axes=None, keepdim=False", "Tensor",
         "Mean over the axes (all unless given).",
         [](Tv arg, Axes axes, bool keepdim) { return mean(arg, axes.of(arg), keepdim); }),
      op("var", "arg, axes=None, correction=1, keepdim=False", "Tensor",
         "Variance: sum of |x - mean|^2 over max(n - correction, 0).",
         [](Tv arg, Axes axes, int64_t correction, bool keepdim) {
           return variance(arg, axes.of(arg), correction, keepdim);
         }),
      op("var_mean", "arg, axes=None, correction=1, keepdim=False", "(var, mean)",
         "Variance and mean in one pass; reduced precision has to be cast first.",
         [](Tv arg, Axes axes, int64_t correction, bool keepdim) {
           auto r = variance_mean(arg, axes.of(arg), correction, keepdim);
           return Vals{r.var, r.mean};
         }),
      op("welford", "arg, axes=None", "(avg, var_sum, n)",
         "Mean, sum of squared deviations and count.",
         [](Tv arg, Axes axes) {
           auto r = Welford(arg, axes.of(arg));
           return Vals{r.avg, r.var_sum, r.n};
         }),
      // Shapes.
      op("broadcast", "arg, is_broadcast_dim", "Tensor",
         "Adds axes of extent 1: one flag for each axis of the result, True for a new one.",
         [](Tv arg, Flags is_broadcast_dim) { return broadcast(arg, is_broadcast_dim); }),
      op("broadcast_in_dim", "arg, shape, broadcast_dims", "Tensor",
         "arg stretched to the shape; its axes are at the positions broadcast_dims of the result. "
         "-1 in shape keeps an extent.",
         [](Tv arg, Sizes shape, Ints dims) { return broadcastInDim(arg, shape, dims); }),
      op("expand", "arg, shape", "Tensor",
         "Stretches axes of extent 1. -1 keeps an axis; more sizes than axes add leading ones.",
         [](Tv arg, Sizes shape) { return expand(arg, shape); }),
      op("expand_as", "arg, other", "Tensor",
         "Stretches axes of extent 1 to those of another tensor.",
         [](Tv arg, Tv other) { return expand_as(arg, other); }),
      op("repeat", "arg, repeat_times", "Tensor", "arg repeated along each axis.",
         [](Tv arg, Ints times) { return repeat(arg, times); }),
      op("reshape", "arg, new_shape", "Tensor",
         "The elements in row-major order in another shape. One size may be -1.",
         [](Tv arg, Sizes shape) { return reshape(arg, shape); }),
      op("flatten", "arg, start_dim=0, end_dim=-1", "Tensor",
         "Axes start_dim to end_dim become one.",
         [](Tv arg, int64_t start, int64_t end) { return flatten(arg, start, end); }),
      op("permute", "arg, dims", "Tensor", "Axis i of the result is axis dims[i] of arg.",
         [](Tv arg, Ints dims) { return permute(arg, dims); }),
      op("transpose", "arg, dim0=-2, dim1=-1", "Tensor", "Exchanges two axes.",
         [](Tv arg, int64_t dim0, int64_t dim1) { return transpose(arg, dim0, dim1); }),
      op("squeeze", "arg, dims, squeeze_expanded=False", "Tensor", "Drops axes of extent 1.",
         [](Tv arg, Ints dims, bool expanded) { return squeeze(arg, dims, expanded); }),
      op("unsqueeze", "arg, dim", "Tensor", "Adds an axis of extent 1, at dim of the result.",
         [](Tv arg, int64_t dim) { return unsqueeze(arg, dim); }),
      op("slice", "arg, start_indices, end_indices, strides=None, manual_normalization=False",
         "Tensor", "start <= i < end along each axis, bounds held within it; the only stride is 1.",
         [](Tv arg, Sizes starts, Sizes ends, Sizes strides, bool manual) {
           return sliced(arg, starts, ends, strides, manual);
         }),
      op("strided_slice", "arg, start_indices, sizes, strides", "Tensor",
         "start + i * stride along each axis, for 0 <= i < size, all of them within it; strides "
         "may be negative.",
         [](Tv arg, Sizes starts, Sizes sizes, Ints strides) {
           return strided(arg, starts, sizes, strides);
         }),
      op("flip", "arg, dims", "Tensor", "The elements of these axes in reversed order.",
         [](Tv arg, Ints dims) { return flip(arg, dims); }),
      op("pad", "arg, pad_widths, value=None", "Tensor",
         "value (0 unless given) around arg: (left, right) of the last axis, then of the one "
         "before. Negative widths cut.",
         [](Tv arg, Sizes widths, Scalar value) { return pad(arg, widths, value); }),
      op("cat", "tensors, dim=0, manual_padding=False", "Tensor",
         "The tensors one after the other along dim. manual_padding: they were padded already to "
         "the size of the result.",
         [](Tensors tensors, int64_t dim, bool padded) {
           return cat(tensors, dim, std::nullopt, padded);
         }),
      op("chunk", "arg, chunks, dim=0", "list[Tensor]", "arg cut along dim into pieces.",
         [](Tv arg, int64_t chunks, int64_t dim) {
           constexpr int64_t kMost = 1024;  // more pieces are rather a wrong argument
           if (chunks > kMost) {
             userError("chunk: ", chunks, " pieces were asked for, but there are at most ", kMost);
           }
           auto r = chunk(arg, chunks, dim);
           return Vals(r.begin(), r.end());
         }),
      op("stride_order", "arg, stride_order", "Tensor",
         "A copy in another memory order: axis i has the stride_order[i]-th smallest stride (0 is "
         "the innermost).",
         [](Tv arg, Ints order) { return inStrideOrder(arg, order); }),
      op("size", "arg, dim", "Scalar", "The extent of an axis.",
         [](Tv arg, int64_t dim) { return size(arg, dim); }),
      op("shape", "arg", "list[Scalar]", "The extents of all axes.",
         [](Tv arg) { return shape(arg); }),
      op("view_as_real", "arg", "Tensor", "A complex tensor as reals with a last axis of extent 2.",
         [](Tv arg) { return view_as_real(arg); }),
      // Indexing.
      op("select", "arg, index, dim", "Tensor", "arg at one position of axis dim, which goes away.",
         [](Tv arg, Scalar index, int64_t dim) { return select(arg, dim, asIndex(index)); }),
      op("index_select", "arg, index, dim", "Tensor", "The entries of axis dim that index names.",
         [](Tv arg, Tv index, int64_t dim) { return indexSelect(arg, dim, index); }),
      op("gather", "arg, index, dim", "Tensor", "out[i, j] = arg[index[i, j], j] for dim 0.",
         [](Tv arg, Tv index, int64_t dim) { return gather(arg, dim, index); }),
      op("take_along_axis", "arg, index, dim", "Tensor",
         "As gather; along other axes, extents are equal or broadcast.",
         [](Tv arg, Tv index, int64_t dim) { return takeAlongAxis(arg, index, dim); }),
      op("scatter", "arg, index, src, dim, accumulate=False", "Tensor",
         "A copy of arg with out[index[i, j], j] = src[i, j] for dim 0; += where it accumulates.",
         [](Tv arg, Tv index, Val* src, int64_t dim, bool accumulate) {
           return scatter(arg, dim, index, src,
                          accumulate ? std::optional(BinaryOpType::Add) : std::nullopt);
         }),
      op("scatter_mul", "arg, index, src, dim", "Tensor",
         "A copy of arg with out[index[i, j], j] *= src[i, j] for dim 0.",
         [](Tv arg, Tv index, Val* src, int64_t dim) {
           return scatter(arg, dim, index, src, BinaryOpType::Mul);
         }),
      op("scatter_max", "arg, index, src, dim", "Tensor",
         "As scatter_mul, with the greater of the two.",
         [](Tv arg, Tv index, Val* src, int64_t dim) {
           return scatter(arg, dim, index, src, BinaryOpType::Max);
         }),
      op("scatter_min", "arg, index, src, dim", "Tensor",
         "As scatter_mul, with the lesser of the two.",
         [](Tv arg, Tv index, Val* src, int64_t dim) {
           return scatter(arg, dim, index, src, BinaryOpType::Min);
         }),
      // Made from nothing.
      op("full", "shape, fill_value, dtype", "Tensor", "A tensor with the value everywhere.",
         [](Sizes shape, Scalar value, DataType dtype) { return full(shape, value, dtype); }),
      op("full_like", "arg, fill_value", "Tensor", "A tensor like arg with the value everywhere.",
         [](Tv arg, Scalar value) { return full_like(arg, value); }),
      op("zeros_like", "arg", "Tensor", "A tensor like arg of zeros.",
         [](Tv arg) { return zeros_like(arg); }),
      op("ones_like", "arg", "Tensor", "A tensor like arg of ones.",
         [](Tv arg) { return ones_like(arg); }),
      op("iota", "length, start=None, step=None, dtype=None", "Tensor",
         "start + i * step for i < length; start 0, step 1, dtype Int unless given.",
         [](Scalar length, Scalar start, Scalar step, DataType dtype) {
           return iota(asIndex(length), start, step,
                       dtype == DataType::Null ? DataType(DataType::Int) : dtype);
         }),
      op("eye", "rows, dtype, cols=None", "Tensor", "Ones on the diagonal, zeros elsewhere.",
         [](Scalar rows, DataType dtype, Scalar cols) {
           return cols.val != nullptr ? eye(asIndex(rows), asIndex(cols), dtype)
                                      : eye(asIndex(rows), dtype);
         }),
      op("uniform", "minval, maxval, shape, dtype=None, rng_seed=None, rng_offset=None", "Tensor",
         "Random numbers, uniform in [minval, maxval); Float unless given.",
         [](Scalar low, Scalar high, Sizes shape, DataType dtype, Scalar seed, Scalar offset) {
           return uniform(shape, low, high,
                          dtype == DataType::Null ? DataType(DataType::Float) : dtype, seed,
                          offset);
         }),
      op("normal", "mean, std, shape, dtype=None, rng_seed=None, rng_offset=None", "Tensor",
         "Normal random numbers; Float unless given.",
         [](Scalar mean, Scalar std, Sizes shape, DataType dtype, Scalar seed, Scalar offset) {
           return normal(shape, mean, std,
                         dtype == DataType::Null ? DataType(DataType::Float) : dtype, seed, offset);
         }),
      op("uniform_of_threads", "shape, threads, width, rng_seed, rng_offset", "Tensor",
         "Float numbers in (0, 1] as a kernel of that many threads draws them, each from a "
         "sequence of its own, width (a multiple of 4) neighbours at a time.",
         [](Sizes shape, Scalar threads, Scalar width, Scalar seed, Scalar offset) {
           return uniform_of_threads(shape, asIndex(threads), asIndex(width), seed, offset);
         }),
      op("rand_like", "arg", "Tensor", "Random numbers, uniform in [0, 1), in the shape of arg.",
         [](Tv arg) { return rand_like(arg); }),
      op("randn_like", "arg", "Tensor", "Standard normal random numbers in the shape of arg.",
         [](Tv arg) { return randn_like(arg); }),
      // Of a library, between kernels.
      op("matmul", "arg1, arg2", "Tensor",
         "arg1 times arg2; operands of one axis are vectors, axes before the last two are batches.",
         [](Tv a, Tv b) { return matmul(a, b); }),
      op("linear", "arg, weight, bias=None", "Tensor",
         "arg times the transposed weight [out, in], plus bias.",
         [](Tv arg, Tv weight, Tv bias) { return linear(arg, weight, bias); }),
      op("cumsum", "arg, dim, init=None, backward=False", "Tensor",
         "Sums of the elements up to each, along dim; backward, of those from each on.",
         [](Tv arg, int64_t dim, Scalar init, bool backward) {
           return scanned("cumsum", arg, dim, BinaryOpType::Add, init, backward);
         }),
      op("cumprod", "arg, dim, init=None, backward=False", "Tensor",
         "Products of the elements up to each, along dim.",
         [](Tv arg, int64_t dim, Scalar init, bool backward) {
           return scanned("cumprod", arg, dim, BinaryOpType::Mul, init, backward);
         }),
      op("cummax", "arg, dim, init=None, backward=False", "Tensor",
         "The greatest element up to each, along dim.",
         [](Tv arg, int64_t dim, Scalar init, bool backward) {
           return scanned("cummax", arg, dim, BinaryOpType::Max, init, backward);
         }),
      op("cummin", "arg, dim, init=None, backward=False", "Tensor",
         "The least element up to each, along dim.",
         [](Tv arg, int64_t dim, Scalar init, bool backward) {
           return scanned("cummin", arg, dim, BinaryOpType::Min, init, backward);
         }),
      op("argsort", "arg, dim, descending=False, stable=False", "Tensor",
         "Positions that sort along dim; NaN is the greatest. Equal elements keep their order.",
         [](Tv arg, int64_t dim, bool descending, bool stable) {
           return argsort(arg, dim, descending, stable);
         }),
      op("topk", "arg, k, dim=-1, largest=True, sorted=False", "(values, indices)",
         "The k largest (or smallest) elements along dim, in order, and their positions.",
         [](Tv arg, Scalar k, int64_t dim, bool largest, bool sorted) {
           auto r = topk(arg, asIndex(k), dim, largest, sorted);
           return Vals{r.values, r.indices};
         }),
      op("grouped_mm",
         "mat1, mat2, offsets, scale1=None, scale2=None, alpha=None, bias=None, beta=None, "
         "dtype=None, output_block_scale_size=0, output_block_scale_dtype=None, "
         "output_gamma=False",
         "Tensor or (out, block_scale, gamma)",
         "Products of groups of rows, columns or summands, whose ends offsets tells; with scales, "
         "also of Float8. The scales of the result are None.",
         [](Tv mat1, Tv mat2, Tv offsets, Tv scale1, Tv scale2, Tv alpha, Tv bias, Tv beta,
            DataType dtype, int64_t block, DataType block_dtype, bool gamma) {
           const bool has_scales = scale1 != nullptr || scale2 != nullptr;
           auto r = grouped_mm(mat1, mat2, offsets, scale1, scale2, alpha, bias, beta,
                               has_scales ? orBFloat16(dtype) : dtype, block, block_dtype, gamma);
           return has_scales ? Vals{r.tv, r.block_scaling_factor, r.global_scaling_factor}
                             : Vals{r.tv};
         }),
      op("scaled_mm",
         "mat1, mat2, scale1, scale2, alpha=None, bias=None, beta=None, dtype=None, "
         "output_block_scale_size=0, output_block_scale_dtype=None, output_gamma=False",
         "(out, block_scale, gamma)",
         "alpha * (scale1 * mat1) * (scale2 * mat2) + beta * bias, as BFloat16 unless given; "
         "usually of Float8. The scales of the result are None.",
         [](Tv mat1, Tv mat2, Tv scale1, Tv scale2, Tv alpha, Tv bias, Tv beta, DataType dtype,
            int64_t block, DataType block_dtype, bool gamma) {
           auto r = scaled_mm(mat1, mat2, scale1, scale2, alpha, bias, beta, orBFloat16(dtype),
                              block, block_dtype, gamma);
           return Vals{r.tv, r.block_scaling_factor, r.global_scaling_factor};
         }),
      op("cutlass_nvfp4_grouped_mm",
         "mat1, mat2, scale1, scale2, alpha, problem_sizes, expert_offsets, sf_offsets, dtype=None",
         "Tensor", "Refused: a format of Blackwell alone.",
         [](Tv mat1, Tv mat2, Tv scale1, Tv scale2, Tv alpha, Tv sizes, Tv offsets, Tv sf_offsets,
            DataType dtype) {
           return cutlass_nvfp4_grouped_mm(mat1, mat2, scale1, scale2, alpha, sizes, offsets,
                                           sf_offsets, orBFloat16(dtype));
         }),
      op("sdpfa_fwd",
         "query, key, value, bias=None, mask=None, dropout_p=None, is_causal=None, scale=None",
         "(output, logsumexp, philox_seed, philox_offset)",
         "Attention: softmax(scale * query * key^T + bias) * value over the last two axes of "
         "[batches, heads, queries, numbers]. mask is False where a key is left out; scale is "
         "1 / sqrt(numbers) unless given.",
         [](Tv query, Tv key, Tv value, Tv bias, Tv mask, Scalar dropout_p, Scalar is_causal,
            Scalar scale) {
           auto r = sdpfa_fwd(query, key, value, bias, mask, dropout_p, is_causal, scale);
           return Vals{r.output, r.logsumexp, r.philox_seed, r.philox_offset};
         }),
      op("sdpfa_bwd",
         "grad_output, query, key, value, output, logsumexp, dropout_p?, is_causal?, philox_seed, "
         "philox_offset, scale=None",
         "(grad_query, grad_key, grad_value)",
         "Gradients of sdpfa_fwd without bias and mask, from its operands and results.",
         [](Tv grad, Tv query, Tv key, Tv value, Tv output, Tv lse, Scalar dropout_p,
            Scalar is_causal, Tv seed, Tv offset, Scalar scale) {
           auto r = sdpfa_bwd(grad, query, key, value, output, lse, dropout_p, is_causal, seed,
                              offset, scale);
           return Vals{r.grad_query, r.grad_key, r.grad_value};
         }),
      op("embedding_fwd",
         "arg, weight, padding_idx=None, max_norm=None, norm_type=None, scale_grad_by_freq=None, "
         "sparse=None",
         "Tensor", "Rows of weight by an index of any shape; max_norm scales long rows down.",
         [](Tv arg, Tv weight, Scalar padding, Scalar max_norm, Scalar norm_type, Scalar by_freq,
            Scalar sparse) {
           return embedding_fwd(arg, weight, padding, max_norm, norm_type, by_freq, sparse);
         }),
      // Composites.
      op("softmax", "arg, dim=-1", "Tensor", "exp(x) / sum(exp(x)) along dim.",
         [](Tv arg, int64_t dim) { return softmax(arg, dim); }),
      op("log_softmax", "arg, dim=-1", "Tensor", "log(softmax(x)) along dim.",
         [](Tv arg, int64_t dim) { return log_softmax(arg, dim); }),
      op("softmax_backward", "grad, output, dim=-1", "Tensor",
         "Gradient of softmax from that of its output and the output.",
         [](Tv grad, Tv y, int64_t dim) { return softmax_backward(grad, y, dim); }),
      op("log_softmax_backward", "grad, output, dim=-1", "Tensor",
         "Gradient of log_softmax from that of its output and the output.",
         [](Tv grad, Tv y, int64_t dim) { return log_softmax_backward(grad, y, dim); }),
      op("layer_norm", "arg, norm_shape, weight=None, bias=None, eps=None",
         "(output, mean, invstd)",
         "(x - mean) * invstd * weight + bias over the last axes, as many as norm_shape has (-1: "
         "any size). eps is 1e-5 unless given.",
         [](Tv arg, Ints shape, Tv weight, Tv bias, Scalar eps) {
           auto r = layer_norm(arg, shape, weight, bias, orDefault(eps, 1e-5));
           return Vals{r.output, r.mean, r.invstd};
         }),
      op("rms_norm", "arg, norm_shape, weight=None, eps=None", "(output, invstd)",
         "x * invstd * weight over the last axes, as many as norm_shape has (-1: any size), with "
         "invstd = 1 / sqrt(mean(x * x) + eps).",
         [](Tv arg, Ints shape, Tv weight, Scalar eps) {
           auto r = rms_norm(arg, shape, weight, orDefault(eps, 1e-5));
           return Vals{r.output, r.invstd};
         }),
      op("layer_norm_backward",
         "grad, arg, norm_shape, mean, invstd, weight=None, bias=None, output_mask=None",
         "(grad_input, grad_weight, grad_bias)",
         "Gradients of layer_norm, those that output_mask asks for (all unless given).",
         [](Tv grad, Tv arg, Ints shape, Tv mean, Tv rstd, Tv weight, Tv bias, Flags mask) {
           auto r = layer_norm_backward(grad, arg, shape, mean, rstd, weight, bias, orAll(mask, 3));
           return Vals{r.grad_input, r.grad_weight, r.grad_bias};
         }),
      op("rms_norm_backward", "grad, arg, norm_shape, invstd, weight=None, output_mask=None",
         "(grad_input, grad_weight)",
         "Gradients of rms_norm, those that output_mask asks for (all unless given).",
         [](Tv grad, Tv arg, Ints shape, Tv rstd, Tv weight, Flags mask) {
           auto r = rms_norm_backward(grad, arg, shape, rstd, weight, orAll(mask, 2));
           return Vals{r.grad_input, r.grad_weight};
         }),
      op("batch_norm",
         "arg, weight=None, bias=None, running_mean=None, running_var=None, training=True, "
         "momentum=None, eps=None, channels_last=False",
         "(output, mean, invstd)",
         "Normalisation over all axes but that of channels; training updates the running "
         "statistics in place.",
         [](Tv arg, Tv weight, Tv bias, Tv running_mean, Tv running_var, bool training,
            Scalar momentum, Scalar eps, bool last) {
           auto r = batch_norm(arg, weight, bias, running_mean, running_var, training,
                               orDefault(momentum, 0.1), orDefault(eps, 1e-5), last);
           return Vals{r.output, r.mean, r.invstd};
         }),
      op("instance_norm",
         "arg, weight=None, bias=None, running_mean=None, running_var=None, use_input_stats=True, "
         "momentum=None, eps=None, channels_last=False",
         "(output, mean, invstd)", "As batch_norm, with statistics for each sample.",
         [](Tv arg, Tv weight, Tv bias, Tv running_mean, Tv running_var, bool own, Scalar momentum,
            Scalar eps, bool last) {
           auto r = instance_norm(arg, weight, bias, running_mean, running_var, own,
                                  orDefault(momentum, 0.1), orDefault(eps, 1e-5), last);
           return Vals{r.output, r.mean, r.invstd};
         }),
      op("dropout", "arg, p", "(output, mask)",
         "Each element is zeroed with probability p, the others are scaled by 1 / (1 - p). The "
         "mask is true for those kept.",
         [](Tv arg, Scalar p) {
           auto r = dropout(arg, p);
           return Vals{r.output, r.mask};
         }),
      op("dropout_backward", "grad, mask, scale", "Tensor", "Gradient of dropout.",
         [](Tv grad, Tv mask, Scalar scale) { return dropout_backward(grad, mask, scale); }),
      op("gelu", "arg", "Tensor", "x * Phi(x) with the error function.",
         [](Tv arg) { return gelu(arg); }),
      op("gelu_backward", "grad, arg", "Tensor", "Gradient of gelu.",
         [](Tv grad, Tv arg) { return gelu_backward(grad, arg); }),
      op("tanh_gelu", "arg", "Tensor", "gelu by its approximation with tanh.",
         [](Tv arg) { return tanh_gelu(arg); }),
      op("tanh_gelu_backward", "grad, arg", "Tensor", "Gradient of tanh_gelu.",
         [](Tv grad, Tv arg) { return tanh_gelu_backward(grad, arg); }),
      op("tanh_backward", "grad, output", "Tensor", "Gradient of tanh from its output.",
         [](Tv grad, Tv y) { return tanh_backward(grad, y); }),
      op("leaky_relu", "arg, negative_slope=None", "Tensor",
         "x where it is above zero, else x * negative_slope (0.01 unless given).",
         [](Tv arg, Scalar slope) { return leaky_relu(arg, orDefault(slope, 0.01)); }),
      op("softplus", "arg, beta=None, threshold=None", "Tensor",
         "log(1 + exp(beta * x)) / beta; x itself where beta * x > threshold.",
         [](Tv arg, Scalar beta, Scalar threshold) {
           return softplus(arg, orDefault(beta, 1.0), orDefault(threshold, 20.0));
         }),
      op("triu", "arg, diagonal=None", "Tensor",
         "The elements on and above a diagonal of the last two axes, zero below.",
         [](Tv arg, Scalar diagonal) {
           return triu(arg, diagonal.val != nullptr ? asIndex(diagonal)
                                                    : IrBuilder::create<Val>(PolymorphicValue(0)));
         }),
  };
}

}  // namespace nvfuser::capi
