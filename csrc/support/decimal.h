/// Numbers as C's `printf` writes them, whatever the user's locale is: some write a comma.
#pragma once

#include <clocale>
#include <cstdio>
#include <string>

namespace nvfuser {

/// `digits` with a point where the locale's decimal separator, `separator`, is.
inline std::string withPoint(std::string digits, const std::string& separator) {
  const size_t at = separator.empty() ? std::string::npos : digits.find(separator);
  return at == std::string::npos ? digits : digits.replace(at, separator.size(), ".");
}

inline std::string withPoint(std::string digits) {
  return withPoint(std::move(digits), std::localeconv()->decimal_point);
}

}  // namespace nvfuser
