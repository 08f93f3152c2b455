// Norms over rows, their gradients, and norms over outer axes.
#include "families.h"
#include <ir/builder.h>

namespace benchmark {

using namespace nvfuser;

void addNorms(std::vector<Program>& all, std::vector<int64_t> sizes, DataType dtype) {
  const std::string of = named("", sizes, dtype);
  const int64_t row = sizes[1];
  all.push_back(
      {"softmax" + of,
       [=](Fusion& fusion) { output(fusion, softmax(input(fusion, 2, dtype), 1), dtype); },
       {sizes},
       dtype});
  all.push_back({"layer norm" + of,
                 [=](Fusion& fusion) {
                   TensorView* x = input(fusion, 2, dtype);
                   TensorView* w = input(fusion, 1, dtype);
                   TensorView* b = input(fusion, 1, dtype);
                   output(fusion, layer_norm(x, 1, w, b, eps()).output, dtype);
                 },
                 {sizes, {row}, {row}},
                 dtype});
  all.push_back({"RMS norm" + of,
                 [=](Fusion& fusion) {
                   TensorView* x = input(fusion, 2, dtype);
                   TensorView* w = input(fusion, 1, dtype);
                   output(fusion, rms_norm(x, 1, w, eps()).output, dtype);
                 },
                 {sizes, {row}},
                 dtype});
}

void addNormGradients(std::vector<Program>& all, std::vector<int64_t> sizes, DataType dtype) {
  const std::string of = named("", sizes, dtype);
  const int64_t row = sizes[1];
  all.push_back({"layer norm backward" + of,
                 [=](Fusion& fusion) {
                   TensorView* dy = input(fusion, 2, dtype);
                   TensorView* x = input(fusion, 2, dtype);
                   TensorView* mean = castOp(DataType::Float, input(fusion, 1, dtype));
                   TensorView* rstd = castOp(DataType::Float, input(fusion, 1, dtype));
                   TensorView* w = input(fusion, 1, dtype);
                   TensorView* b = input(fusion, 1, dtype);
                   auto result = layer_norm_backward(
                       dy, x, std::vector<int64_t>{-1}, broadcast(mean, {false, true}),
                       broadcast(rstd, {false, true}), w, b, {true, true, true});
                   output(fusion, result.grad_input, dtype);
                   output(fusion, result.grad_weight, dtype);
                   output(fusion, result.grad_bias, dtype);
                 },
                 {sizes, sizes, {sizes[0]}, {sizes[0]}, {row}, {row}},
                 dtype,
                 0});
  all.push_back({"RMS norm backward" + of,
                 [=](Fusion& fusion) {
                   TensorView* dy = input(fusion, 2, dtype);
                   TensorView* x = input(fusion, 2, dtype);
                   TensorView* rstd = castOp(DataType::Float, input(fusion, 1, dtype));
                   TensorView* w = input(fusion, 1, dtype);
                   auto result = rms_norm_backward(dy, x, std::vector<int64_t>{-1},
                                                   broadcast(rstd, {false, true}), w, {true, true});
                   output(fusion, result.grad_input, dtype);
                   output(fusion, result.grad_weight, dtype);
                 },
                 {sizes, sizes, {sizes[0]}, {row}},
                 dtype,
                 0});
}

void addOuterNorms(std::vector<Program>& all, const std::vector<int64_t>& image,
                   std::vector<int64_t> sizes, DataType dtype) {
  const int64_t channels = image[1];
  all.push_back(
      {named("softmax of columns", sizes, dtype),
       [=](Fusion& fusion) { output(fusion, softmax(input(fusion, 2, dtype), 0), dtype); },
       {sizes},
       dtype});
  all.push_back({named("batch norm NCHW", image, dtype),
                 [=](Fusion& fusion) {
                   TensorView* x = input(fusion, 4, dtype);
                   TensorView* w = input(fusion, 1, dtype);
                   TensorView* b = input(fusion, 1, dtype);
                   output(fusion,
                          batch_norm(x, wide(w), wide(b), nullptr, nullptr, true,
                                     IrBuilder::create<Val>(0.1), eps())
                              .output,
                          dtype);
                 },
                 {image, {channels}, {channels}},
                 dtype});
}

}  // namespace benchmark
