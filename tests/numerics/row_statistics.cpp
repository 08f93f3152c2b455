// Results of one value a row, which the row reads too: directly, behind rsqrt and casts, from
// inputs; of rows, columns and runs; one pass, held rows, and gradients with sums of columns.
#include "automatic.h"

using namespace nvfuser;
using namespace nvfuser::automatic;

namespace {

const std::vector<DataType> kDtypes{DataType::Float, DataType::BFloat16, DataType::Half,
                                    DataType::Double};

/// `statistic` with the axes that it was reduced over as broadcasts.
TensorView* kept(TensorView* statistic, int64_t rank, const std::vector<int64_t>& axes) {
  std::vector<bool> is_new(static_cast<size_t>(rank), false);
  for (int64_t axis : axes) {
    is_new[static_cast<size_t>(axis)] = true;
  }
  return broadcast(statistic, is_new);
}

/// A loss: maximum and logarithm of the sum of exponentials, and what is left of the row.
Define logSoftmax(DataType dtype, int64_t rank, std::vector<int64_t> axes) {
  return [=](Fusion& fusion) {
    TensorView* x = wide(input(fusion, rank, dtype));
    TensorView* top = kept(max(x, axes), rank, axes);
    TensorView* shifted = sub(x, top);
    TensorView* total = log(kept(sum(exp(shifted), axes), rank, axes));
    fusion.addOutput(top);
    output(fusion, total, dtype);
    output(fusion, sub(shifted, total), dtype);
  };
}

/// A loss alone: maximum and logarithm of the sum of exponentials, of which GPUs need one pass.
Define logSumExp(DataType dtype) {
  return [=](Fusion& fusion) {
    TensorView* x = wide(input(fusion, 2, dtype));
    TensorView* top = kept(max(x, {1}), 2, {1});
    fusion.addOutput(top);
    output(fusion, log(kept(sum(exp(sub(x, top)), {1}), 2, {1})), dtype);
  };
}

/// Layer norm: mean, variance, and the factor behind rsqrt, wide and cast.
Define layerNorm(DataType dtype, int64_t rank, std::vector<int64_t> axes) {
  return [=](Fusion& fusion) {
    TensorView* x = wide(input(fusion, rank, dtype));
    const VarMeanResult of_row = variance_mean(x, axes, 0, true);
    TensorView* scale = rsqrt(add(of_row.var, IrBuilder::create<Val>(1e-5)));
    fusion.addOutput(of_row.mean);
    fusion.addOutput(of_row.var);
    fusion.addOutput(scale);
    fusion.addOutput(castOp(DataType::BFloat16, scale));
    output(fusion, mul(sub(x, of_row.mean), scale), dtype);
  };
}

/// One pass: a factor for each row from an input, and the sum of the row times it.
Define scaledSum(DataType dtype) {
  return [=](Fusion& fusion) {
    TensorView* x = wide(input(fusion, 2, dtype));
    TensorView* given = makeContigConcreteTensor({-1, 1}, dtype);
    fusion.addInput(given);
    TensorView* factor = exp(wide(given));
    output(fusion, factor, dtype);
    output(fusion, sum(mul(x, factor), {1}), dtype);
  };
}

/// Gradients of RMS norm, with the factor of a row as it is used.
Define rmsNormGradients(DataType dtype) {
  return [=](Fusion& fusion) {
    TensorView* dy = input(fusion, 2, dtype);
    TensorView* x = input(fusion, 2, dtype);
    TensorView* given = makeContigConcreteTensor({-1, 1}, DataType::Float);
    fusion.addInput(given);
    TensorView* w = input(fusion, 1, dtype);
    TensorView* scale = rsqrt(add(mul(given, given), IrBuilder::create<Val>(1.0)));
    auto result = rms_norm_backward(dy, x, std::vector<int64_t>{-1}, scale, w, {true, true});
    fusion.addOutput(scale);
    output(fusion, result.grad_input, dtype);
    output(fusion, result.grad_weight, dtype);
  };
}

std::vector<std::vector<Input>> runs(const std::vector<std::vector<int64_t>>& sizes,
                                     DataType dtype) {
  std::vector<std::vector<Input>> result;
  for (const std::vector<int64_t>& one : sizes) {
    result.push_back({{one, dtype}});
  }
  return result;
}

const std::vector<std::vector<int64_t>> kRows{{1, 1},    {7, 31},   {5, 768}, {3, 1000},
                                              {2, 4098}, {1, 5121}, {0, 8}};
const std::vector<std::vector<int64_t>> kColumns{{1, 1}, {31, 7}, {768, 5}, {100, 64}, {8, 0}};
const std::vector<std::vector<int64_t>> kRuns{{2, 3, 5}, {1, 17, 33}, {4, 6, 128}};

}  // namespace

TEST_CASE("row statistics: of rows, one kernel") {
  for (DataType dtype : kDtypes) {
    CAPTURE(dtype);
    check(logSoftmax(dtype, 2, {1}), runs(kRows, dtype), "inner persistent");
    check(layerNorm(dtype, 2, {1}), runs(kRows, dtype), "inner persistent");
  }
}

TEST_CASE("row statistics: of a loss, one kernel") {
  for (DataType dtype : {DataType::Float, DataType::BFloat16}) {
    CAPTURE(dtype);
    check(logSumExp(dtype), runs({{7, 31}, {3, 1000}, {2, 4098}, {1, 5121}}, dtype));
  }
}

TEST_CASE("row statistics: of columns, one kernel") {
  for (DataType dtype : kDtypes) {
    CAPTURE(dtype);
    check(logSoftmax(dtype, 2, {0}), runs(kColumns, dtype));
    check(layerNorm(dtype, 2, {0}), runs(kColumns, dtype));
  }
}

TEST_CASE("row statistics: of three axes, some of them reduced") {
  for (const std::vector<int64_t>& axes :
       std::vector<std::vector<int64_t>>{{2}, {1, 2}, {1}, {0, 2}}) {
    CAPTURE(join(axes, ", "));
    check(logSoftmax(DataType::Float, 3, axes), runs(kRuns, DataType::Float), "", 0);
    check(layerNorm(DataType::BFloat16, 3, axes), runs(kRuns, DataType::BFloat16), "", 0);
  }
}

TEST_CASE("row statistics: of an input, in one pass") {
  for (DataType dtype : kDtypes) {
    CAPTURE(dtype);
    std::vector<std::vector<Input>> inputs;
    for (const std::vector<int64_t>& sizes : kRows) {
      inputs.push_back({{sizes, dtype}, {{sizes[0], 1}, dtype}});
    }
    check(scaledSum(dtype), inputs, "reduction");
  }
}

TEST_CASE("row statistics: beside sums of columns") {
  for (DataType dtype : {DataType::Float, DataType::BFloat16}) {
    CAPTURE(dtype);
    std::vector<std::vector<Input>> inputs;
    for (const std::vector<int64_t>& sizes :
         std::vector<std::vector<int64_t>>{{5, 31}, {64, 768}, {33, 1000}}) {
      inputs.push_back({{sizes, dtype}, {sizes, dtype}, {{sizes[0], 1}}, {{sizes[1]}, dtype}});
    }
    check(rmsNormGradients(dtype), inputs, "", 0);
  }
}

TEST_CASE("row statistics: a variance of equal products is not below zero") {
  // Less the mean, a product that is not rounded is not what the mean was made of.
  for (DataType dtype : {DataType::Float, DataType::Double}) {
    CAPTURE(dtype);
    auto define = [&](Fusion& fusion) {
      TensorView* x = makeSymbolicTensor(2, dtype);
      TensorView* y = makeSymbolicTensor(2, dtype);
      fusion.addInput(x);
      fusion.addInput(y);
      const VarMeanResult of_row = variance_mean(mul(x, y), {1}, 1, false);
      fusion.addOutput(ge(of_row.var, IrBuilder::create<Val>(0.0)));
    };
    std::vector<std::vector<Input>> runs;
    for (int64_t columns : {2, 6, 1000}) {
      // Rows of one number, in memory once.
      runs.push_back({{{64, columns}, dtype}, {{64, columns}, dtype}});
      for (Input& input : runs.back()) {
        input.strides = {1, 0};
      }
    }
    check(define, runs);
  }
}
