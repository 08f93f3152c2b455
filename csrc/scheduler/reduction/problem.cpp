#include <scheduler/reduction/problem.h>

#include <algorithm>
#include <iterator>
#include <numeric>

#include <ir/internal_nodes.h>
#include <scheduler/analysis/cache_lines.h>
#include <scheduler/analysis/elements_of_accesses.h>
#include <scheduler/analysis/windows.h>
#include <scheduler/indexed_reads.h>
#include <scheduler/reduction/loops.h>
#include <scheduler/reduction/trial.h>

namespace nvfuser::reduction {

namespace {

constexpr int64_t kVectorsOfAllMasks = 64;   ///< bytes of AVX-512's registers
constexpr int64_t kVectorsOfWideMasks = 32;  ///< of AVX2's: masks for elements of 4 and 8 bytes
constexpr int64_t kLeastRun = 16;    ///< elements of a loop that is worth vectors, without masks
constexpr int64_t kMostCached = 32;  ///< elements that a thread takes from a small table alone
constexpr int64_t kCachedBytes = 16384;  ///< of a table that stays in a multiprocessor's cache

/// Refuses a reduction that keeps an axis of one element along which a reader has many: loops are
/// those of all tensors, so that the reader's rows would each have the reduction again. (Nor do
/// blocks that share a row know how many rows there are.)
///
///   T2[b0, r1] = sum(T0[b0, i1])   T3[i2] = T2[b0] + T1[i2]
///
std::optional<Refusal> refusesRepeats(const std::vector<Expr*>& reductions,
                                      const IdGraph& permissive) {
  for (const Expr* expr : reductions) {
    const auto* out = expr->output(0)->as<TensorView>();
    for (const IterDomain* id : out->getLogicalDomain()) {
      if (!id->isBroadcast()) {
        continue;
      }
      for (const IterDomain* other : permissive.members(permissive.classOf(id))) {
        if (!other->isBroadcast() && !other->extent()->isOneInt()) {
          return Refusal{text(out, " has one element along ", id, ", and would be computed again ",
                              "for each of ", other)};
        }
      }
    }
  }
  return std::nullopt;
}

}  // namespace

Form::Form(const Fusion& fusion, IdGraph graph, ReductionSignature of_graph)
    : permissive(std::move(graph)),
      signature(std::move(of_graph)),
      buffers(fusion, permissive, signature) {}

std::variant<std::unique_ptr<Form>, Refusal> Form::of(const Fusion& fusion) {
  IdGraph graph(fusion, IdGraph::Mode::Permissive);
  auto signature = reductionSignature(fusion, graph);
  if (auto* refusal = std::get_if<Refusal>(&signature)) {
    return std::move(*refusal);
  }
  if (auto refusal = refusesRepeats(std::get<ReductionSignature>(signature).reductions, graph)) {
    return std::move(*refusal);
  }
  return std::unique_ptr<Form>(
      new Form(fusion, std::move(graph), std::get<ReductionSignature>(std::move(signature))));
}

std::variant<std::unique_ptr<Form>, Refusal> Form::ofInnerOuter(const Fusion& fusion) {
  IdGraph graph(fusion, IdGraph::Mode::Permissive);
  auto found = innerOuterReductions(fusion, graph);
  if (auto* refusal = std::get_if<Refusal>(&found)) {
    return std::move(*refusal);
  }
  return std::unique_ptr<Form>(
      new Form(fusion, std::move(graph), std::move(std::get<InnerOuterReductions>(found).inner)));
}

Problem::Problem(const Fusion& of_fusion, const Form& of_form, SchedulerRuntimeInfo& at)
    : Problem(of_fusion, of_form, at,
              [&](const std::vector<int64_t>& axes_in_order, bool fastest, int64_t inner_axes) {
                const SchedulerType type = of_form.buffers.held().empty() ? SchedulerType::Reduction
                                           : fastest ? SchedulerType::InnerPersistent
                                                     : SchedulerType::OuterPersistent;
                return !tryLoops(of_fusion, of_form, type, axes_in_order, fastest, inner_axes);
              }) {}

Problem::Problem(const Fusion& of_fusion, const Form& of_form, SchedulerRuntimeInfo& at,
                 const SuitsLoops& suits_loops)
    : fusion(of_fusion), form(of_form), info(at), axes(fusion, form.signature.source()) {
  const auto& logical = form.signature.reference()->getLogicalDomain();
  const std::vector<TensorView*> border = borderTensors(fusion);
  std::vector<int64_t> as_defined(logical.size());
  std::iota(as_defined.begin(), as_defined.end(), 0);
  std::vector<TensorView*> telling = border;
  if (!reshapes()) {
    std::erase_if(telling, [&](const TensorView* tv) {
      return !axes.covers(tv) && (info.isHost() || !readThroughWindows(tv));
    });
  }
  setOrder(axes.memoryOrderOfLargest(telling, info));
  const std::vector<TensorView*> read = info.isHost() ? border : withWindows(border);
  of_indices =
      !info.isHost() && form.buffers.held().empty() && !reshapes() && isReducedNowhere(read);
  if (of_indices) {
    setOrder(reducedFirst());
  }
  if (order != as_defined && reshapes() && !followsReshapes(suits_loops)) {
    const std::vector<int64_t> in_memory = order;
    for (const std::vector<int64_t>& other : {keptAsDefined(), as_defined, in_memory}) {
      setOrder(other);
      if (followsReshapes(suits_loops)) {
        break;
      }
    }
  }
  const int64_t masked = info.device().vector_bytes >= kVectorsOfAllMasks    ? 1
                         : info.device().vector_bytes >= kVectorsOfWideMasks ? 4
                                                                             : kMaxVectorBytes;
  has_masks = info.isHost() && std::all_of(border.begin(), border.end(), [&](const TensorView* tv) {
                return tv->isCpuScalar() || SchedulerRuntimeInfo::elementBytes(tv) >= masked;
              });
  if (info.isHost() && fastest_dim && !reshapes()) {
    keepRuns(border);
  }
  for (const TensorView* tv : read) {
    const int64_t size = SchedulerRuntimeInfo::elementBytes(tv);
    largest_dtype = std::max(largest_dtype, size);
    const bool is_along = std::any_of(inner.begin(), inner.end(), [&](int64_t axis) {
      return axes.find(tv, static_cast<size_t>(axis)) != nullptr;
    });
    row_bytes += is_along && !tv->isFusionOutput() ? size : 0;
    if (isFull(tv)) {
      full_dtype = std::max(full_dtype, size);
      ++full_tensors;
      full_inputs += tv->isFusionOutput() ? 0 : 1;
      input_bytes += tv->isFusionOutput() ? 0 : size;
    }
  }
  input_bytes = std::max<int64_t>(input_bytes, 1);
  row_bytes = std::max<int64_t>(row_bytes, 1);
  if (schedule_3d && !fastest_dim && mustMergeKept(suits_loops)) {
    inner.clear();
    std::copy_if(order.begin(), order.end(), std::back_inserter(inner),
                 [&](int64_t axis) { return !logical[static_cast<size_t>(axis)]->isReduction(); });
    inner_extent = kept;
    schedule_3d = false;
  }
}

bool Problem::isReducedNowhere(const std::vector<TensorView*>& border) const {
  const auto& logical = form.signature.reference()->getLogicalDomain();
  // Whether the axis is one that an index is of, instead of loops.
  const auto isIndexed = [](const TensorView* tv, const IterDomain* id) {
    const std::vector<Expr*> uses = tv->fusion()->usesOf(tv);
    return scheduler_tools::isReadAtIndex(tv) &&
           std::any_of(uses.begin(), uses.end(), [&](const Expr* use) {
             return TensorDomain::noReductions(tv->getLogicalDomain())
                        .at(static_cast<size_t>(indexedAxis(use))) == id;
           });
  };
  const auto liesAlong = [&](const TensorView* tv, size_t axis) {
    const IterDomain* id = axes.find(tv, axis);
    if (id == nullptr || isIndexed(tv, id)) {
      return false;
    }
    // Windows that overlap: neighbouring ones lie as near as neighbours within one.
    const std::vector<int64_t> strides = axes.strides(tv, info);
    for (size_t i = 0; i < logical.size(); ++i) {
      if (!logical[i]->isReduction() && 0 < strides[i] && strides[i] <= strides[axis] &&
          strides[i] * info.extent(logical[i]) > strides[axis]) {
        return false;
      }
    }
    const bool is_cached = reduced <= kMostCached && !isFull(tv) && info.bytes(tv) <= kCachedBytes;
    return !is_cached;
  };
  return kept >= info.device().warp_size &&
         std::none_of(border.begin(), border.end(), [&](const TensorView* tv) {
           for (size_t i = 0; i < logical.size(); ++i) {
             if (logical[i]->isReduction() && liesAlong(tv, i)) {
               return true;
             }
           }
           return false;
         });
}

std::vector<int64_t> Problem::reducedFirst() const {
  const auto& logical = form.signature.reference()->getLogicalDomain();
  std::vector<int64_t> result = order;
  std::stable_partition(result.begin(), result.end(), [&](int64_t axis) {
    return logical[static_cast<size_t>(axis)]->isReduction();
  });
  return result;
}

bool Problem::isFull(const TensorView* tv) const {
  bool has_all = true;
  for (size_t i = 0; i < axes.axes().size(); ++i) {
    has_all &= axes.axes()[i]->isBroadcast() || axes.find(tv, i) != nullptr;
  }
  const auto elements = [&](const TensorView* of) {
    return info.bytes(of) / SchedulerRuntimeInfo::elementBytes(of);
  };
  return has_all || (reshapes() && elements(tv) == elements(form.signature.source()));
}

void Problem::setOrder(std::vector<int64_t> to) {
  const auto& logical = form.signature.reference()->getLogicalDomain();
  order = std::move(to);
  inner.clear();
  fastest_dim = true;
  schedule_3d = false;
  kept = reduced = inner_extent = 1;
  auto id = [&](int64_t axis) { return logical[static_cast<size_t>(axis)]; };
  auto counts = [&](int64_t axis) { return !id(axis)->isBroadcast(); };
  // Which kind lies innermost: axes of extent 1 do not tell, unless that is all that is reduced
  // (rows of length 1 are rows).
  bool found = std::all_of(logical.begin(), logical.end(), [&](const IterDomain* axis) {
    return !axis->isReduction() || info.extent(axis) == 1;
  });
  for (const IterDomain* axis : logical) {
    fastest_dim = axis->isBroadcast() ? fastest_dim : axis->isReduction();
  }
  for (auto it = order.rbegin(); it != order.rend() && !found; ++it) {
    if (counts(*it) && info.extent(id(*it)) != 1) {
      fastest_dim = id(*it)->isReduction();
      found = true;
    }
  }
  auto beginOfInner = [&] {
    size_t begin = order.size();
    while (begin > 0 && (!counts(order[begin - 1]) || info.extent(id(order[begin - 1])) == 1 ||
                         id(order[begin - 1])->isReduction() == fastest_dim)) {
      --begin;
    }
    return begin;
  };
  size_t begin = beginOfInner();
  auto isInner = [&](int64_t axis) { return id(axis)->isReduction() == fastest_dim; };
  if (std::none_of(order.begin() + static_cast<std::ptrdiff_t>(begin), order.end(), isInner)) {
    fastest_dim = !fastest_dim;
    begin = beginOfInner();
  }
  for (size_t i = 0; i < order.size(); ++i) {
    const IterDomain* axis = id(order[i]);
    (axis->isReduction() ? reduced : kept) *= info.extent(axis);
    if (axis->isReduction() != fastest_dim) {
      continue;
    }
    if (i >= begin) {
      inner.push_back(order[i]);
      inner_extent *= info.extent(axis);
    } else if (counts(order[i])) {
      schedule_3d = true;
    }
  }
}

void Problem::keepRuns(const std::vector<TensorView*>& tensors) {
  const auto runsAlong = [&](const std::vector<int64_t>& along) {
    return std::count_if(tensors.begin(), tensors.end(),
                         [&](const TensorView* tv) { return axes.isRun(tv, along, info); });
  };
  const auto extent = [&](int64_t axis) {
    return info.extent(axes.axes()[static_cast<size_t>(axis)]);
  };
  const int64_t least = has_masks ? kLeastMaskedRun : kLeastRun;
  std::vector<int64_t> best = inner;
  std::vector<int64_t> along = inner;
  int64_t length = inner_extent;
  auto most = runsAlong(inner);
  while (along.size() > 1) {
    length /= std::max<int64_t>(extent(along.front()), 1);
    along.erase(along.begin());
    if (length >= least && runsAlong(along) > most) {
      most = runsAlong(along);
      best = along;
      inner_extent = length;
      schedule_3d = true;
    }
  }
  inner = std::move(best);
}

std::vector<int64_t> Problem::keptAsDefined() const {
  const auto& logical = form.signature.reference()->getLogicalDomain();
  const auto isKept = [&](int64_t axis) {
    return !logical[static_cast<size_t>(axis)]->isReduction();
  };
  std::vector<int64_t> result = order;
  int64_t next = 0;
  for (int64_t& axis : result) {
    if (isKept(axis)) {
      while (!isKept(next)) {
        ++next;
      }
      axis = next++;
    }
  }
  return result;
}

bool Problem::reshapes() const {
  const std::vector<Expr*> exprs = fusion.exprs();
  return std::any_of(exprs.begin(), exprs.end(),
                     [](const Expr* expr) { return expr->isA<ReshapeOp>(); });
}

int64_t Problem::keptAxes() const {
  const auto& logical = form.signature.reference()->getLogicalDomain();
  return std::count_if(logical.begin(), logical.end(),
                       [](const IterDomain* id) { return !id->isReduction(); });
}

bool Problem::followsReshapes(const SuitsLoops& suits_loops) const {
  return suits_loops(order, fastest_dim, static_cast<int64_t>(inner.size())) ||
         (schedule_3d && !fastest_dim && suits_loops(order, fastest_dim, keptAxes()));
}

bool Problem::mustMergeKept(const SuitsLoops& suits_loops) const {
  return reshapes() && !suits_loops(order, fastest_dim, static_cast<int64_t>(inner.size())) &&
         suits_loops(order, fastest_dim, keptAxes());
}

int64_t Problem::widest() const {
  int64_t width = 1;
  for (const TensorView* tv : borderTensors(fusion)) {
    width = std::max(width, widthOf(tv));
  }
  width = std::min(width, elementsOfAccesses(borderTensors(fusion), info));
  while (width > 1 && inner_extent % width != 0) {
    width /= 2;
  }
  if (info.isHost()) {
    return width;
  }
  const std::vector<LineAccess> lines = lineAccesses(axes, borderTensors(fusion), {}, inner, info);
  return elementsOfLines(lines, axes, inner, kept * reduced, width, info);
}

bool Problem::isReducedByConstants() const {
  const auto& domain = form.signature.reference()->getLogicalDomain();
  return std::all_of(domain.begin(), domain.end(), [](const IterDomain* id) {
    return !id->isReduction() || id->extent()->isConst();
  });
}

std::unique_ptr<ReductionParams> Problem::makeParams(SchedulerType type) const {
  auto params = std::make_unique<ReductionParams>(type);
  params->reference = form.signature.reference()->name();
  params->reduced = reducedAxes(form.signature.reference());
  params->order = order;
  params->fastest_dim = fastest_dim;
  params->inner_axes = static_cast<int64_t>(inner.size());
  params->schedule_3d = schedule_3d;
  params->host = info.isHost();
  return params;
}

int64_t Problem::widthOfWindows(const TensorView* input) const {
  const std::vector<IterDomain*> axes_of = TensorDomain::noReductions(input->getLogicalDomain());
  const bool are_constant = std::all_of(axes_of.begin(), axes_of.end(), [](const IterDomain* id) {
    return id->extent()->isConstScalar();
  });
  if (inner.empty() || (inner.size() > 1 && !are_constant)) {
    return 1;  // lowering does not take an index apart that is divided by a product of extents
  }
  int64_t width = kMaxVectorBytes;
  const auto last = static_cast<size_t>(inner.back());
  for (const Expr* use : fusion.usesOf(input)) {
    const auto* window = use->output(0)->as<TensorView>();
    const ReferenceAxes::Part along = axes.fastestPart(window, last, info);
    int64_t own = along.id == nullptr ? 1 : windowWidth(window, along.id, info);
    while (own > 1 && along.run % own != 0) {
      own /= 2;
    }
    width = std::min(width, own);
  }
  return width;
}

int64_t Problem::widthOf(const TensorView* tv) const {
  return readThroughWindows(tv) ? widthOfWindows(tv) : axes.vectorWidth(tv, inner, info);
}

void Problem::setWidths(ReductionParams& params) const {
  auto width = [&](const Val* val) -> int64_t {
    if (!val->isA<TensorView>() || params.host) {
      return 0;
    }
    return std::min(params.vectorization, widthOf(val->as<TensorView>()));
  };
  for (const Val* input : fusion.inputs()) {
    params.inputs.push_back(width(input));
  }
  for (const Val* output : fusion.outputs()) {
    params.outputs.push_back(width(output));
  }
}

}  // namespace nvfuser::reduction
