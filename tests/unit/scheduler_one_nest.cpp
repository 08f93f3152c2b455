// Loops of the CPU that several results share: an input is read once for all of them, and a result
// that the vectors' lanes share does not keep the others from being vectors.
#include <doctest/doctest.h>

#include <functional>

#include <fusion.h>
#include <ir/builder.h>
#include <ops/all_ops.h>
#include <runtime/fusion_executor_cache.h>
#include <runtime/validation.h>

using namespace nvfuser;

namespace {

using Define = std::function<void(Fusion&, TensorView*, TensorView*)>;

/// Text of the kernels, after their values were compared with the reference.
std::vector<std::string> checkedTexts(std::vector<std::vector<int64_t>> sizes,
                                      const Define& define) {
  auto fusion = std::make_unique<Fusion>();
  FusionGuard guard(fusion.get());
  TensorView* x = makeContigConcreteTensor(sizes[0]);
  TensorView* y = makeContigConcreteTensor(sizes[1]);
  fusion->addInput(x);
  fusion->addInput(y);
  define(*fusion, x, y);
  FusionExecutorCache cache(std::move(fusion));
  const KernelArgumentHolder args{Tensor::randn(sizes[0], DataType::Float, 3, cpuDevice()),
                                  Tensor::randn(sizes[1], DataType::Float, 5, cpuDevice())};
  testValidate(cache.fusion(), cache.runFusionWithInputs(args), args, __LINE__, __FILE__);
  return cache.getMostRecentCode();
}

int64_t timesIn(const std::string& text, const std::string& part) {
  int64_t times = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++times;
  }
  return times;
}

}  // namespace

TEST_CASE("one nest: sums and a product of the same inputs read these once") {
  for (const std::vector<int64_t>& axes : {std::vector<int64_t>{0}, std::vector<int64_t>{1}}) {
    const std::vector<std::string> texts =
        checkedTexts({{320, 128}, {320, 128}}, [&](Fusion& fusion, TensorView* x, TensorView* y) {
          fusion.addOutput(sin(x));
          fusion.addOutput(sum(mul(x, y), axes));
          fusion.addOutput(sum(x, axes));
        });
    REQUIRE(texts.size() == 1);
    CAPTURE(texts[0]);
    CHECK(timesIn(texts[0], "(&T0[") == 1);
    CHECK(timesIn(texts[0], "(&T1[") == 1);
  }
}

TEST_CASE("one nest: one lane of a vector is stored where all lanes share a place") {
  const std::vector<std::string> texts =
      checkedTexts({{96}, {96, 512}}, [](Fusion& fusion, TensorView* x, TensorView* y) {
        TensorView* of_row = broadcast(neg(x), {false, true});
        TensorView* all = exp(add(of_row, y));
        fusion.addOutput(all);
        fusion.addOutput(set(of_row));
        fusion.addOutput(sum(all, {0}));
      });
  for (const std::string& text : texts) {
    CAPTURE(text);
    CHECK(timesIn(text, "__builtin_expf(T") == 0);
  }
}
