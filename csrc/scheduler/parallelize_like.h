/// Bindings of one tensor's loops, given to the corresponding loops of the others.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <unordered_set>
#include <vector>

#include <ir/interface_nodes.h>

namespace nvfuser::scheduler_utils {

/// Every loop axis that is one class (permissive graph) with one of the first `pos` loop axes of
/// `reference_tv` (−1: all) is bound as that one. `selected_tvs`: which tensors (none named: all of
/// the Fusion but its inputs, whose loops never run). `selected_parallel_types`: which bindings
/// (none named: all). Vectorize and Group pass over reductions. `parallelize_inputs_on_did` belongs
/// to multi-device schedules, which there are none of: both values mean the same.
void parallelizeAllLike(TensorView* reference_tv, int64_t pos = -1,
                        std::vector<TensorView*> selected_tvs = {},
                        const std::unordered_set<ParallelType>& selected_parallel_types = {},
                        bool propagate_padding = true, bool parallelize_inputs_on_did = false);

inline void parallelizeAllLike(TensorView* reference_tv, std::vector<TensorView*> selected_tvs,
                               const std::unordered_set<ParallelType>& selected_parallel_types = {},
                               bool propagate_padding = true) {
  parallelizeAllLike(reference_tv, -1, std::move(selected_tvs), selected_parallel_types,
                     propagate_padding);
}

inline void parallelizeAllLike(TensorView* reference_tv,
                               std::initializer_list<TensorView*> selected_tvs,
                               const std::unordered_set<ParallelType>& selected_parallel_types = {},
                               bool propagate_padding = true) {
  parallelizeAllLike(reference_tv, -1, std::vector<TensorView*>(selected_tvs),
                     selected_parallel_types, propagate_padding);
}

}  // namespace nvfuser::scheduler_utils
