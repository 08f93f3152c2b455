// Which reductions become one, and what takes their place.
#include <doctest/doctest.h>

#include <fusion.h>
#include <ops/all_ops.h>
#include <scheduler/persistent/online_softmax.h>

using namespace nvfuser;

namespace {

TensorView* matrix(Fusion& fusion, DataType dtype = DataType::Float) {
  TensorView* tv = makeContigTensor(2, dtype);
  fusion.addInput(tv);
  return tv;
}

TensorView* sumOfExponentials(TensorView* x, TensorView* top) {
  return sum(exp(sub(x, broadcast(top, {false, true}))), {1});
}

}  // namespace

TEST_CASE("online softmax: two reductions become one and what puts its results right") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = matrix(fusion);
  TensorView* top = max(x, {1});
  fusion.addOutput(add(log(sumOfExponentials(x, top)), top));
  REQUIRE(hasOnlineSoftmax(fusion));
  CHECK_FALSE(needsNoRow(fusion));
  computeSoftmaxOnline(&fusion);
  CHECK_FALSE(hasOnlineSoftmax(fusion));
  CHECK(needsNoRow(fusion));
  CHECK(fusion.mathString() == R"(Inputs:
  T0_g_float[iS0{i0}, iS1{i2}]
Outputs:
  T7_g_float[iS13{i0}]

%kernel_math {
  T1_l_float[iS2{i0}, rS3{i2}], T5_l_float[iS10{i0}, rS11{i2}] = online_softmax( T0, 1.0 )
  T8_l_bool[iS14{i0}] = eq( T5, 0.0:float )
  T9_l_bool[iS15{i0}] = eq( T1, inf:float )
  T10_l_bool[iS16{i0}] = logical_or( T8, T9 )
  T12_l_float[iS18{i0}] = where( T10, nan:float, T5 )
  T6_l_float[iS12{i0}] = log( T12 )
  T11_l_float[iS17{i0}] = where( T8, -inf:float, T1 )
  T7_g_float[iS13{i0}] = add( T6, T11 )
}
)");
}

TEST_CASE("online softmax: the row itself stays where it is needed") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = matrix(fusion);
  fusion.addOutput(softmax(x, 1));
  REQUIRE(hasOnlineSoftmax(fusion));
  computeSoftmaxOnline(&fusion);
  CHECK_FALSE(needsNoRow(fusion));
}

TEST_CASE("online softmax: what only looks like it") {
  const auto isOne = [](const std::function<void(Fusion&)>& define) {
    Fusion fusion;
    FusionGuard guard(&fusion);
    define(fusion);
    return hasOnlineSoftmax(fusion);
  };
  CHECK(isOne([](Fusion& f) {
    TensorView* x = matrix(f, DataType::Double);
    f.addOutput(sumOfExponentials(x, max(x, {1})));
  }));
  // The maximum of another tensor.
  CHECK_FALSE(isOne([](Fusion& f) {
    TensorView* x = matrix(f);
    f.addOutput(sumOfExponentials(x, max(neg(x), {1})));
  }));
  // A minimum; a maximum along another axis; a sum of more axes.
  CHECK_FALSE(isOne([](Fusion& f) {
    TensorView* x = matrix(f);
    f.addOutput(sumOfExponentials(x, min(x, {1})));
  }));
  CHECK_FALSE(isOne([](Fusion& f) {
    TensorView* x = matrix(f);
    f.addOutput(sum(exp(sub(x, broadcast(max(x, {0}), {true, false}))), {1}));
  }));
  CHECK_FALSE(isOne([](Fusion& f) {
    TensorView* x = matrix(f);
    f.addOutput(sum(exp(sub(x, broadcast(max(x, {1}), {false, true}))), {0, 1}));
  }));
  // Results of 16 bits.
  CHECK_FALSE(isOne([](Fusion& f) {
    TensorView* x = matrix(f, DataType::Half);
    f.addOutput(sumOfExponentials(x, max(x, {1})));
  }));
}
