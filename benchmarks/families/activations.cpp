// Activations and their gradients, those with the gradient of a bias too.
#include "families.h"

namespace benchmark {

using namespace nvfuser;

namespace {

TensorView* alongRows(TensorView* row) { return broadcast(wide(row), {true, false}); }

TensorView* sumOfColumns(TensorView* tv) { return sum(tv, {0}); }

void addGelu(std::vector<Program>& all, const std::vector<int64_t>& sizes, DataType dtype) {
  all.push_back({named("bias + gelu", sizes, dtype),
                 [=](Fusion& fusion) {
                   TensorView* x = input(fusion, 2, dtype);
                   TensorView* b = input(fusion, 1, dtype);
                   output(fusion, tanh_gelu(add(wide(x), alongRows(b))), dtype);
                 },
                 {sizes, {sizes[1]}},
                 dtype});
  all.push_back({named("bias + gelu backward", sizes, dtype),
                 [=](Fusion& fusion) {
                   TensorView* dy = input(fusion, 2, dtype);
                   TensorView* x = input(fusion, 2, dtype);
                   TensorView* b = input(fusion, 1, dtype);
                   TensorView* dx = tanh_gelu_backward(wide(dy), add(wide(x), alongRows(b)));
                   output(fusion, dx, dtype);
                   output(fusion, sumOfColumns(dx), dtype);
                 },
                 {sizes, sizes, {sizes[1]}},
                 dtype});
}

void addSilu(std::vector<Program>& all, const std::vector<int64_t>& sizes, DataType dtype) {
  all.push_back({named("silu(x) * y", sizes, dtype),
                 [=](Fusion& fusion) {
                   TensorView* x = wide(input(fusion, 2, dtype));
                   TensorView* y = wide(input(fusion, 2, dtype));
                   output(fusion, mul(silu(x), y), dtype);
                 },
                 {sizes, sizes},
                 dtype});
  all.push_back({named("silu(x) * y backward", sizes, dtype),
                 [=](Fusion& fusion) {
                   TensorView* dz = wide(input(fusion, 2, dtype));
                   TensorView* x = wide(input(fusion, 2, dtype));
                   TensorView* y = wide(input(fusion, 2, dtype));
                   TensorView* gate = sigmoid(x);
                   TensorView* active = mul(x, gate);
                   Val* one = fusion.oneVal(DataType::Float);
                   TensorView* slope = mul(gate, add(one, mul(x, sub(one, gate))));
                   output(fusion, mul(mul(dz, y), slope), dtype);
                   output(fusion, mul(dz, active), dtype);
                 },
                 {sizes, sizes, sizes},
                 dtype});
}

void addScaleBiasRelu(std::vector<Program>& all, const std::vector<int64_t>& sizes,
                      DataType dtype) {
  const int64_t row = sizes[1];
  all.push_back({named("scale, bias, relu", sizes, dtype),
                 [=](Fusion& fusion) {
                   TensorView* x = wide(input(fusion, 2, dtype));
                   TensorView* scale = alongRows(input(fusion, 1, dtype));
                   TensorView* bias = alongRows(input(fusion, 1, dtype));
                   output(fusion, relu(add(mul(x, scale), bias)), dtype);
                 },
                 {sizes, {row}, {row}},
                 dtype});
  all.push_back({named("scale, bias, relu backward", sizes, dtype),
                 [=](Fusion& fusion) {
                   TensorView* dy = wide(input(fusion, 2, dtype));
                   TensorView* y = wide(input(fusion, 2, dtype));
                   TensorView* scale = alongRows(input(fusion, 1, dtype));
                   Val* zero = fusion.zeroVal(DataType::Float);
                   output(fusion, mul(where(gt(y, zero), dy, zero), scale), dtype);
                 },
                 {sizes, sizes, {row}},
                 dtype});
}

}  // namespace

void addActivations(std::vector<Program>& all, std::vector<int64_t> sizes, DataType dtype) {
  all.push_back({named("multiply", sizes, dtype),
                 [=](Fusion& fusion) {
                   TensorView* x = input(fusion, 2, dtype);
                   output(fusion, mul(wide(x), wide(input(fusion, 2, dtype))), dtype);
                 },
                 {sizes, sizes},
                 dtype});
  addGelu(all, sizes, dtype);
  addSilu(all, sizes, dtype);
  addScaleBiasRelu(all, sizes, dtype);
}

}  // namespace benchmark
