#include <iteration_space/loop_model.h>

#include <algorithm>
#include <map>

#include <id_model/axes_before.h>
#include <ir/axis_map.h>
#include <ir/scan_loops.h>
#include <iteration_space/promotion.h>

namespace nvfuser {

using kir::Scalar;

std::vector<TensorView*> computedTensors(const Fusion& fusion) {
  std::vector<TensorView*> result;
  for (TensorView* tv : fusion.allTvs()) {
    if (tv->definition() != nullptr) {
      result.push_back(tv);
    }
  }
  return result;
}

LoopModel::LoopModel(const Fusion& fusion, const IdGraph& exact, Symbols& symbols,
                     const LowerOptions& options)
    : symbols_(symbols), options_(options) {
  if (options.target == LowerTarget::Cpu) {
    // Tasks of a thread pool cannot wait for each other: where the last one cannot finish a
    // reduction across blocks alone, all of it runs in one task.
    const std::vector<TensorView*> tvs = computedTensors(fusion);
    if (std::any_of(tvs.begin(), tvs.end(), isReducedOverBlocks)) {
      std::optional<LastTasks> found = findLastTasks(fusion);
      serial_blocks_ = !found.has_value();
      last_tasks_ = std::move(found).value_or(LastTasks());
    }
  }
  makeLoops(fusion, exact);
  if (!refusal_ && !reducedBlocksHaveOneState()) {
    serial_blocks_ = true;
    last_tasks_.clear();
    paths_.clear();
    classes_.clear();
    std::fill(std::begin(dimension_), std::end(dimension_), nullptr);
    makeLoops(fusion, exact);
  }
}

void LoopModel::makeLoops(const Fusion& fusion, const IdGraph& exact) {
  group(fusion);
  for (auto& loop : classes_) {
    promote(*loop, exact);
    bind(*loop);
  }
  if (refusal_) {
    return;
  }
  setDirections(fusion);
  setDimensions();
  for (auto& loop : classes_) {
    setIndex(*loop);
  }
}

void LoopModel::setDirections(const Fusion& fusion) {
  for (const TensorView* tv : computedTensors(fusion)) {
    const ScanOp* scan = scanOf(tv);
    for (int position : scan != nullptr ? scanLoops(tv).positions : std::vector<int>()) {
      LoopClass& loop = *paths_.at(tv)[static_cast<size_t>(position)];
      loop.descending |= scan->isBackward();
    }
  }
}

bool LoopModel::reducedBlocksHaveOneState() const {
  return std::all_of(last_tasks_.begin(), last_tasks_.end(), [&](const auto& behind) {
    const TensorView* tv = behind.first;
    const auto& axes = tv->getLoopDomain();
    for (size_t i = 0; i < axes.size() && isReducedOverBlocks(tv); ++i) {
      const LoopClass& loop = of(tv, static_cast<int>(i));
      if (!axes[i]->isReduction() && !loop.isThread() && !loop.extent->isConstant(1)) {
        return false;
      }
    }
    return true;
  });
}

void LoopModel::group(const Fusion& fusion) {
  const std::vector<TensorView*> tvs = computedTensors(fusion);
  std::map<std::pair<const TensorView*, int>, int> number;
  std::vector<std::pair<const TensorView*, int>> axes;
  std::vector<int> parent;
  for (TensorView* tv : tvs) {
    for (int i = 0; i < tv->nDims(); ++i) {
      number[{tv, i}] = static_cast<int>(axes.size());
      axes.emplace_back(tv, i);
      parent.push_back(static_cast<int>(parent.size()));
    }
  }
  auto find = [&](int n) {
    while (parent[static_cast<size_t>(n)] != n) {
      n = parent[static_cast<size_t>(n)];
    }
    return n;
  };
  auto unite = [&](const TensorView* a, const TensorView* b, int position) {
    int x = find(number.at({a, position}));
    int y = find(number.at({b, position}));
    parent[static_cast<size_t>(std::max(x, y))] = std::min(x, y);
  };
  for (TensorView* tv : tvs) {
    for (TensorView* consumer : consumersOf(tv)) {
      for (int i = 0; i < tv->getComputeAtPosition(); ++i) {
        if (i >= consumer->nDims()) {
          refuse("lower: ", tv, " is inlined at position ", tv->getComputeAtPosition(),
                 ", but its consumer ", consumer, " has only ", consumer->nDims(),
                 " loop axes; inline it again after scheduling the consumer");
          break;
        }
        unite(tv, consumer, i);
      }
    }
    for (TensorView* sibling : siblingsOf(tv)) {
      for (int i = 0; i < std::min(tv->nDims(), sibling->nDims()); ++i) {
        unite(tv, sibling, i);
      }
    }
  }
  std::map<int, LoopClass*> of_root;
  for (size_t n = 0; n < axes.size(); ++n) {
    LoopClass*& loop = of_root[find(static_cast<int>(n))];
    if (loop == nullptr) {
      classes_.push_back(std::make_unique<LoopClass>());
      loop = classes_.back().get();
      loop->id = static_cast<int>(classes_.size()) - 1;
    }
    loop->members.push_back(axes[n]);
    paths_[axes[n].first].push_back(loop);
  }
  for (TensorView* tv : tvs) {
    paths_.try_emplace(tv);
  }
}

void LoopModel::promote(LoopClass& loop, const IdGraph& exact) {
  const Promotion promotion = promotionOf(loop.members, exact);
  loop.promoted = promotion.over;
  if (promotion.uncovered) {
    const auto [tv, position] = *promotion.uncovered;
    refuse("lower: axis ", position, " of ", tv, " cannot share a loop with ", loop.promoted,
           " of ", exact.tensorOf(loop.promoted),
           ": neither axis covers the other; inline it at a position before that axis");
  }
}

ParallelType LoopModel::effective(const TensorView* tv, int position) const {
  const ParallelType type = tv->getLoopDomain()[static_cast<size_t>(position)]->getParallelType();
  if (options_.target == LowerTarget::Cpu) {
    if (isParallelTypeThreadDim(type)) {
      return ParallelType::Serial;
    }
    if (isParallelTypeBlockDim(type) && serial_blocks_) {
      return ParallelType::Serial;
    }
  }
  return type;
}

namespace {

/// Whether an axis is a broadcast one, or a part of such, that has one element, however many
/// iterations its split made of it.
bool isOneElement(const IterDomain* axis) {
  if (!axis->isBroadcast()) {
    return false;
  }
  if (axis->definition() == nullptr) {
    return axis->extent()->isOneInt();
  }
  const auto& made_of = axis->definition()->inputs();
  return std::all_of(made_of.begin(), made_of.end(),
                     [](const Val* in) { return isOneElement(in->as<IterDomain>()); });
}

}  // namespace

void LoopModel::bind(LoopClass& loop) {
  const TensorView* owner = nullptr;
  for (auto [tv, position] : loop.members) {
    const ParallelType type = effective(tv, position);
    if (type == ParallelType::Serial) {
      continue;
    }
    loop.clustered |= isParallelTypeBlockDim(type) &&
                      tv->getLoopDomain()[static_cast<size_t>(position)]->isClusteredBlockDim();
    if (loop.parallel != ParallelType::Serial && loop.parallel != type) {
      refuse("lower: axis ", position, " of ", tv, " is bound to ", parallelTypeName(type),
             ", but it shares its loop with an axis of ", owner, " that is bound to ",
             parallelTypeName(loop.parallel),
             "; bind both alike (scheduler_utils::parallelizeAllLike)");
    }
    loop.parallel = type;
    owner = tv;
  }
  const bool is_serial = loop.parallel == ParallelType::Serial ||
                         loop.parallel == ParallelType::Unroll ||
                         loop.parallel == ParallelType::Unswitch;
  loop.extent = is_serial && isOneElement(loop.promoted) ? symbols_.pool().one()
                                                         : symbols_.extent(loop.promoted);
}

void LoopModel::setDimensions() {
  kir::ScalarPool& pool = symbols_.pool();
  for (auto& loop : classes_) {
    if (!loop->isThread()) {
      continue;
    }
    Scalar extent = loop->extent;
    for (auto [tv, position] : loop->members) {
      const IterDomain* id = tv->getLoopDomain()[static_cast<size_t>(position)];
      if (!id->hasPaddingToMultipleOfWarp()) {
        continue;
      }
      const auto size = id->getMaybeSizeAfterPadding();
      if (size) {
        extent = pool.max(extent, pool.constant(*size));
      }
      if (!size || *size >= 32) {
        extent = pool.mul(pool.ceilDiv(extent, pool.constant(32)), 32);
      }
    }
    Scalar& slot = dimension_[static_cast<size_t>(loop->parallel)];
    slot = slot == nullptr ? extent : pool.max(slot, extent);
  }
  for (ParallelType type : kParallelTypeThreads) {
    Scalar& slot = dimension_[static_cast<size_t>(type)];
    index_[static_cast<size_t>(type)] =
        slot == nullptr
            ? pool.zero()
            : (slot->isConstant(1) ? pool.zero()
                                   : pool.symbol(std::string(parallelIndexName(type)), slot));
  }
}

void LoopModel::setIndex(LoopClass& loop) {
  kir::ScalarPool& pool = symbols_.pool();
  loop.thread = loop.isThread() ? parallelIndex(loop.parallel) : nullptr;
  if (loop.extent->isConstant(1)) {
    loop.index = pool.zero();  // also where more threads are launched: all know the one element
  } else if (loop.isThread()) {
    loop.index = parallelIndex(loop.parallel);
  } else {
    loop.index = pool.symbol(text("k", loop.id), loop.extent);
  }
}

const LoopClass& LoopModel::of(const TensorView* tv, int position) const {
  return *paths_.at(tv)[static_cast<size_t>(position)];
}

std::vector<const LoopClass*> LoopModel::path(const TensorView* tv) const {
  const auto& path = paths_.at(tv);
  return {path.begin(), path.end()};
}

const LoopClass* LoopModel::makePrivate(const TensorView* tv, int position) {
  const LoopClass& shared = of(tv, position);
  auto loop = std::make_unique<LoopClass>();
  loop->id = static_cast<int>(classes_.size());
  loop->members = {{tv, position}};
  for (TensorView* sibling : siblingsOf(tv)) {
    loop->members.emplace_back(sibling, position);
  }
  // Threads and blocks are at the same elements before, in and behind the loops of a reduction.
  loop->promoted =
      shared.isThread() ? shared.promoted : tv->getLoopDomain()[static_cast<size_t>(position)];
  loop->parallel = shared.parallel;
  loop->descending = shared.descending;
  // The parts of a broadcast axis are one element, which the shared loop does not repeat, either.
  const bool is_one_element =
      loop->promoted->isBroadcast() && !shared.isThread() && shared.extent->isConstant(1);
  loop->extent = is_one_element ? shared.extent : symbols_.extent(loop->promoted);
  setIndex(*loop);
  classes_.push_back(std::move(loop));
  return classes_.back().get();
}

Scalar LoopModel::dimension(ParallelType type) const {
  return dimension_[static_cast<size_t>(type)];
}

Scalar LoopModel::cluster(ParallelType type) const {
  for (const auto& loop : classes_) {
    if (loop->clustered && loop->parallel == type) {
      return dimension(type);
    }
  }
  return nullptr;
}

Scalar LoopModel::parallelIndex(ParallelType type) const {
  return index_[static_cast<size_t>(type)];
}

const IterDomain* LoopModel::boundAxis(const TensorView* tv, ParallelType type) const {
  const auto& path = paths_.at(tv);
  for (size_t i = 0; i < path.size(); ++i) {
    if (path[i]->parallel == type) {
      return tv->getLoopDomain()[i];
    }
  }
  return nullptr;
}

const IterDomain* LoopModel::promotedAxis(const TensorView* tv, ParallelType type) const {
  for (const LoopClass* loop : paths_.at(tv)) {
    if (loop->parallel == type) {
      return loop->promoted;
    }
  }
  return nullptr;
}

bool LoopModel::isSpread(const TensorView* tv, ParallelType type) const {
  const IterDomain* id = boundAxis(tv, type);
  return id != nullptr && !id->isBroadcast() && !id->isReduction();
}

bool LoopModel::isRepeated(const TensorView* tv, ParallelType type) const {
  const IterDomain* axis = boundAxis(tv, type);
  return axis != nullptr && isRepeated(axis);
}

bool LoopModel::isRepeated(const IterDomain* axis) {
  const std::vector<const IterDomain*> before = axesBefore({axis}, {});
  return std::any_of(before.begin(), before.end(), [](const IterDomain* id) {
    return id->isBroadcast() && !id->extent()->isOneInt();
  });
}

bool LoopModel::isUsed(ParallelType type) const {
  Scalar extent = dimension(type);
  return extent != nullptr && !extent->isConstant(1);
}

}  // namespace nvfuser
