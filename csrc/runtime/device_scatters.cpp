#include <runtime/device_scatters.h>

#include <codegen/snippet_set.h>
#include <ir/composite_nodes.h>
#include <runtime/dense_copy.h>
#include <runtime/device_kernels.h>
#include <support/round.h>

namespace nvfuser {

namespace {

constexpr int64_t kEntryThreads = 256;
constexpr size_t kMostAxes = 8;

/// As in runtime/scatter_entries.cuh.
struct ScatterForm {
  int64_t entries = 0, extent = 1, axis = 0, axes = 0;
  int64_t sizes[kMostAxes] = {}, index[kMostAxes] = {}, source[kMostAxes] = {}, out[kMostAxes] = {};
};

/// `types`: what is done, the index's type and the elements'.
std::string scatterText(const std::string& types) {
  codegen::SnippetSet snippets(Target::Cuda);
  for (const char* path : {"complex.cuh", "scatter_entries.cuh"}) {
    snippets.add(path);
  }
  return snippets.text() + text(R"(
template <class OpOf, class IndexOf, class ElementOf>
struct Types {
  using Op = OpOf;
  using Index = IndexOf;
  using Element = ElementOf;
};
using Given = Types<)",
                                types, R"(>;
extern "C" __global__ void scatter_entries(const Given::Index* index, const Given::Element* source,
    Given::Element* out, ScatterForm form) {
  scatterEntries<Given::Op>(index, source, out, form);
}
)");
}

/// What elements are to the kernel: numbers if they are combined, else their bits.
std::optional<std::string> scatterElement(DataType dtype, std::optional<BinaryOpType> combined) {
  if (!combined) {
    const int64_t bytes = dataTypeSizeByte(dtype);
    return bytes == 16 ? "complex<double>" : text("u", 8 * bytes);
  }
  const bool has_atomics = dtype == DataType::Float || dtype == DataType::Double ||
                           dtype == DataType::Int || dtype == DataType::Int32;
  return has_atomics ? deviceTypeOf(dtype) : std::nullopt;
}

std::string scatterName(std::optional<BinaryOpType> combined) {
  if (!combined) {
    return "Stored";
  }
  switch (*combined) {
    case BinaryOpType::Add:
      return "Added";
    case BinaryOpType::Mul:
      return "Multiplied";
    case BinaryOpType::Max:
      return "Greatest";
    default:
      return "Least";
  }
}

}  // namespace

std::optional<Tensor> scatterOnDevice(const external::Call& call, const Tensor& self,
                                      Device& device, const RunContext& context) {
  const auto* op = call.op->as<ScatterOp>();
  if (call.isScalar(2) || call.input(1).sizes.size() > kMostAxes) {
    return std::nullopt;
  }
  const TensorRef &index = call.input(1), &source = call.input(2), &out = call.outputs.at(0);
  const auto element = scatterElement(out.dtype, op->accumulateOp());
  const auto index_type = deviceTypeOf(index.dtype);
  if (!element || !index_type) {
    return std::nullopt;
  }
  ScatterForm form;
  form.entries = index.numel();
  form.axes = static_cast<int64_t>(index.sizes.size());
  form.axis = op->dim();
  for (size_t axis = 0; axis < index.sizes.size(); ++axis) {
    form.sizes[axis] = index.sizes[axis];
    form.index[axis] = index.strides[axis];
    form.source[axis] = source.strides[axis];
    form.out[axis] = out.strides[axis];
  }
  if (!out.sizes.empty()) {
    form.extent = out.sizes[static_cast<size_t>(op->dim())];
  }
  Tensor result = copyInOrder(self, out.strides, context);
  if (form.entries == 0) {
    return result;
  }
  const std::string types =
      text(scatterName(op->accumulateOp()), ", ", *index_type, ", ", *element);
  LaunchShape shape;
  shape.grid[0] = ceilDiv(form.entries, kEntryThreads);
  shape.block[0] = kEntryThreads;
  const auto& kernel = deviceKernels(device, types, {"scatter_entries"}, scatterText);
  void* const data = result.data();
  launchKernel(device, *kernel.at("scatter_entries"), shape, context, index.data, source.data, data,
               form);
  return result;
}

}  // namespace nvfuser
