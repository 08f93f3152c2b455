// A reduction among tasks of the CPU, in the order of their numbers: results repeat bit for bit.
//
//   if (gridReduce(state, partials, ticket, task, tasks)) { … }
//
// The task of a segment (those that differ only in the reduced dimensions of the grid) that comes
// last combines all parts; true for it, where `state` is then the result. No task waits.
// partials: one state for each task of the segment. ticket: 0 before and after.
//
// needs: cpu/prelude.h
template <class S>
__forceinline__ bool gridReduce(S& state, S* partials, u32* ticket, i64 task, i64 tasks) {
  if (tasks == 1) {
    return true;
  }
  partials[task] = state;
  // What was written before is seen by who counts later.
  if (__atomic_add_fetch(ticket, 1u, __ATOMIC_ACQ_REL) != static_cast<u32>(tasks)) {
    return false;
  }
  *ticket = 0;
  S all = S::identity();
  for (i64 other = 0; other < tasks; ++other) {
    all = S::combine(all, partials[other]);
  }
  state = all;
  return true;
}
