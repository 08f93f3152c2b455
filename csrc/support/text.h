/// Building text: `text(a, b, …)` writes its parts one after the other; `join` puts a separator
/// between items. Enough for messages, printing and code generation, without `<iostream>` in any
/// header and without a dependency.
#pragma once

#include <charconv>
#include <concepts>
#include <string>
#include <string_view>

namespace nvfuser {

inline void append(std::string& out, std::string_view part) { out += part; }
inline void append(std::string& out, char part) { out += part; }

/// A template, so that no pointer (a string literal!) is ever taken for a truth value.
template <std::same_as<bool> Bool>
void append(std::string& out, Bool part) {
  out += part ? "true" : "false";
}

template <typename Number>
  requires((std::integral<Number> && !std::same_as<Number, bool>) || std::floating_point<Number>)
void append(std::string& out, Number part) {
  char digits[64];
  auto end = std::to_chars(digits, digits + sizeof digits, part).ptr;
  out.append(digits, end);
}

/// Anything with `toString()`.
template <typename Printable>
  requires requires(const Printable& p) {
    { p.toString() } -> std::convertible_to<std::string>;
  }
void append(std::string& out, const Printable& part) {
  out += part.toString();
}
template <typename Printable>
  requires requires(const Printable& p) {
    { p.toString() } -> std::convertible_to<std::string>;
  }
void append(std::string& out, const Printable* part) {
  if (part) {
    out += part->toString();
  } else {
    out += "null";
  }
}

template <typename... Parts>
std::string text(const Parts&... parts) {
  std::string out;
  (append(out, parts), ...);
  return out;
}

/// Items with `separator` between them; `show` turns an item into something `append` takes.
template <typename Items, typename Show>
std::string join(const Items& items, std::string_view separator, Show show) {
  std::string out;
  bool first = true;
  for (const auto& item : items) {
    if (!first) {
      out += separator;
    }
    first = false;
    append(out, show(item));
  }
  return out;
}

template <typename Items>
std::string join(const Items& items, std::string_view separator) {
  return join(items, separator, [](const auto& item) -> const auto& { return item; });
}

}  // namespace nvfuser
