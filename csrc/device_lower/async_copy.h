/// Which copies run beside the computing threads, and what a schedule with one must look like.
///
///   LoadStoreOpType::CpAsync, in pieces of 4, 8 or 16 bytes by each thread    kir::CopyAsync
///   innermost axis bound to Bulk: one stretch of memory                       kir::BulkCopy
///   the innermost axes bound to Bulk: a box, or several stretches             kir::BoxCopy
///
/// Loads, global → shared, are counted by an mbarrier; stores, shared → global, come in groups.
///
/// On the CPU all of them are plain loops: the answer there is "none of these".
///
/// Whether a bulk copy's addresses and size are multiples of 16 bytes is not asked here: the device
/// library looks at each launch, and copies by threads what does not fit (`runtime/bulk_copy.cuh`).
#pragma once

#include <optional>

#include <iteration_space/loop_model.h>

namespace nvfuser {

/// Most stages of a circular buffer that bulk copies fill: one bit of a register each.
inline constexpr int64_t kMaxBulkStages = 32;

/// Null for what is no asynchronous copy.
std::optional<kir::AsyncKind> asyncKindOf(const Expr* expr, LowerTarget target);

/// Whether a bulk store reads `tv`.
bool isBulkStored(const TensorView* tv, LowerTarget target);

/// How threads of their own fill a circular buffer; null where they do not. Before sm_90, where
/// there are no mbarriers, the computing threads do it.
const WarpSpecialized* specialisation(const TensorView* tv, const LowerOptions& options);

/// Throws `UserError` where an axis is bound to Bulk, or a copy is of type CpAsyncBulk, and no bulk
/// copy can be made of it.
void validateBulk(const TensorView* tv, const LoopModel& loops);

}  // namespace nvfuser
