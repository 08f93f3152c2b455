#include <capi/operation_notes.h>

#include <algorithm>
#include <vector>

#include <ops/table/pointwise.h>
#include <support/error.h>

namespace nvfuser::capi {

namespace {

struct Notes {
  std::string_view names;  ///< with blanks between
  std::string_view shapes;
  std::string_view dtypes;
  std::string_view errors;
};

constexpr std::string_view kBroadcast =
    "tensors are broadcast together, missing leading axes first; the result has their common "
    "shape, and is a scalar where no operand is a tensor";
constexpr std::string_view kSame = "the result has the shape of arg";
constexpr std::string_view kMoved = "any; the result has the dtype of arg";
constexpr std::string_view kFloats =
    "floating-point, complex; half precision is computed and comes out as Float, integers become "
    "Float";
constexpr std::string_view kNoAxis = "an axis that is not there";
constexpr std::string_view kIndexed =
    "arg any, index an integer dtype; the result has the dtype of arg";

constexpr Notes kNotes[] = {
    // Pointwise, with parameters.
    {"where", kBroadcast, "condition Bool; a and b any, promoted together, half precision stays",
     "a condition of another dtype, sizes that do not agree"},
    {"clamp threshold", kSame, "Bool, integers, floating-point; the result has the dtype of arg",
     "a complex arg"},
    {"lerp addcmul", kBroadcast, "promoted together; half precision becomes Float",
     "sizes that do not agree, a dtype that is not taken"},
    {"complex", kBroadcast, "two of Float or of Double; gives ComplexFloat or ComplexDouble",
     "parts of two dtypes, or of another than these"},
    {"cast", kSame, "from any to any; a complex number loses its imaginary part", "the dtype Null"},
    {"bitcast", kSame, "any two of one size in bytes", "dtypes of different sizes"},
    {"set segment_set", kSame, kMoved, "none"},
    // Reductions.
    {"sum prod", "the axes go away, or stay with extent 1 where keepdim; no elements give 0 (1)",
     "any; integers and Bool become Int, others stay: cast half precision before, or give a dtype",
     "an axis that is not there or given twice, an empty list of axes"},
    {"max min",
     "the axes go away, or stay with extent 1 where keepdim; no elements give the least (greatest) "
     "value",
     "Bool, integers, floating-point; the result has the dtype of arg; dtype must not be given",
     "an axis that is not there or given twice, an empty list of axes, a dtype"},
    {"mean", "the axes go away, or stay with extent 1 where keepdim; no elements give NaN", kFloats,
     kNoAxis},
    {"var", "the axes go away, or stay with extent 1 where keepdim; no elements give NaN", kFloats,
     "an axis that is not there, a negative correction"},
    {"var_mean",
     "each result: the axes go away, or stay with extent 1 where keepdim; no elements give NaN",
     "Float, Double, complex (whose variance is real); integers become Float",
     "half precision, an axis that is not there, a negative correction"},
    {"welford", "each result: the axes go away; no elements give NaN, 0 and 0",
     "Float, Double; the count is an Int",
     "another dtype, a tensor without axes, an axis that is not there"},
    // Shapes.
    {"broadcast", "one axis for each flag; those with True have extent 1", kMoved,
     "another number of False than arg has axes"},
    {"broadcast_in_dim", "the result has the shape that is given", kMoved,
     "sizes that do not agree, positions that do not ascend or are not there"},
    {"expand expand_as", "the result has the shape that is given; axes of extent 1 stretch", kMoved,
     "an axis of another extent than 1 that would stretch, a negative size, too few sizes"},
    {"repeat", "axis i of the result is repeat_times[i] times as long", kMoved,
     "another number of counts than axes, a negative count"},
    {"reshape", "the result has the shape that is given, with as many elements as arg", kMoved,
     "another number of elements, two sizes of -1, a negative size"},
    {"flatten", "one axis for start_dim to end_dim; the others stay", kMoved,
     "an axis that is not there, start_dim behind end_dim"},
    {"permute", "axis i has the extent of axis dims[i] of arg", kMoved,
     "dims that do not name each axis once"},
    {"transpose", "as arg, with two axes exchanged", kMoved, kNoAxis},
    {"squeeze", "as arg, without these axes", kMoved,
     "an axis that is not there, or whose extent is not 1 by definition"},
    {"unsqueeze", "as arg, with one axis more", kMoved, "a position that is not there"},
    {"slice", "each axis as long as its end minus its start, both within 0 and its extent", kMoved,
     "another number of bounds than axes, a stride other than 1, with manual_normalization an end "
     "before its start"},
    {"strided_slice", "sizes", kMoved,
     "another number of starts, sizes or strides than axes, a stride of 0, an element beyond its "
     "axis"},
    {"flip", "the shape of arg", kMoved, "an axis that is not there, or is named twice"},
    {"pad", "each axis longer by its two widths, which may be negative",
     "any; value of the category of arg",
     "an odd number of widths, more than twice the axes, widths that cut more than there is, a "
     "value of another category"},
    {"cat", "axis dim as long as those of all tensors together, the others equal",
     "any, the same for all", "no tensor, tensors of several dtypes or ranks or of other sizes"},
    {"chunk", "pieces of equal length along dim, the last one shorter", kMoved,
     "no piece or less, more than 1024, an axis that is not there"},
    {"stride_order", "the result has the shape of arg", kMoved,
     "an order that does not name each place once"},
    {"size shape", "scalars", "arg any; Index, which comes out as Int", kNoAxis},
    {"view_as_real", "as arg, with a last axis of extent 2", "complex; gives Float or Double",
     "a dtype that is not complex"},
    // Indexing.
    {"select", "as arg, without axis dim", "arg any, index an integer scalar",
     "an axis that is not there, an index that is no integer or, where it is a constant, outside "
     "the axis"},
    {"index_select", "axis dim as long as index, which has one axis or none", kIndexed,
     "an index of another dtype or rank, an axis that is not there"},
    {"gather", "the result has the shape of index, which has as many axes as arg", kIndexed,
     "an index of another dtype or rank, an axis that is not there"},
    {"take_along_axis",
     "as arg, axis dim as long as that of index; other axes of both equal or of extent 1",
     "arg any, index an integer dtype, or a float that is cut to one; the result has the dtype of "
     "arg",
     "an index of another dtype or rank, an axis that is not there, sizes that do not agree"},
    {"scatter",
     "the result has the shape of arg; src that of index, or it is a number. Where places meet, a "
     "GPU writes any of theirs",
     "index an integer dtype, src the dtype of arg; that is the result's",
     "an index of another dtype or rank, a source of another dtype, an axis that is not there"},
    {"scatter_mul scatter_max scatter_min",
     "the result has the shape of arg; src that of index, or it is a number. What has one place is "
     "combined in order",
     "index an integer dtype, src the dtype of arg; that is the result's; no extremes of complex "
     "numbers",
     "an index of another dtype or rank, a source of another dtype, an axis that is not there"},
    {"embedding_fwd", "the shape of arg with the length of a row behind it; weight has two axes",
     "arg an integer dtype; the result has the dtype of weight",
     "an index that is no integer, a weight that is no table"},
    // Made from nothing.
    {"full", "the shape that is given", "any; the value is converted to dtype",
     "a negative size, the dtype Null"},
    {"full_like zeros_like ones_like", "the shape of arg", "any; the result has the dtype of arg",
     "none"},
    {"iota", "one axis of the length", "an integer or floating-point dtype, that of start and step",
     "a negative length, a step of 0, a start or step that is not finite or of another category"},
    {"eye", "[rows, cols], cols as many as rows unless given", "any", "a negative size"},
    {"uniform normal", "the shape that is given",
     "Float, Double, half precision; seed and offset integer scalars",
     "a dtype that is not floating-point, a negative size, a seed without an offset"},
    {"uniform_of_threads", "the shape that is given",
     "Float; threads and width are constants, seed and offset integer scalars",
     "a negative size, threads that are no positive constant, a width that is no constant multiple "
     "of 4"},
    {"rand_like randn_like", "the shape of arg", "floating-point; the result has the dtype of arg",
     "a dtype that is not floating-point"},
    // Of a library.
    {"matmul", "[…, m, k] times [n…, k, n] as PyTorch's: [k] is a vector, axes before broadcast",
     "integers, floating-point, complex, one for both; sums in Float for half precision",
     "operands of two dtypes, Bool, lengths of k that differ, an operand without axes"},
    {"linear", "[…, in] times [out, in]: […, out]; bias [out]",
     "integers, floating-point, complex, one for all; sums in Float for half precision",
     "operands of two dtypes, lengths that differ"},
    {"cumsum cumprod", kSame, "any; the result has the dtype of arg, of Bool Int", kNoAxis},
    {"cummax cummin", kSame, "integers, floating-point; the result has the dtype of arg",
     "a complex arg, an axis that is not there"},
    {"argsort", kSame, "integers, floating-point; gives Int",
     "a complex arg, an axis that is not there"},
    {"topk", "both results: as arg, axis dim k long, sorted; of equal ones the first, on a GPU any",
     "integers, floating-point; values as arg, indices Int",
     "k below 0, beyond the axis or no integer, a complex arg, an axis that is not there"},
    {"grouped_mm",
     "[m, k] × [k, n] gives [groups, m, n], [m, k] × [groups, k, n] gives [m, n], [groups, m, k] × "
     "[k, n] gives [m, n]; offsets [groups]; what is behind the last is zero",
     "floating-point, one for both; offsets Int32",
     "operands of other ranks or dtypes, offsets of another dtype"},
    {"scaled_mm", "[m, k] × [k, n] gives [m, n]; scales of one element, of rows, of columns",
     "floating-point, usually Float8; scales Float", "operands that are no matrices of numbers"},
    {"cutlass_nvfp4_grouped_mm", "matrices of groups", "Float4 and Float8",
     "always: it needs a GPU of compute capability 10"},
    {"sdpfa_fwd",
     "query […, heads, queries, e], key […, heads, keys, e], value […, heads, keys, v]; output […, "
     "heads, queries, v], logsumexp […, heads, queries]",
     "Half, BFloat16, Float, one for the three; mask Bool; logsumexp Float",
     "fewer than four axes, several dtypes, dropout_p outside 0 to 1"},
    {"sdpfa_bwd", "as sdpfa_fwd; gradients as query, key and value", "as sdpfa_fwd",
     "operands that do not fit each other"},
    // Composites.
    {"softmax log_softmax", kSame, kFloats, kNoAxis},
    {"softmax_backward log_softmax_backward", "all of one shape", kFloats,
     "an axis that is not there, operands of two ranks"},
    {"layer_norm",
     "output as arg; mean and invstd with extent 1 along the normalised axes; weight "
     "and bias have these axes",
     kFloats, "more axes than arg has, sizes that differ from arg's, a weight of another rank"},
    {"rms_norm", "output as arg; invstd with extent 1 along the normalised axes; weight has these",
     kFloats, "more axes than arg has, sizes that differ from arg's, a weight of another rank"},
    {"layer_norm_backward rms_norm_backward",
     "grad as arg; gradients as arg, weight and bias; None for those that were not asked for",
     kFloats, "operands that do not fit each other"},
    {"batch_norm", "output as arg, [N, C, …]; the others [C], as mean and invstd", kFloats,
     "fewer than two axes, a weight that is not [C], outside training no running statistics"},
    {"instance_norm", "output as arg, [N, C, …]; weight and bias [C], mean and invstd [N, C]",
     kFloats, "fewer than three axes, a weight that is not [C]"},
    {"dropout", "both results as arg", "floating-point; the mask is Bool",
     "a dtype that is not floating-point"},
    {"dropout_backward", "all of one shape", "grad floating-point, mask Bool",
     "sizes that do not agree"},
    {"gelu tanh_gelu leaky_relu softplus", kSame, kFloats, "a dtype that is not taken"},
    {"gelu_backward tanh_gelu_backward tanh_backward", "all of one shape", kFloats,
     "sizes that do not agree"},
    {"triu", "the shape of arg, which has two axes or more", kMoved,
     "fewer than two axes, a diagonal that is no integer"},
};

std::string_view ruleText(DtypeRule rule) {
  switch (rule) {
    case DtypeRule::Identity:
      return "the result has the operand's dtype";
    case DtypeRule::Keep:
      return "the result has the operand's dtype; half precision is computed in Float";
    case DtypeRule::Default:
      return "promoted together; half precision computes and comes out as Float";
    case DtypeRule::Float:
      return "promoted together; half precision, integers and Bool compute and come out as Float";
    case DtypeRule::FullFloat:
      return "promoted together to Float or Double";
    case DtypeRule::Magnitude:
      return "the result has the operand's dtype, or that of a complex operand's parts";
    case DtypeRule::RealPart:
      return "the result has the dtype of the operand's parts";
    case DtypeRule::Comparison:
      return "promoted together; gives Bool";
    case DtypeRule::Logical:
      return "operands become Bool; gives Bool";
    case DtypeRule::Bitwise:
    case DtypeRule::Integer:
      return "promoted together";
    case DtypeRule::Predicate:
      return "gives Bool";
    case DtypeRule::Select:
      return "promoted together; half precision stays";
  }
  return "";
}

/// "Bool, integers, floating-point; promoted together; gives Bool".
std::string dtypesOf(const PointwiseFunction& function) {
  const bool computes_in_float = function.rule == DtypeRule::Float;
  const bool becomes_bool = function.rule == DtypeRule::Logical;
  std::vector<std::string_view> taken;
  constexpr std::pair<PrimDataType, std::string_view> kClasses[] = {
      {PrimDataType::Bool, "Bool"},
      {PrimDataType::Int, "integers"},
      {PrimDataType::Float, "floating-point"},
      {PrimDataType::ComplexFloat, "complex"}};
  for (const auto& [dtype, name] : kClasses) {
    const bool wide = dtype == PrimDataType::Float || dtype == PrimDataType::ComplexFloat;
    const bool only_whole =
        function.rule == DtypeRule::Bitwise || function.rule == DtypeRule::Integer;
    const bool refused = (only_whole && wide) ||
                         (function.rule == DtypeRule::Integer && dtype == PrimDataType::Bool) ||
                         (function.rule == DtypeRule::FullFloat && dtype != PrimDataType::Float);
    const DataType compute = becomes_bool                 ? DataType(DataType::Bool)
                             : computes_in_float && !wide ? DataType(DataType::Float)
                                                          : DataType(dtype);
    if (!refused && function.row().accepts(compute)) {
      taken.push_back(name);
    }
  }
  std::string_view rule = ruleText(function.rule);
  constexpr std::string_view kTogether = "promoted together; ";
  if (function.arity == 1 && rule.starts_with(kTogether)) {
    rule.remove_prefix(kTogether.size());
  }
  return text(join(taken, ", "), "; ", rule);
}

bool names(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    const size_t blank = list.find(' ');
    if (list.substr(0, blank) == name) {
      return true;
    }
    list = blank == std::string_view::npos ? std::string_view() : list.substr(blank + 1);
  }
  return false;
}

}  // namespace

OperationNotes notesOf(std::string_view operation) {
  for (const Notes& notes : kNotes) {
    if (names(notes.names, operation)) {
      return {std::string(notes.shapes), std::string(notes.dtypes), std::string(notes.errors)};
    }
  }
  const PointwiseFunction* function = findPointwiseFunction(operation);
  check(function != nullptr, "each operation has notes for its docstring");
  return {std::string(function->arity == 1 ? kSame : kBroadcast), dtypesOf(*function),
          function->arity == 1 ? "a dtype that is not taken"
                               : "a dtype that is not taken, sizes that do not agree"};
}

}  // namespace nvfuser::capi
