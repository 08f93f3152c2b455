#include <multidevice/multiples.h>

#include <ops/axes.h>

namespace nvfuser::multidevice {

void Multiples::add(const TensorView* tv, const Sharding& sharding) {
  for (const ParallelType mesh_axis : kMeshAxes) {
    if (const auto axis = sharding[mesh_axis]) {
      declared_.insert({ops::axesOf(tv)[*axis]->extent(), mesh_axis});
    }
  }
}

bool Multiples::holds(const Val* extent, ParallelType mesh_axis) const {
  if (const auto size = ops::constantOf(extent)) {
    return *size % mesh_.size(mesh_axis) == 0;
  }
  if (declared_.count({extent, mesh_axis}) != 0) {
    return true;
  }
  const Expr* def = extent->definition();
  if (def == nullptr || !def->isA<BinaryOp>() ||
      def->as<BinaryOp>()->getBinaryOpType() != BinaryOpType::Mul) {
    return false;
  }
  return holds(def->input(0), mesh_axis) || holds(def->input(1), mesh_axis);
}

}  // namespace nvfuser::multidevice
