/// Reads at an index that is a scalar (select) or comes from a tensor (index_select, gather).
#include <device_lower/kernel_builder.h>
#include <ir/axis_map.h>

namespace nvfuser {

using kir::Scalar;

void KernelBuilder::indirect(const Expr* expr, const AxisValues& values, const kir::Ref& dst,
                             kir::Block& out) {
  auto* in = expr->input(0)->as<TensorView>();
  auto* result = expr->output(0)->as<TensorView>();
  const std::vector<IterDomain*> axes = TensorDomain::noReductions(in->getLogicalDomain());
  const auto dim = static_cast<size_t>(expr->attribute<int64_t>(0));
  AxisIndex known = indexer_.producerAxes(expr, in, result, values);

  Scalar index = nullptr;
  if (expr->isA<SelectOp>()) {
    index = symbols_.of(expr->input(1));
  } else {
    auto* index_tv = expr->input(1)->as<TensorView>();
    index = pool_.symbol(text("at", loaded_indices_++), symbols_.extent(axes[dim]));
    kir::Ref at = markRead(
        indexer_.read(index_tv, result, indexer_.producerAxes(expr, index_tv, result, values)));
    out.push_back({kir::LoadIndex{index, at}});
  }
  known[axes[dim]] = axes[dim]->isBroadcast() ? pool_.zero() : index;
  if (expr->isA<GatherOp>() && !expr->as<GatherOp>()->exactSizes()) {
    // The other axes are those of the index tensor, which may be shorter than the input's.
    const auto& own = result->getMaybeRootDomain();
    for (size_t i = 0; i < axes.size(); ++i) {
      if (i != dim) {
        known[axes[i]] = axes[i]->isBroadcast() ? pool_.zero() : elementIndex(own[i], values);
      }
    }
  }
  out.push_back({kir::Assign{dst, markRead(indexer_.read(in, result, std::move(known)))}});
}

}  // namespace nvfuser
