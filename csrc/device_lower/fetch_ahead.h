/// Asks the CPU's caches for lines before a loop gets to them.
///
/// What: of several passes over a row, the last one's stores have their lines asked for a pass
/// before, and one between the first and the last asks for what it reads of the next row. Where
/// there is no such pass, a loop asks for what lies 8 KB further on its way, unless that is
/// straight ahead and elements have less than four bytes.
///
///   for k0 in 0..i0                            for k0 in 0..i0
///     for k1 in 0..i1 simd                       for k1 in 0..i1 simd
///       T1 = max(T1, T0[k0·i1 + k1])               T1 = max(T1, T0[k0·i1 + k1])
///     for k2 in 0..i1 simd                 →     for k2 in 0..i1 simd
///       T2 = add(T2, T0[k0·i1 + k2] …)             fetch T0[(k0 + 1)·i1 + k2]
///     for k3 in 0..i1 simd                         fetch T3[k0·i1 + k2] to write
///       T3[k0·i1 + k3] = div(…)                    T2 = add(T2, T0[k0·i1 + k2] …)
///                                                for k3 in 0..i1 simd
///                                                  T3[k0·i1 + k3] = div(…)
///
/// Why: a row's first pass waits for memory and so does its last one, since a store waits until its
/// line is there, while the passes between work in a cache. The CPU's own prefetch does not see
/// beyond a page of 4 KB, nor where a tile or a strip goes on; within pages it is enough for narrow
/// elements, where requests cost more than they bring (benchmarks/history/2026-11-26-rows-cpu.csv).
///
/// Why here: when the loops are final and what is no edge is known; before indices get names.
///
/// What it does not do: tensors that are read again and again (weights of all rows) or at indices
/// from memory, those with gaps, and stores past the caches. Whether a launch is worth it, the
/// scheduler knows (scheduler/fetch_ahead.h).
#pragma once

#include <unordered_map>

#include <kernel_ir/kernel.h>

namespace nvfuser {

void fetchAhead(kir::Kernel& kernel,
                const std::unordered_map<kir::Scalar, kir::SymbolSource>& sources);

}  // namespace nvfuser
