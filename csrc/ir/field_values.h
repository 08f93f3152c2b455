/// What is done to the members of fields, by their types: mapped to another Fusion, compared.
#pragma once

#include <type_traits>
#include <vector>

#include <ir/cloner.h>

namespace nvfuser {

template <typename T>
inline constexpr bool kIsNode = false;
template <typename T>
inline constexpr bool kIsNode<T*> = std::is_base_of_v<Statement, T>;
template <typename T>
inline constexpr bool kIsNodes = false;
template <typename T>
inline constexpr bool kIsNodes<std::vector<T*>> = std::is_base_of_v<Statement, T>;

/// The same fields with the copies of the nodes that they name.
template <typename Fields>
Fields clonedFields(Fields fields, IrCloner& cloner) {
  forEachField<Fields>([&](const auto& field) {
    auto& value = fields.*(field.member);
    using T = std::decay_t<decltype(value)>;
    if constexpr (kIsNode<T> || kIsNodes<T>) {
      value = cloner.clone(value);
    }
  });
  return fields;
}

/// Nodes are the same by `sameAs`, all else by `==`.
struct SameValue {
  template <typename T>
  bool operator()(const T& a, const T& b) const {
    if constexpr (kIsNode<T>) {
      return a == b || (a != nullptr && b != nullptr && a->sameAs(b));
    } else if constexpr (kIsNodes<T>) {
      return std::equal(a.begin(), a.end(), b.begin(), b.end(), *this);
    } else {
      return a == b;
    }
  }
};

template <typename Fields>
bool sameFields(const Fields& a, const Fields& b) {
  return allFields(a, b, SameValue{});
}

}  // namespace nvfuser
