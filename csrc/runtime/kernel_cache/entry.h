/// The bytes of one cache entry, and of its key. Pure functions: no file is touched.
///
///   magic "NVFKERN\n" | version, u32 | 0, u32 | key bytes, u64 | payload bytes, u64 |
///   SHA-256 of all the rest | key | payload
///
/// Numbers are little endian. Key, binary and what the compiler said of it stand in one file, so
/// that no part of an entry can ever be paired with a part of another.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nvfuser {

/// Parts that are written one behind the other with their lengths, so that they can be told apart
/// whatever bytes they hold: keys ("name", "value", …) and payloads (log, binary, …) are made of
/// these.
std::string packParts(const std::vector<std::string_view>& parts);
/// Back again; nothing unless it is exactly `count` parts.
std::optional<std::vector<std::string>> unpackParts(std::string_view packed, size_t count);

/// Everything that a compiled kernel depends on, by name. Two keys are equal if and only if all
/// their names and values are.
using CacheKeyParts = std::vector<std::pair<std::string_view, std::string_view>>;
std::string cacheKey(const CacheKeyParts& parts);

/// Bytes before the key.
constexpr size_t kEntryHeader = 64;

std::string encodeEntry(std::string_view key, std::string_view payload);
/// The payload, if `bytes` is a whole, undamaged entry of exactly this key.
std::optional<std::string> decodeEntry(std::string_view bytes, std::string_view key);

}  // namespace nvfuser
