/// NVRTC through the disk cache: the one place where a kernel's text becomes a cubin.
#pragma once

#include <string>

#include <runtime/cuda/nvrtc.h>
#include <runtime/device.h>
#include <runtime/kernel_cache/disk_cache.h>

namespace nvfuser {

/// Everything that the cubin of `source` for `arch` depends on: text, its file's name, options,
/// architecture, NVRTC's files, this build of ours.
std::string cubinKey(const KernelSource& source, const std::string& arch);

/// From `cache` if it has it (`from_cache` is set, `ms` is 0), else compiled and stored there;
/// null: always compiled. `lookup` false compiles anew and replaces the entry. Needs no device.
cuda::CompiledCubin cachedCubin(const KernelSource& source, const std::string& arch,
                                DiskCache* cache, bool lookup = true);

}  // namespace nvfuser
