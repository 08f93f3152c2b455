/// A tensor that devices share in one way, shared in another: in the Fusion that each of them runs.
///
///   cut along axis 0, stretched → whole   stretched further: no data
///   cut along axis 0 → whole          T1[2, n, k] = allgather(T0[n, k]);  reshape to [2n, k]
///   whole → cut along axis 0          T1[2, n / 2, k] = reshape(T0);  the device's own row: no
///   data cut along axis 0 → along axis 1   parts of axis 1 in front, alltoall, then merged with
///   axis 0 sums of parts → cut along axis 0  parts of axis 0 in front, reduce_scatter
///   the same of a product of matrices        parts of axis 0 in front, alltoall, sum of the parts
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <ir/composite_nodes.h>
#include <ir/op_types.h>
#include <multidevice/join_exchanges.h>
#include <multidevice/sharding.h>

namespace nvfuser::multidevice {

class Resharder {
 public:
  /// `coordinate`: the scalar that holds the device's own place along an axis of the mesh. `asked`
  /// gets each exchange.
  Resharder(DeviceMesh mesh, std::function<Val*(ParallelType)> coordinate,
            std::vector<Asked>& asked)
      : mesh_(std::move(mesh)), coordinate_(std::move(coordinate)), asked_(asked) {}

  /// `why`: which operation wants it.
  TensorView* reshard(TensorView* tv, Sharding from, const Sharding& to, const std::string& why);
  /// What all devices along the mesh axis have of `tv`, combined; cut along `axis` if given.
  TensorView* combine(TensorView* tv, ParallelType mesh_axis, BinaryOpType by,
                      std::optional<size_t> axis, const std::string& why);

 private:
  /// Along one axis of the mesh; `to` is free.
  TensorView* step(TensorView* tv, ParallelType mesh_axis, std::optional<size_t> from,
                   std::optional<size_t> to, const std::string& why);
  /// `of`: the tensor that is in another sharding then.
  TensorView* exchanged(CommunicationType type, TensorView* tv, ParallelType mesh_axis,
                        BinaryOpType by, const TensorView* of, const std::string& why);
  TensorView* stretched(TensorView* tv, size_t axis, ParallelType mesh_axis);
  TensorView* gathered(TensorView* tv, size_t axis, ParallelType mesh_axis, const std::string& why);
  TensorView* ownPart(TensorView* tv, size_t axis, ParallelType mesh_axis);
  TensorView* moved(TensorView* tv, size_t from, size_t to, ParallelType mesh_axis,
                    const std::string& why);
  /// [..., n, ...] → [D, ..., n / D, ...].
  TensorView* withPartsInFront(TensorView* tv, size_t axis, ParallelType mesh_axis);
  /// [D, ..., n, ...] → [..., D · n, ...].
  TensorView* joined(TensorView* parts, size_t axis);
  void requireEqualParts(TensorView* tv, size_t axis, ParallelType mesh_axis);
  DeviceMesh mesh_;
  std::function<Val*(ParallelType)> coordinate_;
  std::vector<Asked>& asked_;
  TensorView* last_ = nullptr;  ///< of the last exchange; the next one waits for it
};

}  // namespace nvfuser::multidevice
