// Kernels scheduled by hand against a copy of the same bytes. Each is checked against the reference
// at a small size before it is timed.
#include <cstring>
#include <memory>

#include "table.h"
#include <fusion.h>
#include <ir/builder.h>
#include <ops/all_ops.h>
#include <runtime/executor.h>
#include <runtime/validation.h>
#include <scheduler/utils.h>
#include <support/text.h>

using namespace nvfuser;
using benchmark::Row;

namespace {

struct Program {
  std::string name;
  std::function<void()> define;  ///< in the active Fusion
  std::vector<std::vector<int64_t>> sizes;
  DataType dtype;
};

/// Copies the reference tensor's loops and bindings to all tensors and inlines.
void scheduleLike(TensorView* reference) {
  TransformPropagator propagator(reference);
  MaxLogicalDomainInfoSpanningTree(reference).traverse(&propagator);
  scheduler_utils::parallelizeAllLike(reference);
}

/// A pointwise fusion of contiguous tensors in 16-byte accesses: [blocks, unroll, threads, vector].
void schedulePointwise(const std::vector<TensorView*>& inputs, TensorView* result, int64_t threads,
                       int64_t unroll) {
  std::vector<TensorView*> vectors;
  for (TensorView* in : inputs) {
    vectors.push_back(in->cacheAfter());
  }
  result->cacheBefore();
  vectors.push_back(result);
  TensorView* out = result;
  while (out->nDims() > 1) {
    out->merge(0);
  }
  out->split(0, 16 / dataTypeSizeByte(result->dtype()))->split(0, threads)->split(0, unroll);
  out->axis(0)->parallelize(ParallelType::BIDx);
  out->axis(1)->parallelize(ParallelType::Unroll);
  out->axis(2)->parallelize(ParallelType::TIDx);
  scheduleLike(out);
  for (TensorView* tv : vectors) {
    tv->axis(-1)->parallelize(ParallelType::Vectorize);
  }
  // All loads of a thread before its arithmetic: only the block is shared.
  inlineMost();
  for (TensorView* tv : vectors) {
    if (tv != result) {
      tv->inlineAt(1);
    }
  }
}

void copy(DataType dtype, int64_t threads, int64_t unroll) {
  TensorView* in = makeContigTensor(1, dtype);
  FusionGuard::getCurFusion()->addInput(in);
  TensorView* out = set(in);
  FusionGuard::getCurFusion()->addOutput(out);
  schedulePointwise({in}, out, threads, unroll);
}

void addMul(DataType dtype) {
  Fusion* fusion = FusionGuard::getCurFusion();
  TensorView* x = makeContigTensor(2, dtype);
  TensorView* y = makeContigTensor(2, dtype);
  fusion->addInput(x);
  fusion->addInput(y);
  TensorView* z =
      mul(add(castOp(DataType::Float, x), IrBuilder::create<Val>(2.0)), castOp(DataType::Float, y));
  TensorView* out = castOp(dtype, z);
  if (dtype == DataType::Float) {
    out = set(out);
  }
  fusion->addOutput(out);
  schedulePointwise({x, y}, out, 128, 2);
}

void rowSum() {
  Fusion* fusion = FusionGuard::getCurFusion();
  TensorView* x = makeContigTensor(2);
  fusion->addInput(x);
  TensorView* out = sum(x, {1});
  fusion->addOutput(out);
  TensorView* vector = x->cacheAfter();
  // [rows, steps, 256 threads, 4]
  out->split(1, 4)->split(1, 256);
  TensorView* partial = out->rFactor({1, 3});
  partial->axis(0)->parallelize(ParallelType::BIDx);
  partial->axis(2)->parallelize(ParallelType::TIDx);
  scheduleLike(partial);
  vector->axis(-1)->parallelize(ParallelType::Vectorize);
  inlineMost();
}

/// Through shared memory, no thread touches the data: loads run `prefetch` tiles ahead of stores.
void bulkCopy(int64_t tile, int64_t stages, int64_t prefetch, int64_t tiles_a_block) {
  TensorView* in = makeContigTensor(1);
  FusionGuard::getCurFusion()->addInput(in);
  TensorView* out = set(in);
  FusionGuard::getCurFusion()->addOutput(out);
  TensorView* staged = in->cacheAfter(LoadStoreOpType::CpAsyncBulk);
  staged->setMemoryType(MemoryType::Shared);
  for (TensorView* tv : {staged, out}) {
    tv->split(0, tile)->split(0, tiles_a_block);
    tv->axis(0)->parallelize(ParallelType::BIDx);
    tv->axis(2)->parallelize(ParallelType::Bulk);
  }
  staged->inlineAt(2);
  staged->circularBuffer(stages, prefetch);
}

/// Whole rows in shared memory: while one is summed, the next ones are on their way.
void bulkRowSum(int64_t stages, int64_t rows_a_block,
                const CircularBufferType& type = Pipelined(false)) {
  Fusion* fusion = FusionGuard::getCurFusion();
  TensorView* x = makeContigTensor(2);
  fusion->addInput(x);
  TensorView* out = sum(x, {1});
  fusion->addOutput(out);
  TensorView* rows = x->cacheAfter(LoadStoreOpType::CpAsyncBulk);
  rows->setMemoryType(MemoryType::Shared);
  // [blocks, rows, steps, 256 threads]
  out->split(1, 256)->split(0, rows_a_block);
  TensorView* partial = out->rFactor({2});
  partial->axis(0)->parallelize(ParallelType::BIDx);
  partial->axis(3)->parallelize(ParallelType::TIDx);
  scheduleLike(partial);
  rows->axis(3)->parallelize(ParallelType::Serial);
  rows->merge(2);
  rows->axis(2)->parallelize(ParallelType::Bulk);
  inlineMost();
  rows->inlineAt(2);
  rows->circularBuffer(stages, -1, type);
}

/// On the CPU: a task a row, whose threads are lanes of vectors.
void rowByLanes(bool largest) {
  Fusion* fusion = FusionGuard::getCurFusion();
  TensorView* x = makeContigTensor(2);
  fusion->addInput(x);
  TensorView* out = largest ? max(x, {1}) : sum(x, {1});
  fusion->addOutput(out);
  out->axis(0)->parallelize(ParallelType::BIDx);
  out->axis(1)->parallelize(ParallelType::TIDx);
}

void softmaxInRegisters(int64_t row) {
  Fusion* fusion = FusionGuard::getCurFusion();
  TensorView* x = makeContigConcreteTensor({-1, row});
  fusion->addInput(x);
  TensorView* held = set(x);
  TensorView* top = broadcast(max(held, {1}), {false, true});
  TensorView* e = exp(sub(held, top));
  TensorView* sums = sum(e, {1});
  TensorView* out = div(e, broadcast(sums, {false, true}));
  fusion->addOutput(out);
  TensorView* last = out->cacheBefore();
  out->split(1, 4)->split(1, 256);
  out->axis(0)->parallelize(ParallelType::BIDx);
  out->axis(2)->parallelize(ParallelType::TIDx);
  scheduleLike(out);
  held->axis(-1)->parallelize(ParallelType::Vectorize);
  out->axis(-1)->parallelize(ParallelType::Vectorize);
  inlineMost();
  held->inlineAt(1);
  e->inlineAt(1);
  last->inlineAt(2);
}

void tiledTranspose(DataType dtype) {
  Fusion* fusion = FusionGuard::getCurFusion();
  TensorView* in = makeContigTensor(2, dtype);
  fusion->addInput(in);
  TensorView* tile = set(in);
  TensorView* out = transpose(tile, 0, 1);
  fusion->addOutput(out);
  // Tiles of 32 x 32, 8 rows of threads with 4 elements each.
  out->split(0, 32)->split(2, 32)->reorder({{1, 2}, {2, 1}});
  TransformPropagator propagator(out);
  MaxLogicalDomainInfoSpanningTree(out).traverse(&propagator);
  tile->reorder({{2, 3}, {3, 2}});
  tile->setMemoryType(MemoryType::Shared);
  tile->swizzle(SwizzleType::XOR, 2, 3);
  for (TensorView* tv : {tile, out}) {
    tv->split(2, 8);  // [.., 4, 8, 32]
    tv->axis(0)->parallelize(ParallelType::BIDx);
    tv->axis(1)->parallelize(ParallelType::BIDy);
    tv->axis(2)->parallelize(ParallelType::Unroll);
    tv->axis(3)->parallelize(ParallelType::TIDy);
    tv->axis(4)->parallelize(ParallelType::TIDx);
  }
  tile->inlineAt(2);
}

/// The same by the copy engine: tiles of 32 x 128 bytes come swizzled, so columns are read without
/// conflicts.
void boxTranspose(DataType dtype) {
  Fusion* fusion = FusionGuard::getCurFusion();
  TensorView* in = makeContigTensor(2, dtype);
  fusion->addInput(in);
  TensorView* out = transpose(in, 0, 1);
  fusion->addOutput(out);
  TensorView* tile = in->cacheAfter(LoadStoreOpType::CpAsyncBulkTensorTile);
  tile->setMemoryType(MemoryType::Shared);
  const int64_t columns = 128 / dataTypeSizeByte(dtype);
  tile->split(1, columns)->split(0, 32);
  tile->reorder({{1, 2}, {2, 1}});  // [i0/32, i1/columns, 32, columns]
  tile->applyMmaSwizzleForTMALoad(MmaInputSmemSwizzle::B128);
  out->split(1, 32)->split(0, columns);
  out->reorder({{0, 1}, {1, 2}, {2, 0}});  // [i0/32, i1/columns, columns, 32]
  out->split(2, 8);
  out->axis(2)->parallelize(ParallelType::Unroll);
  out->axis(3)->parallelize(ParallelType::TIDy);
  out->axis(4)->parallelize(ParallelType::TIDx);
  for (TensorView* tv : {tile, out}) {
    tv->axis(0)->parallelize(ParallelType::BIDx);
    tv->axis(1)->parallelize(ParallelType::BIDy);
  }
  tile->inlineAt(2);
}

std::vector<Program> programs(bool gpu) {
  const int64_t big = gpu ? 128 << 20 : 16 << 20;  // elements of float
  const int64_t rows = gpu ? 16384 : 1024;
  std::vector<Program> all;
  for (int64_t unroll : {1, 2, 4}) {
    for (int64_t threads : {128, 256, 512}) {
      all.push_back({text("copy float, ", threads, " threads, unroll ", unroll),
                     [=] { copy(DataType::Float, threads, unroll); },
                     {{big}},
                     DataType::Float});
    }
  }
  all.push_back({"copy bfloat16, 128 threads, unroll 2",
                 [] { copy(DataType::BFloat16, 128, 2); },
                 {{big * 2}},
                 DataType::BFloat16});
  all.push_back({"(x + 2) * y float",
                 [] { addMul(DataType::Float); },
                 {{rows, 8192}, {rows, 8192}},
                 DataType::Float});
  all.push_back({"(x + 2) * y bfloat16",
                 [] { addMul(DataType::BFloat16); },
                 {{rows, 8192}, {rows, 8192}},
                 DataType::BFloat16});
  all.push_back({"row sum float", rowSum, {{rows, 8192}}, DataType::Float});
  for (int64_t tile : {2048, 4096}) {
    all.push_back({text("copy float by bulk copies, ", tile * 4, " bytes, 6 stages"),
                   [=] { bulkCopy(tile, 6, 3, 32); },
                   {{big}},
                   DataType::Float});
  }
  for (int64_t stages : {2, 3}) {
    all.push_back({text("row sum float by bulk copies, ", stages, " stages"),
                   [=] { bulkRowSum(stages, 16); },
                   {{rows, 8192}},
                   DataType::Float});
  }
  all.push_back({"row sum float, 3 stages that threads of their own load",
                 [] { bulkRowSum(3, 16, WarpSpecialized(ParallelType::TIDy)); },
                 {{rows, 8192}},
                 DataType::Float});
  for (DataType dtype : {DataType::Float, DataType::BFloat16}) {
    all.push_back({text("transpose ", dtype, " through swizzled boxes"),
                   [=] { boxTranspose(dtype); },
                   {{rows, 8192}},
                   dtype});
  }
  if (!gpu) {
    all.push_back(
        {"row sum float, lanes", [] { rowByLanes(false); }, {{rows, 8192}}, DataType::Float});
    all.push_back(
        {"row maximum float, lanes", [] { rowByLanes(true); }, {{rows, 8192}}, DataType::Float});
  }
  all.push_back({"softmax float, row of 8192 in registers",
                 [] { softmaxInRegisters(8192); },
                 {{rows, 8192}},
                 DataType::Float});
  all.push_back({"transpose float, 32 x 32 tiles",
                 [] { tiledTranspose(DataType::Float); },
                 {{rows, 8192}},
                 DataType::Float});
  all.push_back({"transpose bfloat16, 32 x 32 tiles",
                 [] { tiledTranspose(DataType::BFloat16); },
                 {{rows, 8192}},
                 DataType::BFloat16});
  return all;
}

KernelArgumentHolder makeInputs(const Program& program, Device& device, int64_t first_size) {
  KernelArgumentHolder arguments;
  uint64_t seed = 1;
  for (std::vector<int64_t> sizes : program.sizes) {
    if (first_size > 0) {
      sizes[0] = first_size;
    }
    arguments.push(benchmark::randomTensor(sizes, program.dtype, seed++, device));
  }
  return arguments;
}

double bytesOf(const KernelArgumentHolder& arguments) {
  double bytes = 0;
  for (const KernelArgument& argument : arguments) {
    const Tensor& tensor = argument.tensor();
    bytes += static_cast<double>(tensor.numel() * dataTypeSizeByte(tensor.dtype()));
  }
  return bytes;
}

Row run(const Program& program, Device& device) {
  Fusion fusion;
  FusionGuard guard(&fusion);
  program.define();
  KernelExecutor executor;
  const KernelArgumentHolder small =
      makeInputs(program, device, program.sizes[0].size() == 1 ? 4096 : 32);
  executor.compile(&fusion, small);
  testValidate(&fusion, executor.run(small), small, __LINE__, __FILE__, program.name);
  if (std::getenv("BENCH_PRINT") != nullptr) {
    std::printf("%s\n", executor.compiledKernel()->kernelString().c_str());
  }
  const KernelArgumentHolder large = makeInputs(program, device, 0);
  const KernelArgumentHolder outputs = executor.run(large);
  return benchmark::measure(program.name, device, bytesOf(large) + bytesOf(outputs),
                            [&](int repeats) { return executor.time(large, outputs, repeats); });
}

}  // namespace

int main(int argc, char** argv) {
  Device* device = cudaDevice(0);
  if (device == nullptr || (argc > 1 && std::strcmp(argv[1], "--device=cpu") == 0)) {
    device = &cpuDevice();
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  std::printf("%s\n", device->properties().name.c_str());
  std::vector<Row> rows;
  int failures = 0;
  for (const Program& program : programs(device->kind() == DeviceKind::Cuda)) {
    try {
      rows.push_back(run(program, *device));
    } catch (const std::exception& error) {
      ++failures;
      std::printf("%s: FAILED: %s\n", program.name.c_str(), error.what());
    }
  }
  benchmark::print(std::move(rows));
  return failures;
}
