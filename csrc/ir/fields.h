/// What a node holds, said once: `fields()` of its struct of fields names each member. Copying,
/// comparing, hashing, printing and reading walk that list, so that a member which is added there
/// is in all of them.
///
///   struct SplitFields {
///     Val* factor = nullptr;
///     bool outer_factor = false;
///     static constexpr auto fields() {
///       return std::tuple{Field{"factor", &SplitFields::factor},
///                         Field{"outer_factor", &SplitFields::outer_factor}};
///     }
///   };
///
/// A member that has its default value is not printed.
#pragma once

#include <string_view>
#include <tuple>
#include <type_traits>

namespace nvfuser {

enum class FieldPlace : unsigned char {
  Named,   ///< "name = value" behind the operands; a flag is its name alone
  InName,  ///< part of the operation's name: "add", "reduction_add"
};

template <typename Owner, typename T>
struct Field {
  std::string_view name;
  T Owner::* member;
  FieldPlace place = FieldPlace::Named;
};

/// Of expressions that are all said by their operands.
struct NoFields {
  static constexpr auto fields() { return std::tuple<>{}; }
};

/// Calls `visit(field)` for each field of a struct, in order.
template <typename Fields, typename Visit>
constexpr void forEachField(Visit&& visit) {
  std::apply([&](const auto&... field) { (visit(field), ...); }, Fields::fields());
}

/// Whether `same(a's member, b's member)` holds for each field.
template <typename Fields, typename Same>
bool allFields(const Fields& a, const Fields& b, Same&& same) {
  return std::apply(
      [&](const auto&... field) { return (same(a.*(field.member), b.*(field.member)) && ...); },
      Fields::fields());
}

}  // namespace nvfuser
