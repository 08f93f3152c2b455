// Which results are computed apart from the row that reads the same numbers, and what is copied for
// them.
#include <doctest/doctest.h>

#include <fusion.h>
#include <ir/builder.h>
#include <ops/all_ops.h>
#include <scheduler/cache_borders.h>
#include <scheduler/reduction/row_statistics.h>

using namespace nvfuser;

namespace {

TensorView* matrix(Fusion& fusion, DataType dtype = DataType::Float) {
  TensorView* tv = makeContigTensor(2, dtype);
  fusion.addInput(tv);
  return tv;
}

TensorView* kept(TensorView* statistic) { return broadcast(statistic, {false, true}); }

/// The Fusion with its outputs forked, and how it is when statistics are apart.
std::string apart(Fusion& fusion) {
  scheduler_utils::cacheAndForkOutputs(&fusion, false);
  computeStatisticsApart(&fusion);
  const std::string math = fusion.mathString();
  computeStatisticsApart(&fusion);
  CHECK(fusion.mathString() == math);  // nothing is left to do
  return math.substr(math.find("%kernel_math"));
}

/// As `apart`, where nothing is to be done.
void staysAsItIs(Fusion& fusion) {
  scheduler_utils::cacheAndForkOutputs(&fusion, false);
  const std::string before = fusion.mathString();
  computeStatisticsApart(&fusion);
  CHECK(fusion.mathString() == before);
}

}  // namespace

TEST_CASE("row statistics: what no row reads stays as it is") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = matrix(fusion);
  fusion.addOutput(kept(max(x, {1})));
  fusion.addOutput(log(kept(sum(exp(x), {1}))));
  staysAsItIs(fusion);
}

TEST_CASE("row statistics: a row without results of one value stays as it is") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = matrix(fusion);
  fusion.addOutput(softmax(x, 1));
  fusion.addOutput(max(x, {1}));  // has no axis that a row's loop could go through
  staysAsItIs(fusion);
}

TEST_CASE("row statistics: a broadcast that is a result is another than the row's") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = matrix(fusion);
  TensorView* top = kept(max(x, {1}));
  fusion.addOutput(top);
  fusion.addOutput(sum(exp(sub(x, top)), {1}));
  CHECK(apart(fusion) == R"(%kernel_math {
  T1_l_float[iS2{i0}, rS3{i2}] = reduction_max( T0, init = -inf )
  T2_l_float[iS4{i0}, bS5{1}] = broadcast( T1, flags = {false, true} )
  T3_l_float[iS6{i0}, iS7{i2}] = sub( T0, T2 )
  T4_l_float[iS8{i0}, iS9{i2}] = exp( T3 )
  T5_g_float[iS10{i0}, rS11{i2}] = reduction_add( T4, init = 0.0 )
  T7_l_float[iS14{i0}, bS15{1}] = broadcast( T1, flags = {false, true} )
  T6_g_float[iS12{i0}, bS13{1}] = set( T7 )
}
)");
}

TEST_CASE("row statistics: a chain is copied once for all results of it") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = matrix(fusion, DataType::BFloat16);
  TensorView* wide = castOp(DataType::Float, x);
  TensorView* mean_of_squares = kept(sum(mul(wide, wide), {1}));
  TensorView* scale = rsqrt(add(mean_of_squares, IrBuilder::create<Val>(1e-5)));
  fusion.addOutput(mean_of_squares);
  fusion.addOutput(scale);
  fusion.addOutput(castOp(DataType::BFloat16, scale));
  fusion.addOutput(mul(wide, scale));
  CHECK(apart(fusion) == R"(%kernel_math {
  T1_l_float[iS2{i0}, iS3{i2}] = castOp( T0 )
  T2_l_float[iS4{i0}, iS5{i2}] = mul( T1, T1 )
  T3_l_float[iS6{i0}, rS7{i2}] = reduction_add( T2, init = 0.0 )
  T4_l_float[iS8{i0}, bS9{1}] = broadcast( T3, flags = {false, true} )
  T5_l_float[iS10{i0}, bS11{1}] = add( T4, 1e-05 )
  T6_l_float[iS12{i0}, bS13{1}] = rsqrt( T5 )
  T11_l_float[iS22{i0}, bS23{1}] = broadcast( T3, flags = {false, true} )
  T12_l_float[iS24{i0}, bS25{1}] = add( T11, 1e-05 )
  T13_l_float[iS26{i0}, bS27{1}] = rsqrt( T12 )
  T7_g___bfloat[iS14{i0}, bS15{1}] = castOp( T13 )
  T8_g_float[iS16{i0}, iS17{i2}] = mul( T1, T6 )
  T9_g_float[iS18{i0}, bS19{1}] = set( T11 )
  T10_g_float[iS20{i0}, bS21{1}] = set( T13 )
}
)");
}

TEST_CASE("row statistics: an input of one value a row is read again") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = matrix(fusion);
  TensorView* scale = makeContigConcreteTensor({-1, 1});
  fusion.addInput(scale);
  TensorView* positive = exp(scale);
  fusion.addOutput(positive);
  fusion.addOutput(kept(sum(mul(x, positive), {1})));
  scheduler_utils::cacheInputs(&fusion, true);
  CHECK(apart(fusion) == R"(%kernel_math {
  T7_l_float[iS14{i3}, bS15{1}] = set( T1 )
  T2_l_float[iS4{i3}, bS5{1}] = exp( T7 )
  T6_l_float[iS12{i0}, iS13{i2}] = set( T0 )
  T3_l_float[iS6{i0}, iS7{i2}] = mul( T6, T2 )
  T4_l_float[iS8{i0}, rS9{i2}] = reduction_add( T3, init = 0.0 )
  T5_g_float[iS10{i0}, bS11{1}] = broadcast( T4, flags = {false, true} )
  T9_l_float[iS18{i3}, bS19{1}] = set( T1 )
  T10_l_float[iS20{i3}, bS21{1}] = exp( T9 )
  T8_g_float[iS16{i3}, bS17{1}] = set( T10 )
}
)");
}

TEST_CASE("row statistics: a result behind a squeeze is computed apart, too") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = matrix(fusion);
  TensorView* total = kept(sum(x, {1}));
  fusion.addOutput(div(x, total));
  fusion.addOutput(squeeze(log(total), std::vector<bool>{false, true}));
  CHECK(apart(fusion) == R"(%kernel_math {
  T1_l_float[iS2{i0}, rS3{i2}] = reduction_add( T0, init = 0.0 )
  T2_l_float[iS4{i0}, bS5{1}] = broadcast( T1, flags = {false, true} )
  T3_g_float[iS6{i0}, iS7{i2}] = div( T0, T2 )
  T6_l_float[iS12{i0}, bS13{1}] = broadcast( T1, flags = {false, true} )
  T4_l_float[iS8{i0}, bS9{1}] = log( T6 )
  T5_g_float[iS10{i0}] = squeeze( T4, flags = {false, true} )
}
)");
}

TEST_CASE("row statistics: columns have them as rows do") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = matrix(fusion);
  TensorView* total = broadcast(sum(x, {0}), {true, false});
  fusion.addOutput(total);
  fusion.addOutput(div(x, total));
  CHECK(apart(fusion) == R"(%kernel_math {
  T1_l_float[rS2{i0}, iS3{i2}] = reduction_add( T0, init = 0.0 )
  T2_l_float[bS5{1}, iS4{i2}] = broadcast( T1, flags = {true, false} )
  T3_g_float[iS6{i0}, iS7{i2}] = div( T0, T2 )
  T5_l_float[bS10{1}, iS11{i2}] = broadcast( T1, flags = {true, false} )
  T4_g_float[bS8{1}, iS9{i2}] = set( T5 )
}
)");
}

TEST_CASE("row statistics: random numbers are not drawn again") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = matrix(fusion);
  TensorView* total = kept(sum(x, {1}));
  TensorView* noise = add(total, rand_like(total));
  fusion.addOutput(noise);
  fusion.addOutput(mul(x, noise));
  staysAsItIs(fusion);
}
