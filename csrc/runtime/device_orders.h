/// Sorting on a GPU by kernels of ours, where no library there does it: runtime/sort_rows.cuh for
/// rows that a block holds, first_of_tiles.cuh for the first of longer ones, sort_digits.cuh for
/// all of them. What comes is what the CPU's code gives (external/sort.cpp).
#pragma once

#include <optional>
#include <vector>

#include <runtime/run_context.h>
#include <runtime/tensor.h>
#include <scheduler/analysis/view_layout.h>

namespace nvfuser {

/// The results of an argsort or a topk of `in`, in `layouts`; nothing for other operations, for
/// complex numbers, and for rows of 2^31 elements or more.
std::optional<std::vector<Tensor>> orderOnDevice(const Expr* op, const Tensor& in,
                                                 const std::vector<ViewLayout>& layouts,
                                                 Device& device, const RunContext& context);

}  // namespace nvfuser
