// Chains of operations on parts, joins and shapes, whose sizes are computed from the sizes before:
// what 60 steps take is about twice what 30 take, counted, not timed; and a few steps are right.
#include <doctest/doctest.h>

#include <functional>

#include <fusion.h>
#include <ir/builder.h>
#include <ops/all_ops.h>
#include <runtime/fusion_executor_cache.h>
#include <runtime/validation.h>

using namespace nvfuser;

namespace {

constexpr int64_t kRows = 500;
constexpr int64_t kColumns = 6;

Val* index(int64_t value) {
  return IrBuilder::create<Val>(PolymorphicValue(value), DataType(DataType::Index));
}

TensorView* part(TensorView* x, int64_t begin, int64_t end) {
  return slice(x, {{index(begin), index(end), nullptr}});
}

struct Chain {
  const char* name;
  int64_t rank;
  std::function<TensorView*(TensorView*, int)> step;
};

const Chain kChains[] = {
    {"stencil", 1, [](TensorView* x, int) { return add(part(x, 1, kRows), part(x, 0, -1)); }},
    {"one slice four times", 1,
     [](TensorView* x, int) {
       return add(add(part(x, 1, kRows), part(x, 1, kRows)),
                  add(part(x, 1, kRows), part(x, 1, kRows)));
     }},
    {"roll", 1, [](TensorView* x, int) { return cat({part(x, 3, kRows), part(x, 0, 3)}, 0); }},
    {"chunks of functions", 1,
     [](TensorView* x, int) {
       const std::vector<TensorView*> halves = chunk(x, 2, 0);
       return cat({sin(halves[0]), neg(halves[1])}, 0);
     }},
    {"pad and slice", 1,
     [](TensorView* x, int) { return relu(part(pad(x, {index(1), index(2)}), 2, kRows)); }},
    {"shift and add", 1,
     [](TensorView* x, int) { return add(x, part(pad(x, {index(1), index(0)}), 0, -1)); }},
    {"reshape to and fro", 2,
     [](TensorView* x, int n) {
       TensorView* flat = reshape(x, std::vector<Val*>{index(-1)});
       return sin(reshape(flat, n % 2 == 0 ? std::vector<Val*>{index(-1), index(kColumns)}
                                           : std::vector<Val*>{index(kColumns), index(-1)}));
     }},
    {"norms", 2,
     [](TensorView* x, int) {
       TensorView* centred = sub(x, mean(x, {1}, true));
       TensorView* variance = mean(mul(centred, centred), {1}, true);
       TensorView* scale = rsqrt(add(variance, IrBuilder::create<Val>(1e-5, DataType::Float)));
       return add(x, mul(centred, scale));
     }},
    {"expand and sum", 1,
     [](TensorView* x, int) {
       return sum(expand(broadcast(x, {false, true}), {index(-1), index(3)}), {1});
     }},
};

std::vector<int64_t> shapeOf(const Chain& chain) {
  return chain.rank == 1 ? std::vector<int64_t>{kRows}
                         : std::vector<int64_t>{kRows / kColumns, kColumns};
}

std::unique_ptr<FusionExecutorCache> define(const Chain& chain, bool symbols, int steps) {
  auto fusion = std::make_unique<Fusion>();
  FusionGuard guard(fusion.get());
  TensorView* x = symbols ? makeContigTensor(chain.rank) : makeContigConcreteTensor(shapeOf(chain));
  fusion->addInput(x);
  for (int n = 0; n < steps; ++n) {
    x = chain.step(x, n);
  }
  fusion->addOutput(x);
  return std::make_unique<FusionExecutorCache>(std::move(fusion));
}

/// What a chain takes: bytes of kernels, of the definition's text, nodes.
struct Taken {
  size_t kernels = 0;
  size_t text = 0;
  size_t nodes = 0;
};

Taken takenBy(const Chain& chain, bool symbols, int steps) {
  const auto cache = define(chain, symbols, steps);
  const std::vector<int64_t> shape = shapeOf(chain);
  KernelArgumentHolder args;
  args.pushTensorProxy(
      shape, chain.rank == 1 ? std::vector<int64_t>{1} : std::vector<int64_t>{kColumns, 1},
      DataType::Float);
  cache->prepare(args, {}, &cpuDevice());
  Taken taken;
  for (const std::string& text : cache->getMostRecentCode()) {
    taken.kernels += text.size();
  }
  taken.text = cache->rewritten().toString().size();
  taken.nodes = cache->rewritten().vals().size() + cache->fusion()->vals().size();
  return taken;
}

}  // namespace

TEST_CASE("chains: 60 steps take about twice what 30 take") {
  for (const Chain& chain : kChains) {
    for (const bool symbols : {true, false}) {
      INFO(std::string(chain.name), std::string(symbols ? ", symbols" : ", static"));
      const Taken half = takenBy(chain, symbols, 30);
      const Taken whole = takenBy(chain, symbols, 60);
      CHECK(whole.kernels <= half.kernels * 5 / 2);
      CHECK(whole.text <= half.text * 5 / 2);
      CHECK(whole.nodes <= half.nodes * 5 / 2);
      CHECK(whole.text <= size_t{60} * 20000);
    }
  }
}

TEST_CASE("chains: a few steps of each are right") {
  for (const Chain& chain : kChains) {
    for (const bool symbols : {true, false}) {
      INFO(std::string(chain.name), std::string(symbols ? ", symbols" : ", static"));
      const auto cache = define(chain, symbols, 7);
      for (int64_t rows : {shapeOf(chain)[0], int64_t{14}}) {
        std::vector<int64_t> shape = shapeOf(chain);
        shape[0] = symbols ? rows : shape[0];
        const KernelArgumentHolder args{Tensor::randn(shape, DataType::Float, 3, cpuDevice())};
        testValidate(cache->fusion(), cache->runFusionWithInputs(args), args, __LINE__, __FILE__);
      }
    }
  }
}
