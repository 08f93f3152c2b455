#include <segmenter/costly_joins.h>

#include <algorithm>
#include <set>

#include <ir/internal_nodes.h>

namespace nvfuser {

namespace {

/// What is computed for one element of a join.
struct Cone {
  std::set<int> units;  ///< but for what is a matter of indices
  double work = 0;  ///< of an element, where each place that a unit is read at is computed apart
};

/// Whether an operation reads its operand at another place than its own.
bool moves(const UnitTraits& unit) {
  const ExprKind kind = unit.exprs.back()->kind();
  return kind == ExprKind::SelectOp || kind == ExprKind::SliceOp;
}

Cone coneOf(const FusionTraits& traits, int join) {
  Cone cone;
  // Units, and the one that reads them elsewhere; −1 for none.
  std::vector<std::pair<int, int>> open{{join, -1}};
  std::set<std::pair<int, int>> seen;
  while (!open.empty()) {
    const auto [reader, place] = open.back();
    open.pop_back();
    for (int tensor : traits.unit(reader).reads) {
      const int source = traits.tensor(tensor).unit;
      if (source < 0 || traits.unit(source).signature != -1 || traits.unit(source).parts > 0 ||
          traits.unit(source).alone) {
        continue;  // stored anyway
      }
      const UnitTraits& unit = traits.unit(source);
      const std::pair<int, int> next{source, moves(traits.unit(reader)) ? reader : place};
      if (seen.insert(next).second) {
        open.push_back(next);
        if (unit.work > 0) {
          cone.units.insert(source);
        }
        cone.work += unit.elements > 0 ? unit.work / static_cast<double>(unit.elements) : 0;
      }
    }
  }
  return cone;
}

/// Whether all parts at each element of the join take longer than to store them and to launch
/// another kernel.
bool isCostly(const FusionTraits& traits, const MergeCosts& costs, int join, const Cone& cone) {
  double once = 0;
  for (int unit : cone.units) {
    once += traits.unit(unit).work;
  }
  const double again = cone.work * static_cast<double>(traits.unit(join).elements) - once;
  const double moved = 2 * static_cast<double>(traits.tensor(traits.unit(join).writes[0]).bytes);
  return again / costs.work_per_byte > moved + costs.bytes_per_launch;
}

/// Parts along the innermost axis are columns of vectors (scheduler/pointwise/innermost_apart.h).
bool isInnermost(const FusionTraits& traits, const UnitTraits& join) {
  const TensorView* joined = traits.tensor(join.writes[0]).tv;
  return join.exprs.back()->as<CatOp>()->concatenatedDim() + 1 >= joined->nDims();
}

}  // namespace

CostlyJoins::CostlyJoins(const FusionTraits& traits, const MergeCosts& costs) {
  for (int i = 0; costs.repeats_parts && i < traits.numUnits(); ++i) {
    const UnitTraits& unit = traits.unit(i);
    if (unit.parts == 0 || isInnermost(traits, unit)) {
      continue;
    }
    const Cone cone = coneOf(traits, i);
    if (isCostly(traits, costs, i, cone)) {
      joins_.push_back({i, {cone.units.begin(), cone.units.end()}});
    }
  }
}

bool CostlyJoins::keepApart(const std::vector<int>& a, const std::vector<int>& b) const {
  const auto joinOf = [](const Join& join, const std::vector<int>& group) {
    return std::find(group.begin(), group.end(), join.unit) != group.end();
  };
  const auto partOf = [](const Join& join, const std::vector<int>& group) {
    return std::any_of(group.begin(), group.end(), [&](int unit) {
      return std::binary_search(join.made_of.begin(), join.made_of.end(), unit);
    });
  };
  return std::any_of(joins_.begin(), joins_.end(), [&](const Join& join) {
    return (joinOf(join, a) && partOf(join, b)) || (joinOf(join, b) && partOf(join, a));
  });
}

}  // namespace nvfuser
