/// Which memory a statement touches, in one place: what checks, times or lays out buffers goes
/// through here.
#pragma once

#include <functional>
#include <vector>

#include <kernel_ir/kernel.h>

namespace nvfuser::kir {

/// The elements that `stmt` itself (not what is nested in it) reads and writes. A reduction's state
/// counts as written.
void forEachAccess(const Stmt& stmt, const std::function<void(const Ref&, bool is_write)>& visit);

/// All buffers of a statement and of those nested in it, workspaces included, without repeats.
std::vector<const Buffer*> buffersOf(const Stmt& stmt);

}  // namespace nvfuser::kir
