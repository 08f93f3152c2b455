/// What a program's results should be: the interpreter's, in several ways (compare.h says which).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <fuzz/library/compare.h>

namespace nvfuser::fuzz {

/// Where random numbers begin, in the interpreter and in what is compared with it.
inline constexpr uint64_t kRandomOffset = 8;

/// Of each output what is known of it, without references.
std::vector<Expected> expectedOf(const Program& program, const Builder& builder);

/// Adds the references to `expected`. Gives why the interpreter says that the program has no
/// result; empty: it has one. `fusion` is the program's.
std::string interpretInAllWays(const Program& program, Fusion& fusion,
                               std::vector<Expected>& expected);

}  // namespace nvfuser::fuzz
