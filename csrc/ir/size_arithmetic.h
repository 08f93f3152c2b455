/// Sizes that are computed from sizes, in one form: what is equal by arithmetic is the same scalar
/// (Val::sameAs), and sizes of sizes stay as small as what they are worth.
///
///   n − 1 − 1                           n − 2
///   max(max(n − 1, 0) − 1, 0)           max(n − 2, 0)         a slice [1:] of a slice [1:]
///   min(3, n) + max(n − 3, 0)           n                     both parts of an axis joined
///   n − max(n − 3, 0)                   min(3, n)
///   (n − c) + c                         n
///
/// Extents, symbols of dtype Index, are not negative; all that is computed is what 64 bits hold.
/// Results have dtype Index. Sums of more than a few terms are left as they are.
#pragma once

#include <ir/base_nodes.h>

namespace nvfuser {

/// Of integer scalars of one Fusion.
class SizeArithmetic {
 public:
  static Val* sum(Val* a, Val* b);
  static Val* difference(Val* a, Val* b);
  static Val* sum(Val* a, int64_t b);
  /// max(value, 0).
  static Val* notNegative(Val* value);
  /// min(bound, value).
  static Val* atMost(int64_t bound, Val* value);
};

}  // namespace nvfuser
