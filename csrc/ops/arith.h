/// Pointwise operations, reductions, and tensors made from nothing, as the user writes them.
///
/// Pointwise functions take tensors and scalars in any mix; with scalars alone they give a scalar.
/// Tensors of lower rank get leading broadcast axes; then axes correspond by position, and an axis
/// of extent 1 (broadcast) goes with any other. Operands are cast to a common dtype as
/// `promotion.h` says; reduced precision is computed in Float. Names, dtype rules and doc strings
/// of the pointwise functions are the lines of `table/pointwise_functions.def`.
#pragma once

#include <string_view>
#include <vector>

#include <ir/interface_nodes.h>
#include <ir/op_types.h>
#include <ops/promotion.h>

namespace nvfuser {

// ---- casts -------------------------------------------------------------------------------------

/// The value converted to `dtype`: floats are cut to integers, non-zero is true, complex to real
/// drops the imaginary part. To its own dtype it is a copy; `maybeCastOp` then returns the operand
/// itself.
Val* castOp(DataType dtype, Val* v1);
TensorView* castOp(DataType dtype, TensorView* v1);
Val* maybeCastOp(DataType dtype, Val* v1);
TensorView* maybeCastOp(DataType dtype, TensorView* v1);
/// The same bits read as another dtype of equal size.
Val* bitCastOp(DataType dtype, Val* v1);
TensorView* bitCastOp(DataType dtype, TensorView* v1);

// ---- by type of operation ----------------------------------------------------------------------

/// The operation in the operand's own dtype; with a config, in the promoted one.
Val* unaryOp(UnaryOpType type, Val* v1);
TensorView* unaryOp(UnaryOpType type, TensorView* v1);
Val* unaryOp(UnaryOpType type, Val* v1, const TypePromotionConfig& config);
TensorView* unaryOp(UnaryOpType type, TensorView* v1, const TypePromotionConfig& config);
/// A predicate: the result is Bool, the operand is read as it is.
Val* unaryIsOp(UnaryOpType type, Val* v1);
TensorView* unaryIsOp(UnaryOpType type, TensorView* v1);

/// The operation on operands as they are. `out_dtype` Null: Bool for comparisons, else the promoted
/// type of both.
Val* binaryOp(BinaryOpType type, Val* v1, Val* v2, DataType out_dtype = DataType::Null);
TensorView* binaryOp(BinaryOpType type, TensorView* v1, Val* v2,
                     DataType out_dtype = DataType::Null);
TensorView* binaryOp(BinaryOpType type, Val* v1, TensorView* v2,
                     DataType out_dtype = DataType::Null);
TensorView* binaryOp(BinaryOpType type, TensorView* v1, TensorView* v2,
                     DataType out_dtype = DataType::Null);
/// The operation on operands cast to their promoted type.
Val* binaryOp(BinaryOpType type, Val* v1, Val* v2, const TypePromotionConfig& config);
TensorView* binaryOp(BinaryOpType type, TensorView* v1, Val* v2, const TypePromotionConfig& config);
TensorView* binaryOp(BinaryOpType type, Val* v1, TensorView* v2, const TypePromotionConfig& config);
TensorView* binaryOp(BinaryOpType type, TensorView* v1, TensorView* v2,
                     const TypePromotionConfig& config);

/// The operation on operands as they are; the result has `out_dtype`.
Val* ternaryOp(TernaryOpType type, Val* v1, Val* v2, Val* v3, DataType out_dtype);

// ---- pointwise functions -----------------------------------------------------------------------

#define UNARY(name, type, rule, python, doc) \
  Val* name(Val* v);                         \
  TensorView* name(TensorView* v);
#define BINARY(name, type, rule, python, doc) \
  Val* name(Val* v1, Val* v2);                \
  TensorView* name(TensorView* v1, Val* v2);  \
  TensorView* name(Val* v1, TensorView* v2);  \
  TensorView* name(TensorView* v1, TensorView* v2);
#include <ops/table/pointwise_functions.def>

/// The function of that name (a line of the table) on operands: what bindings and the C interface
/// call. `UserError` if there is none, or if it takes another number of operands.
Val* callPointwise(std::string_view name, const std::vector<Val*>& operands);

/// A complex number from its real and imaginary part, both of one real dtype.
Val* complex(Val* r, Val* i);
TensorView* complex(TensorView* r, TensorView* i);

/// v1 + v2·alpha and v1 − v2·alpha.
Val* add_alpha(Val* v1, Val* v2, Val* alpha);
TensorView* add_alpha(TensorView* v1, Val* v2, Val* alpha);
TensorView* add_alpha(Val* v1, TensorView* v2, Val* alpha);
TensorView* add_alpha(TensorView* v1, TensorView* v2, Val* alpha);
Val* sub_alpha(Val* v1, Val* v2, Val* alpha);
TensorView* sub_alpha(TensorView* v1, Val* v2, Val* alpha);
TensorView* sub_alpha(Val* v1, TensorView* v2, Val* alpha);
TensorView* sub_alpha(TensorView* v1, TensorView* v2, Val* alpha);

#define NVFUSER_EVERY_MIX_OF_THREE(name)                     \
  Val* name(Val* v1, Val* v2, Val* v3);                      \
  TensorView* name(TensorView* v1, Val* v2, Val* v3);        \
  TensorView* name(Val* v1, TensorView* v2, Val* v3);        \
  TensorView* name(Val* v1, Val* v2, TensorView* v3);        \
  TensorView* name(TensorView* v1, TensorView* v2, Val* v3); \
  TensorView* name(TensorView* v1, Val* v2, TensorView* v3); \
  TensorView* name(Val* v1, TensorView* v2, TensorView* v3); \
  TensorView* name(TensorView* v1, TensorView* v2, TensorView* v3);
/// start + weight·(end − start).
NVFUSER_EVERY_MIX_OF_THREE(lerp)
/// v2 where v1 (Bool) is true, else v3. Reduced precision stays.
NVFUSER_EVERY_MIX_OF_THREE(where)
#undef NVFUSER_EVERY_MIX_OF_THREE

/// v1 + v2·v3·s.
Val* addcmul(Val* v1, Val* v2, Val* v3, Val* s);
TensorView* addcmul(TensorView* v1, Val* v2, Val* v3, Val* s);
TensorView* addcmul(Val* v1, TensorView* v2, Val* v3, Val* s);
TensorView* addcmul(Val* v1, Val* v2, TensorView* v3, Val* s);
TensorView* addcmul(TensorView* v1, TensorView* v2, Val* v3, Val* s);
TensorView* addcmul(TensorView* v1, Val* v2, TensorView* v3, Val* s);
TensorView* addcmul(Val* v1, TensorView* v2, TensorView* v3, Val* s);
TensorView* addcmul(TensorView* v1, TensorView* v2, TensorView* v3, Val* s);

/// `value` where in <= thresh, else in. The scalars are taken in the dtype of `in`.
Val* threshold(Val* in, Val* thresh, Val* value);
TensorView* threshold(TensorView* in, Val* thresh, Val* value);
/// `in` held between the bounds; a null bound is the least or greatest value of the dtype. NaN
/// stays NaN.
Val* clamp(Val* in, Val* min_val, Val* max_val);
TensorView* clamp(TensorView* in, Val* min_val, Val* max_val);

// ---- reductions (reduction.cpp) ----------------------------------------------------------------

/// A new tensor with the axes of `tv`, those in `axes` as reduction axes. Null dtype: that of `tv`.
TensorView* newForReduction(TensorView* tv, const std::vector<int64_t>& axes,
                            DataType data_type = DataType::Null);

/// `v1` combined over `axes`, starting from `init`. A broadcast axis is squeezed (an expanded one
/// counts as many times as it is long); over no axes it is a copy. `dtype`: what to cast to before.
/// Reduced precision is accumulated in Float and the result cast back.
TensorView* reductionOp(BinaryOpType reduction_op_type, const std::vector<int64_t>& axes, Val* init,
                        TensorView* v1, bool keep_dim = false, DataType dtype = DataType::Null);
/// The same without special cases: broadcast axes are reduced as they are.
TensorView* reductionOpRaw(BinaryOpType reduction_op_type, const std::vector<int64_t>& axes,
                           Val* init, TensorView* v1, bool keep_dim = false,
                           DataType dtype = DataType::Null);

/// Sum and product: integers and Bool become Int before. Max and min keep the dtype and take no
/// other.
TensorView* sum(TensorView* v1, const std::vector<int64_t>& reduction_axes, bool keep_dim = false,
                DataType dtype = DataType::Null);
TensorView* prod(TensorView* v1, const std::vector<int64_t>& reduction_axes, bool keep_dim = false,
                 DataType dtype = DataType::Null);
TensorView* max(TensorView* v1, const std::vector<int64_t>& reduction_axes, bool keep_dim = false,
                DataType dtype = DataType::Null);
TensorView* min(TensorView* v1, const std::vector<int64_t>& reduction_axes, bool keep_dim = false,
                DataType dtype = DataType::Null);

/// Mean, sum of squared deviations and count: NaN, 0 and 0 of no elements.
struct WelfordResult {
  TensorView* avg;
  TensorView* var_sum;
  TensorView* n;
};
/// `init_avg` and `init_var` (without the reduced axes) and `init_N` start the accumulation;
/// without them it starts empty. Where either side has no elements, the result is the other's.
/// Broadcast axes are squeezed: an expanded one multiplies the deviations and the count.
WelfordResult Welford(TensorView* tv, const std::vector<int64_t>& axes,
                      TensorView* init_avg = nullptr, TensorView* init_var = nullptr,
                      Val* init_N = nullptr);
WelfordResult WelfordRaw(TensorView* tv, const std::vector<int64_t>& axes,
                         TensorView* init_avg = nullptr, TensorView* init_var = nullptr,
                         Val* init_N = nullptr);

/// The sum of `v1` over leading axes and over those whose entry in `sum_to_size` is 1, so that it
/// has that shape.
TensorView* sum_to(TensorView* v1, const std::vector<Val*>& sum_to_size);
TensorView* sum_to(TensorView* v1, const std::vector<int64_t>& sum_to_size);

/// sum(tv_a · tv_b, axes).
TensorView* fusedMultiplySum(TensorView* tv_a, TensorView* tv_b, const std::vector<int64_t>& axes,
                             Val* init = nullptr);

// ---- made from nothing (factory.cpp) -----------------------------------------------------------

/// A tensor of the given shape; entries are Int scalars, a constant 1 makes a broadcast axis. A
/// 0-dim one for {}. `maybe_symbolic` is accepted for compatibility: extents that are no constants
/// are iterated.
TensorView* full(const std::vector<Val*>& shape, Val* fill_value, DataType dtype,
                 bool maybe_symbolic = true);
TensorView* full_like(TensorView* tv, Val* fill_value, DataType dtype);
TensorView* full_like(TensorView* tv, Val* fill_value);
Val* full_like(Val* tv, Val* fill_value);
TensorView* zeros(const std::vector<Val*>& shape, DataType dtype, bool maybe_symbolic = true);
TensorView* zeros_like(TensorView* tv);
Val* zeros_like(Val* v);
TensorView* ones(const std::vector<Val*>& shape, DataType dtype, bool maybe_symbolic = true);
TensorView* ones_like(TensorView* tv);
Val* ones_like(Val* v);
/// start + i·step for i < length; start 0, step 1 unless given.
TensorView* iota(Val* length, Val* start = nullptr, Val* step = nullptr,
                 DataType dtype = DataType::Int);
/// start, start + step, … below end.
TensorView* arange(Val* end, DataType dtype = DataType::Int);
TensorView* arange(Val* start, Val* end, DataType dtype = DataType::Int);
TensorView* arange(Val* start, Val* end, Val* step, DataType dtype = DataType::Int);
/// Ones on the diagonal, zeros elsewhere.
TensorView* eye(Val* size, DataType dtype);
TensorView* eye(Val* rows, Val* cols, DataType dtype);
/// A 0-dim tensor holding `val`.
TensorView* tensor(Val* val);

/// Extents of the axes (expanded ones as they appear), and one of them; a negative position counts
/// from the end.
std::vector<Val*> shape(TensorView* inp);
Val* size(TensorView* inp, int64_t dim);
Val* at(const std::vector<Val*>& inp, int64_t index);

/// The real numbers of a complex tensor along a new last axis of extent 2.
TensorView* viewAsScalar(TensorView* inp);

// ---- scans, and sorting, which is of a library, between kernels (scan_sort.cpp) ----------------

/// out[i] = init ∘ in[0] ∘ … ∘ in[i] along `dim`, in the dtype of `in_tv`; `backward`, init ∘
/// in[n - 1] ∘ … ∘ in[i]. Combines by Add, Mul, Max, Min, FMax or FMin.
TensorView* scan(TensorView* in_tv, int64_t dim, BinaryOpType op_type, Val* init = nullptr,
                 bool backward = false);
TensorView* cumsum(TensorView* tv, int64_t dim);
TensorView* prefixSum(TensorView* tv, int64_t dim);
TensorView* cumprod(TensorView* tv, int64_t dim);
/// Positions (Int) that sort along `dim`; NaN is the greatest. Equal elements keep their order,
/// `stable` or not.
TensorView* argsort(TensorView* v1, int64_t dim, bool descending = false, bool stable = false);

struct TopKResult {
  TensorView* values = nullptr;
  TensorView* indices = nullptr;
};
/// The `k` largest (or smallest) along `dim` with their positions (Int), in order whether or not
/// `sorted`; of equal ones the first.
TopKResult topk(TensorView* v1, Val* k, int64_t dim = -1, bool largest = true, bool sorted = false,
                bool maybe_symbolic = true);

// ---- random numbers (random.cpp) ---------------------------------------------------------------

/// Uniform in [0, 1) and standard normal. Seed and offset (Int scalars) are given together or not
/// at all; without them the executor supplies them.
TensorView* rand(const std::vector<Val*>& shape, DataType dtype, Val* philox_seed = nullptr,
                 Val* philox_offset = nullptr, bool maybe_symbolic = true);
TensorView* randn(const std::vector<Val*>& shape, DataType dtype, Val* philox_seed = nullptr,
                  Val* philox_offset = nullptr, bool maybe_symbolic = true);
TensorView* rand_like(TensorView* tv, Val* philox_seed, Val* philox_offset);
Val* rand_like(Val* v, Val* philox_seed, Val* philox_offset);
TensorView* rand_like(TensorView* tv);
Val* rand_like(Val* v);
TensorView* randn_like(TensorView* tv, Val* philox_seed, Val* philox_offset);
Val* randn_like(Val* v, Val* philox_seed, Val* philox_offset);
TensorView* randn_like(TensorView* tv);
Val* randn_like(Val* v);
/// Uniform in [low, high).
TensorView* uniform(const std::vector<Val*>& shape, Val* low, Val* high, DataType dtype,
                    Val* philox_seed = nullptr, Val* philox_offset = nullptr,
                    bool maybe_symbolic = true);
TensorView* normal(const std::vector<Val*>& shape, Val* mean, Val* std, DataType dtype,
                   Val* philox_seed = nullptr, Val* philox_offset = nullptr,
                   bool maybe_symbolic = true);
/// Float numbers in (0, 1] as a kernel of `threads` threads draws them by curand, where each thread
/// has a sequence of its own, takes `width` neighbours (a multiple of 4) and comes again behind all
/// others: PyTorch's dropout. `threads` and `width` are constants; `philox_offset` counts blocks of
/// four numbers, as elsewhere.
TensorView* uniform_of_threads(const std::vector<Val*>& shape, Val* threads, Val* width,
                               Val* philox_seed, Val* philox_offset);

}  // namespace nvfuser
