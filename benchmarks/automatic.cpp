// Fusions without a schedule against a copy of the same bytes, the slowest first. Each is checked
// against the reference at a small size before it is timed.
//
//   bench_automatic [--device=cpu] [--only=TEXT] [--report] [--kernels]
#include <cstring>
#include <memory>

#include "table.h"
#include <fusion.h>
#include <ir/builder.h>
#include <ops/all_ops.h>
#include <runtime/fusion_executor_cache.h>
#include <runtime/validation.h>
#include <support/text.h>

using namespace nvfuser;
using benchmark::Row;

namespace {

struct Program {
  std::string name;
  std::function<void(Fusion&)> define;
  std::vector<std::vector<int64_t>> sizes;
  DataType dtype;
  /// What takes the first size's place; 0: no size of an input is larger than `kMostWhenChecked`.
  int64_t rows_when_checked = 3;
};

constexpr int64_t kMostWhenChecked = 1030;

struct Settings {
  bool report = false;
  bool kernels = false;
  std::string only;
};

TensorView* input(Fusion& fusion, int64_t rank, DataType dtype) {
  TensorView* tv = makeContigTensor(rank, dtype);
  fusion.addInput(tv);
  return tv;
}

void output(Fusion& fusion, TensorView* tv, DataType dtype) {
  fusion.addOutput(tv->dtype() == dtype ? tv : castOp(dtype, tv));
}

TensorView* wide(TensorView* tv) {
  return tv->dtype() == DataType::Float ? tv : castOp(DataType::Float, tv);
}

Val* eps() { return IrBuilder::create<Val>(1e-5); }

std::string sizeText(const std::vector<int64_t>& sizes) { return join(sizes, "x"); }

void addNorms(std::vector<Program>& all, std::vector<int64_t> sizes, DataType dtype) {
  const std::string of = text(" ", sizeText(sizes), " ", dtype);
  const int64_t row = sizes[1];
  all.push_back(
      {"softmax" + of,
       [=](Fusion& fusion) { output(fusion, softmax(input(fusion, 2, dtype), 1), dtype); },
       {sizes},
       dtype});
  all.push_back({"layer norm" + of,
                 [=](Fusion& fusion) {
                   TensorView* x = input(fusion, 2, dtype);
                   TensorView* w = input(fusion, 1, dtype);
                   TensorView* b = input(fusion, 1, dtype);
                   output(fusion, layer_norm(x, 1, w, b, eps()).output, dtype);
                 },
                 {sizes, {row}, {row}},
                 dtype});
  all.push_back({"RMS norm" + of,
                 [=](Fusion& fusion) {
                   TensorView* x = input(fusion, 2, dtype);
                   TensorView* w = input(fusion, 1, dtype);
                   output(fusion, rms_norm(x, 1, w, eps()).output, dtype);
                 },
                 {sizes, {row}},
                 dtype});
}

void addSums(std::vector<Program>& all, std::vector<int64_t> sizes, DataType dtype) {
  const std::string of = text(" ", sizeText(sizes), " ", dtype);
  for (int64_t axis : {1, 0}) {
    all.push_back(
        {(axis == 1 ? "sum of rows" : "sum of columns") + of,
         [=](Fusion& fusion) { output(fusion, sum(wide(input(fusion, 2, dtype)), {axis}), dtype); },
         {sizes},
         dtype});
  }
  all.push_back(
      {"sum of all" + of,
       [=](Fusion& fusion) { fusion.addOutput(sum(wide(input(fusion, 2, dtype)), {0, 1})); },
       {sizes},
       dtype});
}

void addNormGradients(std::vector<Program>& all, std::vector<int64_t> sizes, DataType dtype) {
  const std::string of = text(" ", sizeText(sizes), " ", dtype);
  const int64_t row = sizes[1];
  all.push_back({"layer norm backward" + of,
                 [=](Fusion& fusion) {
                   TensorView* dy = input(fusion, 2, dtype);
                   TensorView* x = input(fusion, 2, dtype);
                   TensorView* mean = castOp(DataType::Float, input(fusion, 1, dtype));
                   TensorView* rstd = castOp(DataType::Float, input(fusion, 1, dtype));
                   TensorView* w = input(fusion, 1, dtype);
                   TensorView* b = input(fusion, 1, dtype);
                   auto result = layer_norm_backward(
                       dy, x, std::vector<int64_t>{-1}, broadcast(mean, {false, true}),
                       broadcast(rstd, {false, true}), w, b, {true, true, true});
                   output(fusion, result.grad_input, dtype);
                   output(fusion, result.grad_weight, dtype);
                   output(fusion, result.grad_bias, dtype);
                 },
                 {sizes, sizes, {sizes[0]}, {sizes[0]}, {row}, {row}},
                 dtype,
                 0});
  all.push_back({"RMS norm backward" + of,
                 [=](Fusion& fusion) {
                   TensorView* dy = input(fusion, 2, dtype);
                   TensorView* x = input(fusion, 2, dtype);
                   TensorView* rstd = castOp(DataType::Float, input(fusion, 1, dtype));
                   TensorView* w = input(fusion, 1, dtype);
                   auto result = rms_norm_backward(dy, x, std::vector<int64_t>{-1},
                                                   broadcast(rstd, {false, true}), w, {true, true});
                   output(fusion, result.grad_input, dtype);
                   output(fusion, result.grad_weight, dtype);
                 },
                 {sizes, sizes, {sizes[0]}, {row}},
                 dtype,
                 0});
}

void addTransposes(std::vector<Program>& all, std::vector<int64_t> sizes, DataType dtype) {
  const std::string of = text(" ", sizeText(sizes), " ", dtype);
  all.push_back({"transpose of relu(x + y)" + of,
                 [=](Fusion& fusion) {
                   TensorView* x = wide(input(fusion, 2, dtype));
                   TensorView* y = wide(input(fusion, 2, dtype));
                   output(fusion, transpose(relu(add(x, y)), 0, 1), dtype);
                 },
                 {sizes, sizes},
                 dtype});
  all.push_back({"x + transpose(y)" + of,
                 [=](Fusion& fusion) {
                   TensorView* x = wide(input(fusion, 2, dtype));
                   TensorView* y = wide(input(fusion, 2, dtype));
                   output(fusion, add(x, transpose(y, 0, 1)), dtype);
                 },
                 {sizes, {sizes[1], sizes[0]}},
                 dtype,
                 0});
}

std::vector<Program> programs(bool gpu) {
  const int64_t part = gpu ? 1 : 16;  // of the rows
  std::vector<Program> all;
  for (DataType dtype : {DataType::BFloat16, DataType::Float}) {
    for (const std::vector<int64_t>& sizes : std::vector<std::vector<int64_t>>{
             {16384, 8192}, {131072, 1024}, {32768, 4096}, {8192, 5121}, {4096, 32768}}) {
      addNorms(all, {sizes[0] / part, sizes[1]}, dtype);
    }
    for (const std::vector<int64_t>& sizes : std::vector<std::vector<int64_t>>{
             {8192, 8192}, {16384, 8192}, {32767, 4098}, {8191, 4097}, {2048, 2048}}) {
      addTransposes(all, {sizes[0] / part, sizes[1]}, dtype);
    }
    for (const std::vector<int64_t>& sizes : std::vector<std::vector<int64_t>>{{32768, 2048},
                                                                               {16384, 4096},
                                                                               {8192, 12288},
                                                                               {2048, 16384},
                                                                               {16384, 5122},
                                                                               {131072, 256},
                                                                               {2048, 1024}}) {
      addNormGradients(all, {sizes[0] / part, sizes[1]}, dtype);
    }
    all.push_back({text("NCHW to NHWC ", 64 / part, "x256x56x56 ", dtype),
                   [=](Fusion& fusion) {
                     TensorView* x = relu(input(fusion, 4, dtype));
                     fusion.addOutput(permute(x, {0, 2, 3, 1}));
                   },
                   {{64 / part, 256, 56, 56}},
                   dtype});
    addNorms(all, {16, 65536}, dtype);
    addNorms(all, {1024, 4096}, dtype);
    addSums(all, {16384 / part, 8192}, dtype);
    addSums(all, {2048 / part, 4096}, dtype);
    addSums(all, {64, 4194304 / part}, dtype);
    all.push_back(
        {text("softmax of columns ", 8192 / part, "x16384 ", dtype),
         [=](Fusion& fusion) { output(fusion, softmax(input(fusion, 2, dtype), 0), dtype); },
         {{8192 / part, 16384}},
         dtype});
    all.push_back({text("batch norm NCHW ", 64 / part, "x256x56x56 ", dtype),
                   [=](Fusion& fusion) {
                     TensorView* x = input(fusion, 4, dtype);
                     TensorView* w = input(fusion, 1, dtype);
                     TensorView* b = input(fusion, 1, dtype);
                     output(fusion,
                            batch_norm(x, wide(w), wide(b), nullptr, nullptr, true,
                                       IrBuilder::create<Val>(0.1), eps())
                                .output,
                            dtype);
                   },
                   {{64 / part, 256, 56, 56}, {256}, {256}},
                   dtype});
    all.push_back({text("multiply ", 16384 / part, "x8192 ", dtype),
                   [=](Fusion& fusion) {
                     TensorView* x = input(fusion, 2, dtype);
                     output(fusion, mul(wide(x), wide(input(fusion, 2, dtype))), dtype);
                   },
                   {{16384 / part, 8192}, {16384 / part, 8192}},
                   dtype});
    all.push_back({text("bias + gelu ", 16384 / part, "x8192 ", dtype),
                   [=](Fusion& fusion) {
                     TensorView* x = input(fusion, 2, dtype);
                     TensorView* b = input(fusion, 1, dtype);
                     TensorView* sum = add(wide(x), broadcast(wide(b), {true, false}));
                     output(fusion, tanh_gelu(sum), dtype);
                   },
                   {{16384 / part, 8192}, {8192}},
                   dtype});
  }
  return all;
}

KernelArgumentHolder makeInputs(const Program& program, Device& device, bool small) {
  KernelArgumentHolder arguments;
  uint64_t seed = 1;
  for (std::vector<int64_t> sizes : program.sizes) {
    if (small && program.rows_when_checked == 0) {
      for (int64_t& size : sizes) {  // equal ones stay equal
        size = std::min(size, kMostWhenChecked);
      }
    } else if (small && sizes.size() > 1) {
      sizes[0] = std::min(sizes[0], program.rows_when_checked);
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

/// Arguments of the whole fusion in the order in which its one kernel takes them.
KernelArgumentHolder inOrderOf(const std::vector<Val*>& kernel, const std::vector<Val*>& whole,
                               const KernelArgumentHolder& arguments) {
  KernelArgumentHolder result;
  for (size_t i = 0; i < kernel.size(); ++i) {
    size_t from = i;  // a forked output has another name and its old place
    for (size_t k = 0; k < whole.size(); ++k) {
      from = whole[k]->name() == kernel[i]->name() ? k : from;
    }
    result.push(arguments[from]);
  }
  return result;
}

Row run(const Program& program, Device& device, const Settings& settings) {
  auto fusion = std::make_unique<Fusion>();
  FusionGuard guard(fusion.get());
  program.define(*fusion);
  FusionExecutorCache cache(std::move(fusion));
  const KernelArgumentHolder small = makeInputs(program, device, true);
  testValidate(cache.fusion(), cache.runFusionWithInputs(small), small, __LINE__, __FILE__,
               program.name);
  const KernelArgumentHolder large = makeInputs(program, device, false);
  const KernelArgumentHolder outputs = cache.runFusionWithInputs(large);
  if (settings.report) {
    std::printf("%s\n%s", program.name.c_str(), cache.report().c_str());
  }
  if (settings.kernels) {
    for (const std::string& code : cache.getMostRecentCode()) {
      std::printf("%s\n", code.c_str());
    }
  }
  const std::string name =
      cache.numKernels() == 1 ? program.name : text(program.name, " (", cache.numKernels(), ")");
  const std::vector<KernelExecutor*> executors = cache.executors();
  KernelArgumentHolder kernel_inputs;
  KernelArgumentHolder kernel_outputs;
  if (executors.size() == 1 && cache.numKernels() == 1) {
    const Fusion& kernel = executors.front()->compiledKernel()->fusion();
    kernel_inputs = inOrderOf(kernel.inputs(), cache.fusion()->inputs(), large);
    kernel_outputs = inOrderOf(kernel.outputs(), cache.fusion()->outputs(), outputs);
  }
  return benchmark::measure(name, device, bytesOf(large) + bytesOf(outputs), [&](int repeats) {
    if (executors.size() == 1 && cache.numKernels() == 1) {
      return executors.front()->time(kernel_inputs, kernel_outputs, repeats);
    }
    device.synchronize(nullptr);
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < repeats; ++i) {
      cache.runFusionWithInputs(large);
    }
    device.synchronize(nullptr);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    return std::vector<double>{took.count() / repeats};
  });
}

}  // namespace

int main(int argc, char** argv) {
  Device* device = cudaDevice(0);
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--device=cpu") {
      device = nullptr;
    } else if (argument == "--report") {
      settings.report = true;
    } else if (argument == "--kernels") {
      settings.kernels = true;
    } else if (argument.rfind("--only=", 0) == 0) {
      settings.only = argument.substr(7);
    } else {
      std::printf("bench_automatic: unknown argument %s\n", argv[i]);
      return 2;
    }
  }
  if (device == nullptr) {
    device = &cpuDevice();
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  std::printf("%s\n", device->properties().name.c_str());
  std::vector<Row> rows;
  int failures = 0;
  for (const Program& program : programs(device->kind() == DeviceKind::Cuda)) {
    if (program.name.find(settings.only) == std::string::npos) {
      continue;
    }
    try {
      rows.push_back(run(program, *device, settings));
      std::fprintf(stderr, "%s: %.3f of copy\n", program.name.c_str(), rows.back().fraction());
    } catch (const std::exception& error) {
      ++failures;
      std::printf("%s: FAILED: %s\n", program.name.c_str(), error.what());
    }
  }
  benchmark::print(std::move(rows));
  return failures;
}
