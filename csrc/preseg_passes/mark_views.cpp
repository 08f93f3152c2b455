#include <preseg_passes/mark_views.h>

#include <algorithm>
#include <optional>

#include <ir/view_ops.h>

namespace nvfuser::preseg_passes {

namespace {

constexpr const char* kKey = "view_outputs";

/// Views that store their elements as the source does: all of them, in its order.
bool keepsOrder(const Expr* expr) {
  return expr->isOneOf<BroadcastOp, SqueezeOp, ExpandOp, ReshapeOp>();
}

bool isOverwritten(const Fusion& fusion, const Val* input) {
  const auto& aliases = fusion.getOutputAliases();
  return std::any_of(aliases.begin(), aliases.end(),
                     [&](const auto& alias) { return alias.second.aliased_io == input; });
}

struct Chain {
  const TensorView* source;
  std::vector<int64_t> operations;  ///< the source's reader first
};

/// From `out` up over operations for which `passes` holds, to a tensor for which `ends` does.
template <typename Passes, typename Ends>
std::optional<Chain> walk(const TensorView* out, const Passes& passes, const Ends& ends) {
  Chain chain{out, {}};
  do {
    const Expr* def = chain.source->definition();
    if (def == nullptr || !passes(def)) {
      return std::nullopt;
    }
    chain.operations.insert(chain.operations.begin(), def->name());
    chain.source = def->input(0)->as<TensorView>();
  } while (!ends(chain.source));
  return chain;
}

std::optional<Chain> chainOf(const Fusion& fusion, const TensorView* out) {
  auto given = [](const TensorView* tv) { return tv->isFusionInput() || tv->isFusionOutput(); };
  if (auto chain = walk(out, isViewOp, given)) {
    // An output that reuses an input's storage is overwritten by what is computed for it.
    const bool overwritten = isOverwritten(fusion, chain->source) ||
                             fusion.getOutputAlias(chain->source).aliased_io != nullptr;
    return overwritten ? std::nullopt : chain;
  }
  auto computed = [](const TensorView* tv) {
    return tv->definition() == nullptr || !keepsOrder(tv->definition());
  };
  auto chain = walk(out, keepsOrder, computed);
  return chain && chain->source->definition() != nullptr ? chain : std::nullopt;
}

}  // namespace

void markViews(Fusion& fusion) {
  std::vector<ViewOutput> views;
  for (size_t i = 0; i < fusion.outputs().size(); ++i) {
    const auto* out = fusion.outputs()[i]->as<TensorView>();
    if (out->isFusionInput() || out->hasAllocation() ||
        fusion.getOutputAlias(out).aliased_io != nullptr) {
      continue;
    }
    if (auto chain = chainOf(fusion, out)) {
      views.push_back({i, chain->source->name(), std::move(chain->operations)});
    }
  }
  fusion.manage(kKey, std::move(views));
}

const std::vector<ViewOutput>& viewOutputs(const Fusion& fusion) {
  static const std::vector<ViewOutput> kNone;
  return fusion.hasManaged(kKey) ? fusion.getManaged<std::vector<ViewOutput>>(kKey) : kNone;
}

}  // namespace nvfuser::preseg_passes
