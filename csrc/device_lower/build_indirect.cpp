/// Reads at an index that is a scalar (select) or comes from a tensor (index_select, gather). An
/// index that its axis does not have is an error, as PyTorch's is: a scalar is checked at the
/// launch, one from memory by the CPU's kernel itself. A GPU's kernel does not tell, an emulated
/// device sees the access.
#include <algorithm>

#include <device_lower/kernel_builder.h>
#include <ir/axis_map.h>

namespace nvfuser {

using kir::Scalar;

void KernelBuilder::requireInRange(Scalar index, Scalar extent, const Expr* expr) {
  for (const kir::LaunchCheck& check : kernel_.checks) {
    if (check.kind == kir::LaunchCheck::Kind::InRange && check.reads == expr) {
      return;  // another copy of the statement
    }
  }
  kir::LaunchCheck check;
  check.kind = kir::LaunchCheck::Kind::InRange;
  check.value = index;
  check.extent = extent;
  check.reads = expr;
  kernel_.checks.push_back(std::move(check));
}

int KernelBuilder::indexRange(Scalar extent, const Expr* expr) {
  std::vector<kir::Kernel::IndexRead>& all = kernel_.index_reads;
  const auto known =
      std::find_if(all.begin(), all.end(), [&](const auto& read) { return read.expr == expr; });
  if (known != all.end()) {
    return static_cast<int>(known - all.begin());  // another copy of the statement
  }
  if (kernel_.index_report == nullptr) {
    kir::Buffer buffer;
    buffer.name = "wrong_index";
    buffer.dtype = DataType::Int;
    buffer.memory = MemoryType::Global;
    buffer.elements = pool_.constant(2);
    buffer.zeroed = buffer.read = buffer.written = true;
    kernel_.index_report = kernel_.addBuffer(std::move(buffer));
  }
  if (!(extent->isConstant() && extent->value > 0)) {
    kernel_.checks.push_back({kir::LaunchCheck::Kind::NotEmpty, extent, nullptr, 1,
                              text(expr->output(0), " reads at indices of it")});
  }
  all.push_back({expr, extent});
  return static_cast<int>(all.size()) - 1;
}

void KernelBuilder::indirect(const Expr* expr, const Places& places, const kir::Ref& dst,
                             kir::Block& out) {
  auto* in = expr->input(0)->as<TensorView>();
  auto* result = expr->output(0)->as<TensorView>();
  const std::vector<IterDomain*> axes = TensorDomain::noReductions(in->getLogicalDomain());
  const auto dim = static_cast<size_t>(expr->attribute<int64_t>(0));
  AxisIndex known = indexer_.producerAxes(expr, in, result, places);

  Scalar index = nullptr;
  if (expr->isA<SelectOp>()) {
    index = symbols_.of(expr->input(1));
    requireInRange(index, symbols_.of(axes[dim]->getMaybeExpandedExtent()), expr);
  } else {
    auto* index_tv = expr->input(1)->as<TensorView>();
    index = pool_.symbol(text("at", loaded_indices_++), symbols_.extent(axes[dim]));
    kir::Ref at = markRead(
        indexer_.read(index_tv, result, indexer_.producerAxes(expr, index_tv, result, places)));
    const bool guarded = options_.target == LowerTarget::Cpu;
    out.push_back({kir::LoadIndex{
        index, at,
        guarded ? indexRange(symbols_.of(axes[dim]->getMaybeExpandedExtent()), expr) : -1}});
  }
  known[axes[dim]] = axes[dim]->isBroadcast() ? pool_.zero() : index;
  if (expr->isA<GatherOp>() && !expr->as<GatherOp>()->exactSizes()) {
    // The other axes are those of the index tensor, which may be shorter than the input's.
    const auto& own = result->getMaybeRootDomain();
    for (size_t i = 0; i < axes.size(); ++i) {
      if (i != dim) {
        known[axes[i]] = axes[i]->isBroadcast() ? pool_.zero() : elementIndex(own[i], places);
      }
    }
  }
  // A row that is read through a window (scheduler/resize_to_inputs.h) has nothing outside of it.
  const Scalar inside = insideWindow(windowBounds(expr, places));
  kir::Operand src = markRead(indexer_.read(in, result, std::move(known)));
  if (inside->isConstant(1)) {
    out.push_back({kir::Assign{dst, src}});
  } else {
    out.push_back({kir::Guarded{dst, inside, src,
                                scalarOperand(result->fusion()->zeroVal(result->dtype()))}});
  }
}

}  // namespace nvfuser
