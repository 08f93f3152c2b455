// Fusions whose tensors lie in memory along different axes.
#include <random>

#include "automatic.h"

using namespace nvfuser;
using namespace nvfuser::automatic;

namespace {

TensorView* input(Fusion& fusion, int64_t rank, DataType dtype) {
  TensorView* tv = makeContigTensor(rank, dtype);
  fusion.addInput(tv);
  return tv;
}

TensorView* wide(TensorView* tv) {
  return isReducedPrecisionFloat(tv->dtype()) ? castOp(DataType::Float, tv) : tv;
}

void output(Fusion& fusion, TensorView* tv, DataType dtype) {
  fusion.addOutput(tv->dtype() == dtype ? tv : castOp(dtype, tv));
}

/// relu(x + y) transposed: two inputs are computed along their rows, one output is turned.
Define addReluTransposed(DataType dtype) {
  return [=](Fusion& fusion) {
    TensorView* x = wide(input(fusion, 2, dtype));
    TensorView* y = wide(input(fusion, 2, dtype));
    output(fusion, transpose(relu(add(x, y)), 0, 1), dtype);
  };
}

/// x + yᵀ: one input is turned.
Define addTransposed(DataType dtype) {
  return [=](Fusion& fusion) {
    TensorView* x = wide(input(fusion, 2, dtype));
    TensorView* y = wide(input(fusion, 2, dtype));
    output(fusion, add(x, transpose(y, 0, 1)), dtype);
  };
}

const std::vector<std::vector<int64_t>> kSizes{{64, 64},  {128, 96}, {33, 70},
                                               {257, 37}, {40, 300}, {61, 264}};

}  // namespace

TEST_CASE("scheduler transpose: sizes and dtypes") {
  for (DataType dtype : {DataType::Float, DataType::BFloat16, DataType::Half, DataType::Double}) {
    CAPTURE(dtype);
    std::vector<std::vector<Input>> turned_output;
    std::vector<std::vector<Input>> turned_input;
    for (const auto& size : kSizes) {
      turned_output.push_back({{size, dtype}, {size, dtype}});
      turned_input.push_back({{size, dtype}, {{size[1], size[0]}, dtype}});
    }
    check(addReluTransposed(dtype), turned_output, "transpose");
    check(addTransposed(dtype), turned_input, "transpose");
  }
}
