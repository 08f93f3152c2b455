/// What was done with a fusion, as Python data for nvfuser._explain_page, which draws it.
#pragma once

#include <nanobind/nanobind.h>
#include <runtime/fusion_executor_cache.h>

namespace nvfuser::python {

namespace nb = nanobind;

/// A dict of what `FusionExecutorCache::describe` tells, measured with these inputs; None: with
/// others of the last call's sizes. Throws `UserError` where nothing has run yet.
nb::dict describeFusion(FusionExecutorCache& executor, nb::handle inputs);

/// Writes the HTML page to `path` (a str or an os.PathLike).
void writePage(nb::handle path, const std::string& definition, const nb::dict& description);

}  // namespace nvfuser::python
