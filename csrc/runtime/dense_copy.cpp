#include <runtime/dense_copy.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <numeric>

#include <ops/alias.h>
#include <runtime/fusion_executor_cache.h>

namespace nvfuser {

namespace {

/// One for each dtype and number of axes, for as long as the process runs.
FusionExecutorCache& copierOf(DataType dtype, int64_t axes) {
  static std::mutex mutex;
  static auto* copiers =
      new std::map<std::pair<PrimDataType, int64_t>, std::unique_ptr<FusionExecutorCache>>;
  const std::lock_guard lock(mutex);
  auto& copier = (*copiers)[{dtype.type, axes}];
  if (copier == nullptr) {
    auto fusion = std::make_unique<Fusion>();
    const FusionGuard guard(fusion.get());
    TensorView* in = makeSymbolicTensor(axes, dtype);
    fusion->addInput(in);
    TensorView* out = set(in);
    fusion->addOutput(out);
    out->setAllocationDomain(out->getLogicalDomain(), true);
    copier = std::make_unique<FusionExecutorCache>(std::move(fusion));
  }
  return *copier;
}

/// Axes from the largest of these strides to the smallest.
std::vector<int64_t> axesByStride(const std::vector<int64_t>& strides) {
  std::vector<int64_t> order(strides.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return strides[static_cast<size_t>(a)] > strides[static_cast<size_t>(b)];
  });
  return order;
}

}  // namespace

Tensor denseInOrder(const Tensor& tensor, const std::vector<int64_t>& strides,
                    const RunContext& context) {
  return denseOnDevice(tensor.permute(axesByStride(strides)), context)
      .asStrided(tensor.sizes(), strides, 0);
}

Tensor copyInOrder(const Tensor& tensor, const std::vector<int64_t>& strides,
                   const RunContext& context) {
  const Tensor ordered = tensor.permute(axesByStride(strides));
  if (!ordered.isContiguous() || ordered.numel() == 0) {
    return denseInOrder(tensor, strides, context);
  }
  Device& device = tensor.device();
  const Tensor copy =
      Tensor::emptyStrided(tensor.sizes(), strides, tensor.dtype(), device, context);
  device.copyWithin(copy.data(), ordered.data(),
                    static_cast<size_t>(copy.numel() * dataTypeSizeByte(copy.dtype())),
                    context.stream);
  return copy;
}

Tensor denseOnDevice(const Tensor& tensor, const RunContext& context) {
  if (tensor.isContiguous() || tensor.numel() == 0) {
    return tensor;
  }
  RunContext own = context;
  own.communicator = nullptr;
  return copierOf(tensor.dtype(), tensor.dim())
      .runFusionWithInputs({tensor}, {}, &tensor.device(), own)[0]
      .tensor();
}

}  // namespace nvfuser
