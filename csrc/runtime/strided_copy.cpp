#include <runtime/strided_copy.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include <codegen/snippet_set.h>
#include <runtime/cannot_compile.h>
#include <runtime/device_kernels.h>
#include <support/round.h>

namespace nvfuser {

namespace {

constexpr int64_t kThreads = 256;
constexpr size_t kMostAxes = 8;

/// As in runtime/copy_strided.cuh.
struct CopyForm {
  int64_t elements = 0, axes = 0;
  int64_t sizes[kMostAxes] = {}, from[kMostAxes] = {}, to[kMostAxes] = {};
};

/// Axes in the order of the target's memory, those of one element left out and neighbours merged
/// where both tensors go on as within them.
std::optional<CopyForm> formOf(const Tensor& from, const Tensor& to) {
  std::vector<size_t> order;
  for (size_t axis = 0; axis < to.sizes().size(); ++axis) {
    if (to.sizes()[axis] != 1) {
      order.push_back(axis);
    }
  }
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::abs(to.strides()[a]) > std::abs(to.strides()[b]);
  });
  CopyForm form;
  form.elements = to.numel();
  for (const size_t axis : order) {
    const int64_t size = to.sizes()[axis];
    const int64_t of_from = from.strides()[axis];
    const int64_t of_to = to.strides()[axis];
    const auto last = static_cast<size_t>(std::max<int64_t>(form.axes - 1, 0));
    if (form.axes > 0 && form.from[last] == size * of_from && form.to[last] == size * of_to) {
      form.sizes[last] *= size;
    } else if (form.axes == kMostAxes) {
      return std::nullopt;
    } else {
      form.sizes[form.axes++] = size;
    }
    const auto at = static_cast<size_t>(form.axes - 1);
    form.from[at] = of_from;
    form.to[at] = of_to;
  }
  return form;
}

/// `types`: the index's and the elements'.
std::string copyText(const std::string& types) {
  codegen::SnippetSet snippets(Target::Cuda);
  for (const char* path : {"complex.cuh", "copy_strided.cuh"}) {
    snippets.add(path);
  }
  return snippets.text() + text(R"(
extern "C" __global__ void copy_strided(const void* from, void* to, CopyForm form) {
  copyStrided<)",
                                types, R"(>(from, to, form);
}
)");
}

}  // namespace

bool copyStridedOnDevice(const Tensor& from, const Tensor& to, Stream stream) {
  Device& device = to.device();
  if (device.kind() == DeviceKind::Cpu || !device.takesText() || &from.device() != &device) {
    return false;
  }
  const std::optional<CopyForm> form = formOf(from, to);
  if (!form) {
    return false;
  }
  const int64_t bytes = dataTypeSizeByte(to.dtype());
  const bool is_short = form->elements <= std::numeric_limits<int32_t>::max();
  const std::string types =
      text(is_short ? "u32" : "u64", ", ",
           bytes == 16 ? std::string("complex<double>") : text("u", 8 * bytes));
  LaunchShape shape;
  shape.grid[0] = ceilDiv(form->elements, kThreads);
  shape.block[0] = kThreads;
  const DeviceKernels* kernels = nullptr;
  try {
    kernels = &deviceKernels(device, types, {"copy_strided"}, copyText);
  } catch (const CannotCompile&) {
    return false;
  }
  RunContext context;
  context.stream = stream;
  const void* const source = from.data();
  void* const target = to.data();
  launchKernel(device, *kernels->at("copy_strided"), shape, context, source, target, *form);
  return true;
}

}  // namespace nvfuser
