/// `SchedulerRuntimeInfo`: what one call's arguments tell about a Fusion: sizes, strides, how
/// addresses are aligned, and the device that it will run on. All that a plan may depend on besides
/// the Fusion itself.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include <evaluator/expression_evaluator.h>
#include <ir/fusion.h>
#include <support/device_properties.h>

namespace nvfuser {

/// An input's logical sizes and strides (in elements; 0 along expanded axes).
struct TensorLayout {
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
  /// The largest power of two that its first element's address is a multiple of, at most
  /// `SchedulerRuntimeInfo::kMaxAlignment`.
  int64_t alignment = 16;
};

class SchedulerRuntimeInfo {
 public:
  /// No access is wider (bytes).
  static constexpr int64_t kMaxAlignment = 16;

  /// `layouts`: one for each tensor among `fusion`'s inputs, in their order. `evaluator` knows the
  /// extents of all inputs and the scalars that sizes depend on.
  SchedulerRuntimeInfo(const Fusion& fusion, const std::vector<TensorLayout>& layouts,
                       ExpressionEvaluator evaluator, DeviceKind kind,
                       const DeviceProperties& device, DataType index_type);

  const DeviceProperties& device() const { return device_; }
  DeviceKind deviceKind() const { return kind_; }
  /// Whether kernels are host C++ (tasks of a thread pool, SIMD) rather than CUDA.
  bool isHost() const { return kind_ == DeviceKind::Cpu; }
  DataType getIndexType() const { return index_type_; }
  ExpressionEvaluator& expressionEvaluator() { return evaluator_; }

  /// A size that has to be known; 1 for a null value.
  int64_t evaluate(const Val* val);
  /// Elements along an axis in memory or loops: 1 for a broadcast axis, expanded or not.
  int64_t extent(const IterDomain* id);
  /// Product over axes.
  int64_t extent(const std::vector<IterDomain*>& ids);
  /// Bytes that `tv` takes in memory (broadcasts once).
  int64_t bytes(const TensorView* tv);
  /// Bytes of one element in global memory, where an index has 64 bits whatever kernels count in.
  static int64_t elementBytes(const TensorView* tv);

  /// Strides of an input's logical axes in elements. Outputs and tensors between kernels are dense
  /// in the order of their allocation domain, 0 along broadcast axes.
  std::vector<int64_t> strides(const TensorView* tv);
  /// Bytes that the address of `tv`'s first element is a multiple of, up to `kMaxAlignment`.
  int64_t alignment(const TensorView* tv) const;
  /// Of an output that goes to memory which a call has already; others have memory of their own.
  void setAlignment(const TensorView* output, int64_t bytes) { outputs_[output->name()] = bytes; }

 private:
  std::map<int64_t, TensorLayout> inputs_;  ///< by the tensor's name
  std::map<int64_t, int64_t> outputs_;      ///< alignments, the same
  ExpressionEvaluator evaluator_;
  DeviceKind kind_;
  DeviceProperties device_;
  DataType index_type_;
};

}  // namespace nvfuser
