/// The table that emulated kernels call through. One text serves both sides: the host compiler sees
/// it in front of every kernel.
#pragma once

#include "../../../runtime/emulated/hook_table.h"
