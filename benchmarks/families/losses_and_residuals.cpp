// What surrounds the blocks of a transformer: sums with the residual, dropout, rotary positions,
// joined halves, and the loss over many classes.
#include "families.h"
#include <ir/builder.h>

namespace benchmark {

using namespace nvfuser;

void addResidualNorms(std::vector<Program>& all, std::vector<int64_t> sizes, DataType dtype) {
  const int64_t row = sizes[1];
  all.push_back({named("residual + RMS norm", sizes, dtype),
                 [=](Fusion& fusion) {
                   TensorView* x = wide(input(fusion, 2, dtype));
                   TensorView* residual = wide(input(fusion, 2, dtype));
                   TensorView* w = wide(input(fusion, 1, dtype));
                   TensorView* sum = add(x, residual);
                   output(fusion, sum, dtype);
                   output(fusion, rms_norm(sum, 1, w, eps()).output, dtype);
                 },
                 {sizes, sizes, {row}},
                 dtype});
  all.push_back({named("dropout + residual + layer norm", sizes, dtype),
                 [=](Fusion& fusion) {
                   TensorView* x = wide(input(fusion, 2, dtype));
                   TensorView* residual = wide(input(fusion, 2, dtype));
                   TensorView* w = wide(input(fusion, 1, dtype));
                   TensorView* b = wide(input(fusion, 1, dtype));
                   TensorView* random = rand_like(x, IrBuilder::create<Val>(int64_t{11}),
                                                  IrBuilder::create<Val>(int64_t{0}));
                   TensorView* kept = lt(random, IrBuilder::create<Val>(0.9));
                   TensorView* dropped = where(kept, mul(x, IrBuilder::create<Val>(1 / 0.9)),
                                               fusion.zeroVal(DataType::Float));
                   output(fusion, layer_norm(add(dropped, residual), 1, w, b, eps()).output, dtype);
                 },
                 {sizes, sizes, {row}, {row}},
                 dtype});
}

void addCrossEntropy(std::vector<Program>& all, std::vector<int64_t> sizes, DataType dtype) {
  all.push_back({named("cross entropy", sizes, dtype),
                 [=](Fusion& fusion) {
                   TensorView* logits = wide(input(fusion, 2, dtype));
                   TensorView* target = input(fusion, 1, DataType::Int);
                   TensorView* chosen =
                       takeAlongAxis(log_softmax(logits, 1), broadcast(target, {false, true}), 1);
                   fusion.addOutput(neg(squeeze(chosen, {1})));
                 },
                 {sizes, {sizes[0]}},
                 dtype,
                 0,
                 sizes[1]});
}

void addRopeAndJoin(std::vector<Program>& all, std::vector<int64_t> sizes, DataType dtype) {
  const int64_t half = sizes[3] / 2;
  all.push_back({named("rotary positions", sizes, dtype),
                 [=](Fusion& fusion) {
                   TensorView* x = input(fusion, 4, dtype);
                   TensorView* cos =
                       broadcast(wide(input(fusion, 2, dtype)), {true, true, false, false});
                   TensorView* sin =
                       broadcast(wide(input(fusion, 2, dtype)), {true, true, false, false});
                   Val* middle = IrBuilder::create<Val>(half);
                   Val* end = IrBuilder::create<Val>(2 * half);
                   TensorView* first = slice(x, {{}, {}, {}, {fusion.zeroVal(), middle}});
                   TensorView* second = slice(x, {{}, {}, {}, {middle, end}});
                   TensorView* turned = cat({castOp(dtype, neg(second)), first}, 3);
                   output(fusion, add(mul(wide(x), cos), mul(wide(turned), sin)), dtype);
                 },
                 {sizes, {sizes[2], sizes[3]}, {sizes[2], sizes[3]}},
                 dtype,
                 0});
  all.push_back({named("cat of relu", sizes, dtype),
                 [=](Fusion& fusion) {
                   TensorView* x = input(fusion, 4, dtype);
                   TensorView* y = input(fusion, 4, dtype);
                   fusion.addOutput(cat({relu(x), relu(y)}, 3));
                 },
                 {sizes, sizes},
                 dtype,
                 0});
}

}  // namespace benchmark
