/// Kernels from files: edit what `NVFUSER_DUMP=cuda_to_file` wrote, and run that.
///
/// A dumped file begins with a line that names the kernel and a fingerprint of the generated text;
/// a file of NVFUSER_KERNEL_OVERRIDE replaces the kernel whose generated text has this fingerprint,
/// whatever the file is called and however its other lines were changed. Files are of one target:
/// `.cu` serves CUDA and emulated devices, `.cpp` the CPU.
#pragma once

#include <optional>
#include <string>

#include <runtime/device.h>
#include <support/options.h>

namespace nvfuser {

struct KernelFile {
  std::string path;
  std::string text;
};

/// ".cu" or ".cpp".
std::string_view kernelExtension(const Device& device);

/// The text with the line that lets it come back.
std::string overridable(const std::string& kernel_name, const std::string& generated);

/// The file that replaces the kernel `kernel_name` ("nvfuser_<fusion>…") with this generated text;
/// from NVFUSER_KERNEL_OVERRIDE, else NVFUSER_EXTERNAL_SRC. `UserError` for a folder or file that
/// cannot be read.
std::optional<KernelFile> kernelOverride(const Options& options, const Device& device,
                                         const std::string& kernel_name,
                                         const std::string& generated);

}  // namespace nvfuser
