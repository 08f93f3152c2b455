#include <runtime/kernel_cache/sha256.h>

#include <bit>
#include <cstring>

namespace nvfuser {
namespace {

/// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr uint32_t kRound[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

constexpr size_t kBlock = 64;

class Hasher {
 public:
  void add(std::string_view bytes) {
    total_ += bytes.size();
    while (!bytes.empty()) {
      if (held_ == 0 && bytes.size() >= kBlock) {
        block(reinterpret_cast<const unsigned char*>(bytes.data()));
        bytes.remove_prefix(kBlock);
        continue;
      }
      const size_t count = std::min(kBlock - held_, bytes.size());
      std::memcpy(buffer_ + held_, bytes.data(), count);
      held_ += count;
      bytes.remove_prefix(count);
      if (held_ == kBlock) {
        block(buffer_);
        held_ = 0;
      }
    }
  }

  /// Ends the message: a one bit, zeros, and its length in bits.
  Sha256 finish() {
    const uint64_t bits = uint64_t{total_} * 8;
    buffer_[held_++] = 0x80;
    if (held_ > kBlock - 8) {
      std::memset(buffer_ + held_, 0, kBlock - held_);
      block(buffer_);
      held_ = 0;
    }
    std::memset(buffer_ + held_, 0, kBlock - held_);
    for (size_t i = 0; i < 8; i++) {
      buffer_[kBlock - 1 - i] = static_cast<unsigned char>(bits >> (8 * i));
    }
    block(buffer_);
    Sha256 digest;
    for (size_t i = 0; i < digest.size(); i++) {
      digest[i] = static_cast<unsigned char>(state_[i / 4] >> (24 - 8 * (i % 4)));
    }
    return digest;
  }

 private:
  void block(const unsigned char* bytes) {
    uint32_t words[64];
    for (size_t i = 0; i < 16; i++) {
      words[i] = uint32_t{bytes[4 * i]} << 24 | uint32_t{bytes[4 * i + 1]} << 16 |
                 uint32_t{bytes[4 * i + 2]} << 8 | uint32_t{bytes[4 * i + 3]};
    }
    for (size_t i = 16; i < 64; i++) {
      const uint32_t a = words[i - 15], b = words[i - 2];
      words[i] = words[i - 16] + words[i - 7] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ (a >> 3)) +
                 (std::rotr(b, 17) ^ std::rotr(b, 19) ^ (b >> 10));
    }
    uint32_t a = state_[0], b = state_[1], c = state_[2], d = state_[3];
    uint32_t e = state_[4], f = state_[5], g = state_[6], h = state_[7];
    for (size_t i = 0; i < 64; i++) {
      const uint32_t first = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                             ((e & f) ^ (~e & g)) + kRound[i] + words[i];
      const uint32_t second =
          (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
      h = g;
      g = f;
      f = e;
      e = d + first;
      d = c;
      c = b;
      b = a;
      a = first + second;
    }
    const uint32_t result[8] = {a, b, c, d, e, f, g, h};
    for (size_t i = 0; i < 8; i++) {
      state_[i] += result[i];
    }
  }

  uint32_t state_[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                        0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  unsigned char buffer_[kBlock];
  size_t held_ = 0;
  size_t total_ = 0;
};

}  // namespace

Sha256 sha256(std::initializer_list<std::string_view> pieces) {
  Hasher hasher;
  for (std::string_view piece : pieces) {
    hasher.add(piece);
  }
  return hasher.finish();
}

std::string hexOf(const Sha256& digest) {
  std::string digits;
  for (unsigned char byte : digest) {
    digits += "0123456789abcdef"[byte >> 4];
    digits += "0123456789abcdef"[byte & 15];
  }
  return digits;
}

}  // namespace nvfuser
