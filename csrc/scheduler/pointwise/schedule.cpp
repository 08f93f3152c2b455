#include <scheduler/pointwise/schedule.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include <ir/axis_map.h>
#include <ir/builder.h>
#include <ir/internal_nodes.h>
#include <scheduler/analysis/column_values.h>
#include <scheduler/analysis/own_loops.h>
#include <scheduler/analysis/row_values.h>
#include <scheduler/analysis/windows.h>
#include <scheduler/pointwise/loop_nests.h>
#include <scheduler/utils.h>

namespace nvfuser::pointwise {

int64_t referenceOutput(const Fusion& fusion) {
  int64_t best = -1;
  size_t most = 0;
  for (size_t i = 0; i < fusion.outputs().size(); ++i) {
    if (!fusion.outputs()[i]->isA<TensorView>()) {
      continue;
    }
    const auto* tv = fusion.outputs()[i]->as<TensorView>();
    const size_t axes =
        TensorDomain::noBroadcasts(TensorDomain::noReductions(tv->getLogicalDomain())).size();
    if (best < 0 || axes > most) {
      best = static_cast<int64_t>(i);
      most = axes;
    }
  }
  return best;
}

namespace {

/// The loops of the reference for all that its nest computes; `selected`: only for those.
void scheduleNest(TensorView* reference, const PointwiseParams& params,
                  const std::unordered_set<TensorView*>* selected) {
  std::unordered_map<int64_t, int64_t> old2new;
  for (size_t i = 0; i < params.order.size(); ++i) {
    old2new[params.order[i]] = static_cast<int64_t>(i);
  }
  reference->reorder(old2new);
  const int64_t left = params.break_point;
  const int64_t apart = params.apart || params.short_rows ? 1 : 0;  // axes behind [left?, right]
  while (reference->nDims() > left + 1 + apart) {
    reference->merge(left);
  }
  for (int64_t i = 1; i < left; ++i) {
    reference->merge(0);
  }
  // [left?, right]
  const int64_t right = left > 0 ? 1 : 0;
  if (params.short_rows) {
    reference->split(1, params.vectorization);
    reference->split(0, params.threads_x);  // [rows / T, T, row / V, V]
  } else {
    reference->split(right, params.vectorization);
    reference->split(right, params.threads_x);  // [left?, right / (V·T), T, V]
  }
  if (left > 0 && params.threads_y > 1) {
    reference->split(0, params.threads_y);
    reference->reorder({{1, 2}, {2, 1}});  // [left / Y, right / (V·T), Y, T, V]
  }
  if (params.apart) {
    reference->reorder({{-1, -3}});  // [..., T, V, apart] to [..., apart, T, V]
  }
  if (left > 0 && params.rows > 1) {
    reference->split(0, params.rows);
    const int64_t in_thread = reference->nDims() - 2;
    reference->reorder({{1, in_thread}});  // [left / (Y·R), right / (V·T), Y?, T, R, V]
  }
  TransformPropagator propagator(reference);
  std::vector<TensorView*> own;
  if (selected == nullptr) {
    MaxLogicalDomainInfoSpanningTree(reference).traverse(&propagator);
  } else {
    SetSelector selector(*selected);
    MaxLogicalDomainInfoSpanningTree(reference, &selector).traverse(&propagator);
    for (TensorView* tv : reference->fusion()->allTvs()) {
      if (selected->count(tv) != 0 && !tv->isFusionInput()) {
        own.push_back(tv);
      }
    }
  }

  const ParallelType right_block =
      left > 0 && params.flip_grid ? ParallelType::BIDy : ParallelType::BIDx;
  const ParallelType left_block = params.flip_grid ? ParallelType::BIDx : ParallelType::BIDy;
  int64_t position = 0;
  if (left > 0) {
    reference->axis(position++)->parallelize(left_block);
  }
  reference->axis(position++)->parallelize(right_block);
  if (left > 0 && params.threads_y > 1) {
    reference->axis(position++)->parallelize(ParallelType::TIDy);
  }
  if (params.apart) {
    reference->axis(position++)->parallelize(ParallelType::Unroll);
  }
  reference->axis(position++)->parallelize(ParallelType::TIDx);
  if (params.short_rows) {
    reference->axis(position)->parallelize(ParallelType::Unroll);
  }
  scheduler_utils::parallelizeAllLike(reference, -1, own);
}

using Vectors = std::vector<std::pair<TensorView*, int64_t>>;

/// What no row changes, and rows read, is computed before the loop over a thread's rows, if it may
/// have loops of its own there.
void inlineAroundRows(Fusion* fusion, const std::vector<LoopNest>& nests) {
  const auto ofColumns = [](const TensorView* tv) {
    return tv->nDims() > 1 && tv->axis(-2)->isBroadcast();
  };
  std::vector<TensorView*> before;
  for (const LoopNest& nest : nests) {
    std::vector<TensorView*> own = inOrder(*fusion, tensorsOf(*fusion, nest));
    std::erase_if(own, [](const TensorView* tv) { return tv->isFusionInput(); });
    const OwnLoops loops(*fusion, fusion->outputs()[nest.reference]->as<TensorView>(), own);
    std::copy_if(own.begin(), own.end(), std::back_inserter(before), [&](const TensorView* tv) {
      const std::vector<Expr*> readers = fusion->usesOf(tv);
      return ofColumns(tv) && loops.mayHave(tv, tv->nDims() - 2) &&
             std::any_of(readers.begin(), readers.end(), [&](const Expr* reader) {
               return !ofColumns(reader->output(0)->as<TensorView>());
             });
    });
  }
  std::vector<TensorView*> others = fusion->allTvs();
  std::erase_if(others, [&](TensorView* tv) {
    return std::find(before.begin(), before.end(), tv) != before.end();
  });
  for (TensorView* tv : before) {
    tv->inlineAt(tv->nDims() - 2, true);
  }
  inlineMost(others);
}

/// By tensor: its nest. Each computed tensor belongs to one afterwards.
std::unordered_map<const TensorView*, int64_t> separateNests(Fusion* fusion,
                                                             const std::vector<LoopNest>& nests) {
  std::unordered_map<const TensorView*, int64_t> nest_of;
  if (nests.size() > 1) {
    separate(fusion, nests);
    for (size_t n = 0; n < nests.size(); ++n) {
      for (TensorView* tv : tensorsOf(*fusion, nests[n])) {
        nest_of[tv] = static_cast<int64_t>(n);
      }
    }
  }
  return nest_of;
}

/// Copies at the borders and windows, each with the width of its tensor.
Vectors copyAtBorders(Fusion* fusion, const PointwiseParams& params,
                      const std::unordered_map<const TensorView*, int64_t>& nest_of) {
  std::map<const Val*, int64_t> width_of;
  for (size_t i = 0; i < fusion->inputs().size(); ++i) {
    width_of[fusion->inputs()[i]] = params.inputs.empty() ? 0 : params.inputs[i];
  }
  Vectors vectors;
  const auto byNest = [&](const TensorView*, const Expr* use) -> int64_t {
    const auto nest = nest_of.find(tensorOutputs(use)[0]);
    return nest == nest_of.end() ? 0 : nest->second;
  };
  for (TensorView* copy : scheduler_utils::cacheInputs(fusion, true, byNest)) {
    vectors.emplace_back(copy, width_of[copy->definition()->input(0)]);
  }
  scheduler_utils::cacheAndForkOutputs(fusion, true);
  for (Val* output : fusion->outputs()) {
    if (params.streaming) {
      scheduler_utils::streamCopy(output->as<TensorView>());
    }
  }
  for (size_t i = 0; i < fusion->outputs().size(); ++i) {
    vectors.emplace_back(fusion->outputs()[i]->as<TensorView>(),
                         params.outputs.empty() ? 0 : params.outputs[i]);
  }
  for (TensorView* window :
       params.windows.empty() ? std::vector<TensorView*>() : windowsOfInputs(*fusion)) {
    const auto& inputs = fusion->inputs();
    const auto place = std::find(inputs.begin(), inputs.end(), window->definition()->input(0));
    vectors.emplace_back(window, params.windows[static_cast<size_t>(place - inputs.begin())]);
  }
  return vectors;
}

/// Loops for all of a nest. What may have no vectors of its own gets a width of 1.
void scheduleAlone(Fusion* fusion, const LoopNest& nest, bool is_only,
                   const PointwiseParams& params, Vectors& vectors) {
  auto* reference = fusion->outputs()[nest.reference]->as<TensorView>();
  if (reference->nDims() == 0) {
    return;
  }
  // Inputs that several nests read have no loops, and lead from one nest to the other.
  std::unordered_set<TensorView*> own = tensorsOf(*fusion, nest);
  std::erase_if(own, [](const TensorView* tv) { return tv->isFusionInput(); });
  scheduleNest(reference, params, is_only ? nullptr : &own);
  if (params.vectorization > 1) {
    const OwnLoops loops(*fusion, reference, inOrder(*fusion, own));
    for (auto& [tv, width] : vectors) {
      if (own.count(tv) != 0 && !loops.mayHaveInnermost(tv)) {
        width = 1;
      }
    }
  }
}

/// What rows and columns have one of stands in front of their loops.
void inlineAroundTiles(Fusion* fusion, const std::vector<LoopNest>& nests, bool column_values) {
  std::unordered_map<const TensorView*, int64_t> held;
  for (const LoopNest& nest : nests) {
    const auto* reference = fusion->outputs()[nest.reference]->as<TensorView>();
    const std::unordered_set<TensorView*> own = tensorsOf(*fusion, nest);
    // In front of a tile and the vectors in it.
    holdRowValues({own.begin(), own.end()}, std::max<int64_t>(reference->nDims() - 2, 0), held);
    if (column_values) {  // [left / Y, right / T, Y, T, 1]
      holdColumnValues(*fusion, reference, inOrder(*fusion, own), {2}, held);
    }
  }
  MaxPosCalculator most(*fusion, held);
  for (TensorView* tv : fusion->allTvs()) {
    tv->inlineAt(-1, true, &most);
  }
}

}  // namespace

void schedule(Fusion* fusion, const PointwiseParams& params) {
  FusionGuard guard(fusion);
  scheduler_utils::clearMemorySpace(fusion);
  const std::vector<LoopNest> nests = loopNests(*fusion);
  Vectors vectors = copyAtBorders(fusion, params, separateNests(fusion, nests));
  for (const LoopNest& nest : nests) {
    scheduleAlone(fusion, nest, nests.size() == 1, params, vectors);
  }
  for (auto [tv, width] : vectors) {
    vectorizeInnermost(tv, width, params.vectorization);
  }
  if (params.rows > 1) {
    inlineAroundRows(fusion, nests);
  } else if (params.row_values) {
    inlineAroundTiles(fusion, nests, params.column_values);
  } else {
    inlineMost();
  }
}

}  // namespace nvfuser::pointwise
