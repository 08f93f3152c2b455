// Outputs that are written to inputs, by whole fusions and by kernels that a user scheduled: memory
// afterwards is what the reference computes from the arguments as they were, written in the order
// of outputs. And which kernels write there themselves.
#include <runtime/in_place.h>

#include <doctest/doctest.h>

#include "automatic.h"
#include <evaluator/interpreter.h>
#include <scheduler/utils.h>

using namespace nvfuser;

namespace {

TensorView* input(int64_t rank) {
  TensorView* tv = makeSymbolicTensor(rank);
  FusionGuard::getCurFusion()->addInput(tv);
  return tv;
}

void output(TensorView* tv) { FusionGuard::getCurFusion()->addOutput(tv); }

void update(TensorView* in, TensorView* with) {
  FusionGuard::getCurFusion()->aliasOutputToInput(with, in, AllocationType::ReuseBuffer);
}

Val* number(double value) { return IrBuilder::create<Val>(PolymorphicValue(value)); }

/// Small whole numbers: no order of sums matters.
Tensor numbers(const std::vector<int64_t>& sizes, Device& device) {
  int64_t count = 1;
  for (int64_t size : sizes) {
    count *= size;
  }
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) {
    values.push_back(static_cast<float>((i * 7 + 3) % 11 - 5));
  }
  return Tensor::fromHost(values, sizes, device);
}

/// What a call is given, as views of one stretch of memory.
using Views = std::function<std::vector<Tensor>(const Tensor& memory)>;

Views apart(const std::vector<std::vector<int64_t>>& all_sizes) {
  return [=](const Tensor& memory) {
    std::vector<Tensor> views;
    int64_t offset = 0;
    for (const std::vector<int64_t>& sizes : all_sizes) {
      views.push_back(memory.asStrided(sizes, rowMajorStrides(sizes), offset));
      offset += views.back().numel();
    }
    return views;
  };
}

using Run = std::function<KernelArgumentHolder(const KernelArgumentHolder&)>;

/// Runs three times; all of the memory, and what comes out, is compared. `hides`: outputs that are
/// only written are not among the results.
void check(const Fusion& fusion, Device& device, const Views& views, bool hides, const Run& run) {
  for (int call = 0; call < 3; ++call) {
    CAPTURE(call);
    const Tensor memory = numbers({9000}, device);
    const KernelArgumentHolder args(views(memory));
    const Tensor expected_memory = numbers({9000}, device);
    std::vector<Tensor> written = views(expected_memory);
    std::vector<Tensor> expected;
    for (const HostTensor& value : interpret(fusion, args.onHost(nullptr).inputs())) {
      expected.push_back(Tensor::fromHostTensor(value, device));
    }
    const auto updated = updatedInputs(fusion);
    for (size_t i = 0; i < expected.size(); ++i) {
      if (updated[i]) {
        written[*updated[i]].copyFrom(expected[i]);
      }
    }
    const KernelArgumentHolder results = run(args);
    CHECK(memory.toHost<float>() == expected_memory.toHost<float>());
    size_t next = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
      const auto& alias = fusion.getOutputAlias(fusion.outputs()[i]);
      if (hides && alias.visibility == OutputVisibility::kHidden) {
        continue;
      }
      REQUIRE(next < results.size());
      const Tensor& result = results[next++].tensor();
      CHECK(result.toHost<float>() ==
            (updated[i] ? written[*updated[i]] : expected[i]).toHost<float>());
    }
    CHECK(next == results.size());
  }
}

/// As a whole fusion, and as one kernel of serial loops.
void checkBoth(const automatic::Define& define, const Views& views) {
  for (Device* device : testDevices()) {
    CAPTURE(device->properties().name);
    auto fusion = std::make_unique<Fusion>();
    FusionGuard guard(fusion.get());
    define(*fusion);
    const Fusion copy(*fusion);
    FusionExecutorCache cache(std::move(fusion));
    check(copy, *device, views, true,
          [&](const KernelArgumentHolder& args) { return cache.runFusionWithInputs(args); });
    Fusion one_kernel(copy);
    if (KernelExecutor::supported(&one_kernel)) {
      KernelExecutor executor;
      executor.adopt(one_kernel);
      check(copy, *device, views, false,
            [&](const KernelArgumentHolder& args) { return executor.run(args); });
    }
  }
}

void swapAndAdd(Fusion&) {
  TensorView* a = input(1);
  TensorView* b = input(1);
  update(a, set(b));
  update(b, add(a, number(5)));
}

void addBoth(Fusion&) {
  TensorView* a = input(1);
  TensorView* b = input(1);
  update(a, add(a, b));
  update(b, sub(a, b));
  output(neg(b));
}

void addTransposed(Fusion&) {
  TensorView* a = input(2);
  update(a, add(a, transpose(a, 0, 1)));
}

void lessFirstRow(Fusion&) {
  TensorView* a = input(2);
  Val* first = IrBuilder::create<Val>(PolymorphicValue(0), DataType(DataType::Index));
  update(a, sub(a, broadcast(select(a, 0, first), {true, false})));
}

}  // namespace

TEST_CASE("in place: swaps and rotations") {
  checkBoth(swapAndAdd, apart({{70}, {70}}));
  checkBoth(swapAndAdd, apart({{0}, {0}}));
  for (size_t count : {2, 3, 4}) {
    CAPTURE(count);
    auto rotate = [&](bool copies) {
      return [=](Fusion&) {
        std::vector<TensorView*> inputs;
        for (size_t i = 0; i < count; ++i) {
          inputs.push_back(input(1));
        }
        for (size_t i = 0; i < count; ++i) {
          TensorView* next = inputs[(i + 1) % count];
          update(inputs[i], copies ? set(next) : next);
        }
      };
    };
    const Views views = apart(std::vector<std::vector<int64_t>>(count, {70}));
    checkBoth(rotate(true), views);
    checkBoth(rotate(false), views);
  }
}

TEST_CASE("in place: what is read elsewhere than it is written") {
  checkBoth(addTransposed, apart({{16, 16}}));
  checkBoth(lessFirstRow, apart({{40, 65}}));
  checkBoth(
      [](Fusion&) {
        TensorView* a = input(2);
        TensorView* total = input(1);
        update(total, add(total, sum(a, {1})));
        update(a, sub(a, broadcast(total, {false, true})));
        output(transpose(a, 0, 1));
        output(a);
      },
      apart({{40, 65}, {40}}));
  checkBoth(
      [](Fusion&) {
        TensorView* a = input(2);
        TensorView* b = input(2);
        TensorView* product = matmul(a, b);
        update(a, add(a, product));
        update(b, matmul(b, a));
        output(relu(a));
      },
      apart({{8, 8}, {8, 8}}));
}

TEST_CASE("in place: arguments with gaps, and that share memory") {
  const Views columns = [](const Tensor& memory) {
    return std::vector<Tensor>{memory.asStrided({16, 16}, {1, 16}, 0)};
  };
  checkBoth(addTransposed, columns);
  checkBoth(lessFirstRow, columns);
  checkBoth(lessFirstRow, [](const Tensor& memory) {
    return std::vector<Tensor>{memory.asStrided({16, 10}, {40, 3}, 5)};
  });
  struct Shared {
    std::vector<int64_t> starts;
    int64_t step = 1;
  };
  for (const Shared& shared : {Shared{{0, 0}}, Shared{{0, 2}}, Shared{{2, 0}}, Shared{{0, 1}, 2},
                               Shared{{0, 2048}}, Shared{{2047, 0}}}) {
    CAPTURE(shared.starts[1]);
    const Views views = [&](const Tensor& memory) {
      std::vector<Tensor> all;
      for (int64_t start : shared.starts) {
        all.push_back(memory.asStrided({2048}, {shared.step}, start));
      }
      return all;
    };
    checkBoth(swapAndAdd, views);
    checkBoth(addBoth, views);
  }
  // Shown as it was, though it is memory of what is written.
  checkBoth(
      [](Fusion&) {
        TensorView* a = input(2);
        TensorView* b = input(2);
        update(a, add(a, number(1)));
        output(b);
        output(transpose(b, 0, 1));
      },
      [](const Tensor& memory) {
        return std::vector<Tensor>{memory.asStrided({16, 16}, {16, 1}, 0),
                                   memory.asStrided({16, 16}, {1, 16}, 0)};
      });
}

TEST_CASE("in place: memory with one place for several elements is refused, and stays") {
  struct Case {
    std::vector<int64_t> sizes, strides;
  };
  for (Device* device : testDevices()) {
    CAPTURE(device->properties().name);
    for (const Case& c : {Case{{4, 3}, {0, 1}}, Case{{4, 3}, {1, 0}}, Case{{3, 2}, {1, 1}}}) {
      auto fusion = std::make_unique<Fusion>();
      FusionGuard guard(fusion.get());
      TensorView* other = input(1);
      TensorView* a = input(2);
      update(other, neg(other));
      update(a, neg(a));
      KernelExecutor executor;
      executor.adopt(*fusion);
      FusionExecutorCache cache(std::move(fusion));
      const Tensor memory = numbers({40}, *device);
      const KernelArgumentHolder args{memory.slice(0, 20, 30),
                                      memory.asStrided(c.sizes, c.strides, 0)};
      const std::vector<float> before = memory.toHost<float>();
      for (const Run& run :
           {Run([&](const auto& given) { return cache.runFusionWithInputs(given); }),
            Run([&](const auto& given) { return executor.run(given); }),
            Run([&](const auto& given) {
              cache.profile(given, 1);
              return KernelArgumentHolder();
            })}) {
        std::string message = "no error";
        try {
          run(args);
        } catch (const UserError& error) {
          message = error.what();
        }
        CAPTURE(message);
        CHECK(message.find("unsupported operation: more than one element of the written-to") !=
              std::string::npos);
        CHECK(message.find("input 1, T1") != std::string::npos);
        CHECK(message.find(text("strides [", join(c.strides, ", "), "]; clone() it")) !=
              std::string::npos);
        CHECK(memory.toHost<float>() == before);
      }
    }
  }
}

namespace {

/// Binds a loop of 64 to threads, the rest to blocks.
void bind(TensorView* tv) {
  tv->split(0, 64);
  tv->axis(0)->parallelize(ParallelType::BIDx);
  tv->axis(1)->parallelize(ParallelType::TIDx);
}

struct Hand {
  std::string title;
  size_t direct;  ///< outputs that the kernel writes to inputs itself
  std::function<void()> define;
};

}  // namespace

TEST_CASE("in place: kernels of hand-made schedules") {
  const Hand cases[] = {
      {"each thread its element", 1,
       [] {
         TensorView* a = input(1);
         TensorView* b = input(1);
         TensorView* sums = add(a, b);
         update(a, sums);
         TensorView* copy = a->cacheAfter();
         for (TensorView* tv : {copy, sums}) {
           bind(tv);
         }
         copy->inlineAt(2);
       }},
      {"both from copies of both", 2,
       [] {
         TensorView* a = input(1);
         TensorView* b = input(1);
         TensorView* sums = add(a, b);
         TensorView* differences = sub(a, b);
         update(a, sums);
         update(b, differences);
         TensorView* first = a->cacheAfter();
         TensorView* second = b->cacheAfter();
         for (TensorView* tv : {first, second, sums, differences}) {
           bind(tv);
         }
         inlineMost();
       }},
      {"one after the other", 0,
       [] {
         TensorView* a = input(1);
         TensorView* b = input(1);
         TensorView* sums = add(a, b);
         TensorView* differences = sub(a, b);  // reads a behind what was written there
         update(a, sums);
         update(b, differences);
         for (TensorView* tv : {sums, differences}) {
           bind(tv);
         }
       }},
      {"a copy in loops of its own", 2,
       [] {
         TensorView* a = input(1);
         TensorView* b = input(1);
         TensorView* sums = add(a, b);
         TensorView* old = neg(b);
         update(a, sums);
         update(b, old);
         TensorView* copy = b->cacheAfter();
         for (TensorView* tv : {copy, sums, old}) {
           bind(tv);
         }
       }},
      {"a kernel with more threads than it takes", 1,
       [] {
         TensorView* a = input(1);
         TensorView* b = input(1);
         TensorView* negated = neg(a);
         TensorView* wide = neg(b);
         update(a, negated);
         output(wide);
         bind(wide);
       }},
  };
  for (Device* device : testDevices()) {
    CAPTURE(device->properties().name);
    for (const Hand& hand : cases) {
      CAPTURE(hand.title);
      Fusion fusion;
      FusionGuard guard(&fusion);
      hand.define();
      std::vector<InPlace> wanted;
      const auto updated = updatedInputs(fusion);
      for (size_t i = 0; i < updated.size(); ++i) {
        if (updated[i]) {
          wanted.push_back({i, *updated[i]});
        }
      }
      const LowerTarget target =
          device->kind() == DeviceKind::Cpu ? LowerTarget::Cpu : LowerTarget::Cuda;
      CHECK(directWrites(fusion, wanted, target).size() == hand.direct);
      KernelExecutor executor;
      executor.adopt(fusion);
      const Run run = [&](const KernelArgumentHolder& args) { return executor.run(args); };
      for (const Views& views : {apart({{500}, {500}}), Views([](const Tensor& memory) {
                                   return std::vector<Tensor>{memory.slice(0, 0, 500),
                                                              memory.slice(0, 3, 503)};
                                 })}) {
        check(fusion, *device, views, false, run);
      }
    }
  }
}

TEST_CASE("in place: which kernels of whole fusions write to inputs themselves") {
  struct Case {
    std::string title;
    size_t direct;
    automatic::Define define;
    Views views;
    size_t on_gpu = direct;
  };
  auto momentum = [](Fusion&) {
    TensorView* p = input(1);
    TensorView* g = input(1);
    TensorView* m = input(1);
    TensorView* step = add(mul(m, number(0.5)), g);
    update(m, step);
    update(p, sub(p, mul(step, number(2))));
    output(neg(p));
  };
  auto rows = [](Fusion& fusion) {
    TensorView* a =
        TensorViewBuilder().ndims(2).dtype(DataType::Float).contiguity({false, true}).build();
    fusion.addInput(a);
    return a;
  };
  auto doubled = [&](Fusion& fusion) {
    TensorView* a = rows(fusion);
    update(a, add(a, a));
  };
  auto unread = [&](Fusion& fusion) {
    TensorView* a = rows(fusion);
    TensorView* b = makeContigTensor(2);
    fusion.addInput(b);
    update(a, neg(b));
  };
  auto anywhere = [](Fusion&) {
    TensorView* a = input(2);
    TensorView* b = input(2);
    update(a, neg(b));
  };
  // As an optimizer counts its steps, one count for each tensor.
  auto counted = [](Fusion&) {
    TensorView* weights[] = {input(1), input(1)};
    for (TensorView* p : weights) {
      TensorView* count = input(0);
      TensorView* next = add(count, number(1));
      update(count, next);
      update(p, mul(p, broadcast(next, {true})));
    }
  };
  // Its loops may be those of the table, which come to each element once a row.
  auto beside = [](Fusion&) {
    TensorView* a = input(1);
    TensorView* b = input(1);
    TensorView* table = input(2);
    update(a, add(a, b));
    output(add(table, broadcast(b, {true, false})));
  };
  auto part = [](std::vector<int64_t> sizes, std::vector<int64_t> strides) {
    return Views([=](const Tensor& memory) {
      return std::vector<Tensor>{memory.asStrided(sizes, strides, 0)};
    });
  };
  auto partAndWhole = [](std::vector<int64_t> sizes, std::vector<int64_t> strides) {
    return Views([=](const Tensor& memory) {
      return std::vector<Tensor>{memory.asStrided(sizes, strides, 0),
                                 memory.asStrided(sizes, {sizes[1], 1}, 8192)};
    });
  };
  for (const Case& c : {
           Case{"swap", 0, swapAndAdd, apart({{64}, {64}})},
           Case{"both from both", 2, addBoth, apart({{64}, {64}})},
           Case{"the second one lies off a vector's boundary", 2, addBoth, apart({{70}, {70}}), 1},
           Case{"momentum", 2, momentum, apart({{3000}, {3000}, {3000}})},
           Case{"counted steps", 4, counted, apart({{64}, {32}, {}, {}}), 3},
           Case{"beside a table", 1, beside, apart({{64}, {64}, {40, 64}})},
           Case{"less the first row", 0, lessFirstRow, apart({{40, 65}})},
           Case{"not read", 1, unread, apart({{8, 64}, {8, 64}})},
           Case{"the first columns", 1, doubled, part({8, 64}, {128, 1})},
           Case{"the first columns, not read", 1, unread, partAndWhole({8, 64}, {1000, 1})},
           Case{"an odd number of columns", 1, doubled, part({8, 7}, {128, 1}), 0},
           Case{"rows off a vector's boundary", 1, doubled, part({8, 64}, {129, 1}), 0},
           Case{"each second column", 1, anywhere, partAndWhole({8, 20}, {64, 2}), 0},
           Case{"columns as rows", 1, anywhere, partAndWhole({8, 64}, {1, 8}), 0},
           Case{"columns of no known stride", 1, anywhere, partAndWhole({8, 64}, {128, 1}), 0},
       }) {
    CAPTURE(c.title);
    for (Device* device : testDevices()) {
      CAPTURE(device->properties().name);
      auto fusion = std::make_unique<Fusion>();
      FusionGuard guard(fusion.get());
      c.define(*fusion);
      FusionExecutorCache cache(std::move(fusion));
      cache.runFusionWithInputs(KernelArgumentHolder(c.views(numbers({9000}, *device))));
      size_t direct = 0;
      for (const KernelExecutor* executor : cache.executors()) {
        direct += executor->fusion()->getOutputAliases().size();
      }
      CHECK(direct == (device->kind() == DeviceKind::Cpu ? c.direct : c.on_gpu));
    }
    checkBoth(c.define, c.views);
  }
}

TEST_CASE("in place: what a norm keeps of its batches is written by the kernel that sums them") {
  // A mean of each column, which is read as a row, too, and how many batches there were.
  const automatic::Define define = [](Fusion& fusion) {
    TensorView* x = makeContigTensor(2);
    fusion.addInput(x);
    TensorView* mean = input(1);
    TensorView* count = input(0);
    TensorView* sums = sum(x, {0});
    TensorView* next = add(mul(mean, number(0.5)), sums);
    update(mean, next);
    update(count, add(count, number(1)));
    output(neg(broadcast(next, {true, false})));
    output(sub(x, broadcast(sums, {true, false})));
  };
  for (const std::vector<int64_t>& sizes :
       {std::vector<int64_t>{40, 64}, std::vector<int64_t>{120, 72}, std::vector<int64_t>{8, 4}}) {
    for (Device* device : testDevices()) {
      CAPTURE(device->properties().name);
      auto fusion = std::make_unique<Fusion>();
      FusionGuard guard(fusion.get());
      define(*fusion);
      const Fusion copy(*fusion);
      FusionExecutorCache cache(std::move(fusion));
      check(copy, *device, apart({sizes, {sizes[1]}, {}}), true,
            [&](const KernelArgumentHolder& args) { return cache.runFusionWithInputs(args); });
      size_t direct = 0;
      for (const KernelExecutor* executor : cache.executors()) {
        direct += executor->fusion()->getOutputAliases().size();
      }
      CHECK(direct == 2);
    }
  }
}
