/// The error of an index that its axis does not have. The interpreter, a launch, a kernel on the
/// CPU and an operation of the library report it with the same words.
#pragma once

#include <cstdint>

#include <support/error.h>

namespace nvfuser {

class Expr;

/// In Python a `UserError` and an `IndexError`.
class IndexRangeError : public UserError {
 public:
  using UserError::UserError;
};

/// `IndexRangeError`: "gather: index 7 is out of range for an axis of extent 5, in T2 = gather( …
/// ); pass indices from 0 to 4". Of a select that also counts from the end (`x < 0 ? x + extent :
/// x`) it names x, and "from -5 to 4".
[[noreturn]] void indexOutOfRange(const Expr& op, int64_t index, int64_t extent);

}  // namespace nvfuser
