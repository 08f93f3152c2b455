// Kernels of the automatic schedulers: parameters and text, compared with
// tests/golden/expected/automatic_<name>.txt. Library snippets are left out.
#include <doctest/doctest.h>

#include <functional>

#include <fusion.h>
#include <golden_file.h>
#include <ir/builder.h>
#include <ops/all_ops.h>
#include <runtime/fusion_executor_cache.h>

using namespace nvfuser;

namespace {

struct Sample {
  std::string name;
  std::function<void(Fusion&)> define;
  std::vector<std::vector<int64_t>> sizes;  ///< of the inputs
};

TensorView* input(Fusion& fusion, std::vector<int64_t> shape, DataType dtype) {
  TensorView* tv = makeContigConcreteTensor(std::move(shape), dtype);
  fusion.addInput(tv);
  return tv;
}

TensorView* bf16(TensorView* tv) { return castOp(DataType::BFloat16, tv); }

std::vector<Sample> samples() {
  const DataType half = DataType::BFloat16;
  return {
      {"row_sum",
       [=](Fusion& fusion) {
         TensorView* x = input(fusion, {-1, -1}, half);
         fusion.addOutput(bf16(sum(castOp(DataType::Float, x), {1})));
       },
       {{64, 4096}}},
      {"transpose",
       [=](Fusion& fusion) {
         TensorView* x = relu(castOp(DataType::Float, input(fusion, {-1, -1}, half)));
         fusion.addOutput(bf16(transpose(x, 0, 1)));
       },
       {{1024, 4096}}},
      {"softmax",
       [=](Fusion& fusion) { fusion.addOutput(bf16(softmax(input(fusion, {-1, -1}, half), 1))); },
       {{64, 4096}}},
      {"running_quotients",
       [=](Fusion& fusion) {
         TensorView* x = input(fusion, {-1, -1}, DataType::Float);
         TensorView* y = input(fusion, {-1, -1}, DataType::Float);
         fusion.addOutput(div(cumsum(x, 1), cumsum(y, 1)));
       },
       {{512, 4096}, {512, 4096}}},
      {"layer_norm_backward",
       [=](Fusion& fusion) {
         TensorView* dy = input(fusion, {-1, -1}, half);
         TensorView* x = input(fusion, {-1, -1}, half);
         TensorView* mean = input(fusion, {-1, 1}, DataType::Float);
         TensorView* rstd = input(fusion, {-1, 1}, DataType::Float);
         TensorView* w = input(fusion, {-1}, half);
         TensorView* b = input(fusion, {-1}, half);
         auto result = layer_norm_backward(dy, x, std::vector<int64_t>{-1}, mean, rstd, w, b,
                                           {true, true, true});
         fusion.addOutput(bf16(result.grad_input));
         fusion.addOutput(bf16(result.grad_weight));
         fusion.addOutput(bf16(result.grad_bias));
       },
       {{512, 4096}, {512, 4096}, {512, 1}, {512, 1}, {4096}, {4096}}},
      // Steps of few iterations that are no copies, as each loads much.
      {"scores_of_columns",
       [=](Fusion& fusion) {
         TensorView* x = input(fusion, {8192, 64}, DataType::Float);
         TensorView* apart = sub(x, broadcast(sum(x, {0}), {true, false}));
         TensorView* spread = sum(mul(apart, apart), {0});
         fusion.addOutput(div(apart, broadcast(spread, {true, false})));
       },
       {{8192, 64}}},
      // What is computed of columns is computed before the loop over rows.
      {"pairs",
       [=](Fusion& fusion) {
         TensorView* x = input(fusion, {-1, 2}, DataType::Float);
         TensorView* y = input(fusion, {-1, 2}, DataType::Float);
         TensorView* squares = nullptr;
         for (int64_t k = 0; k < 2; ++k) {
           Val* at = IrBuilder::create<Val>(PolymorphicValue(k));
           TensorView* of_row = broadcast(sin(select(x, 1, at)), {false, true});
           TensorView* of_column = broadcast(sin(select(y, 1, at)), {true, false});
           TensorView* apart = sub(of_row, of_column);
           squares = squares == nullptr ? mul(apart, apart) : add(squares, mul(apart, apart));
         }
         fusion.addOutput(squares);
       },
       {{4096, 2}, {512, 2}}},
      // Bytes to numbers of four bytes: a thread writes as much as one access takes.
      {"bytes",
       [=](Fusion& fusion) {
         TensorView* x = input(fusion, {-1, -1}, DataType::Char);
         fusion.addOutput(mul(castOp(DataType::Float, x), IrBuilder::create<Val>(0.5)));
       },
       {{1024, 4096}}},
      // Rows at an index, read through windows.
      {"joined_rows",
       [=](Fusion& fusion) {
         TensorView* table = input(fusion, {-1, 64}, DataType::Float);
         TensorView* index = input(fusion, {-1}, DataType::Int);
         TensorView* other = input(fusion, {-1, 64}, DataType::Float);
         fusion.addOutput(
             cat({takeAlongAxis(table, broadcast(index, {false, true}), 0), neg(other)}, 1));
       },
       {{512, 64}, {1024}, {1024, 64}}},
      // Rows that are added at an index, in vectors.
      {"messages",
       [=](Fusion& fusion) {
         TensorView* x = input(fusion, {4096, 64}, DataType::Float);
         TensorView* source = input(fusion, {16384}, DataType::Int);
         TensorView* target = input(fusion, {16384}, DataType::Int);
         TensorView* sent = relu(indexSelect(x, 0, source));
         TensorView* at = expand_as(broadcast(target, {false, true}), sent);
         TensorView* zeros = full_like(x, IrBuilder::create<Val>(0.0));
         fusion.addOutput(add(x, scatter(zeros, 0, at, sent, BinaryOpType::Add)));
       },
       {{4096, 64}, {16384}, {16384}}},
      // Points of which the greatest of each place stays.
      {"greatest",
       [=](Fusion& fusion) {
         TensorView* x = input(fusion, {4096}, DataType::Float);
         TensorView* value = input(fusion, {16384}, DataType::Float);
         TensorView* at = input(fusion, {16384}, DataType::Int);
         fusion.addOutput(scatter(x, 0, at, exp(value), BinaryOpType::Max));
       },
       {{4096}, {16384}, {16384}}},
  };
}

std::string textOf(const Sample& sample) {
  auto fusion = std::make_unique<Fusion>();
  FusionGuard guard(fusion.get());
  sample.define(*fusion);
  FusionExecutorCache cache(std::move(fusion));
  KernelArgumentHolder arguments;
  for (size_t i = 0; i < sample.sizes.size(); ++i) {
    const std::vector<int64_t>& sizes = sample.sizes[i];
    std::vector<int64_t> strides(sizes.size(), 1);
    if (sizes.size() == 2) {
      strides[0] = sizes[1];
    }
    arguments.push(Tensor::meta(sizes, strides, cache.fusion()->inputs()[i]->dtype()));
  }
  cache.prepare(arguments, PrimDataType::Int32, &emulatedDevice());
  std::string out = cache.report();
  for (KernelExecutor* executor : cache.executors()) {
    const GeneratedKernel& generated = executor->compiledKernel()->generated();
    out += "\n" + generated.text.substr(generated.own_begin);
  }
  return out;
}

}  // namespace

TEST_CASE("automatic: kernels of each family as they always were") {
  for (const Sample& sample : samples()) {
    const std::string got = textOf(sample);
    CHECK(got == textOf(sample));  // the same bytes each time
    checkGoldenFile(text("golden/expected/automatic_", sample.name, ".txt"), got);
  }
}
