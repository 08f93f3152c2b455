/// Philox-4x32-10 on the host: the source of all random numbers (docs/random.md).
#pragma once

#include <array>
#include <cstdint>

namespace nvfuser {

/// The four words of one block. `block` and `sequence` are the lower and upper 64 bits of the
/// counter.
constexpr std::array<uint32_t, 4> philoxBlock(uint64_t seed, uint64_t block, uint64_t sequence) {
  std::array<uint32_t, 4> c = {static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32),
                               static_cast<uint32_t>(sequence),
                               static_cast<uint32_t>(sequence >> 32)};
  auto key0 = static_cast<uint32_t>(seed);
  auto key1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = uint64_t{0xD2511F53} * c[0];
    const uint64_t product1 = uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<uint32_t>(product1 >> 32) ^ c[1] ^ key0, static_cast<uint32_t>(product1),
         static_cast<uint32_t>(product0 >> 32) ^ c[3] ^ key1, static_cast<uint32_t>(product0)};
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  return c;
}

}  // namespace nvfuser
