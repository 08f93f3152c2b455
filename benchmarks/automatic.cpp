// Fusions without a schedule against a copy of the same bytes, the slowest first. Each is checked
// against the reference at a small size before it is timed.
//
//   bench_automatic [--device=cpu] [--only=TEXT] [--report] [--kernels]
#include <cstring>
#include <memory>

#include "families/families.h"
#include "table.h"
#include <runtime/fusion_executor_cache.h>
#include <runtime/validation.h>
#include <support/text.h>

using namespace nvfuser;
using benchmark::kMostOuterWhenChecked;
using benchmark::kMostWhenChecked;
using benchmark::Program;
using benchmark::Row;

namespace {

struct Settings {
  bool report = false;
  bool kernels = false;
  std::string only;
};

KernelArgumentHolder makeInputs(const Program& program, Device& device, bool small) {
  KernelArgumentHolder arguments;
  uint64_t seed = 1;
  for (std::vector<int64_t> sizes : program.sizes) {
    if (small && program.rows_when_checked == 0) {
      for (size_t i = 0; i < sizes.size(); ++i) {  // equal ones stay equal
        const bool outer = i + 2 < sizes.size();
        sizes[i] = std::min(sizes[i], outer ? kMostOuterWhenChecked : kMostWhenChecked);
      }
    } else if (small && sizes.size() > 1) {
      sizes[0] = std::min(sizes[0], program.rows_when_checked);
    }
    const bool chooses = program.classes > 0 && arguments.size() + 1 == program.sizes.size();
    const int64_t classes = small ? std::min(program.classes, kMostWhenChecked) : program.classes;
    arguments.push(chooses ? benchmark::randomClasses(sizes, classes, device)
                           : benchmark::randomTensor(sizes, program.dtype, seed++, device));
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
    return device.timeEach([&] { cache.runFusionWithInputs(large); }, repeats, nullptr);
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
  for (const Program& program : benchmark::families(device->kind() == DeviceKind::Cuda)) {
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
