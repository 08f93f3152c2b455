// What no row of a task changes is computed once a task on the CPU, and held in an array.
#include <doctest/doctest.h>

#include <functional>

#include <fusion.h>
#include <ir/builder.h>
#include <ops/all_ops.h>
#include <runtime/fusion_executor_cache.h>
#include <runtime/validation.h>

using namespace nvfuser;

namespace {

using Define = std::function<TensorView*(const std::vector<TensorView*>& inputs)>;
using Sizes = std::vector<std::vector<int64_t>>;

/// The text of its kernels, after its values were compared with the reference.
std::string checkedText(const Sizes& sizes, const Define& define) {
  auto fusion = std::make_unique<Fusion>();
  FusionGuard guard(fusion.get());
  std::vector<TensorView*> inputs;
  KernelArgumentHolder args;
  for (const std::vector<int64_t>& size : sizes) {
    inputs.push_back(makeContigConcreteTensor(size));
    fusion->addInput(inputs.back());
    args.push(Tensor::randn(size, DataType::Float, 3 + inputs.size(), cpuDevice()));
  }
  fusion->addOutput(define(inputs));
  FusionExecutorCache cache(std::move(fusion));
  testValidate(cache.fusion(), cache.runFusionWithInputs(args), args, __LINE__, __FILE__);
  std::string text;
  for (const std::string& code : cache.getMostRecentCode()) {
    text += code;
  }
  return text;
}

Val* number(double value) { return IrBuilder::create<Val>(value, DataType::Double); }

/// Whether an array is declared in front of the first loop over rows.
bool holdsArray(const std::string& text) {
  const size_t block = text.find("_block(");
  const size_t array = text.find("alignas(64) float T", block);
  const size_t loop = text.find("for (Index", block);
  return array != std::string::npos && array < loop;
}

TensorView* window(TensorView* x) {
  return sub(number(0.5), mul(cos(mul(x, number(0.1))), number(0.5)));
}

}  // namespace

TEST_CASE("column values: pairs of points, whose functions of columns are taken once a task") {
  const auto pairs = [](const std::vector<TensorView*>& in) {
    return add(broadcast(in[0], {false, true}), broadcast(window(in[1]), {true, false}));
  };
  CHECK(holdsArray(checkedText({{300}, {256}}, pairs)));
  CHECK(holdsArray(checkedText({{77}, {33}}, pairs)));
  // A sum of what is in memory as it is read costs no more than an array.
  CHECK(!holdsArray(checkedText({{300}, {256}}, [](const std::vector<TensorView*>& in) {
    return add(broadcast(in[0], {false, true}), broadcast(in[1], {true, false}));
  })));
  // An array of long rows would leave the nearest cache.
  CHECK(!holdsArray(checkedText({{16}, {40000}}, pairs)));
}

TEST_CASE("column values: rows with a mean, times a window") {
  const auto frames = [](const std::vector<TensorView*>& in) {
    TensorView* centred = sub(in[0], broadcast(mean(in[0], {1}, false), {false, true}));
    return mul(centred, broadcast(window(in[1]), {true, false}));
  };
  CHECK(holdsArray(checkedText({{500, 256}, {256}}, frames)));
  checkedText({{3, 100}, {100}}, frames);
  checkedText({{1, 1000}, {1000}}, frames);
  checkedText({{40, 5000}, {5000}}, frames);
}
