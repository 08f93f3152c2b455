// A transformer block of GPT-2's width, forward and backward, with no schedule given. Products and
// attention are a library's; each stretch between them is a kernel or two.
//
//   example_transformer_block                     compared with the reference on every device
//   example_transformer_block --report            which kernels there are, and why
//   example_transformer_block --save=FOLDER [--device=cpu|emulated|cuda] [--small]
//                                                 inputs and results as FOLDER/<name>.npy
#include "transformer_block.h"

#include <cmath>
#include <fstream>
#include <string_view>

#include "example.h"
#include <runtime/fusion_executor_cache.h>

using namespace example;

namespace {

/// The parameters are small, as a model's are: results stay of the size of the inputs.
KernelArgumentHolder drawInputs(const BlockSizes& sizes, Device& device) {
  KernelArgumentHolder arguments;
  uint64_t seed = 1;
  for (const auto& [name, shape] : blockInputs(sizes)) {
    const HostTensor drawn = Tensor::randn(shape, DataType::Float, seed++).toHostTensor();
    HostTensor scaled(DataType::Float, shape);
    const double by = shape.size() == 2 ? 1 / std::sqrt(static_cast<double>(shape[1])) : 1.0;
    for (int64_t i = 0; i < drawn.numel(); ++i) {
      scaled.setDouble(i, by * drawn.getDouble(i));
    }
    arguments.push(Tensor::fromHostTensor(scaled, device));
  }
  return arguments;
}

/// NumPy's file of one array of floats.
void save(const std::string& path, const Tensor& tensor) {
  const std::vector<float> values = tensor.toHost<float>();
  std::string shape;
  for (int64_t size : tensor.sizes()) {
    shape += std::to_string(size) + ", ";
  }
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + shape + "), }";
  header.resize((header.size() + 10 + 1 + 63) / 64 * 64 - 10 - 1, ' ');
  header += '\n';
  std::ofstream file(path, std::ios::binary);
  file.write("\x93NUMPY\x01\x00", 8);
  file.put(static_cast<char>(header.size() & 0xff));
  file.put(static_cast<char>(header.size() >> 8));
  file << header;
  file.write(reinterpret_cast<const char*>(values.data()),
             static_cast<std::streamsize>(values.size() * sizeof(float)));
}

std::string valueOf(int argc, char** argv, std::string_view option) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word.starts_with(option)) {
      return std::string(word.substr(option.size()));
    }
  }
  return {};
}

bool has(int argc, char** argv, std::string_view option) {
  for (int i = 1; i < argc; ++i) {
    if (argv[i] == option) {
      return true;
    }
  }
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  BlockSizes sizes;
  if (has(argc, argv, "--small")) {
    sizes = {2, 7, 4, 32};
  }
  const std::string folder = valueOf(argc, argv, "--save=");
  const std::string wanted = valueOf(argc, argv, "--device=");
  int failures = 0;
  for (Device* device : devices()) {
    const DeviceKind kind = device->kind();
    const std::string_view name = kind == DeviceKind::Cpu        ? "cpu"
                                  : kind == DeviceKind::Emulated ? "emulated"
                                                                 : "cuda";
    if (!wanted.empty() && wanted != name) {
      continue;
    }
    try {
      auto fusion = std::make_unique<Fusion>();
      {
        FusionGuard guard(fusion.get());
        Block(*fusion, sizes).define();
      }
      FusionExecutorCache cache(std::move(fusion));
      const KernelArgumentHolder arguments = drawInputs(sizes, *device);
      const KernelArgumentHolder results = cache.runFusionWithInputs(arguments);
      if (has(argc, argv, "--report")) {
        std::printf("%s\n", cache.report().c_str());
      }
      if (!folder.empty()) {
        const auto inputs = blockInputs(sizes);
        for (size_t i = 0; i < inputs.size(); ++i) {
          save(folder + "/" + inputs[i].first + ".npy", arguments[i].tensor());
        }
        for (size_t i = 0; i < results.size(); ++i) {
          const std::string of = i == 0 ? "result" : "grad of " + inputs[i == 1 ? 0 : i].first;
          save(folder + "/" + of + ".npy", results[i].tensor());
        }
      } else {
        testValidate(cache.fusion(), results, arguments, __LINE__, __FILE__);
      }
      std::printf("%-28s %-24s ok (1 sizes)\n", "transformer block",
                  device->properties().name.c_str());
    } catch (const std::exception& error) {
      ++failures;
      std::printf("%-28s %-24s FAILED: %s\n", "transformer block",
                  device->properties().name.c_str(), error.what());
    }
  }
  return failures;
}
