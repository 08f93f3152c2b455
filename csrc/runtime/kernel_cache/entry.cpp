#include <runtime/kernel_cache/entry.h>

#include <runtime/kernel_cache/sha256.h>

namespace nvfuser {
namespace {

constexpr std::string_view kMagic = "NVFKERN\n";
constexpr uint32_t kVersion = 1;
constexpr size_t kBeforeChecksum = 32;

void putNumber(std::string& out, uint64_t number, size_t bytes) {
  for (size_t i = 0; i < bytes; i++) {
    out += static_cast<char>(number >> (8 * i) & 255);
  }
}

uint64_t numberAt(std::string_view bytes, size_t at) {
  uint64_t number = 0;
  for (size_t i = 0; i < 8; i++) {
    number |= uint64_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
  }
  return number;
}

/// What stands before the checksum.
std::string headerOf(size_t key_bytes, size_t payload_bytes) {
  std::string header(kMagic);
  putNumber(header, kVersion, 4);
  putNumber(header, 0, 4);
  putNumber(header, key_bytes, 8);
  putNumber(header, payload_bytes, 8);
  return header;
}

std::string_view bytesOf(const Sha256& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

}  // namespace

std::string packParts(const std::vector<std::string_view>& parts) {
  size_t size = 0;
  for (std::string_view part : parts) {
    size += part.size() + 8;
  }
  std::string packed;
  packed.reserve(size);
  for (std::string_view part : parts) {
    putNumber(packed, part.size(), 8);
    packed += part;
  }
  return packed;
}

std::optional<std::vector<std::string>> unpackParts(std::string_view packed, size_t count) {
  std::vector<std::string> parts;
  while (!packed.empty()) {
    if (packed.size() < 8 || parts.size() == count) {
      return {};
    }
    const uint64_t size = numberAt(packed, 0);
    packed.remove_prefix(8);
    if (size > packed.size()) {
      return {};
    }
    parts.emplace_back(packed.substr(0, size));
    packed.remove_prefix(size);
  }
  if (parts.size() != count) {
    return {};
  }
  return parts;
}

std::string cacheKey(const CacheKeyParts& parts) {
  std::vector<std::string_view> flat;
  for (const auto& [name, value] : parts) {
    flat.push_back(name);
    flat.push_back(value);
  }
  return packParts(flat);
}

std::string encodeEntry(std::string_view key, std::string_view payload) {
  std::string bytes = headerOf(key.size(), payload.size());
  const Sha256 checksum = sha256({bytes, key, payload});
  bytes.reserve(kEntryHeader + key.size() + payload.size());
  bytes += bytesOf(checksum);
  bytes += key;
  bytes += payload;
  return bytes;
}

std::optional<std::string> decodeEntry(std::string_view bytes, std::string_view key) {
  if (bytes.size() < kEntryHeader || bytes.size() - kEntryHeader < key.size()) {
    return {};
  }
  // Lengths must be those of the key that is asked for and of this file: the header can be nothing
  // but this.
  const size_t payload_bytes = bytes.size() - kEntryHeader - key.size();
  const std::string_view header = bytes.substr(0, kBeforeChecksum);
  const std::string_view checksum = bytes.substr(kBeforeChecksum, kEntryHeader - kBeforeChecksum);
  const std::string_view rest = bytes.substr(kEntryHeader);
  if (header != headerOf(key.size(), payload_bytes) || rest.substr(0, key.size()) != key ||
      checksum != bytesOf(sha256({header, rest}))) {
    return {};
  }
  return std::string(rest.substr(key.size()));
}

}  // namespace nvfuser
