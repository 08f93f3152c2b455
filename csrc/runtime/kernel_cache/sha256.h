/// SHA-256 (FIPS 180-4): names of cache entries and their checksum. Some 200 MB/s, so a kernel's
/// entry costs about half a millisecond.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace nvfuser {

using Sha256 = std::array<unsigned char, 32>;

/// The digest of the pieces written one after the other.
Sha256 sha256(std::initializer_list<std::string_view> pieces);

/// 64 lower-case digits.
std::string hexOf(const Sha256& digest);

}  // namespace nvfuser
