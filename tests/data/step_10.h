// What the example's text leaves to its reader, under the names that it gives: lower, print,
// compile and run, on every device and against the reference.
#include <cstdio>
#include <vector>

#include <codegen.h>
#include <device_lower/lower2device.h>
#include <runtime/executor.h>
#include <runtime/validation.h>

inline void step10(nvfuser::Fusion& fusion) {
  using namespace nvfuser;
  GpuLower lower(&fusion);
  kir::Kernel* kernel = lower.run();
  std::printf("%s\n", kernel->toString().c_str());
  std::printf("%s\n", codegen::generateCudaKernel(kernel, "simple_pointwise").c_str());

  std::vector<Device*> devices{&cpuDevice(), &emulatedDevice()};
  if (Device* gpu = cudaDevice(0)) {
    devices.push_back(gpu);
  }
  for (Device* device : devices) {
    KernelExecutor executor;
    for (std::vector<int64_t> sizes : {std::vector<int64_t>{64, 48}, {37, 129}, {1, 1}, {0, 5}}) {
      KernelArgumentHolder inputs(Tensor::randn(sizes, DataType::Float, 1, *device),
                                  Tensor::randn(sizes, DataType::Float, 2, *device));
      if (!executor.isCompiled()) {
        executor.compile(&fusion, inputs);
        std::printf("%s\n", executor.compiledKernel()->kernelString().c_str());
      }
      testValidate(&fusion, executor.run(inputs), inputs, __LINE__, __FILE__);
    }
    std::printf("step 10 on %s: ok\n", device->properties().name.c_str());
  }
}
