/// How operations are carried out on parts, and in which shardings their operands are asked for.
///
///   T2 = matmul(T0, T1), both cut along the inner axis by DIDx     sums of parts along DIDx
///   T2 = matmul(T0, T1), T0 cut along its rows                      rows of T2; T1 whole
#pragma once

#include <map>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <multidevice/propagate.h>

namespace nvfuser::multidevice {

/// The results' shardings as the operation computes them, and what combines them along which axes
/// of the mesh.
struct PartsPlan {
  std::vector<Sharding> results;
  std::map<ParallelType, BinaryOpType> sums;
};

/// A tensor's axes by those of its operand, where it is a permutation of that.
std::optional<std::vector<int64_t>> permutationOf(const TensorView* tv);
/// A permuted tensor's sharding, as its operand's.
Sharding ofPermuted(const Sharding& sharding, const std::vector<int64_t>& order);

class PartsPlanner {
 public:
  using Tensors = std::vector<const TensorView*>;

  /// `targets`: how all tensors are to be shared; `joined_parts`: those that are computed as they
  /// are shared, whatever their operands are. Both have to outlive this.
  PartsPlanner(const Shardings& targets, const std::unordered_set<const TensorView*>& joined_parts)
      : targets_(targets), joined_parts_(joined_parts) {}

  PartsPlan planOf(const Tensors& ins, const Tensors& outs, const AxisFlow& flow) const;
  Sharding neededOf(const TensorView* in, const PartsPlan& plan, const TensorView* out,
                    const AxisFlow& flow) const;

 private:
  const Shardings& targets_;
  const std::unordered_set<const TensorView*>& joined_parts_;
};

/// In which shardings each tensor is going to be asked for.
class OperandNeeds {
 public:
  struct Need {
    Sharding sharding;
    bool as_rows;  ///< of a product
  };
  void find(const std::vector<Expr*>& exprs, const Flows& flows, const Shardings& targets,
            const PartsPlanner& planner);
  const std::vector<Need>& of(const Val* tv) const;
  /// The first of them; whole where a reader needs all of it, or none needs anything.
  Sharding common(const Val* val) const;
  /// Whether a reader needs it whole along an axis of the mesh, and not as a product's rows, which
  /// come part by part while it is computed.
  bool isNeededWhole(const TensorView* tv, ParallelType mesh_axis) const;

 private:
  void add(const TensorView* tv, const Sharding& sharding, bool as_rows, const Shardings& targets);

  std::unordered_map<const Val*, std::vector<Need>> needs_;
};

}  // namespace nvfuser::multidevice
