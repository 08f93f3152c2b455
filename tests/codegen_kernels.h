/// Kernels built by hand, one for each kind of statement that code generators print. The golden
/// tests compare their text, the compile tests give it to the compilers and run it.
#pragma once

#include <array>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <kernel_ir/kernel.h>

namespace codegen_kernels {

using namespace nvfuser;
using kir::Buffer;
using kir::Scalar;

/// Shortens the making of a kernel. Statements go into `body`, or into the block given.
class Maker {
 public:
  explicit Maker(std::string name) {
    kernel.name = std::move(name);
    kernel.header = {kernel.name + ": built by hand"};
  }

  kir::Kernel kernel;
  kir::ScalarPool& pool = *kernel.pool;
  kir::Block body;

  Buffer* global(const std::string& name, DataType dtype, bool read, bool written) {
    Buffer buffer;
    buffer.name = name;
    buffer.dtype = dtype;
    buffer.memory = MemoryType::Global;
    buffer.role = written ? (read ? kir::BufferRole::Intermediate : kir::BufferRole::Output)
                          : kir::BufferRole::Input;
    buffer.read = read;
    buffer.written = written;
    Buffer* made = kernel.addBuffer(std::move(buffer));
    kernel.params.push_back(
        {.kind = kir::ParamKind::TensorArg, .name = name, .dtype = dtype, .buffer = made});
    return made;
  }
  Buffer* input(const std::string& name, DataType dtype = DataType::Float) {
    return global(name, dtype, true, false);
  }
  Buffer* output(const std::string& name, DataType dtype = DataType::Float) {
    return global(name, dtype, false, true);
  }
  /// Registers, declared in `into`.
  Buffer* local(kir::Block& into, const std::string& name, DataType dtype = DataType::Float,
                int64_t elements = 1) {
    Buffer buffer;
    buffer.name = name;
    buffer.dtype = dtype;
    buffer.elements = pool.constant(elements);
    Buffer* made = kernel.addBuffer(std::move(buffer));
    into.push_back({kir::Declare{made}});
    return made;
  }
  Buffer* local(const std::string& name, DataType dtype = DataType::Float, int64_t elements = 1) {
    return local(body, name, dtype, elements);
  }
  Buffer* shared(const std::string& name, DataType dtype, int64_t elements, int64_t offset) {
    Buffer buffer;
    buffer.name = name;
    buffer.dtype = dtype;
    buffer.memory = MemoryType::Shared;
    buffer.elements = pool.constant(elements);
    buffer.shared_offset = pool.constant(offset);
    kernel.shared_bytes = pool.constant(offset + elements * dataTypeSizeByte(dtype));
    return kernel.addBuffer(std::move(buffer));
  }
  Scalar indexParam(const std::string& name) {
    Scalar symbol = pool.symbol(name);
    kernel.params.push_back({.kind = kir::ParamKind::IndexArg,
                             .name = name,
                             .dtype = DataType::Index,
                             .symbol = symbol});
    return symbol;
  }
  kir::ParamRef scalarParam(const std::string& name, DataType dtype) {
    kernel.params.push_back({.kind = kir::ParamKind::ScalarArg, .name = name, .dtype = dtype});
    return {name, dtype};
  }
  void launch(int64_t threads, Scalar blocks) {
    kernel.block[0] = pool.constant(threads);
    kernel.grid[0] = blocks;
  }
  Scalar tid(int64_t threads) { return pool.symbol("threadIdx.x", pool.constant(threads)); }
  Scalar bid(Scalar blocks) { return pool.symbol("blockIdx.x", blocks); }
  Scalar number(int64_t value) { return pool.constant(value); }

  static kir::Ref at(const Buffer* buffer, Scalar index, int64_t width = 1) {
    return {buffer, index, width};
  }
  kir::Ref reg(const Buffer* buffer) { return {buffer, pool.zero(), 1}; }
  static kir::Literal literal(PolymorphicValue value, DataType dtype) {
    return {std::move(value), dtype};
  }
  static std::shared_ptr<kir::Block> share(kir::Block block) {
    return std::make_shared<kir::Block>(std::move(block));
  }
  static kir::Stmt ifThen(Scalar condition, kir::Block then_body) {
    return {kir::If{condition, share(std::move(then_body)), nullptr}};
  }
  static kir::Stmt loop(Scalar var, Scalar extent, kir::LoopKind kind, const std::string& comment,
                        kir::Block block) {
    return {kir::For{var, extent, kind, false, comment, share(std::move(block))}};
  }
  kir::Kernel finish() {
    kernel.body = std::move(body);
    return std::move(kernel);
  }
};

struct Case {
  std::string name;
  kir::Kernel kernel;
  bool cuda = true;
  bool host = true;
};

/// T2 = T0 + 2 * T1 for i < i0
inline Case pointwise(const std::string& name, DataType index_type, int64_t threads) {
  Maker m(name);
  m.kernel.index_type = index_type;
  Buffer* t0 = m.input("T0");
  Buffer* t1 = m.input("T1");
  Buffer* t2 = m.output("T2");
  Scalar n = m.indexParam("i0");
  Scalar blocks = m.pool.ceilDiv(n, m.number(threads));
  m.launch(threads, blocks);
  Scalar thread = threads == 1 ? m.number(0) : m.tid(threads);
  Scalar i = m.pool.add(m.pool.mul(m.bid(blocks), threads), thread);
  kir::Block inside;
  Buffer* t3 = m.local(inside, "T3");
  inside.push_back({kir::Compute{BinaryOpType::Mul,
                                 m.reg(t3),
                                 {m.at(t1, i), m.literal(2.0, DataType::Double)},
                                 DataType::Float}});
  inside.push_back(
      {kir::Compute{BinaryOpType::Add, m.at(t2, i), {m.at(t0, i), m.reg(t3)}, DataType::Float}});
  m.body.push_back(m.ifThen(m.pool.less(i, n), std::move(inside)));
  return {name, m.finish()};
}

/// Two vectors of four a thread, in an unrolled loop.
inline Case vectors() {
  Maker m("vectors");
  m.kernel.index_type = DataType::Int32;
  Buffer* t0 = m.input("T0");
  Buffer* t3 = m.output("T3");
  Scalar n = m.indexParam("i0");
  Scalar blocks = m.pool.ceilDiv(n, m.number(1024));
  m.launch(128, blocks);
  Scalar base = m.pool.add(m.pool.mul(m.bid(blocks), 1024), m.pool.mul(m.tid(128), 4));
  Buffer* t1 = m.local("T1", DataType::Float, 8);
  Scalar u = m.pool.symbol("u0", m.number(2));
  Scalar at = m.pool.add(base, m.pool.mul(u, 512));
  Scalar reg = m.pool.mul(u, 4);
  kir::Block load;
  load.push_back(m.ifThen(m.pool.less(at, n), {{kir::CopyVector{m.at(t1, reg, 4), m.at(t0, at, 4),
                                                                CacheOp::Streaming}}}));
  m.body.push_back(
      m.loop(u, m.number(2), kir::LoopKind::Unrolled, "T1.i0, unrolled", std::move(load)));
  Buffer* t2 = m.local("T2", DataType::Float, 8);
  Scalar k = m.pool.symbol("k1", m.number(8));
  m.body.push_back(
      m.loop(k, m.number(8), kir::LoopKind::Unrolled, "",
             {{kir::Compute{UnaryOpType::Relu, m.at(t2, k), {m.at(t1, k)}, DataType::Float}}}));
  kir::Block store;
  store.push_back(
      m.ifThen(m.pool.less(at, n), {{kir::CopyVector{m.at(t3, at, 4), m.at(t2, reg, 4)}}}));
  m.body.push_back(
      m.loop(u, m.number(2), kir::LoopKind::Unrolled, "T3.i0, unrolled", std::move(store)));
  return {"vectors", m.finish()};
}

/// Each stored type in, computed in float, and out again.
inline Case storedTypes() {
  Maker m("stored_types");
  const std::pair<const char*, DataType> kTypes[] = {{"half", DataType::Half},
                                                     {"bf16", DataType::BFloat16},
                                                     {"e4m3", DataType::Float8_e4m3fn},
                                                     {"e5m2", DataType::Float8_e5m2},
                                                     {"i8", DataType::Char},
                                                     {"u8", DataType::Byte},
                                                     {"i16", DataType::Short},
                                                     {"i64", DataType::Int},
                                                     {"bool", DataType::Bool},
                                                     {"f64", DataType::Double},
                                                     {"c64", DataType::ComplexFloat},
                                                     {"c128", DataType::ComplexDouble}};
  std::vector<std::pair<Buffer*, Buffer*>> pairs;
  for (const auto& [name, dtype] : kTypes) {
    pairs.emplace_back(m.input(text("in_", name), dtype), m.output(text("out_", name), dtype));
  }
  kir::ParamRef scale = m.scalarParam("s0", DataType::Half);
  kir::ParamRef factor = m.scalarParam("s1", DataType::ComplexFloat);
  kir::ParamRef flag = m.scalarParam("s2", DataType::Bool);
  Scalar n = m.indexParam("i0");
  m.launch(1, n);
  Scalar i = m.bid(n);
  for (auto [in, out] : pairs) {
    if (in->dtype == DataType::Bool) {
      m.body.push_back({kir::Compute{
          BinaryOpType::LogicalAnd, m.at(out, i), {m.at(in, i), flag}, DataType::Bool}});
    } else if (isComplexType(in->dtype)) {
      m.body.push_back(
          {kir::Compute{BinaryOpType::Mul, m.at(out, i), {m.at(in, i), factor}, in->dtype}});
    } else if (isIntegralType(in->dtype)) {
      m.body.push_back({kir::Compute{BinaryOpType::Add,
                                     m.at(out, i),
                                     {m.at(in, i), m.literal(int64_t{3}, in->dtype)},
                                     in->dtype}});
    } else {
      const DataType compute = in->dtype == DataType::Double ? DataType::Double : DataType::Float;
      m.body.push_back(
          {kir::Compute{BinaryOpType::Mul, m.at(out, i), {m.at(in, i), scale}, compute}});
    }
  }
  Buffer* half = pairs[0].second;
  m.body.push_back({kir::Compute{TernaryOpType::Where,
                                 m.at(half, i),
                                 {flag, m.at(pairs[0].first, i), m.literal(0.5, DataType::Half)},
                                 DataType::Half}});
  m.body.push_back({kir::Compute{
      UnaryOpType::Cast, m.at(pairs[1].second, i), {m.at(pairs[5].first, i)}, DataType::Byte}});
  return {"stored_types", m.finish()};
}

/// Constants that have no plain literal, and one that has.
inline Case literals() {
  Maker m("literals");
  const std::pair<DataType, std::vector<PolymorphicValue>> kValues[] = {
      {DataType::Float,
       {0.1, -0.0, 1e30, std::numeric_limits<double>::infinity(),
        -std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN(),
        int64_t{7}}},
      {DataType::Double, {0.1, 5e-324, std::numeric_limits<double>::quiet_NaN()}},
      {DataType::Half, {1.5}},
      {DataType::Int, {int64_t{-1}, INT64_MIN, INT64_MAX}},
      {DataType::Int32, {int64_t{INT32_MIN}}},
      {DataType::UInt64, {int64_t{-1}}},
      {DataType::Char, {int64_t{-128}}},
      {DataType::Bool, {true}},
      {DataType::ComplexDouble, {std::complex<double>(0.5, -2.0)}},
  };
  Scalar zero = m.number(0);
  m.launch(1, m.number(1));
  std::vector<std::pair<Buffer*, const std::vector<PolymorphicValue>*>> outs;
  int number = 0;
  for (const auto& [dtype, values] : kValues) {
    Buffer* out = m.output(text("T", number++), dtype);
    for (size_t i = 0; i < values.size(); ++i) {
      m.body.push_back(
          {kir::Assign{m.at(out, m.number(static_cast<int64_t>(i))), m.literal(values[i], dtype)}});
    }
  }
  Buffer* widened = m.output("T9", DataType::Double);
  m.body.push_back(
      {kir::Compute{BinaryOpType::Add,
                    m.at(widened, zero),
                    {m.literal(0.1, DataType::Float), m.literal(int64_t{1}, DataType::Int)},
                    DataType::Double}});
  return {"literals", m.finish()};
}

/// Index expressions of every kind, an index read from memory, a guarded read and an index as a
/// value.
inline Case indices() {
  Maker m("indices");
  m.kernel.index_type = DataType::Int32;
  Buffer* table = m.input("T0");
  Buffer* rows = m.input("T1", DataType::Int);
  Buffer* out = m.output("T2");
  Buffer* numbers = m.output("T3", DataType::Int);
  Scalar n = m.indexParam("i0");
  Scalar width = m.indexParam("i1");
  m.launch(1, n);
  Scalar i = m.bid(n);
  auto& p = m.pool;
  Scalar row = p.symbol("k0");
  m.body.push_back({kir::LoadIndex{row, m.at(rows, p.div(i, width))}});
  Scalar column = p.symbol("k1");
  m.body.push_back({kir::Let{column, p.mod(i, width)}});
  Scalar swizzled = p.symbol("k2");
  m.body.push_back(
      {kir::Let{swizzled, p.bitXor(p.mod(column, m.number(8)), p.mod(row, m.number(8)))}});
  Scalar inside = p.symbol("p0", nullptr, 0, 1);
  Scalar shifted = p.sub(column, m.number(2));
  m.body.push_back({kir::Let{
      inside, p.logicalAnd(p.less(m.number(-1), shifted), p.logicalNot(p.equal(row, swizzled)))}});
  m.body.push_back({kir::Guarded{m.at(out, i), inside,
                                 m.at(table, p.add(p.mul(row, width), p.max(shifted, m.number(0)))),
                                 m.literal(0.0, DataType::Float)}});
  Scalar chosen =
      p.select(p.logicalOr(p.less(column, row), p.logicalNot(p.less(row, m.number(4)))),
               p.min(column, row), p.sub(m.number(-5), p.mul(p.add(row, m.number(1)), column)));
  m.body.push_back({kir::Assign{m.at(numbers, i), kir::IndexValue{chosen, DataType::Int}}});
  return {"indices", m.finish()};
}

/// One row a block: a serial sum, then a sum over the threads.
inline Case blockReduce() {
  Maker m("block_reduce");
  m.kernel.index_type = DataType::Int32;
  Buffer* t0 = m.input("T0", DataType::Half);
  Buffer* t2 = m.output("T2");
  Buffer* work = m.shared("work", DataType::Byte, 128 * 4, 0);
  Scalar rows = m.indexParam("i0");
  Scalar columns = m.indexParam("i1");
  m.launch(128, rows);
  kir::Monoid sum{kir::Monoid::Kind::Op,
                  BinaryOpType::Add,
                  {DataType::Float},
                  {m.literal(0.0, DataType::Double)}};
  Buffer* t1 = m.local("T1");
  m.body.push_back({kir::Assign{m.reg(t1), sum.identity[0]}});
  Scalar trips = m.pool.ceilDiv(columns, m.number(128));
  Scalar k = m.pool.symbol("k0", trips);
  Scalar column = m.pool.add(m.pool.mul(k, 128), m.tid(128));
  Scalar at = m.pool.add(m.pool.mul(m.bid(rows), columns), column);
  m.body.push_back(m.loop(k, trips, kir::LoopKind::Serial, "T1.r1",
                          {m.ifThen(m.pool.less(column, columns),
                                    {{kir::Combine{sum, {m.reg(t1)}, {m.at(t0, at)}}}})}));
  m.body.push_back({kir::BlockReduce{sum, {m.reg(t1)}, {true, false, false}, work}});
  m.body.push_back(m.ifThen(m.pool.equal(m.tid(128), m.number(0)),
                            {{kir::Assign{m.at(t2, m.bid(rows)), m.reg(t1)}}}));
  return {"block_reduce", m.finish(), true, false};
}

/// Mean and variance of everything: serial, block, grid. With `all`, every block has the result.
inline Case gridReduce(bool all) {
  const std::string name = all ? "grid_all_reduce" : "grid_reduce";
  Maker m(name);
  m.kernel.cooperative = all;
  Buffer* t0 = m.input("T0");
  Buffer* t4 = m.output("T4");
  Buffer* work = m.shared("block_work", DataType::Byte, 128 * 12, 0);
  Buffer* grid_work = m.global("grid_work", DataType::Byte, true, true);
  Buffer* tickets = m.global("tickets", DataType::UInt32, true, true);
  Scalar n = m.indexParam("i0");
  Scalar blocks = m.pool.ceilDiv(n, m.number(128));
  m.launch(128, blocks);
  const kir::Literal zero = m.literal(0.0, DataType::Float);
  kir::Monoid welford{kir::Monoid::Kind::Welford,
                      BinaryOpType::Add,
                      {DataType::Float, DataType::Float, DataType::Int},
                      {zero, zero, m.literal(int64_t{0}, DataType::Int)}};
  std::vector<kir::Ref> state = {m.reg(m.local("T1")), m.reg(m.local("T2")),
                                 m.reg(m.local("T3", DataType::Int))};
  for (size_t i = 0; i < 3; ++i) {
    m.body.push_back({kir::Assign{state[i], welford.identity[i]}});
  }
  Scalar i = m.pool.add(m.pool.mul(m.bid(blocks), 128), m.tid(128));
  m.body.push_back(m.ifThen(m.pool.less(i, n),
                            {{kir::Combine{welford,
                                           state,
                                           {m.at(t0, i), m.literal(int64_t{0}, DataType::Float),
                                            m.literal(int64_t{1}, DataType::Int)}}}}));
  m.body.push_back({kir::BlockReduce{welford, state, {true, false, false}, work}});
  Scalar last = all ? nullptr : m.pool.symbol("last", nullptr, 0, 1);
  m.body.push_back(
      {kir::GridReduce{welford, state, {true, false, false}, grid_work, tickets, all, last}});
  Scalar writes = m.pool.equal(m.tid(128), m.number(0));
  writes = m.pool.logicalAnd(writes, all ? m.pool.equal(m.bid(blocks), m.number(0)) : last);
  kir::Block store;
  store.push_back({kir::Assign{m.at(t4, m.number(0)), state[0]}});
  store.push_back({kir::Compute{
      BinaryOpType::Div, m.at(t4, m.number(1)), {state[1], state[2]}, DataType::Float}});
  m.body.push_back(m.ifThen(writes, std::move(store)));
  if (all) {
    m.body.push_back({kir::Sync{kir::SyncKind::GridBarrier, tickets, "T4 is complete"}});
  }
  return {name, m.finish(), true, false};
}

/// Every kind of random number, each draw with its own counter.
inline Case random() {
  Maker m("random");
  Buffer* f32 = m.output("T0");
  Buffer* half = m.output("T1", DataType::Half);
  Buffer* f64 = m.output("T2", DataType::Double);
  Buffer* range = m.output("T3");
  Buffer* normal = m.output("T4", DataType::BFloat16);
  Buffer* general = m.output("T5", DataType::Double);
  kir::ParamRef seed = m.scalarParam("seed", DataType::Int);
  kir::ParamRef offset = m.scalarParam("offset", DataType::Int);
  kir::ParamRef low = m.scalarParam("low", DataType::Double);
  Scalar n = m.indexParam("i0");
  m.launch(1, n);
  Scalar i = m.bid(n);
  const kir::Literal two = m.literal(2.0, DataType::Double);
  auto draw = [&](RNGOpType type, Buffer* out, int64_t k, std::vector<kir::Operand> parameters) {
    m.body.push_back({kir::Random{.type = type,
                                  .dst = m.at(out, i),
                                  .element = i,
                                  .seed = seed,
                                  .offset = offset,
                                  .draw = k,
                                  .parameters = std::move(parameters)}});
  };
  draw(RNGOpType::Uniform, f32, 0, {});
  draw(RNGOpType::Uniform, half, 1, {});
  draw(RNGOpType::Uniform, f64, 2, {});
  draw(RNGOpType::UniformRange, range, 3, {low, two});
  draw(RNGOpType::NormalStandard, normal, 4, {});
  draw(RNGOpType::NormalGeneral, general, 5, {low, two});
  return {"random", m.finish()};
}

/// Two stages of asynchronous copies into shared memory, reversed on the way out.
inline Case asyncCopy() {
  Maker m("async_copy");
  m.kernel.index_type = DataType::Int32;
  Buffer* t0 = m.input("T0");
  Buffer* t2 = m.output("T2");
  Buffer* t1 = m.shared("T1", DataType::Float, 256, 0);
  Scalar n = m.indexParam("i0");
  Scalar blocks = m.pool.ceilDiv(n, m.number(256));
  m.launch(32, blocks);
  Scalar u = m.pool.symbol("u0", m.number(2));
  auto start = [&](Scalar stage) {
    return m.pool.add(m.pool.mul(stage, 128), m.pool.mul(m.tid(32), 4));
  };
  Scalar base = m.pool.mul(m.bid(blocks), 256);
  Scalar at = m.pool.add(base, start(u));
  kir::Block load;
  load.push_back({kir::CopyAsync{m.at(t1, start(u), 4), m.at(t0, at, 4), m.pool.less(at, n)}});
  load.push_back({kir::AsyncCommit{}});
  m.body.push_back(
      m.loop(u, m.number(2), kir::LoopKind::Unrolled, "stages of T1", std::move(load)));
  m.body.push_back({kir::AsyncWait{0}});
  m.body.push_back(
      {kir::Sync{kir::SyncKind::BlockBarrier, nullptr, "T1 is read by other threads"}});
  Scalar k = m.pool.symbol("k0", m.number(8));
  Scalar element = m.pool.add(m.pool.mul(k, 32), m.tid(32));
  Scalar reversed = m.pool.sub(m.number(255), element);
  Scalar to = m.pool.add(base, element);
  m.body.push_back(
      m.loop(k, m.number(8), kir::LoopKind::Serial, "T2.i0",
             {m.ifThen(m.pool.less(to, n), {{kir::Assign{m.at(t2, to), m.at(t1, reversed)}}})}));
  return {"async_copy", m.finish(), true, false};
}

/// Two stages of bulk loads, each stored in bulk; the last one may be cut off.
inline Case bulkCopy() {
  Maker m("bulk_copy");
  m.kernel.index_type = DataType::Int32;
  Buffer* t0 = m.input("T0");
  Buffer* t2 = m.output("T2");
  Buffer* ready = m.shared("T1_ready", DataType::UInt64, 2, 0);
  Buffer* t1 = m.shared("T1", DataType::Float, 256, 16);
  Buffer* phases = m.local("T1_phases", DataType::UInt32);
  Scalar n = m.indexParam("i0");
  Scalar blocks = m.pool.ceilDiv(n, m.number(256));
  m.launch(32, blocks);
  m.body.push_back({kir::Assign{m.reg(phases), m.literal(0, DataType::UInt32)}});
  m.body.push_back({kir::MBarrierInit{ready}});
  m.body.push_back({kir::Sync{kir::SyncKind::BlockBarrier, nullptr, "the barriers are ready"}});
  Scalar u = m.pool.symbol("u0", m.number(2));
  Scalar k = m.pool.symbol("k0", m.number(2));
  auto from = [&](Scalar stage) {
    return m.pool.add(m.pool.mul(m.bid(blocks), 256), m.pool.mul(stage, 128));
  };
  auto count = [&](Scalar stage) { return m.pool.min(m.number(128), m.pool.sub(n, from(stage))); };
  using enum kir::AsyncKind;
  m.body.push_back(m.loop(
      u, m.number(2), kir::LoopKind::Unrolled, "stages of T1",
      {{kir::BulkCopy{m.at(t1, m.pool.mul(u, 128)), m.at(t0, from(u)), count(u), m.at(ready, u)}},
       {kir::AsyncCommit{BulkLoad, m.at(ready, u)}}}));
  m.body.push_back(
      m.loop(k, m.number(2), kir::LoopKind::Serial, "T2.i0",
             {{kir::AsyncWait{0, BulkLoad, m.at(ready, k), m.reg(phases)}},
              {kir::FenceAsyncProxy{}},
              {kir::BulkCopy{m.at(t2, from(k)), m.at(t1, m.pool.mul(k, 128)), count(k), {}}}}));
  m.body.push_back({kir::AsyncCommit{BulkStore}});
  m.body.push_back({kir::AsyncWait{0, BulkStore}});
  return {"bulk_copy", m.finish(), true, false};
}

/// A row at a time, held in an array of the task, as the CPU does it.
inline Case rows() {
  Maker m("rows");
  Buffer* t0 = m.input("T0");
  Buffer* t3 = m.output("T3");
  Scalar n = m.indexParam("i0");
  m.launch(1, n);
  kir::Monoid largest{kir::Monoid::Kind::Op,
                      BinaryOpType::Max,
                      {DataType::Float},
                      {m.literal(-std::numeric_limits<double>::infinity(), DataType::Float)}};
  Buffer* t1 = m.local("T1", DataType::Float, 64);
  Buffer* t2 = m.local("T2");
  Scalar k = m.pool.symbol("k0", m.number(64));
  Scalar at = m.pool.add(m.pool.mul(m.bid(n), 64), k);
  auto simd = [&](kir::Block block) {
    return m.loop(k, m.number(64), kir::LoopKind::Simd, "i1", std::move(block));
  };
  m.body.push_back(
      simd({{kir::Compute{UnaryOpType::Abs, m.at(t1, k), {m.at(t0, at)}, DataType::Float}}}));
  m.body.push_back({kir::Assign{m.reg(t2), largest.identity[0]}});
  m.body.push_back(m.loop(k, m.number(64), kir::LoopKind::Serial, "r1",
                          {{kir::Combine{largest, {m.reg(t2)}, {m.at(t1, k)}}}}));
  m.body.push_back(simd({{kir::Compute{
      BinaryOpType::Div, m.at(t3, at), {m.at(t1, k), m.reg(t2)}, DataType::Float}}}));
  return {"rows", m.finish(), false, true};
}

/// Of two parts and their join: the elements of both, the place, and whether it is the first one's.
inline std::array<Buffer*, 4> joinedLocals(Maker& m, kir::Block& inside) {
  return {m.local(inside, "T2"), m.local(inside, "T3"), m.local(inside, "T4", DataType::Index),
          m.local(inside, "T5", DataType::Bool)};
}

/// Rows of T0 and, behind them, rows of T1, as the CPU reads them: each through a window.
inline Case joinedRows() {
  Maker m("joined_rows");
  Buffer* t0 = m.input("T0");
  Buffer* t1 = m.input("T1");
  Buffer* t6 = m.output("T6");
  Scalar n = m.indexParam("i0");
  Scalar first = m.indexParam("i1");
  Scalar second = m.indexParam("i2");
  const kir::ParamRef bound = m.scalarParam("s3", DataType::Int);
  m.launch(1, n);
  Scalar row = m.bid(n);
  Scalar width = m.pool.add(first, second);
  Scalar k = m.pool.symbol("k0", width);
  Scalar behind = m.pool.sub(k, first);
  kir::Block inside;
  const auto [t2, t3, t4, t5] = joinedLocals(m, inside);
  const kir::Literal zero = m.literal(0.0, DataType::Float);
  inside.push_back({kir::Guarded{m.reg(t2), m.pool.less(k, first),
                                 m.at(t0, m.pool.add(m.pool.mul(row, first), k)), zero}});
  Scalar in_second =
      m.pool.logicalAnd(m.pool.less(m.number(-1), behind), m.pool.less(behind, second));
  inside.push_back({kir::Guarded{m.reg(t3), in_second,
                                 m.at(t1, m.pool.add(m.pool.mul(row, second), behind)), zero}});
  inside.push_back({kir::Assign{m.reg(t4), kir::IndexValue{k, DataType::Index}}});
  inside.push_back(
      {kir::Compute{BinaryOpType::GT, m.reg(t5), {bound, m.reg(t4)}, DataType::Index}});
  inside.push_back({kir::Compute{TernaryOpType::Where,
                                 m.at(t6, m.pool.add(m.pool.mul(row, width), k)),
                                 {m.reg(t5), m.reg(t2), m.reg(t3)},
                                 DataType::Float}});
  m.body.push_back(m.loop(k, width, kir::LoopKind::Simd, "i3", std::move(inside)));
  return {"joined_rows", m.finish(), false, true};
}

/// Two parts of known widths, joined: a loop for each.
inline Case joinedParts() {
  Maker m("joined_parts");
  Buffer* t0 = m.input("T0");
  Buffer* t1 = m.input("T1");
  Buffer* t6 = m.output("T6");
  m.launch(1, m.number(1));
  Scalar k = m.pool.symbol("k0", m.number(96));
  kir::Block inside;
  const auto [t2, t3, t4, t5] = joinedLocals(m, inside);
  const kir::Literal zero = m.literal(0.0, DataType::Float);
  inside.push_back({kir::Guarded{m.reg(t2), m.pool.less(k, m.number(32)), m.at(t0, k), zero}});
  inside.push_back({kir::Guarded{m.reg(t3), m.pool.less(m.number(31), k),
                                 m.at(t1, m.pool.sub(k, m.number(32))), zero}});
  inside.push_back({kir::Assign{m.reg(t4), kir::IndexValue{k, DataType::Index}}});
  inside.push_back({kir::Compute{
      BinaryOpType::LT, m.reg(t5), {m.reg(t4), m.literal(32, DataType::Int)}, DataType::Index}});
  inside.push_back({kir::Compute{
      TernaryOpType::Where, m.at(t6, k), {m.reg(t5), m.reg(t2), m.reg(t3)}, DataType::Float}});
  m.body.push_back(m.loop(k, m.number(96), kir::LoopKind::Simd, "i0", std::move(inside)));
  return {"joined_parts", m.finish(), false, true};
}

/// Three parts stacked along a short axis, of which each is computed once.
inline Case stackedParts() {
  Maker m("stacked_parts");
  Buffer* t0 = m.input("T0");
  Buffer* t9 = m.output("T9");
  m.launch(1, m.number(1));
  Scalar k = m.pool.symbol("k0", m.number(3));
  Scalar i = m.pool.symbol("k1", m.number(64));
  kir::Block inside;
  Buffer* parts[] = {m.local(inside, "T1"), m.local(inside, "T2"), m.local(inside, "T3")};
  const UnaryOpType operations[] = {UnaryOpType::Neg, UnaryOpType::Abs, UnaryOpType::Sqrt};
  for (int part = 0; part < 3; ++part) {
    inside.push_back({kir::Compute{operations[part],
                                   m.reg(parts[part]),
                                   {part == 0 ? m.at(t0, i) : m.reg(parts[part - 1])},
                                   DataType::Float}});
  }
  Buffer* joined = parts[2];
  for (int part = 1; part >= 0; --part) {
    Buffer* place = m.local(inside, text("T", 4 + part), DataType::Index);
    Buffer* before = m.local(inside, text("T", 6 + part), DataType::Bool);
    Buffer* chosen = m.local(inside, text("T", 10 + part));
    inside.push_back({kir::Assign{m.reg(place), kir::IndexValue{k, DataType::Index}}});
    inside.push_back({kir::Compute{BinaryOpType::LT,
                                   m.reg(before),
                                   {m.reg(place), m.literal(part + 1, DataType::Int)},
                                   DataType::Index}});
    inside.push_back({kir::Compute{TernaryOpType::Where,
                                   m.reg(chosen),
                                   {m.reg(before), m.reg(parts[part]), m.reg(joined)},
                                   DataType::Float}});
    joined = chosen;
  }
  inside.push_back(
      {kir::Assign{m.at(t9, m.pool.add(m.pool.mul(i, m.number(3)), k)), m.reg(joined)}});
  kir::Block around;
  around.push_back(m.loop(i, m.number(64), kir::LoopKind::Simd, "i0", std::move(inside)));
  m.body.push_back(m.loop(k, m.number(3), kir::LoopKind::Unrolled, "i1", std::move(around)));
  return {"stacked_parts", m.finish(), false, true};
}

/// Names longer than a line, to see where it breaks.
inline Case longLines() {
  Maker m("long_lines");
  m.kernel.header.push_back(
      "a comment that goes on and on, so that it has to be continued on the line below, at a "
      "space, as text is, "
      "and ends there");
  Buffer* t0 = m.input("T0");
  Buffer* t1 = m.output("T1");
  std::vector<Scalar> extents;
  for (int d = 0; d < 6; ++d) {
    extents.push_back(m.indexParam(text("a_rather_long_name_of_extent_", d)));
  }
  m.launch(1, extents[0]);
  Scalar i = m.bid(extents[0]);
  Scalar index = i;
  Scalar condition = m.pool.one();
  for (Scalar extent : extents) {
    index = m.pool.add(m.pool.mul(i, extent), m.pool.div(index, extent));
    condition = m.pool.logicalAnd(condition, m.pool.less(m.pool.mul(i, 3), extent));
  }
  m.body.push_back(m.ifThen(condition, {{kir::Assign{m.at(t1, index), m.at(t0, i)}}}));
  return {"long_lines", m.finish()};
}

/// Reads at computed places in two loops: under a condition that no iteration changes, and under
/// one that each does.
inline Case gathers() {
  Maker m("gathers");
  Buffer* t0 = m.input("T0");
  Buffer* t1 = m.output("T1");
  Buffer* t2 = m.output("T2");
  Scalar n = m.indexParam("i0");
  m.launch(1, m.number(1));
  const auto add = [&](const std::string& name, const Buffer* to, bool in_each) {
    Scalar k = m.pool.symbol(name, m.number(64));
    Scalar condition = m.pool.less(in_each ? k : n, m.number(in_each ? 50 : 1));
    kir::Block inside;
    inside.push_back({kir::Compute{
        UnaryOpType::Neg, m.at(to, k), {m.at(t0, m.pool.div(k, m.number(32)))}, DataType::Float}});
    m.body.push_back(m.loop(k, m.number(64), kir::LoopKind::Serial, to->name,
                            {m.ifThen(condition, std::move(inside))}));
  };
  add("k0", t1, false);
  add("k1", t2, true);
  return {"gathers", m.finish()};
}

inline std::vector<Case> all() {
  std::vector<Case> cases;
  auto add = [&](Case made, bool cuda, bool host) {
    made.cuda = cuda;
    made.host = host;
    cases.push_back(std::move(made));
  };
  add(pointwise("pointwise", DataType::Int32, 128), true, false);
  add(pointwise("pointwise_64", DataType::Int, 128), true, false);
  add(pointwise("pointwise_host", DataType::Int, 1), false, true);
  cases.push_back(vectors());
  cases.back().host = false;
  cases.push_back(storedTypes());
  cases.push_back(literals());
  cases.push_back(indices());
  cases.push_back(blockReduce());
  cases.push_back(gridReduce(false));
  cases.push_back(gridReduce(true));
  cases.push_back(random());
  cases.push_back(asyncCopy());
  cases.push_back(bulkCopy());
  cases.push_back(rows());
  cases.push_back(joinedRows());
  cases.push_back(stackedParts());
  cases.push_back(joinedParts());
  cases.push_back(longLines());
  add(gathers(), false, true);
  return cases;
}

}  // namespace codegen_kernels
