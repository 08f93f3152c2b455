// Loops of the CPU over several axes as one: vectors lie between the steps of quotients and
// remainders.
#include <doctest/doctest.h>

#include <functional>

#include <fusion.h>
#include <ir/builder.h>
#include <ops/all_ops.h>
#include <runtime/fusion_executor_cache.h>
#include <runtime/validation.h>

using namespace nvfuser;

namespace {

using Define = std::function<TensorView*(TensorView* x)>;

/// Its kernels' text, after its values were compared with the reference for each of the sizes.
std::string checkedText(DataType dtype, const std::vector<std::vector<int64_t>>& sizes,
                        const Define& define) {
  auto fusion = std::make_unique<Fusion>();
  FusionGuard guard(fusion.get());
  TensorView* x = makeContigTensor(sizes.front().size(), dtype);
  fusion->addInput(x);
  fusion->addOutput(define(x));
  FusionExecutorCache cache(std::move(fusion));
  std::string text;
  for (const std::vector<int64_t>& size : sizes) {
    INFO(size);
    const KernelArgumentHolder args{Tensor::randn(size, dtype, 3, cpuDevice())};
    testValidate(cache.fusion(), cache.runFusionWithInputs(args), args, __LINE__, __FILE__);
    for (const std::string& code : cache.getMostRecentCode()) {
      text += code;
    }
  }
  return text;
}

Val* number(int64_t value) { return IrBuilder::create<Val>(value, DataType::Index); }

}  // namespace

TEST_CASE("pieces of loops: a part of each row, as one axis") {
  for (const DataType dtype : {DataType::Float, DataType::Double, DataType::BFloat16}) {
    INFO(dtype);
    const std::string text =
        checkedText(dtype, {{40, 64}, {7, 33}, {1, 9}, {300, 5}, {3, 1000}}, [](TensorView* x) {
          TensorView* part =
              slice(x, {{number(0), x->axis(0)->extent(), number(1)},
                        {number(1), sub(x->axis(1)->extent(), number(1)), number(1)}});
          return mul(flatten(part), IrBuilder::create<Val>(2.0, DataType::Double));
        });
    CHECK(text.find("from_k") != std::string::npos);
  }
}

TEST_CASE("pieces of loops: axes in another order, and numbers of rows and columns") {
  checkedText(DataType::Float, {{6, 20, 24}, {5, 3, 40}, {2, 2, 2}, {1, 64, 17}},
              [](TensorView* x) { return flatten(transpose(x, 0, 1)); });
  // The lower triangle, all axes as one.
  const std::string text =
      checkedText(DataType::Float, {{64, 64}, {30, 70}, {3, 5}, {1, 16}}, [](TensorView* x) {
        Val* zero = number(0);
        TensorView* rows = broadcast(arange(zero, x->axis(0)->extent(), number(1)), {false, true});
        TensorView* columns =
            broadcast(arange(zero, x->axis(1)->extent(), number(1)), {true, false});
        return where(le(columns, rows), x, IrBuilder::create<Val>(0.0, DataType::Double));
      });
  CHECK(text.find("from_k") != std::string::npos);
}

TEST_CASE("pieces of loops: steps between points of three numbers, in tasks of many") {
  const std::string text =
      checkedText(DataType::Float, {{64, 128, 3}, {5, 7, 3}, {300, 40, 3}}, [](TensorView* x) {
        Val* points = x->axis(1)->extent();
        auto from = [&](int64_t begin, int64_t end) {
          return slice(x, {{number(0), x->axis(0)->extent(), number(1)},
                           {number(begin), sub(points, number(end)), number(1)},
                           {number(0), x->axis(2)->extent(), number(1)}});
        };
        return sub(from(2, 0), from(0, 2));
      });
  CHECK(text.find("from_k") != std::string::npos);
}
