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
      {"it holds row numbers, integers", [&] { embedding_fwd(x, x); }},
      {"it is a table of rows, with 2",
       [&] { embedding_fwd(constant({3}, DataType::Int), constant({3})); }},
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
  const std::string scattered = messageOfRun(
      {real({3}), Tensor::fromHost(std::vector<int64_t>{0, 3}, {2}), real({2})},
      [](const Tensors& t) { return scatter(t[0], 0, t[1], t[2], BinaryOpType::Add); });
  CAPTURE(scattered);
  CHECK(scattered.find("scatter: index 3 is out of range for an axis of extent 3") !=
        std::string::npos);
}

}  // namespace
}  // namespace nvfuser
