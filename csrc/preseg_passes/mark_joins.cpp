#include <preseg_passes/mark_joins.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <ir/composite_nodes.h>
#include <ir/internal_nodes.h>
#include <ops/axes.h>
#include <preseg_passes/joined_parts.h>
#include <preseg_passes/rewrite.h>

namespace nvfuser::preseg_passes {

namespace {

constexpr const char* kJoinsKey = "joined_outputs";

/// Operations of all parts together that are looked at: what the analysis may take.
constexpr size_t kMostVisited = 1 << 20;

/// Whether it gives elements of its operands, at their own or at other places, and computes none.
bool onlyMoves(const Expr* expr) {
  return expr->isOneOf<LoadStoreOp, BroadcastOp, SqueezeOp, ExpandOp, ReshapeOp, SliceOp, SelectOp,
                       PadOp, CatOp, RepeatOp>();
}

/// Whether its elements are at other places than its operands'.
bool changesPlaces(const Expr* expr) {
  return expr->isOneOf<SliceOp, SelectOp, PadOp, CatOp, RepeatOp, ReshapeOp>();
}

/// What is computed for one element of a tensor, as far as what is stored anyway.
struct Cone {
  /// Operations, each with what moved its result, so that another place is computed apart.
  std::set<std::pair<const Expr*, const Expr*>> work;
  std::set<const Expr*> stored;  ///< reductions and the like
  bool has_joins = false;
};

Cone coneOf(const TensorView* tv) {
  Cone cone;
  std::set<std::pair<const Expr*, const Expr*>> seen;
  std::vector<std::pair<const TensorView*, const Expr*>> open{{tv, nullptr}};
  while (!open.empty()) {
    const auto [next, mover] = open.back();
    open.pop_back();
    const Expr* def = next->definition();
    if (def == nullptr || !seen.emplace(def, mover).second) {
      continue;
    }
    if (def->isOneOf<UnaryOp, BinaryOp, TernaryOp>()) {
      cone.work.emplace(def, mover);
    } else if (!onlyMoves(def)) {
      if (isReduction(def) || def->isOneOf<ScanOp, ScatterOp>()) {
        cone.stored.insert(def);
      }
      continue;
    }
    cone.has_joins |= def->isA<CatOp>();
    for (const TensorView* in : tensorInputs(def)) {
      open.emplace_back(in, changesPlaces(def) ? def : mover);
    }
  }
  return cone;
}

/// Whether memory that it gives elements of has another innermost axis, so that a kernel for it
/// goes through tiles. (A reshape may have merged the axis: not followed.)
bool isTurned(const TensorView* tv) {
  size_t axis = ops::axesOf(tv).size();
  while (const Expr* def = axis > 0 ? tv->definition() : nullptr) {
    const size_t at = axis - 1;
    if (const auto order = permutationOf(def)) {
      axis = order->at(at) + 1;
    } else if (const auto* spread = dynamic_cast<const BroadcastOp*>(def)) {
      for (size_t i = 0; i <= at; ++i) {
        axis -= spread->isBroadcastDim(i) ? 1 : 0;
      }
      if (spread->isBroadcastDim(at)) {
        return false;
      }
    } else if (!isPlainCopy(def) && !def->isOneOf<SliceOp, PadOp>()) {
      return false;
    }
    tv = def->input(0)->as<TensorView>();
  }
  const IterDomain* innermost = axis > 0 ? ops::axesOf(tv)[axis - 1] : nullptr;
  return innermost != nullptr && tv->isFusionInput() &&
         innermost != TensorDomain::noReductions(tv->getMaybeAllocationDomain()).back();
}

/// What has one element along an axis that others repeat, is that of one element.
const TensorView* withoutRepeat(const TensorView* tv) {
  const Expr* def = tv->definition();
  if (def == nullptr || !def->isA<RepeatOp>()) {
    return tv;
  }
  const auto* in = def->input(0)->as<TensorView>();
  const std::vector<IterDomain*> from = ops::axesOf(in);
  const std::vector<IterDomain*> to = ops::axesOf(tv);
  const bool is_once = std::equal(from.begin(), from.end(), to.begin(), to.end(),
                                  [](const IterDomain* a, const IterDomain* b) {
                                    return ops::extentOf(a)->sameAs(ops::extentOf(b));
                                  });
  return is_once ? in : tv;
}

/// A part of a join along `axis`: of what was stacked, the tensor that lacks the axis.
JoinedOutput::Part partOf(const TensorView* joined, size_t axis) {
  const TensorView* part = withoutRepeat(joined);
  const auto* spread = dynamic_cast<const BroadcastOp*>(part->definition());
  const std::vector<IterDomain*> axes = ops::axesOf(part);
  bool lacks_axis = spread != nullptr;
  for (size_t i = 0; i < axes.size() && lacks_axis; ++i) {
    lacks_axis = spread->isBroadcastDim(i) == (i == axis);
  }
  return {lacks_axis ? spread->in()->name() : part->name(), lacks_axis};
}

/// The parts of a join; of those that are wide joins along the same axis and read by nothing else
/// (pass `narrow-joins`), their parts.
bool collectParts(const Fusion& fusion, const CatOp* cat, std::vector<TensorView*>& parts) {
  const auto joined = joinedParts(cat);
  if (!joined) {
    return false;
  }
  for (TensorView* part : *joined) {
    const auto* inner = dynamic_cast<const CatOp*>(part->definition());
    const bool is_inner =
        inner != nullptr && !part->isFusionOutput() && std::ssize(inner->inputs()) >= kWideJoin &&
        inner->concatenatedDim() == cat->concatenatedDim() && fusion.usesOf(part).size() == 1;
    if (!is_inner) {
      parts.push_back(part);
    } else if (!collectParts(fusion, inner, parts)) {
      return false;
    }
  }
  return true;
}

/// Whether the same axes of all have one element. (Loops over an axis that another part has more
/// elements along store no part at its place.)
bool areLike(const std::vector<TensorView*>& parts) {
  const std::vector<IterDomain*> first = ops::axesOf(withoutRepeat(parts[0]));
  return std::all_of(parts.begin(), parts.end(), [&](const TensorView* part) {
    const std::vector<IterDomain*> axes = ops::axesOf(withoutRepeat(part));
    return std::equal(axes.begin(), axes.end(), first.begin(),
                      [](const IterDomain* a, const IterDomain* b) {
                        return a->isBroadcast() == b->isBroadcast();
                      });
  });
}

/// Whether all have as many elements along the joined axis.
bool areEqual(const std::vector<TensorView*>& parts, size_t axis) {
  const Val* extent = ops::extentOf(ops::axesOf(parts[0])[axis]);
  return std::all_of(parts.begin(), parts.end(), [&](const TensorView* part) {
    return ops::extentOf(ops::axesOf(part)[axis])->sameAs(extent);
  });
}

std::optional<JoinGain> gainOf(const std::vector<TensorView*>& parts, size_t axis) {
  size_t visited = 0;
  size_t each = 0;
  size_t given = 0;  // by inputs and libraries, to be copied
  size_t turned = 0;
  bool joins = false;
  std::set<std::pair<const Expr*, const Expr*>> together;
  std::vector<std::set<const Expr*>> stored;
  std::map<const Expr*, size_t> parts_of;  // that are made of a reduction
  for (const TensorView* part : parts) {
    Cone cone = coneOf(withoutRepeat(part));
    visited += cone.work.size();
    if (visited > kMostVisited) {
      return std::nullopt;
    }
    each += cone.work.size();
    together.insert(cone.work.begin(), cone.work.end());
    given += cone.work.empty() && cone.stored.empty() ? 1 : 0;
    turned += isTurned(withoutRepeat(part)) ? 1 : 0;
    joins |= cone.has_joins;
    for (const Expr* expr : cone.stored) {
      ++parts_of[expr];
    }
    stored.push_back(std::move(cone.stored));
  }
  const auto own = static_cast<size_t>(
      std::count_if(stored.begin(), stored.end(), [&](const std::set<const Expr*>& exprs) {
        return std::any_of(exprs.begin(), exprs.end(),
                           [&](const Expr* expr) { return parts_of.at(expr) == 1; });
      }));
  if (turned > 0 && turned < parts.size()) {
    return JoinGain::OwnTiles;
  }
  const bool shares = each > 2 * together.size();
  if (2 * given >= parts.size()) {
    return std::nullopt;
  }
  if (2 * own >= parts.size() ||
      (areEqual(parts, axis) && (shares || (joins && std::ssize(parts) >= kWideJoin)))) {
    return JoinGain::SharedWork;
  }
  const bool is_apart = std::all_of(parts_of.begin(), parts_of.end(),
                                    [](const auto& entry) { return entry.second == 1; });
  const bool are_several = parts.size() > 2;  // a loop over two computes hardly more
  return are_several && is_apart && areLike(parts) ? std::optional(JoinGain::OwnLoops)
                                                   : std::nullopt;
}

/// What `out` joins, if it is a join, or a copy of one that nothing else reads.
const CatOp* joinOf(const Fusion& fusion, const TensorView* out) {
  const Expr* def = out->definition();
  while (def != nullptr && isPlainCopy(def)) {
    out = def->input(0)->as<TensorView>();
    if (out->isFusionOutput() || fusion.usesOf(out).size() > 1) {
      return nullptr;
    }
    def = out->definition();
  }
  return dynamic_cast<const CatOp*>(def);
}

bool hasExpandedAxes(const TensorView* tv) {
  const std::vector<IterDomain*> axes = ops::axesOf(tv);
  return std::any_of(axes.begin(), axes.end(),
                     [](const IterDomain* id) { return id->hasExpandedExtent(); });
}

std::optional<JoinedOutput> joinedOutput(const Fusion& fusion, const TensorView* out) {
  const CatOp* cat = joinOf(fusion, out);
  std::vector<TensorView*> parts;
  if (cat == nullptr || !fusion.usesOf(out).empty() ||
      fusion.getOutputAlias(out).aliased_io != nullptr || !collectParts(fusion, cat, parts)) {
    return std::nullopt;
  }
  const auto axis = static_cast<size_t>(cat->concatenatedDim());
  if (std::any_of(parts.begin(), parts.end(), hasExpandedAxes)) {
    return std::nullopt;
  }
  const std::optional<JoinGain> gain = gainOf(parts, axis);
  if (!gain) {
    return std::nullopt;
  }
  JoinedOutput result{out->name(), axis, *gain, {}};
  for (const TensorView* part : parts) {
    result.parts.push_back(partOf(part, axis));
  }
  return result;
}

}  // namespace

void markJoins(Fusion& fusion) {
  std::vector<JoinedOutput> joins;
  const std::vector<Expr*> exprs = fusion.exprs();
  const bool is_shared = std::any_of(exprs.begin(), exprs.end(),
                                     [](const Expr* expr) { return expr->isA<CommunicationOp>(); });
  for (const Val* output : fusion.outputs()) {
    if (const auto* out = dynamic_cast<const TensorView*>(output); out != nullptr && !is_shared) {
      if (auto join = joinedOutput(fusion, out)) {
        joins.push_back(std::move(*join));
      }
    }
  }
  fusion.manage(kJoinsKey, std::move(joins));
}

const std::vector<JoinedOutput>& joinedOutputs(const Fusion& fusion) {
  static const std::vector<JoinedOutput> kNone;
  return fusion.hasManaged(kJoinsKey) ? fusion.getManaged<std::vector<JoinedOutput>>(kJoinsKey)
                                      : kNone;
}

}  // namespace nvfuser::preseg_passes
