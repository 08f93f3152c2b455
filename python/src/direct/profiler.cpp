#include "direct/profiler.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "direct/bindings.h"
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <runtime/warm_time.h>
#include <support/text.h>

namespace nvfuser::python {

namespace {

std::atomic<bool> is_profiling = false;

struct Recorded {
  std::mutex mutex;
  std::vector<CallProfile> calls;
};

Recorded& recorded() {
  static auto* instance = new Recorded;
  return *instance;
}

int64_t bytesOf(const KernelArgumentHolder& arguments) {
  int64_t bytes = 0;
  for (const KernelArgument& argument : arguments) {
    if (argument.isTensor()) {
      bytes += argument.tensor().numel() * dataTypeSizeByte(argument.tensor().dtype());
    }
  }
  return bytes;
}

void keep(CallProfile call, const KernelArgumentHolder& args, const KernelArgumentHolder& outputs) {
  call.input_bytes = bytesOf(args);
  call.output_bytes = bytesOf(outputs);
  std::lock_guard<std::mutex> lock(recorded().mutex);
  recorded().calls.push_back(std::move(call));
}

template <typename Extents>
std::string dims(const Extents& extents) {
  return text("[", extents[0], ", ", extents[1], ", ", extents[2], "]");
}

constexpr int kProfiledCalls = 5;

/// Of a kernel of a profile, by nvFuser's names.
struct SegmentProfile {
  nvfuser::KernelProfile kernel;
  int64_t segment;
};

std::vector<SegmentProfile> segmentsOf(const CallProfile& call) {
  std::vector<SegmentProfile> segments;
  for (const nvfuser::KernelProfile& kernel : call.measured.kernels) {
    segments.push_back({kernel, static_cast<int64_t>(segments.size())});
  }
  return segments;
}

}  // namespace

double CallProfile::kernelMs() const {
  double sum = 0;
  for (const nvfuser::KernelProfile& kernel : measured.kernels) {
    sum += kernel.ms;
  }
  return sum;
}

double CallProfile::compileMs() const {
  double sum = 0;
  for (const nvfuser::KernelProfile& kernel : measured.kernels) {
    sum += kernel.resources.compile_ms;
  }
  return sum;
}

double CallProfile::gigabytesPerSecond() const {
  const double ms = kernelMs();
  return ms > 0 ? static_cast<double>(input_bytes + output_bytes) / ms / 1e6 : 0;
}

bool isProfiling() { return is_profiling; }

void recordCall(FusionExecutorCache& executor, const KernelArgumentHolder& args,
                const KernelArgumentHolder& outputs, double host_ms) {
  CallProfile call;
  call.measured = executor.profile(args, kProfiledCalls);
  call.host_ms = host_ms;
  keep(std::move(call), args, outputs);
}

void recordKernel(KernelExecutor& executor, const KernelArgumentHolder& args,
                  const KernelArgumentHolder& outputs, double host_ms) {
  CallProfile call;
  call.host_ms = host_ms;
  nvfuser::KernelProfile kernel;
  kernel.name = executor.name();
  kernel.scheduler = "user";
  executor.measure(args, outputs, [&](Device& device, const std::function<void()>& launch) {
    kernel.ms = warmTime(device, launch, kProfiledCalls);
  });
  kernel.bytes = bytesOf(args) + bytesOf(outputs);
  const LaunchParams& launch = executor.lastLaunchParams();
  kernel.shape.grid[0] = launch.gdimx();
  kernel.shape.grid[1] = launch.gdimy();
  kernel.shape.grid[2] = launch.gdimz();
  kernel.shape.block[0] = launch.bdimx();
  kernel.shape.block[1] = launch.bdimy();
  kernel.shape.block[2] = launch.bdimz();
  call.measured.call_ms = kernel.ms;
  call.measured.kernels.push_back(std::move(kernel));
  keep(std::move(call), args, outputs);
}

void bindProfiler(nb::module_& direct) {
  nb::class_<SegmentProfile>(direct, "KernelProfile", "What one kernel of a call cost.")
      .def_prop_ro("name", [](const SegmentProfile& self) { return self.kernel.name; })
      .def_ro("segment_id", &SegmentProfile::segment)
      .def_prop_ro("device", [](const SegmentProfile&) { return 0; })
      .def_prop_ro("stream", [](const SegmentProfile&) { return 0; })
      .def_prop_ro("correlation_id", [](const SegmentProfile& self) { return self.segment; })
      .def_prop_ro("compile_time_ms",
                   [](const SegmentProfile& self) { return self.kernel.resources.compile_ms; })
      .def_prop_ro("time_ms", [](const SegmentProfile& self) { return self.kernel.ms; })
      .def_prop_ro("effective_bandwidth_gbs",
                   [](const SegmentProfile& self) { return self.kernel.gigabytesPerSecond(); })
      .def_prop_ro(
          "percentage_peak_bandwidth",
          [](const SegmentProfile& self) { return 100 * self.kernel.ofCopy(); },
          "Of the speed that a copy of as many bytes has on the same device.")
      .def_prop_ro("grid_str",
                   [](const SegmentProfile& self) { return dims(self.kernel.shape.grid); })
      .def_prop_ro("block_str",
                   [](const SegmentProfile& self) { return dims(self.kernel.shape.block); })
      .def_prop_ro("cluster_str",
                   [](const SegmentProfile& self) { return dims(self.kernel.shape.cluster); })
      .def_prop_ro("shared_mem_str",
                   [](const SegmentProfile& self) {
                     return text("[", self.kernel.shape.shared_bytes, ", ",
                                 std::max<int64_t>(0, self.kernel.resources.static_shared_bytes),
                                 "]");
                   })
      .def_prop_ro("registers",
                   [](const SegmentProfile& self) { return self.kernel.resources.registers; })
      .def_prop_ro(
          "input_bytes", [](const SegmentProfile& self) { return self.kernel.bytes; },
          "Read and written together.")
      .def_prop_ro("output_bytes", [](const SegmentProfile&) { return 0; })
      .def_prop_ro("scheduler", [](const SegmentProfile& self) { return self.kernel.scheduler; })
      .def("__repr__", [](const SegmentProfile& self) { return self.kernel.toString(); });
  nb::class_<CallProfile>(direct, "FusionProfile", "What one call of a fusion cost.")
      .def_prop_ro("verbose", [](const CallProfile&) { return false; })
      .def_ro("fusion_id", &CallProfile::fusion_id)
      .def_prop_ro("segments", [](const CallProfile& self) { return self.measured.kernels.size(); })
      .def_prop_ro(
          "cuda_evt_time_ms", [](const CallProfile& self) { return self.measured.call_ms; },
          "Of a whole call, everything compiled.")
      .def_ro("host_time_ms", &CallProfile::host_ms,
              "Of the call that was profiled, compiling included.")
      .def_prop_ro("compile_time_ms", &CallProfile::compileMs)
      .def_prop_ro("kernel_time_ms", &CallProfile::kernelMs)
      .def_prop_ro("effective_bandwidth_gbs", &CallProfile::gigabytesPerSecond)
      .def_prop_ro(
          "percentage_peak_bandwith",  // as nvFuser spells it
          [](const CallProfile& self) {
            double copy_ms = 0;
            for (const nvfuser::KernelProfile& kernel : self.measured.kernels) {
              copy_ms += kernel.copy_ms;
            }
            return self.kernelMs() > 0 ? 100 * copy_ms / self.kernelMs() : 0;
          },
          "Of the speed that copies of as many bytes have on the same device.")
      .def_ro("input_bytes", &CallProfile::input_bytes)
      .def_ro("output_bytes", &CallProfile::output_bytes)
      .def_prop_ro("kernel_profiles", &segmentsOf)
      .def("__repr__", [](const CallProfile& self) { return self.measured.toString(); });
  direct.def("start_profiling", [] {
    std::lock_guard<std::mutex> lock(recorded().mutex);
    recorded().calls.clear();
    is_profiling = true;
  });
  direct.def(
      "stop_profiling",
      [] {
        is_profiling = false;
        std::lock_guard<std::mutex> lock(recorded().mutex);
        return std::move(recorded().calls);
      },
      "The profiles of the calls since start_profiling.");
}

}  // namespace nvfuser::python
