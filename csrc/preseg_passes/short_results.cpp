#include <preseg_passes/short_results.h>

#include <algorithm>
#include <set>

#include <ops/axes.h>
#include <preseg_passes/parts_along_axis.h>
#include <preseg_passes/rewrite.h>

namespace nvfuser::preseg_passes {

namespace {

std::optional<int64_t> innermostExtent(const TensorView* tv) {
  const std::vector<IterDomain*> axes = ops::axesOf(tv);
  return axes.empty() ? std::nullopt : shortExtent(axes.back());
}

/// Whether an operation takes its result's elements from other places of what is computed, along
/// the innermost axis.
bool movesComputed(const Expr* expr, size_t innermost) {
  if (expr->isA<CatOp>()) {
    return static_cast<size_t>(expr->as<CatOp>()->concatenatedDim()) == innermost;
  }
  const auto* pad = dynamic_cast<const PadOp*>(expr);
  return pad != nullptr && !pad->in()->isFusionInput() &&
         (!pad->leftWidth(innermost)->isZero() || !pad->rightWidth(innermost)->isZero());
}

/// An output as the join of its parts.
struct Result {
  TensorView* output = nullptr;
  TensorView* joined = nullptr;
  /// What it is made of, as far as that is computed and has a short innermost axis, too.
  std::set<const TensorView*> ways;
};

/// Nothing for outputs without such parts, and for those where nothing that is computed moves.
std::optional<Result> takenApart(TensorView* output, PartsAlongAxis& parts) {
  Result result{output, nullptr, {}};
  bool moves = false;
  std::vector<const TensorView*> open{output};
  while (!open.empty()) {
    const TensorView* tv = open.back();
    open.pop_back();
    const Expr* def = tv->isFusionInput() ? nullptr : tv->definition();
    if (def == nullptr || !innermostExtent(tv) || !result.ways.insert(tv).second) {
      continue;
    }
    moves = moves || movesComputed(def, ops::axesOf(tv).size() - 1);
    for (const TensorView* operand : tensorInputs(def)) {
      open.push_back(operand);
    }
  }
  if (!moves) {
    return std::nullopt;
  }
  const size_t innermost = ops::axesOf(output).size() - 1;
  std::vector<TensorView*> joined;
  for (int64_t k = 0; k < *innermostExtent(output); ++k) {
    joined.push_back(parts.of(output, innermost, k));
    if (joined.back() == nullptr) {
      return std::nullopt;
    }
  }
  result.joined = joinedAlong(std::move(joined), innermost);
  return sameForm(output, result.joined) ? std::optional(std::move(result)) : std::nullopt;
}

}  // namespace

void takeShortResultsApart(Fusion& fusion) {
  FusionGuard guard(&fusion);
  PartsAlongAxis parts(mostOperationsOfParts(fusion));
  std::vector<Result> results;
  std::set<const TensorView*> on_ways;
  std::set<const TensorView*> outputs;
  for (Val* output : std::vector<Val*>(fusion.outputs())) {
    if (auto result = takenApart(output->as<TensorView>(), parts)) {
      on_ways.insert(result->ways.begin(), result->ways.end());
      outputs.insert(result->output);
      results.push_back(std::move(*result));
    }
  }
  const auto isReadWhole = [&](const TensorView* tv) {
    const std::vector<Expr*> readers = fusion.usesOf(tv);
    return (tv->isFusionOutput() && outputs.count(tv) == 0) ||
           std::any_of(readers.begin(), readers.end(), [&](const Expr* reader) {
             return !reader->isA<SelectOp>() &&
                    on_ways.count(reader->output(0)->as<TensorView>()) == 0;
           });
  };
  std::erase_if(results, [&](const Result& result) {
    return std::any_of(result.ways.begin(), result.ways.end(), isReadWhole);
  });
  for (const Result& result : results) {
    replaceTensor(result.output, result.joined);
  }
}

}  // namespace nvfuser::preseg_passes
