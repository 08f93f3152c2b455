// Wrong uses of operations that belong to a library, when they are defined and when they run.
#include "user_error.h"
#include <fusion.h>
#include <ir/builder.h>
#include <ops/all_ops.h>
#include <runtime/fusion_executor_cache.h>

namespace nvfuser {
namespace {

TensorView* constant(const std::vector<int64_t>& shape, DataType dtype = DataType::Float) {
  return makeContigConcreteTensor(shape, dtype);
}
Val* num(int64_t value) { return IrBuilder::create<Val>(value); }

TEST_CASE("bad uses of products") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = constant({3, 4});
  TensorView* null = nullptr;
  checkAll({
      {"matmul: the operand is null", [&] { matmul(x, null); }},
      {"matmul: both operands need an axis or more", [&] { matmul(x, constant({})); }},
      {"operands have different dtypes", [&] { matmul(x, constant({4, 5}, DataType::Half)); }},
      {"differ in length, of T0 of shape [3, 4] and dtype float", [&] { matmul(x, x); }},
      {"sizes of corresponding axes do not agree: 2 and 3",
       [&] { matmul(constant({2, 3, 4}), constant({3, 4, 5})); }},
      {"has no product of matrices",
       [&] { matmul(constant({3, 4}, DataType::Bool), constant({4, 5}, DataType::Bool)); }},
      {"linear: the weight has the axes [out, in] or [in]",
       [&] { linear(x, constant({2, 5, 4})); }},
      {"linear: the axes that are summed over differ in length",
       [&] { linear(x, constant({5, 3})); }},
      {"linear: the bias has one axis less than the weight",
       [&] { linear(x, constant({5, 4}), constant({1, 5})); }},
      {"is as long as the weight has rows", [&] { linear(x, constant({5, 4}), constant({4})); }},
  });
}

TEST_CASE("bad uses of scans, sorting and tables") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = constant({3, 4});
  TensorView* z = constant({3, 4}, DataType::ComplexFloat);
  checkAll({
      {"scan: Tried to access out of boundary index 2", [&] { cumsum(x, 2); }},
      {"cannot be combined by sub", [&] { scan(x, 0, BinaryOpType::Sub); }},
      {"scan: the initial value is a scalar", [&] { scan(x, 0, BinaryOpType::Add, x); }},
      {"argsort", [&] { argsort(z, 0); }},
      {"topk", [&] { topk(z, num(1)); }},
      {"topk: k = 5 elements of axis 1", [&] { topk(x, num(5)); }},
      {"topk: k is an integer scalar, got null", [&] { topk(x, nullptr); }},
      {"rows of T0 of shape [3, 4] and dtype float are counted by an index of one axis",
       [&] { indexPutAccumulate(x, constant({2, 2}, DataType::Int), x); }},
      {"indexPutAccumulate: axis 1 of the value",
       [&] { indexPutAccumulate(x, constant({2}, DataType::Int), constant({2, 5})); }},
      {"in the index; both have to be equal",
       [&] { indexPutAccumulate(x, constant({2}, DataType::Int), constant({5, 4})); }},
      {"it holds row numbers, integers", [&] { embedding_fwd(x, x); }},
      {"it is a table of rows, with 2",
       [&] { embedding_fwd(constant({3}, DataType::Int), constant({3})); }},
  });
}

TEST_CASE("bad uses of attention") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  constexpr DataType kHalf = DataType::Half;
  TensorView* q = constant({2, 3, 5, 8}, kHalf);
  TensorView* k = constant({2, 3, 7, 8}, kHalf);
  TensorView* v = constant({2, 3, 7, 4}, kHalf);
  TensorView* null = nullptr;
  auto forward = [&](TensorView* query, TensorView* key, TensorView* value,
                     TensorView* bias = nullptr, TensorView* mask = nullptr, Val* p = nullptr,
                     Val* causal = nullptr, Val* scale = nullptr) {
    return sdpfa_fwd(query, key, value, bias, mask, p, causal, scale);
  };
  checkAll({
      {"sdpfa_fwd: the operand is null", [&] { forward(q, null, v); }},
      {"the query has the axes [batches, heads, queries, numbers], four or more; got T",
       [&] { forward(constant({3, 5, 8}, kHalf), k, v); }},
      {"attention is of Half, BFloat16 or Float; cast the operands",
       [&] { forward(constant({2, 3, 5, 8}, DataType::Double), k, v); }},
      {"the key is T", [&] { forward(q, constant({2, 3, 7, 8}), v); }},
      {"its dtype has to be __half: cast it", [&] { forward(q, k, constant({2, 3, 7, 4})); }},
      {"axis 3 of the key, T", [&] { forward(q, constant({2, 3, 7, 9}, kHalf), v); }},
      {"has 9 elements, but 8 in the query; both have to be equal",
       [&] { forward(q, constant({2, 3, 7, 9}, kHalf), v); }},
      {"axis 2 of the value", [&] { forward(q, k, constant({2, 3, 6, 4}, kHalf)); }},
      {"but 3 in the query; both have to be equal: expand the smaller one",
       [&] { forward(q, constant({2, 1, 7, 8}, kHalf), v); }},
      {"the key has 4 axes", [&] { forward(q, constant({1, 2, 3, 7, 8}, kHalf), v); }},
      {"the bias is T", [&] { forward(q, k, v, constant({5, 7}, DataType::BFloat16)); }},
      {"axis 1 of the bias", [&] { forward(q, k, v, constant({5, 6}, kHalf)); }},
      {"the bias has at most 4 axes", [&] { forward(q, k, v, constant({1, 2, 3, 5, 7}, kHalf)); }},
      {"the mask is T", [&] { forward(q, k, v, null, constant({5, 7}, kHalf)); }},
      {"dropout_p must be between 0 and 1, got 1.5",
       [&] { forward(q, k, v, null, null, IrBuilder::create<Val>(1.5)); }},
      {"scale is a real scalar", [&] { forward(q, k, v, null, null, nullptr, nullptr, q); }},
      {"the logsumexp is T",
       [&] {
         const SdpaFwdResult r = forward(q, k, v);
         sdpfa_bwd(r.output, q, k, v, r.output, constant({2, 3, 5}, kHalf), nullptr, nullptr,
                   r.philox_seed, r.philox_offset, nullptr);
       }},
      {"axis 3 of the grad_output",
       [&] {
         const SdpaFwdResult r = forward(q, k, v);
         sdpfa_bwd(q, q, k, v, r.output, r.logsumexp, nullptr, nullptr, r.philox_seed,
                   r.philox_offset, nullptr);
       }},
      {"philox_seed and philox_offset are the results of sdpfa_fwd",
       [&] {
         const SdpaFwdResult r = forward(q, k, v);
         sdpfa_bwd(r.output, q, k, v, r.output, r.logsumexp, nullptr, nullptr, r.philox_seed,
                   r.philox_seed, nullptr);
       }},
  });
}

TEST_CASE("bad uses of products with scales and of groups") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  constexpr DataType kFloat8 = DataType::Float8_e4m3fn;
  TensorView* a = constant({4, 6}, kFloat8);
  TensorView* b = constant({6, 5}, kFloat8);
  TensorView* one = constant({});
  TensorView* ends = constant({3}, DataType::Int32);
  TensorView* null = nullptr;
  checkAll({
      {"scaled_mm: the operand is null", [&] { scaled_mm(a, b, one, null); }},
      {"is no floating-point matrix; cast it, or use matmul",
       [&] { scaled_mm(constant({4, 6}, DataType::Int), b, one, one); }},
      {"operands have different dtypes", [&] { scaled_mm(constant({4, 6}), b, one, one); }},
      {"axis 0 of the second operand", [&] { scaled_mm(a, constant({7, 5}, kFloat8), one, one); }},
      {"a scale of another dtype is one of blocks, which needs a GPU of compute capability 10",
       [&] { scaled_mm(a, b, constant({4, 1}, kFloat8), one); }},
      {"has 2 numbers along what is summed over; a scale of blocks needs a GPU",
       [&] { scaled_mm(a, b, constant({4, 2}), one); }},
      {"axis 0 of the first scale", [&] { scaled_mm(a, b, constant({5, 1}), one); }},
      {"is one number, or has the axes", [&] { scaled_mm(a, b, constant({1, 1, 4}), one); }},
      {"alpha is one number", [&] { scaled_mm(a, b, one, one, constant({4})); }},
      {"beta scales the bias, but there is none",
       [&] { scaled_mm(a, b, one, one, null, null, one); }},
      {"the bias T", [&] { scaled_mm(a, b, one, one, null, constant({5}, kFloat8)); }},
      {"axis 0 of the bias", [&] { scaled_mm(a, b, one, one, null, constant({4})); }},
      {"is no floating-point type",
       [&] { scaled_mm(a, b, one, one, null, null, null, DataType::Int); }},
      {"a result with scales of its own (output_block_scale_size 16",
       [&] {
         scaled_mm(a, b, one, one, null, null, null, DataType::Half, 16, DataType::Half, true);
       }},
      {"at most one has an axis of groups before",
       [&] { grouped_mm(constant({3, 4, 6}), constant({3, 6, 5}), ends); }},
      {"the offsets say where each group ends, Int32 [G]",
       [&] { grouped_mm(a, b, constant({3}, DataType::Int)); }},
      {"axis 0 of the second operand", [&] { grouped_mm(a, constant({2, 6, 5}, kFloat8), ends); }},
      {"the format nvfp4", [&] { cutlass_nvfp4_grouped_mm(a, b, one, one, one, one, one, one); }},
  });
}

/// What running a fusion of symbolic inputs with these tensors says.
std::string messageOfRun(
    const std::vector<Tensor>& tensors,
    const std::function<TensorView*(const std::vector<TensorView*>&)>& define) {
  auto fusion = std::make_unique<Fusion>();
  {
    FusionGuard guard(fusion.get());
    std::vector<TensorView*> inputs;
    for (const Tensor& tensor : tensors) {
      inputs.push_back(makeContigTensor(tensor.dim(), tensor.dtype()));
      fusion->addInput(inputs.back());
    }
    fusion->addOutput(define(inputs));
  }
  FusionExecutorCache cache(std::move(fusion));
  KernelArgumentHolder arguments;
  for (const Tensor& tensor : tensors) {
    arguments.push(tensor);
  }
  return messageOf([&] { cache.runFusionWithInputs(arguments); });
}

TEST_CASE("data that an operation of a library does not take") {
  auto real = [](std::vector<int64_t> sizes) {
    return Tensor::randn(std::move(sizes), DataType::Float, 1);
  };
  using Tensors = std::vector<TensorView*>;
  const std::string product = messageOfRun({real({3, 4}), real({5, 2})},
                                           [](const Tensors& t) { return matmul(t[0], t[1]); });
  CAPTURE(product);
  CHECK(product.find("matmul") != std::string::npos);
  CHECK(product.find("4") != std::string::npos);
  const std::string attended = messageOfRun(
      {real({1, 1, 3, 4}), real({1, 1, 5, 4}), real({1, 1, 6, 4})}, [](const Tensors& t) {
        return sdpfa_fwd(t[0], t[1], t[2], nullptr, nullptr, nullptr, nullptr, nullptr).output;
      });
  CAPTURE(attended);
  CHECK(attended.find("sdpfa_fwd: axis 2 of T2") != std::string::npos);
  CHECK(attended.find("has 6 elements, but axis 2 of T1 has 5") != std::string::npos);
  for (const std::vector<int32_t>& ends : {std::vector<int32_t>{2, 4}, {2, 1}}) {
    const std::string grouped =
        messageOfRun({real({3, 4}), real({2, 4, 5}), Tensor::fromHost(ends, {2})},
                     [](const Tensors& t) { return grouped_mm(t[0], t[1], t[2]).tv; });
    CAPTURE(grouped);
    CHECK(grouped.find(text("grouped_mm: group 1 ends at ", ends[1],
                            ", but the one before at 2 and all at 3; offsets ascend")) !=
          std::string::npos);
  }
  const std::string scaled =
      messageOfRun({real({3, 4}), real({4, 5}), real({3, 2}), real({})},
                   [](const Tensors& t) { return scaled_mm(t[0], t[1], t[2], t[3]).tv; });
  CAPTURE(scaled);
  CHECK(scaled.find("has one number for 2 blocks of what is summed over") != std::string::npos);
  const std::string scattered = messageOfRun(
      {real({3}), Tensor::fromHost(std::vector<int64_t>{0, 3}, {2}), real({2})},
      [](const Tensors& t) { return scatter(t[0], 0, t[1], t[2], BinaryOpType::Add); });
  CAPTURE(scattered);
  CHECK(scattered.find("scatter: index 3 is out of range for an axis of extent 3") !=
        std::string::npos);
}

}  // namespace
}  // namespace nvfuser
