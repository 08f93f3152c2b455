// From a kernel's text to a cubin: which architecture, with which words for NVRTC.
#include <runtime/cuda/cubin_cache.h>
#include <runtime/cuda/cuda_device.h>
#include <support/text.h>

namespace nvfuser {

std::string cudaArchitecture(const DeviceProperties& properties, bool specific) {
  return text("sm_", properties.major, properties.minor,
              specific && properties.major >= 9 ? "a" : "");
}

namespace {

cuda::CubinOptions cubinOptions(const KernelSource& source) {
  cuda::CubinOptions options;
  options.max_registers = source.max_registers;
  options.more = source.options;
  return options;
}

}  // namespace

std::vector<std::string> cudaCompilerOptions(const KernelSource& source, const std::string& arch) {
  return cuda::nvrtcOptions(arch, cubinOptions(source));
}

std::string cudaBinaryKey(const KernelSource& source, const std::string& arch) {
  return text("nvrtc ", cuda::nvrtcVersion(arch), "\n",
              join(cudaCompilerOptions(source, arch), " "));
}

cuda::CompiledCubin compileCudaSource(const KernelSource& source, const std::string& arch) {
  return cuda::compileToCubin(source.text, source.entry + ".cu", arch, cubinOptions(source));
}

}  // namespace nvfuser
