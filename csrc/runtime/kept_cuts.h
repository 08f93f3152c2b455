/// Cuts of Fusions that outlive the process, beside the kernels in its disk cache.
///
/// Which groups the schedulers take is asked again and again while a Fusion is cut, and takes
/// longer than everything else of a plan. The answer hangs on the Fusion, the call and this build
/// alone, so the next process finds it:
///
///   text of the Fusion, sizes, strides, device, options, build ─→ each group: the places of its
///                                                                 operations, what it stores
///
/// A cut says nothing about schedules: these are asked for each group as ever, and where one is
/// refused the Fusion is cut anew.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <runtime/device.h>
#include <runtime/executor_kernel_arg.h>
#include <runtime/kernel_cache/disk_cache.h>
#include <segmenter/group.h>
#include <support/options.h>

namespace nvfuser {

/// Everything that a cut depends on. `index_type`: of the kernels.
std::string cutKey(const Fusion& fusion, const KernelArgumentHolder& args, const Device& device,
                   DataType index_type, const Options& options);

/// The groups in the order in which they run; nothing where `cache` has no cut for the key.
std::optional<std::vector<Group>> findCut(const Fusion& fusion, const std::string& key,
                                          DiskCache& cache);
void keepCut(const Fusion& fusion, const std::string& key, const std::vector<Group>& groups,
             DiskCache& cache);

}  // namespace nvfuser
