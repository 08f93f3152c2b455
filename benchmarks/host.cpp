// What the automatic schedulers make of element-wise fusions and row reductions on the CPU, against
// a copy of the same bytes; then what a call costs the host, from one thread and from several. A
// name given as argument runs the cases that contain it ("a call" for the latter).
#include <atomic>
#include <cstring>
#include <memory>
#include <thread>

#include "table.h"
#include <fusion.h>
#include <ir/builder.h>
#include <ops/all_ops.h>
#include <runtime/fusion_executor_cache.h>
#include <support/text.h>

using namespace nvfuser;
using benchmark::Row;

namespace {

struct Case {
  std::string name;
  std::function<void(Fusion*, DataType)> define;
  std::vector<std::vector<int64_t>> sizes;
  DataType dtype;
};

std::string_view typeName(DataType dtype) {
  return dtype == DataType::Float ? "float" : dtype == DataType::Half ? "half" : "bfloat16";
}

TensorView* input(Fusion* fusion, int64_t dims, DataType dtype) {
  TensorView* tv = makeContigTensor(dims, dtype);
  fusion->addInput(tv);
  return dtype == DataType::Float ? tv : castOp(DataType::Float, tv);
}

void output(Fusion* fusion, TensorView* tv, DataType dtype) {
  fusion->addOutput(dtype == tv->dtype() ? tv : castOp(dtype, tv));
}

void product(Fusion* fusion, DataType dtype) {
  TensorView* x = input(fusion, 2, dtype);
  TensorView* y = input(fusion, 2, dtype);
  output(fusion, mul(x, y), dtype);
}

TensorView* row(TensorView* vector) { return broadcast(vector, {true, false}); }

void biasGelu(Fusion* fusion, DataType dtype) {
  TensorView* x = input(fusion, 2, dtype);
  TensorView* bias = input(fusion, 1, dtype);
  output(fusion, tanh_gelu(add(x, row(bias))), dtype);
}

void siluMul(Fusion* fusion, DataType dtype) {
  TensorView* x = input(fusion, 2, dtype);
  TensorView* y = input(fusion, 2, dtype);
  output(fusion, mul(silu(x), y), dtype);
}

void scaleBiasRelu(Fusion* fusion, DataType dtype) {
  TensorView* x = input(fusion, 2, dtype);
  TensorView* scale = input(fusion, 1, dtype);
  TensorView* bias = input(fusion, 1, dtype);
  output(fusion, relu(add(mul(x, row(scale)), row(bias))), dtype);
}

void transposedAdd(Fusion* fusion, DataType dtype) {
  TensorView* x = input(fusion, 2, dtype);
  TensorView* y = input(fusion, 2, dtype);
  output(fusion, add(transpose(x, 0, 1), y), dtype);
}

std::function<void(Fusion*, DataType)> castTo(DataType to) {
  return [to](Fusion* fusion, DataType from) {
    TensorView* x = makeContigTensor(2, from);
    fusion->addInput(x);
    fusion->addOutput(castOp(to, x));
  };
}

std::vector<Case> cases() {
  const DataType f32 = DataType::Float;
  const DataType bf16 = DataType::BFloat16;
  const DataType f16 = DataType::Half;
  std::vector<Case> all;
  for (int64_t rows : {int64_t{256}, int64_t{2048}}) {
    const std::string size = text(" ", rows, "x8192");
    const std::vector<int64_t> matrix{rows, 8192};
    for (DataType dtype : {f32, bf16, f16}) {
      const std::string suffix = text(" ", typeName(dtype), size);
      all.push_back({"mul" + suffix, product, {matrix, matrix}, dtype});
      all.push_back({"bias, tanh-gelu" + suffix, biasGelu, {matrix, {8192}}, dtype});
      all.push_back({"silu, mul" + suffix, siluMul, {matrix, matrix}, dtype});
      all.push_back({"scale, bias, relu" + suffix, scaleBiasRelu, {matrix, {8192}, {8192}}, dtype});
    }
    all.push_back({"cast float to bfloat16" + size, castTo(bf16), {matrix}, f32});
    all.push_back({"cast bfloat16 to float" + size, castTo(f32), {matrix}, bf16});
    all.push_back({"cast float to half" + size, castTo(f16), {matrix}, f32});
    all.push_back({"cast half to float" + size, castTo(f32), {matrix}, f16});
  }
  all.push_back({"mul float 2047x4099", product, {{2047, 4099}, {2047, 4099}}, f32});
  all.push_back({"bias, tanh-gelu bfloat16 2047x1027", biasGelu, {{2047, 1027}, {1027}}, bf16});
  all.push_back({"mul float 16x1024", product, {{16, 1024}, {16, 1024}}, f32});
  all.push_back({"mul float 1x1024", product, {{1, 1024}, {1, 1024}}, f32});
  all.push_back(
      {"transposed add float 1024x4096", transposedAdd, {{4096, 1024}, {1024, 4096}}, f32});
  return all;
}

Row run(const Case& what, Device& device) {
  auto fusion = std::make_unique<Fusion>();
  {
    FusionGuard guard(fusion.get());
    what.define(fusion.get(), what.dtype);
  }
  FusionExecutorCache cache(std::move(fusion));
  KernelArgumentHolder arguments;
  uint64_t seed = 1;
  for (const std::vector<int64_t>& sizes : what.sizes) {
    arguments.push(benchmark::randomTensor(sizes, what.dtype, seed++, device));
  }
  const KernelArgumentHolder outputs = cache.runFusionWithInputs(arguments);
  if (std::getenv("BENCH_PRINT") != nullptr) {
    std::printf("%s%s\n", cache.report().c_str(), cache.getMostRecentCode()[0].c_str());
  }
  check(cache.numKernels() == 1, text(what.name, " is one kernel"));
  double bytes = 0;
  const KernelArgumentHolder* both[] = {&arguments, &outputs};
  for (const KernelArgumentHolder* holder : both) {
    for (const KernelArgument& argument : *holder) {
      const Tensor& tensor = argument.tensor();
      bytes += static_cast<double>(tensor.numel() * dataTypeSizeByte(tensor.dtype()));
    }
  }
  return benchmark::measure(what.name, device, bytes, [&](int repeats) {
    std::vector<double> times;
    for (int i = 0; i < repeats; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      cache.runFusionWithInputs(arguments);
      const std::chrono::duration<double, std::milli> took =
          std::chrono::steady_clock::now() - begin;
      times.push_back(took.count());
    }
    return times;
  });
}

/// Microseconds from one warm call of a thread to its next, all threads calling one cache with
/// tensors of `rows` x 1024 (each of another width unless `same_key`): the least of 400 rounds,
/// from the first begin to the last end.
double callMicroseconds(int threads, bool same_key, int64_t rows, Device& device) {
  using Clock = std::chrono::steady_clock;
  constexpr int kRounds = 400;
  constexpr int kCalls = 300;  // short rounds: some are not disturbed
  auto fusion = std::make_unique<Fusion>();
  {
    FusionGuard guard(fusion.get());
    product(fusion.get(), DataType::Float);
  }
  FusionExecutorCache cache(std::move(fusion));
  std::vector<KernelArgumentHolder> arguments;
  for (int thread = 0; thread < threads; ++thread) {
    const int64_t columns = same_key ? 1024 : 1024 - 16 * thread;
    const Tensor x = Tensor::ones({rows, columns}, DataType::Float, device);
    arguments.push_back({x, x.clone()});
    cache.runFusionWithInputs(arguments.back());
  }
  double least = 1e9;
  for (int round = 0; round < kRounds; ++round) {
    std::atomic<int> waiting{threads};
    std::vector<std::thread> callers;
    const auto count = static_cast<size_t>(threads);
    std::vector<Clock::time_point> begins(count);
    std::vector<Clock::time_point> ends(count);
    for (size_t thread = 0; thread < count; ++thread) {
      callers.emplace_back([&, thread] {
        --waiting;
        while (waiting > 0) {
          std::this_thread::yield();
        }
        begins[thread] = Clock::now();
        for (int i = 0; i < kCalls; ++i) {
          cache.runFusionWithInputs(arguments[thread]);
        }
        ends[thread] = Clock::now();
      });
    }
    for (std::thread& caller : callers) {
      caller.join();
    }
    const std::chrono::duration<double, std::micro> took =
        *std::max_element(ends.begin(), ends.end()) -
        *std::min_element(begins.begin(), begins.end());
    least = std::min(least, took.count() / kCalls);
  }
  return least;
}

void printCalls(Device& device) {
  std::printf("\n%-56s %8s\n", "a call, warm", "us");
  for (int64_t rows : {1, 16, 64}) {
    for (int threads : {1, 2, 4}) {
      for (bool same_key : {true, false}) {
        if (threads == 1 && !same_key) {
          continue;
        }
        const std::string what =
            text("mul float ", rows, "x1024, ", threads, threads == 1 ? " thread" : " threads",
                 same_key ? "" : ", each another width");
        std::printf("%-56s %8.2f\n", what.c_str(),
                    callMicroseconds(threads, same_key, rows, device));
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  Device& device = cpuDevice();
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  std::printf("%s\n", device.properties().name.c_str());
  std::vector<Row> rows;
  int failures = 0;
  for (const Case& what : cases()) {
    if (argc > 1 && argv[1][0] != '-' && what.name.find(argv[1]) == std::string::npos) {
      continue;
    }
    try {
      rows.push_back(run(what, device));
    } catch (const std::exception& error) {
      ++failures;
      std::printf("%s: FAILED: %s\n", what.name.c_str(), error.what());
    }
  }
  if (!rows.empty()) {
    benchmark::print(std::move(rows));
  }
  if (argc <= 1 || argv[1][0] == '-' || std::string_view(argv[1]) == "a call") {
    printCalls(device);
  }
  return failures;
}
