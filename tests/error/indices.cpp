// Indices that their axis does not have: in the kernel that reads at them, at the launch, and in
// operations of a library.
#include <functional>
#include <numeric>

#include "user_error.h"
#include <fusion.h>
#include <ir/builder.h>
#include <ir/index_error.h>
#include <ops/all_ops.h>
#include <runtime/executor.h>
#include <runtime/fusion_executor_cache.h>
#include <scheduler/utils.h>

namespace nvfuser {
namespace {

using Tensors = std::vector<TensorView*>;

/// A fusion of symbolic inputs with the ranks and dtypes of these tensors.
std::unique_ptr<FusionExecutorCache> defined(
    const std::vector<Tensor>& like, const std::function<TensorView*(const Tensors&)>& define) {
  auto fusion = std::make_unique<Fusion>();
  FusionGuard guard(fusion.get());
  Tensors inputs;
  for (const Tensor& tensor : like) {
    inputs.push_back(makeContigTensor(tensor.dim(), tensor.dtype()));
    fusion->addInput(inputs.back());
  }
  fusion->addOutput(define(inputs));
  return std::make_unique<FusionExecutorCache>(std::move(fusion));
}

std::vector<float> run(FusionExecutorCache& cache, const std::vector<Tensor>& tensors) {
  KernelArgumentHolder arguments;
  for (const Tensor& tensor : tensors) {
    arguments.push(tensor);
  }
  return cache.runFusionWithInputs(arguments)[0].tensor().toHost<float>();
}

Tensor counted(std::vector<int64_t> sizes) {
  const int64_t count =
      std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
  std::vector<float> values(static_cast<size_t>(count));
  std::iota(values.begin(), values.end(), 0.0f);
  return Tensor::fromHost(values, std::move(sizes));
}

Tensor indices(const std::vector<int64_t>& values, std::vector<int64_t> sizes) {
  return Tensor::fromHost(values, std::move(sizes));
}

void checkWords(const std::string& message, const std::string& words) {
  CAPTURE(message);
  CHECK_MESSAGE(message.find(words) != std::string::npos, words);
}

TEST_CASE("an index from memory that its axis does not have") {
  struct Read {
    std::string name;
    std::function<TensorView*(const Tensors&)> define;
    std::vector<int64_t> sizes;  ///< of three indices
  };
  const std::vector<Read> reads = {
      {"index_select", [](const Tensors& t) { return mul(indexSelect(t[0], 0, t[1]), t[2]); }, {3}},
      {"gather", [](const Tensors& t) { return mul(gather(t[0], 0, t[1]), t[2]); }, {3, 1}},
      {"gather", [](const Tensors& t) { return mul(takeAlongAxis(t[0], t[1], 0), t[2]); }, {3, 1}},
      {"index_select", [](const Tensors& t) { return mul(embedding_fwd(t[1], t[0]), t[2]); }, {3}},
      {"gather",
       [](const Tensors& t) {  // the index is computed
         return mul(gather(t[0], 0, add(t[1], IrBuilder::create<Val>(int64_t{0}))), t[2]);
       },
       {3, 1}},
      {"gather",
       [](const Tensors& t) { return mul(sum(gather(t[0], 0, t[1]), {0, 1}), sum(t[2], {0})); },
       {3, 1}},
  };
  const Tensor x = counted({5, 1});
  const Tensor one = counted({1});
  for (const Read& read : reads) {
    CAPTURE(read.name);
    auto cache = defined({x, indices({0, 0, 0}, read.sizes), one}, read.define);
    for (const int64_t wrong : {int64_t{5}, int64_t{-1}, INT64_MAX, INT64_MIN}) {
      for (size_t at = 0; at < 3; ++at) {
        std::vector<int64_t> values = {4, 0, 2};
        values[at] = wrong;
        checkWords(messageOf([&] { run(*cache, {x, indices(values, read.sizes), one}); }),
                   text(read.name, ": index ", wrong, " is out of range for an axis of extent 5"));
      }
    }
    run(*cache, {x, indices({4, 0, 2}, read.sizes), one});  // nothing of it is left
    checkWords(
        messageOf([&] { run(*cache, {counted({0, 1}), indices({0, 0, 0}, read.sizes), one}); }),
        "index 0 is out of range for an axis of extent 0");
  }
}

TEST_CASE("of two reads in a kernel the one with the wrong index is named") {
  const Tensor x = counted({3});
  const Tensor y = counted({7});
  auto cache = defined({x, y, indices({0}, {1}), indices({0}, {1})}, [](const Tensors& t) {
    return add(indexSelect(t[0], 0, t[2]), indexSelect(t[1], 0, t[3]));
  });
  CHECK(run(*cache, {x, y, indices({2}, {1}), indices({6}, {1})}) == std::vector<float>{8.0f});
  const std::string first =
      messageOf([&] { run(*cache, {x, y, indices({6}, {1}), indices({6}, {1})}); });
  checkWords(first, "index 6 is out of range for an axis of extent 3");
  checkWords(first, "index_select( T0");
  const std::string second =
      messageOf([&] { run(*cache, {x, y, indices({2}, {1}), indices({9}, {1})}); });
  checkWords(second, "index 9 is out of range for an axis of extent 7");
  checkWords(second, "index_select( T1");
}

TEST_CASE("one wrong index among many, in any task") {
  const Tensor x = counted({11});
  constexpr int64_t kCount = 300'000;
  auto cache = defined({x, indices({0}, {1})},
                       [](const Tensors& t) { return neg(indexSelect(t[0], 0, t[1])); });
  std::vector<int64_t> values(kCount);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<int64_t>(i % 11);
  }
  for (const size_t at : {size_t{0}, size_t{123'456}, size_t{kCount - 1}}) {
    std::vector<int64_t> wrong = values;
    wrong[at] = 11;
    checkWords(messageOf([&] { run(*cache, {x, indices(wrong, {kCount})}); }),
               "index_select: index 11 is out of range for an axis of extent 11");
  }
  const std::vector<float> right = run(*cache, {x, indices(values, {kCount})});
  CHECK(right[kCount - 1] == -static_cast<float>((kCount - 1) % 11));
}

/// How the loops of a read at indices run.
struct Loops {
  std::string name;
  std::function<void(TensorView*)> schedule;  ///< of the output
};

std::vector<Loops> handSchedules() {
  auto parallel = [](TensorView* out, int inner, ParallelType type) {
    out->split(0, inner);
    out->axis(0)->parallelize(ParallelType::BIDx);
    out->axis(1)->parallelize(type);
    TransformPropagator propagator(out);
    MaxLogicalDomainInfoSpanningTree(out).traverse(&propagator);
    scheduler_utils::parallelizeAllLike(out, -1, {}, {ParallelType::BIDx, ParallelType::TIDx});
    inlineMost();
  };
  return {
      {"serial", [](TensorView*) { inlineMost(); }},
      {"blocks and threads", [=](TensorView* out) { parallel(out, 8, ParallelType::TIDx); }},
      {"unrolled", [=](TensorView* out) { parallel(out, 4, ParallelType::Unroll); }},
      {"vectors",
       [=](TensorView* out) {
         TensorView* registers = out->cacheBefore();
         parallel(out, 4, ParallelType::Serial);
         out->axis(1)->parallelize(ParallelType::Vectorize);
         registers->inlineAt(1);
       }},
  };
}

TEST_CASE("a wrong index in blocks, threads and vectors: an error on the CPU, seen when emulated") {
  constexpr int64_t kCount = 16;
  constexpr int64_t kExtent = 6;
  std::vector<int64_t> values(kCount);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<int64_t>(i) % kExtent;
  }
  for (Device* device : {&cpuDevice(), &emulatedDevice()}) {
    for (const Loops& loops : handSchedules()) {
      CAPTURE(device->properties().name);
      CAPTURE(loops.name);
      Fusion fusion;
      FusionGuard guard(&fusion);
      TensorView* x = makeContigTensor(1);
      TensorView* at = makeContigTensor(1, DataType::Int);
      fusion.addInput(x);
      fusion.addInput(at);
      TensorView* out = neg(indexSelect(x, 0, at));
      fusion.addOutput(out);
      loops.schedule(out);
      KernelExecutor executor;
      auto runAt = [&](const std::vector<int64_t>& indices) {
        KernelArgumentHolder arguments;
        arguments.push(Tensor::fromHost(std::vector<float>{0, 1, 2, 3, 4, 5}, {kExtent}, *device));
        arguments.push(Tensor::fromHost(indices, {kCount}, *device));
        if (!executor.isCompiled()) {
          executor.compile(&fusion, arguments);
        }
        return executor.run(arguments)[0].tensor().toHost<float>();
      };
      for (size_t place = 0; place < values.size(); ++place) {
        std::vector<int64_t> wrong = values;
        wrong[place] = kExtent;
        if (device->kind() == DeviceKind::Cpu) {
          checkWords(messageOf([&] { runAt(wrong); }),
                     "index_select: index 6 is out of range for an axis of extent 6");
        } else {
          checkWords(messageOf([&] { runAt(wrong); }), "out of bounds: read of 4 bytes at byte 24");
        }
      }
      const std::vector<float> right = runAt(values);  // nothing of it is left
      for (size_t i = 0; i < values.size(); ++i) {
        CHECK(right[i] == -static_cast<float>(values[i]));
      }
    }
  }
}

TEST_CASE("indices of elements that padding adds are no indices") {
  const Tensor x = counted({4});
  auto cache = defined({x, indices({0}, {1})}, [](const Tensors& t) {
    Val* zero = IrBuilder::create<Val>(int64_t{0});
    TensorView* at = add(t[1], zero);  // in registers, which nobody fills beyond its elements
    return pad(neg(gather(t[0], 0, at)),
               {IrBuilder::create<Val>(int64_t{3}), IrBuilder::create<Val>(int64_t{2})});
  });
  CHECK(run(*cache, {x, indices({3, 1}, {2})}) == std::vector<float>{0, 0, 0, -3, -1, 0, 0});
  checkWords(messageOf([&] { run(*cache, {x, indices({3, 4}, {2})}); }),
             "gather: index 4 is out of range for an axis of extent 4");
  auto joined = defined({x, indices({0}, {1})}, [](const Tensors& t) {
    return cat({neg(t[0]), gather(t[0], 0, t[1]), gather(neg(t[0]), 0, t[1])}, 0);
  });
  CHECK(run(*joined, {x, indices({2}, {1})}) == std::vector<float>{0, -1, -2, -3, 2, -2});
  checkWords(messageOf([&] { run(*joined, {x, indices({-1}, {1})}); }),
             "gather: index -1 is out of range for an axis of extent 4");
}

TEST_CASE("a call that is repeated is checked as the first one was") {
  const Tensor x = counted({5});
  auto cache = defined({x, indices({0}, {1})},
                       [](const Tensors& t) { return neg(indexSelect(t[0], 0, t[1])); });
  for (int round = 0; round < 3; ++round) {
    CHECK(run(*cache, {x, indices({4}, {1})}) == std::vector<float>{-4});
    checkWords(messageOf([&] { run(*cache, {x, indices({5}, {1})}); }),
               "index 5 is out of range for an axis of extent 5");
  }
  CHECK_THROWS_AS(run(*cache, {x, indices({5}, {1})}), IndexRangeError);
}

TEST_CASE("a scalar index that its axis does not have, on every device") {
  for (Device* device : {&cpuDevice(), &emulatedDevice()}) {
    CAPTURE(device->properties().name);
    auto fusion = std::make_unique<Fusion>();
    {
      FusionGuard guard(fusion.get());
      TensorView* x = makeContigTensor(2);
      Val* index = IrBuilder::create<Val>(DataType::Int);
      fusion->addInput(x);
      fusion->addInput(index);
      fusion->addOutput(neg(select(x, 0, index)));
    }
    FusionExecutorCache cache(std::move(fusion));
    auto runAt = [&](int64_t index) {
      KernelArgumentHolder arguments;
      arguments.push(Tensor::fromHost(std::vector<float>{0, 1, 2, 3, 4, 5}, {3, 2}, *device));
      arguments.push(index);
      return cache.runFusionWithInputs(arguments)[0].tensor().toHost<float>();
    };
    CHECK(runAt(-1) == std::vector<float>{-4, -5});
    CHECK(runAt(0) == std::vector<float>{0, -1});
    checkWords(messageOf([&] { runAt(3); }),
               "select: index 3 is out of range for an axis of extent 3");
    checkWords(messageOf([&] { runAt(-4); }), "is out of range for an axis of extent 3");
    CHECK(runAt(2) == std::vector<float>{-4, -5});
  }
}

}  // namespace
}  // namespace nvfuser
