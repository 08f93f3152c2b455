#include <segmenter/costly_repeats.h>

#include <algorithm>
#include <numeric>
#include <set>

#include <ir/internal_nodes.h>
#include <scheduler/analysis/column_values.h>

namespace nvfuser {

namespace {

/// Operations that are more than reading their result: not weights that are scaled or converted.
constexpr double kLeastRepeated = 8;

/// What is computed for one element.
struct Cone {
  std::set<int> units;  ///< but for what is a matter of indices
  double work = 0;  ///< of an element, where each place that a unit is read at is computed apart
  int64_t reduced = 0;  ///< elements that a reduction reads which it ends in, the most of any
};

/// Whether an operation reads its operand at another place than its own.
bool moves(const UnitTraits& unit) {
  const ExprKind kind = unit.exprs.back()->kind();
  return kind == ExprKind::SelectOp || kind == ExprKind::SliceOp;
}

/// Whether it is a part of its operand, or its operand with a frame around it.
bool isWindow(const UnitTraits& unit) {
  const ExprKind kind = unit.exprs.back()->kind();
  return kind == ExprKind::SliceOp || kind == ExprKind::PadOp;
}

/// Whether it reads a tensor at places that an index says.
bool readsAtIndex(const FusionTraits& traits, const UnitTraits& unit, int tensor) {
  const Expr* expr = unit.exprs.back();
  return expr->isOneOf<IndexSelectOp, GatherOp>() && expr->input(0) == traits.tensor(tensor).tv;
}

/// Operations for each element of a unit, where its operands are known.
double workAtElement(const UnitTraits& unit) {
  const ExprKind kind = unit.exprs.back()->kind();
  const bool is_copy = kind == ExprKind::LoadStoreOp || kind == ExprKind::ReshapeOp;
  return is_copy || unit.elements == 0 ? 0 : unit.work / static_cast<double>(unit.elements);
}

/// Parts along the innermost axis are columns of vectors (scheduler/pointwise/innermost_apart.h).
bool isInnermost(const FusionTraits& traits, const UnitTraits& join) {
  const TensorView* joined = traits.tensor(join.writes[0]).tv;
  return join.exprs.back()->as<CatOp>()->concatenatedDim() + 1 >= joined->nDims();
}

/// Whether what a unit gives is stored, whatever reads it.
bool isStored(const FusionTraits& traits, const UnitTraits& unit) {
  return unit.signature != -1 || unit.alone || (unit.parts > 0 && !isInnermost(traits, unit));
}

/// Of tensors, as far as those that are `stored`.
Cone coneOf(const FusionTraits& traits, const std::vector<int>& tensors,
            const std::set<int>& stored) {
  Cone cone;
  // Units, and the one that reads them elsewhere; −1 for none.
  std::vector<std::pair<int, int>> open;
  std::set<std::pair<int, int>> seen;
  const auto add = [&](int tensor, int place) {
    const int source = traits.tensor(tensor).unit;
    if (source >= 0 && traits.unit(source).signature != -1) {
      cone.reduced = std::max(cone.reduced, traits.unit(source).elements);
    }
    if (source < 0 || stored.contains(tensor) || isStored(traits, traits.unit(source)) ||
        !seen.insert({source, place}).second) {
      return;
    }
    const UnitTraits& unit = traits.unit(source);
    open.emplace_back(source, place);
    const double work = workAtElement(unit);
    if (work > 0) {
      cone.units.insert(source);
    }
    cone.work += work;
  };
  for (int tensor : tensors) {
    add(tensor, -1);
  }
  while (!open.empty()) {
    const auto [reader, place] = open.back();
    open.pop_back();
    for (int tensor : traits.unit(reader).reads) {
      add(tensor, moves(traits.unit(reader)) ? reader : place);
    }
  }
  return cone;
}

/// Bytes that could be moved in the time that it takes to compute `cone` at so many elements, and
/// not once.
double bytesInstead(const FusionTraits& traits, const MergeCosts& costs, const Cone& cone,
                    int64_t elements) {
  double once = 0;
  for (int unit : cone.units) {
    once += traits.unit(unit).work;
  }
  return (cone.work * static_cast<double>(elements) - once) / costs.work_per_byte;
}

/// To store tensors and to read them once.
double bytesOf(const FusionTraits& traits, const std::vector<int>& tensors) {
  double bytes = 0;
  for (int tensor : tensors) {
    bytes += 2 * static_cast<double>(traits.tensor(tensor).bytes);
  }
  return bytes;
}

/// Operations for each element of what a unit reads.
double workBehind(const FusionTraits& traits, const UnitTraits& unit) {
  return coneOf(traits, unit.reads, {}).work;
}

/// Whether a reduction reads what a unit gives, or what is computed of it.
bool leadsToReduction(const FusionTraits& traits, const UnitTraits& unit) {
  std::vector<int> open = unit.writes;
  std::set<int> seen(open.begin(), open.end());
  while (!open.empty()) {
    const int tensor = open.back();
    open.pop_back();
    for (int reader : traits.tensor(tensor).readers) {
      const UnitTraits& next = traits.unit(reader);
      if (next.signature >= 0) {
        return true;
      }
      for (int made : next.signature == -1 ? next.writes : std::vector<int>{}) {
        if (seen.insert(made).second) {
          open.push_back(made);
        }
      }
    }
  }
  return false;
}

/// Units that do something with a tensor's elements, views of it passed over.
std::vector<int> readersOf(const FusionTraits& traits, int tensor) {
  std::vector<int> readers;
  std::vector<int> open{tensor};
  while (!open.empty()) {
    const int next = open.back();
    open.pop_back();
    for (int reader : traits.tensor(next).readers) {
      const UnitTraits& unit = traits.unit(reader);
      if (unit.work > 0 || unit.parts > 0 || unit.alone) {
        readers.push_back(reader);
      } else {
        open.insert(open.end(), unit.writes.begin(), unit.writes.end());
      }
    }
  }
  return readers;
}

/// Whether what reads it reads a reduction of as many elements, too: its kernel's loops are those
/// of that one then.
bool meetsReduction(const FusionTraits& traits, const UnitTraits& unit) {
  const std::vector<int> readers = readersOf(traits, unit.writes[0]);
  return std::any_of(readers.begin(), readers.end(), [&](int reader) {
    const UnitTraits& next = traits.unit(reader);
    return next.signature == -1 && coneOf(traits, next.reads, {}).reduced > next.elements;
  });
}

/// Whether it gives its operand an axis that lies between two of the operand's, or outside of more
/// elements than are held for its loop (scheduler/analysis/column_values.h), or two outside: loops
/// may go along the inner one of these and the operand's as one, for which nothing is held. Loops
/// of reductions hold nothing.
bool repeatsOperand(const FusionTraits& traits, const UnitTraits& unit) {
  if (unit.exprs.back()->kind() != ExprKind::BroadcastOp) {
    return false;
  }
  const auto* stretch = unit.exprs.back()->as<BroadcastOp>();
  const std::vector<IterDomain*> axes = traits.tensor(unit.writes[0]).tv->getLogicalDomain();
  bool outer = false;
  bool between = false;
  int outside = 0;
  double inside = 1;
  for (size_t i = 0; i < axes.size(); ++i) {
    const bool counts = !axes[i]->isBroadcast() && traits.extent(axes[i]) > 1;
    if (counts && between) {
      return true;
    }
    outer = outer || counts;
    between = between || (outer && stretch->isBroadcastDim(i));
    outside += !outer && stretch->isBroadcastDim(i) ? 1 : 0;
    inside *= counts ? static_cast<double>(traits.extent(axes[i])) : 1;
  }
  if (outside == 0 || workBehind(traits, unit) < kLeastRepeated) {
    return false;
  }
  const bool may_be_held = outside < 2 && inside <= kMostHeldColumns;
  return !may_be_held || leadsToReduction(traits, unit) || meetsReduction(traits, unit);
}

/// Elements that are computed anew of what a window reads: in it, or in each window of it, as a
/// pool's along two axes.
int64_t elementsOfWindow(const FusionTraits& traits, int window) {
  const UnitTraits& unit = traits.unit(window);
  int64_t elements = 0;
  bool is_read_whole = false;
  for (int reader : traits.tensor(unit.writes[0]).readers) {
    if (isWindow(traits.unit(reader))) {
      elements += elementsOfWindow(traits, reader);
    } else {
      is_read_whole = true;
    }
  }
  return elements + (is_read_whole ? unit.elements : 0);
}

}  // namespace

CostlyRepeats::CostlyRepeats(const FusionTraits& traits, const MergeCosts& costs) {
  for (int i = 0; costs.repeats_parts && i < traits.numUnits(); ++i) {
    const UnitTraits& unit = traits.unit(i);
    if (unit.parts > 0 && !isInnermost(traits, unit)) {
      findParts(traits, costs, i);
    } else if (repeatsOperand(traits, unit)) {
      findStretched(traits, costs, i);
    } else if (!isStored(traits, unit)) {
      findWindows(traits, costs, i);
    }
  }
}

void CostlyRepeats::findParts(const FusionTraits& traits, const MergeCosts& costs, int join) {
  const UnitTraits& unit = traits.unit(join);
  std::vector<int> costly;
  for (int part : unit.reads) {
    const double instead =
        bytesInstead(traits, costs, coneOf(traits, {part}, stored_), unit.elements);
    if (instead > bytesOf(traits, {part})) {
      costly.push_back(part);
    }
  }
  const Cone cone = coneOf(traits, costly, stored_);
  if (bytesInstead(traits, costs, cone, unit.elements) >
      bytesOf(traits, costly) + costs.bytes_per_launch) {
    repeats_.push_back({join, {cone.units.begin(), cone.units.end()}});
    stored_.insert(costly.begin(), costly.end());
  }
}

void CostlyRepeats::findStretched(const FusionTraits& traits, const MergeCosts& costs,
                                  int stretch) {
  const UnitTraits& unit = traits.unit(stretch);
  const Cone cone = coneOf(traits, unit.reads, stored_);
  for (int reader : readersOf(traits, unit.writes[0])) {
    if (cone.reduced >= traits.unit(reader).elements) {
      continue;  // one kernel has loops along what the reduction keeps, where this is computed once
    }
    if (bytesInstead(traits, costs, cone, traits.unit(reader).elements) >
        bytesOf(traits, unit.reads) + costs.bytes_per_launch) {
      repeats_.push_back({reader, {cone.units.begin(), cone.units.end()}});
    }
  }
}

void CostlyRepeats::findWindows(const FusionTraits& traits, const MergeCosts& costs, int source) {
  for (int tensor : traits.unit(source).writes) {
    const std::vector<int>& readers = traits.tensor(tensor).readers;
    std::vector<int> windows;
    std::copy_if(readers.begin(), readers.end(), std::back_inserter(windows),
                 [&](int reader) { return isWindow(traits.unit(reader)); });
    if (windows.size() < 2) {
      windows.clear();  // what one cuts off is computed nowhere
    }
    std::copy_if(readers.begin(), readers.end(), std::back_inserter(windows),
                 [&](int reader) { return readsAtIndex(traits, traits.unit(reader), tensor); });
    if (windows.empty()) {
      continue;
    }
    const Cone cone = coneOf(traits, {tensor}, stored_);
    const int64_t places =
        std::accumulate(windows.begin(), windows.end(), int64_t{0}, [&](int64_t sum, int window) {
          const UnitTraits& unit = traits.unit(window);
          return sum + (isWindow(unit) ? elementsOfWindow(traits, window) : unit.elements);
        });
    if (bytesInstead(traits, costs, cone, places) >
        bytesOf(traits, {tensor}) + costs.bytes_per_launch) {
      for (int window : windows) {
        repeats_.push_back({window, {cone.units.begin(), cone.units.end()}});
      }
      stored_.insert(tensor);
    }
  }
}

bool CostlyRepeats::keepApart(const std::vector<int>& a, const std::vector<int>& b) const {
  const auto reads = [](const Repeat& repeat, const std::vector<int>& group) {
    return std::find(group.begin(), group.end(), repeat.reader) != group.end();
  };
  const auto makes = [](const Repeat& repeat, const std::vector<int>& group) {
    return std::any_of(group.begin(), group.end(), [&](int unit) {
      return std::binary_search(repeat.made_of.begin(), repeat.made_of.end(), unit);
    });
  };
  return std::any_of(repeats_.begin(), repeats_.end(), [&](const Repeat& repeat) {
    return (reads(repeat, a) && makes(repeat, b)) || (reads(repeat, b) && makes(repeat, a));
  });
}

}  // namespace nvfuser
