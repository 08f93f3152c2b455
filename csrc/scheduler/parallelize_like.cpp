#include <scheduler/parallelize_like.h>

#include <unordered_map>

#include <id_model/id_graph.h>
#include <scheduler/schedule_error.h>

namespace nvfuser::scheduler_utils {

void parallelizeAllLike(TensorView* reference_tv, int64_t pos,
                        std::vector<TensorView*> selected_tvs,
                        const std::unordered_set<ParallelType>& selected_parallel_types,
                        bool propagate_padding, bool) {
  pos = requirePosition("parallelizeAllLike", reference_tv, pos);
  const IdGraph graph(*reference_tv->fusion(), IdGraph::Mode::Permissive);
  std::unordered_map<int, const IterDomain*> bound;
  for (int64_t i = 0; i < pos; ++i) {
    const IterDomain* id = reference_tv->axis(i);
    const int id_class = graph.classOf(id);
    if (id_class < 0) {
      scheduleError("parallelizeAllLike", reference_tv,
                    text("T", reference_tv->name(), " takes no part in its Fusion"),
                    "add what is computed from it as an output first");
    }
    if (id->isParallelized() || id->hasPaddingToMultipleOfWarp()) {
      bound.emplace(id_class, id);
    }
  }
  if (selected_tvs.empty()) {
    selected_tvs = reference_tv->fusion()->allTvs();
  }
  for (TensorView* tv : selected_tvs) {
    if (tv->isFusionInput()) {
      continue;
    }
    for (IterDomain* id : tv->getLoopDomain()) {
      auto found = bound.find(graph.classOf(id));
      if (found == bound.end() || found->second == id) {
        continue;
      }
      const IterDomain* like = found->second;
      const ParallelType type = like->getParallelType();
      if (!selected_parallel_types.empty() && selected_parallel_types.count(type) == 0) {
        continue;
      }
      const bool takes_several = type == ParallelType::Vectorize || type == ParallelType::Group;
      if (takes_several && id->isReduction()) {
        continue;
      }
      id->parallelize(type);
      if (like->isClusteredBlockDim()) {
        id->setClusteredBlocks();
      }
      if (propagate_padding && like->hasPaddingToMultipleOfWarp()) {
        id->padToMultipleOfWarp(like->getMaybeSizeAfterPadding());
      }
    }
  }
}

}  // namespace nvfuser::scheduler_utils
