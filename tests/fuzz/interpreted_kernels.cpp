/// Kernels run from their IR: what lanes do together, and what the interpreter notices.
#include <doctest/doctest.h>

#include <cmath>

#include <fuzz/kernel_interpreter/interpreting_device.h>
#include <fuzz/kernel_interpreter/kernel_interpreter.h>
#include <fuzz/kernel_interpreter/lane_scalars.h>
#include <ops/arith.h>
#include <runtime/executor.h>

namespace nvfuser::fuzz {
namespace {

/// A kernel of `threads` threads that writes to T0[0 … 8), which begins as −1.
struct Sample {
  kir::Kernel kernel;
  kir::ScalarPool& pool = *kernel.pool;
  kir::Buffer* out;
  kir::Scalar thread = pool.symbol("threadIdx.x");
  float memory[8];
  LaunchShape shape;

  explicit Sample(int64_t threads) {
    out = kernel.addBuffer({.name = "T0",
                            .dtype = DataType::Float,
                            .memory = MemoryType::Global,
                            .role = kir::BufferRole::Output});
    kernel.params.push_back({.name = "T0", .dtype = DataType::Float, .buffer = out});
    std::fill(std::begin(memory), std::end(memory), -1.0f);
    shape.block[0] = threads;
  }
  kir::Buffer* registers(int64_t elements) {
    kir::Buffer* buffer = kernel.addBuffer({.name = "T1", .dtype = DataType::Float});
    buffer->elements = pool.constant(elements);
    kernel.body.push_back({kir::Declare{buffer}});
    return buffer;
  }
  kir::Stmt assign(kir::Scalar place, kir::Operand value) const {
    return {kir::Assign{{out, place}, std::move(value)}};
  }
  kir::Operand index(kir::Scalar value) const { return kir::IndexValue{value, DataType::Int}; }
  void run() {
    void* address = memory;
    void* const args[] = {static_cast<void*>(&address)};
    interpretKernel(kernel, shape, args, [&](const void*) { return sizeof(memory); });
  }
};

TEST_CASE("interpreted kernels: lanes of which a condition does not hold sit it out") {
  Sample s(8);
  auto odd = std::make_shared<kir::Block>();
  auto even = std::make_shared<kir::Block>();
  odd->push_back(s.assign(s.thread, s.index(s.pool.mul(s.thread, 10))));
  even->push_back(s.assign(s.thread, kir::Literal{PolymorphicValue(0.5), DataType::Double}));
  s.kernel.body.push_back(
      {kir::If{s.pool.equal(s.pool.mod(s.thread, s.pool.constant(2)), s.pool.one()), odd, even}});
  s.run();
  for (int i = 0; i < 8; ++i) {
    CHECK(s.memory[i] == (i % 2 == 1 ? 10.0f * static_cast<float>(i) : 0.5f));
  }
}

TEST_CASE("interpreted kernels: a loop whose length differs among lanes") {
  Sample s(8);
  const kir::Scalar k = s.pool.symbol("k", s.thread);
  auto body = std::make_shared<kir::Block>();
  body->push_back(s.assign(s.thread, s.index(k)));
  s.kernel.body.push_back({kir::For{k, s.thread, kir::LoopKind::Serial, false, "", body}});
  s.run();
  for (int i = 0; i < 8; ++i) {
    CHECK(s.memory[i] == static_cast<float>(i) - 1);  // the last iteration, or none
  }
}

TEST_CASE("interpreted kernels: iterations that are left out would do nothing") {
  Sample s(4);
  const kir::Scalar k = s.pool.symbol("k", s.pool.constant(1 << 19));
  const kir::Scalar place = s.pool.symbol("n0");
  auto guarded = std::make_shared<kir::Block>();
  guarded->push_back(s.assign(place, s.index(k)));
  auto body = std::make_shared<kir::Block>();
  body->push_back({kir::Let{place, s.pool.add(s.thread, s.pool.mul(k, 4))}});
  body->push_back({kir::If{s.pool.less(place, s.pool.constant(7)), guarded, nullptr}});
  s.kernel.body.push_back(
      {kir::For{k, s.pool.constant(1 << 19), kir::LoopKind::Simd, false, "", body}});
  s.run();  // 2^21 steps would be too many
  const float expected[] = {0, 0, 0, 0, 1, 1, 1, -1};
  for (int i = 0; i < 8; ++i) {
    CHECK(s.memory[i] == expected[i]);
  }
}

TEST_CASE("interpreted kernels: registers hold nothing at first") {
  Sample s(1);
  kir::Buffer* local = s.registers(2);
  s.kernel.body.push_back(s.assign(s.pool.zero(), kir::Ref{local, s.pool.one()}));
  s.run();
  CHECK(std::isnan(s.memory[0]));
}

TEST_CASE("interpreted kernels: accesses outside a buffer are errors") {
  Sample beyond(8);
  beyond.kernel.body.push_back(beyond.assign(beyond.pool.add(beyond.thread, beyond.pool.one()),
                                             beyond.index(beyond.thread)));
  CHECK_THROWS_WITH_AS(beyond.run(), "an access to T0[8], which has 8 elements, by thread 7",
                       InternalError);
  Sample before(1);
  kir::Buffer* local = before.registers(4);
  before.kernel.body.push_back(
      before.assign(before.pool.zero(), kir::Ref{local, before.pool.constant(-1)}));
  CHECK_THROWS_WITH_AS(before.run(), "an access to T1[-1], which has 4 elements, by thread 0",
                       InternalError);
}

TEST_CASE("interpreted kernels: one that takes too many steps is given up") {
  Sample s(8);
  const kir::Scalar k = s.pool.symbol("k", s.pool.constant(1 << 30));
  auto body = std::make_shared<kir::Block>();
  body->push_back(s.assign(s.thread, s.index(k)));
  s.kernel.body.push_back(
      {kir::For{k, s.pool.constant(1 << 30), kir::LoopKind::Serial, false, "", body}});
  CHECK_THROWS_AS(s.run(), TooLong);
}

TEST_CASE("interpreted kernels: of a sum over the grid, the block that comes last has the result") {
  Sample s(1);
  s.shape.grid[0] = 4;
  kir::Buffer* local = s.registers(1);
  const kir::Ref sum{local, s.pool.zero()};
  const kir::Scalar block = s.pool.symbol("blockIdx.x");
  s.kernel.body.push_back({kir::Assign{sum, s.index(block)}});
  const kir::Scalar last = s.pool.symbol("last");
  kir::Monoid add;
  add.dtypes = {DataType::Float};
  add.identity = {{PolymorphicValue(0.0), DataType::Float}};
  s.kernel.body.push_back(
      {kir::GridReduce{.monoid = add, .state = {sum}, .dims = {true, false, false}, .last = last}});
  auto store = std::make_shared<kir::Block>();
  store->push_back(s.assign(block, sum));
  s.kernel.body.push_back({kir::If{last, store, nullptr}});
  s.run();
  int written = 0;
  for (float element : s.memory) {
    CHECK((element == -1.0f || element == 6.0f));
    written += element == 6.0f ? 1 : 0;
  }
  CHECK(written == 1);
}

TEST_CASE("interpreted kernels: a scalar is computed anew where one of its symbols was set") {
  kir::ScalarPool pool;
  LaneScalars scalars(3);
  const kir::Scalar a = pool.symbol("a"), b = pool.symbol("b");
  const kir::Scalar sum = pool.add(pool.mul(a, 2), b);
  CHECK_FALSE(scalars.isKnown(sum));
  scalars.set(a, 5);
  scalars.set(b, 1);
  CHECK(scalars.isUniform(sum));
  CHECK(scalars.uniform(sum) == 11);
  int64_t* lanes = scalars.setLanes(b);
  for (int64_t lane = 0; lane < 3; ++lane) {
    lanes[lane] = lane;
  }
  CHECK_FALSE(scalars.isUniform(sum));
  CHECK(scalars.of(sum)[2] == 12);
  scalars.set(a, 0);
  CHECK(scalars.of(sum)[2] == 2);
  CHECK_THROWS_WITH_AS(scalars.uniform(pool.symbol("c")),
                       "the symbol c has no value where it is read", InternalError);
}

TEST_CASE("interpreted kernels: executors take them as they take others") {
  for (Device* device : {&interpretingCpu(), &interpretingCuda()}) {
    Fusion fusion;
    FusionGuard guard(&fusion);
    TensorView* in = makeContigTensor(2);
    fusion.addInput(in);
    TensorView* out = sum(in, {1});
    fusion.addOutput(out);
    if (device->kind() != DeviceKind::Cpu) {
      out->axis(0)->parallelize(ParallelType::BIDx);
      out->axis(1)->parallelize(ParallelType::TIDx);
    }
    KernelArgumentHolder arguments;
    arguments.push(Tensor::ones({3, 33}, DataType::Float, *device));
    CompileParams params;
    params.device = device;
    KernelExecutor executor;
    executor.compile(&fusion, arguments, LaunchParams(), params);
    const KernelArgumentHolder results = executor.run(arguments);
    const HostTensor host = results[0].tensor().toHostTensor();
    for (size_t i = 0; i < 3; ++i) {
      CHECK(reinterpret_cast<const float*>(host.data())[i] == 33.0f);
    }
  }
}

}  // namespace
}  // namespace nvfuser::fuzz
