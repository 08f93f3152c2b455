#include <doctest/doctest.h>

#include <random>

#include <runtime/kernel_cache/entry.h>
#include <runtime/kernel_cache/sha256.h>

using namespace nvfuser;

TEST_CASE("disk cache entry: SHA-256 of the standard's examples") {
  CHECK(hexOf(sha256({""})) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(hexOf(sha256({"abc"})) ==
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(hexOf(sha256({"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"})) ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(hexOf(sha256({std::string(1'000'000, 'a')})) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("disk cache entry: a digest does not depend on where the pieces are cut") {
  std::string bytes;
  for (int i = 0; i < 200; i++) {
    bytes += static_cast<char>(i * 7);
    const std::string_view whole(bytes);
    const Sha256 digest = sha256({whole});
    for (size_t cut = 0; cut <= whole.size(); cut += 13) {
      CHECK(sha256({whole.substr(0, cut), "", whole.substr(cut)}) == digest);
    }
  }
}

TEST_CASE("disk cache entry: keys are equal only if all names and values are") {
  const CacheKeyParts parts = {{"text", "a"}, {"flags", ""}};
  const std::string key = cacheKey(parts);
  CHECK(key == cacheKey(parts));
  CHECK(key != cacheKey({{"text", "a"}}));
  CHECK(key != cacheKey({{"text", ""}, {"flags", "a"}}));
  CHECK(key != cacheKey({{"texta", ""}, {"flags", ""}}));
  CHECK(key != cacheKey({{"flags", ""}, {"text", "a"}}));
  CHECK(key != cacheKey({{"text", std::string_view("a\0", 2)}, {"flags", ""}}));
}

TEST_CASE("disk cache entry: parts come back as they were, or not at all") {
  const std::string binary("\0\1\2\377", 4);
  const std::string packed = packParts({"", binary, "end"});
  REQUIRE(unpackParts(packed, 3).has_value());
  CHECK(*unpackParts(packed, 3) == std::vector<std::string>{"", binary, "end"});
  CHECK_FALSE(unpackParts(packed, 2).has_value());
  CHECK_FALSE(unpackParts(packed, 4).has_value());
  for (size_t size = 0; size < packed.size(); size++) {
    CHECK_FALSE(unpackParts(packed.substr(0, size), 3).has_value());
  }
  CHECK_FALSE(unpackParts(std::string(8, '\377'), 1).has_value());
  CHECK(unpackParts("", 0).has_value());
}

TEST_CASE("disk cache entry: every truncation and every change of a byte is a miss") {
  for (const std::string& payload : {std::string("the binary"), std::string()}) {
    const std::string key = "key";
    const std::string entry = encodeEntry(key, payload);
    REQUIRE(decodeEntry(entry, key) == payload);
    CHECK(entry.size() == kEntryHeader + key.size() + payload.size());
    for (size_t size = 0; size < entry.size(); size++) {
      CHECK_FALSE(decodeEntry(entry.substr(0, size), key).has_value());
    }
    CHECK_FALSE(decodeEntry(entry + '\0', key).has_value());
    CHECK_FALSE(decodeEntry(entry + entry, key).has_value());
    int accepted = 0;
    for (size_t at = 0; at < entry.size(); at++) {
      for (int change = 1; change < 256; change++) {
        std::string damaged = entry;
        damaged[at] = static_cast<char>(damaged[at] ^ change);
        accepted += decodeEntry(damaged, key).has_value();
      }
    }
    CHECK(accepted == 0);
  }
}

TEST_CASE("disk cache entry: an undamaged entry of another key is a miss") {
  // Also where the key's end and the payload's begin could be taken for each other.
  const std::string entry = encodeEntry("key", "payload");
  for (const char* other : {"", "k", "kez", "keyp", "keypayload", "keypayload and more"}) {
    CHECK_FALSE(decodeEntry(entry, other).has_value());
  }
}

TEST_CASE("disk cache entry: bytes drawn at random are misses") {
  std::mt19937 random(20240);
  const std::string entry = encodeEntry("key", std::string(100, 'x'));
  for (int i = 0; i < 20'000; i++) {
    std::string bytes = entry.substr(0, random() % (entry.size() + 1));
    bytes.resize(bytes.size() + random() % 40, static_cast<char>(random()));
    for (unsigned changes = random() % 8; changes > 0 && !bytes.empty(); changes--) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    if (bytes != entry) {
      CHECK_FALSE(decodeEntry(bytes, "key").has_value());
    }
  }
}
