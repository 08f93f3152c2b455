/// Normalisations: what is read is needed again behind a reduction.
///
///   y = softmax(x):   m = max(x)   s = sum(exp(x − m))   y = exp(x − m) / s       x read once
///
/// Inner: rows that lie together in memory. A block holds a row (or several) in the registers of
/// its threads, in the inputs' narrow dtype where computing again is cheap. A thread holds a
/// constant number of vectors out of a short list, and a row gets as many threads as it needs: so
/// one kernel serves rows of any length that the same number suits. Rows that do not fit are read
/// again from memory. Outer: the same for columns.
///
/// Where nothing of a row is needed behind maxima and sums of exponentials (a loss), or a row does
/// not fit, one pass does both on a GPU (`online_softmax.h`).
///
/// On the CPU a task keeps its row in memory of its own, or reads its inputs again.
#pragma once

#include <scheduler/registry.h>

namespace nvfuser {

const SchedulerEntry& innerPersistentScheduler();
const SchedulerEntry& outerPersistentScheduler();

}  // namespace nvfuser
