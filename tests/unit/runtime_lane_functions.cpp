// Kernels of the CPU with many functions of vectors: these are called, and give what they give
// inlined.
#include <doctest/doctest.h>

#include <functional>

#include <fusion.h>
#include <ir/builder.h>
#include <ops/all_ops.h>
#include <runtime/fusion_executor_cache.h>
#include <runtime/validation.h>

using namespace nvfuser;

namespace {

using Step = std::function<TensorView*(TensorView* x, TensorView* y, int n)>;

/// Its kernel's text, after its values were compared with the reference.
std::string checkedText(DataType dtype, int steps, const Step& step) {
  auto fusion = std::make_unique<Fusion>();
  FusionGuard guard(fusion.get());
  TensorView* x = makeContigTensor(1, dtype);
  TensorView* y = makeContigTensor(1, dtype);
  fusion->addInput(x);
  fusion->addInput(y);
  TensorView* result = x;
  for (int n = 0; n < steps; ++n) {
    result = step(result, y, n);
  }
  fusion->addOutput(result);
  FusionExecutorCache cache(std::move(fusion));
  for (const int64_t size : {5, 1003}) {
    const KernelArgumentHolder args{Tensor::randn({size}, dtype, 3, cpuDevice()),
                                    Tensor::randn({size}, dtype, 4, cpuDevice())};
    testValidate(cache.fusion(), cache.runFusionWithInputs(args), args, __LINE__, __FILE__);
  }
  REQUIRE(cache.numKernels() == 1);
  return cache.getMostRecentCode().front();
}

size_t count(const std::string& text, const std::string& word) {
  size_t found = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    ++found;
  }
  return found;
}

}  // namespace

TEST_CASE("functions of vectors: few are inlined, many are called") {
  const Step step = [](TensorView* x, TensorView*, int) { return sin(x); };
  CHECK(count(checkedText(DataType::Float, 16, step), "lanes_sin") == 0);
  const std::string many = checkedText(DataType::Float, 40, step);
  CHECK(count(many, "lanes_sin_0(") == 41);  // its definition and the calls
  CHECK(count(many, "noinline]] static Lanes") == 1);
}

TEST_CASE("functions of vectors: those without a text on vectors, of two and three operands") {
  const Step step = [](TensorView* x, TensorView* y, int n) {
    switch (n % 8) {
      case 0:
        return floor(mul(x, IrBuilder::create<Val>(7.0, DataType::Double)));
      case 1:
        return maximum(x, y);
      case 2:
        return fmod(x, IrBuilder::create<Val>(3.0, DataType::Double));
      case 3:
        return where(isfinite(x), atan2(x, y), y);
      case 4:
        return clamp(x, IrBuilder::create<Val>(-2.0, DataType::Double),
                     IrBuilder::create<Val>(2.0, DataType::Double));
      case 5:
        return remainder(x, IrBuilder::create<Val>(5.0, DataType::Double));
      case 6:
        return round(mul(x, IrBuilder::create<Val>(3.0, DataType::Double)));
      default:
        return tanh(add(x, y));
    }
  };
  for (const DataType dtype : {DataType::Float, DataType::Double, DataType::Half}) {
    INFO(dtype);
    const std::string text = checkedText(dtype, 64, step);
    CHECK(count(text, "lanes_atan2_") > 8);
    CHECK(count(text, "noinline]] static Lanes") >= 6);
  }
}

TEST_CASE("functions of vectors: integers and truth values") {
  const Step step = [](TensorView* x, TensorView* y, int n) {
    return n % 2 == 0 ? gcd(x, add(y, IrBuilder::create<Val>(int64_t{n}, DataType::Int)))
                      : where(lt(x, y), abs(x), bitwise_xor(x, y));
  };
  for (const DataType dtype : {DataType::Int, DataType::Int32}) {
    INFO(dtype);
    CHECK(count(checkedText(dtype, 48, step), "lanes_gcd_0(") == 25);
  }
}
