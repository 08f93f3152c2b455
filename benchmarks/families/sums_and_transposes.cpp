// Sums along each axis, and transposes beside element-wise work.
#include "families.h"

namespace benchmark {

using namespace nvfuser;

void addSums(std::vector<Program>& all, std::vector<int64_t> sizes, DataType dtype) {
  const std::string of = named("", sizes, dtype);
  for (int64_t axis : {1, 0}) {
    all.push_back(
        {(axis == 1 ? "sum of rows" : "sum of columns") + of,
         [=](Fusion& fusion) { output(fusion, sum(wide(input(fusion, 2, dtype)), {axis}), dtype); },
         {sizes},
         dtype});
  }
  all.push_back(
      {"sum of all" + of,
       [=](Fusion& fusion) { fusion.addOutput(sum(wide(input(fusion, 2, dtype)), {0, 1})); },
       {sizes},
       dtype});
}

void addTransposes(std::vector<Program>& all, std::vector<int64_t> sizes, DataType dtype) {
  const std::string of = named("", sizes, dtype);
  all.push_back({"transpose of relu(x + y)" + of,
                 [=](Fusion& fusion) {
                   TensorView* x = wide(input(fusion, 2, dtype));
                   TensorView* y = wide(input(fusion, 2, dtype));
                   output(fusion, transpose(relu(add(x, y)), 0, 1), dtype);
                 },
                 {sizes, sizes},
                 dtype});
  all.push_back({"x + transpose(y)" + of,
                 [=](Fusion& fusion) {
                   TensorView* x = wide(input(fusion, 2, dtype));
                   TensorView* y = wide(input(fusion, 2, dtype));
                   output(fusion, add(x, transpose(y, 0, 1)), dtype);
                 },
                 {sizes, {sizes[1], sizes[0]}},
                 dtype,
                 0});
}

}  // namespace benchmark
