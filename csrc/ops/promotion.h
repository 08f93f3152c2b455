/// Which dtype an operation computes in, given its operands, and the casts that bring them there.
///
/// Operands fall into three tiers: tensors with axes, 0-dim tensors, scalars. The types of a tier
/// are joined by `promoteType`. A lower tier changes the result only by its category (Bool <
/// integer < float < complex): a Double scalar leaves a Float tensor Float, but makes an Int tensor
/// Double. Half, BFloat16 and Float8 scalars count as Float, and so does a lower tier where it
/// meets a reduced-precision tensor of its own category.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include <ir/interface_nodes.h>

namespace nvfuser {

struct TypePromotionConfig {
  /// Integers and Bool become Float.
  bool promote_integer_inputs_to_float = false;
  /// A common type that is no Float or Double is an error (nextafter).
  bool require_full_precision_promoted = false;
};

namespace TypePromotion {
inline constexpr TypePromotionConfig comparison_op_config{};
inline constexpr TypePromotionConfig default_op_config{};
inline constexpr TypePromotionConfig float_op_config{.promote_integer_inputs_to_float = true};
}  // namespace TypePromotion

/// The common type of the operands of `op`, as the tiers give it; reduced precision becomes Float
/// if `cast_half_to_float`.
DataType computeTypes(std::string_view op, const TypePromotionConfig& config,
                      std::span<Val* const> operands, bool cast_half_to_float = true);

/// The operands, cast to their common type.
std::vector<Val*> promoteValues(std::span<Val* const> operands, DataType common_type);

/// `v` in `dtype`. A scalar of the same category (float, integer, complex) is left as it is: the
/// operation that reads it converts it. `optionalCastStrict` casts it as well.
Val* optionalCast(DataType dtype, Val* v);
Val* optionalCastStrict(DataType dtype, Val* v);

/// Float for reduced precision, else itself.
DataType fullPrecisionType(DataType dtype);

}  // namespace nvfuser
