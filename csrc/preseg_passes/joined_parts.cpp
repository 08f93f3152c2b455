#include <preseg_passes/joined_parts.h>

#include <ir/builder.h>
#include <ir/size_arithmetic.h>
#include <ops/axes.h>

namespace nvfuser::preseg_passes {

std::optional<std::vector<TensorView*>> joinedParts(const CatOp* cat) {
  const auto joined = static_cast<size_t>(cat->concatenatedDim());
  std::vector<TensorView*> parts;
  Val* offset = cat->fusion()->zeroVal(DataType::Index);
  for (const Val* in : cat->inputs()) {
    const Expr* def = in->definition();
    if (def == nullptr || !def->isA<PadOp>()) {
      return std::nullopt;
    }
    const auto* pad = def->as<PadOp>();
    auto* part = pad->in()->as<TensorView>();
    const std::vector<IterDomain*> axes = ops::axesOf(part);
    for (size_t i = 0; i < axes.size(); ++i) {
      if (i != joined && (!pad->leftWidth(i)->isZero() || !pad->rightWidth(i)->isZero())) {
        return std::nullopt;
      }
    }
    if (!pad->leftWidth(joined)->sameAs(offset)) {
      return std::nullopt;
    }
    offset = SizeArithmetic::sum(offset, ops::extentOf(axes[joined]));
    parts.push_back(part);
  }
  const std::vector<IterDomain*> out = ops::axesOf(cat->output(0)->as<TensorView>());
  return parts.empty() || !ops::extentOf(out[joined])->sameAs(offset)
             ? std::nullopt
             : std::optional(std::move(parts));
}

}  // namespace nvfuser::preseg_passes
