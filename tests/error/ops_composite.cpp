#include <doctest/doctest.h>

#include <ir/builder.h>
#include <ops/arith.h>
#include <ops/composite.h>
#include <ops/normalization.h>
#include <user_error.h>

namespace nvfuser {
namespace {

Val* real(double value) { return IrBuilder::create<Val>(PolymorphicValue(value)); }

TEST_CASE("bad uses of statistics and softmax") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = makeContigConcreteTensor({3, 4});
  TensorView* half = makeContigConcreteTensor({3, 4}, DataType::Half);
  checkAll({
      {"mean: the operand is null", [&] { mean(nullptr, {0}, false); }},
      {"Tried to access out of boundary index 2", [&] { mean(x, {2}, false); }},
      {"mean", [&] { mean(x, {0, -2}, false); }},
      {"variance: correction must be non-negative, but got -1",
       [&] { variance(x, {0}, int64_t{-1}, false); }},
      {"variance_mean is not supported for __half please upcast to float",
       [&] { variance_mean(half, {0}, 1, false); }},
      {"softmax: Tried to access out of boundary index 2", [&] { softmax(x, 2); }},
      {"softmax: Tried to access out of boundary index 1",
       [&] { softmax(makeContigConcreteTensor({}), 1); }},
      {"they must have one shape", [&] { softmax_backward(makeContigConcreteTensor({3}), x, 0); }},
  });
}

TEST_CASE("bad uses of normalisations") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = makeContigConcreteTensor({3, 4});
  TensorView* four = makeContigConcreteTensor({4});
  Val* eps = real(1e-5);
  checkAll({
      {"layer_norm: the last 3 axes of", [&] { layer_norm(x, 3, four, four, eps); }},
      {"layer_norm: the last 0 axes of", [&] { layer_norm(x, 0, four, four, eps); }},
      {"the shape to normalise over has 5 where axis 1",
       [&] { layer_norm(x, std::vector<int64_t>{5}, nullptr, nullptr, eps); }},
      {"layer_norm: eps is null", [&] { layer_norm(x, 1, four, four, nullptr); }},
      {"layer_norm: weight", [&] { layer_norm(x, 1, x, four, eps); }},
      {"rms_norm: the last 3 axes of", [&] { rms_norm(x, 3, four, eps); }},
      {"output_mask has 2 entries; it needs 3",
       [&] { layer_norm_backward(x, x, {4}, four, four, four, four, {true, true}); }},
      {"rms_norm_backward: the operand is null",
       [&] { rms_norm_backward(x, x, {4}, nullptr, four, {true, true}); }},
      {"the normalised ones with extent 1",
       [&] { rms_norm_backward(x, x, {4}, makeContigConcreteTensor({}), four, {true, true}); }},
      {"at least 2 are needed (N, C)",
       [&] { batch_norm(four, nullptr, nullptr, nullptr, nullptr, true, eps, eps); }},
      {"at least 3 are needed (N, C, …)",
       [&] { instance_norm(x, nullptr, nullptr, nullptr, nullptr, true, eps, eps); }},
      {"given together or not at all",
       [&] { batch_norm(x, nullptr, nullptr, four, nullptr, true, eps, eps); }},
      {"outside training running_mean and running_var are needed",
       [&] { batch_norm(x, nullptr, nullptr, nullptr, nullptr, false, eps, eps); }},
      {"must be an input of the fusion, or a cast of one",
       [&] { batch_norm(x, nullptr, nullptr, four, four, true, eps, eps); }},
      {"batch_norm: weight", [&] { batch_norm(x, x, nullptr, nullptr, nullptr, true, eps, eps); }},
      {"save_mean",
       [&] {
         batch_norm_backward(x, x, four, nullptr, nullptr, x, four, true, eps, {true, true, true});
       }},
  });
}

TEST_CASE("bad uses of composites") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = makeContigConcreteTensor({3, 4});
  checkAll({
      {"dropout: prob must be a scalar", [&] { dropout(x, nullptr); }},
      {"dropout: prob must be between 0 and 1, got 1.5", [&] { dropout(x, real(1.5), real(1)); }},
      {"dropout: T", [&] { dropout(makeContigConcreteTensor({3}, DataType::Int), real(0.5)); }},
      {"input tensor for triu must have 2 or more dims, but got 1 dims",
       [&] { triu(makeContigConcreteTensor({3}), IrBuilder::create<Val>(PolymorphicValue(0))); }},
      {"triu: the offset must be an integer scalar", [&] { triu(x, real(0.5)); }},
      {"leaky_relu: negative_slope must be a scalar", [&] { leaky_relu(x, nullptr); }},
      {"gelu: the operand is null", [&] { gelu(nullptr); }},
      {"Operand of view_as_real must have complex dtype", [&] { view_as_real(x); }},
      {"lstm: the operand is null", [&] { lstm(x, x, x, x, nullptr); }},
  });
}

}  // namespace
}  // namespace nvfuser
