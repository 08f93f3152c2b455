// What a mesh gets from another one: each device receives what it lacks, once.
#include <doctest/doctest.h>

#include <map>

#include <multidevice/handover.h>

namespace nvfuser {
namespace {

using multidevice::Piece;
using multidevice::piecesOf;
using multidevice::Sharding;
using multidevice::Shared;

constexpr int64_t kSize = 12;  ///< of both axes

Sharding cut(std::optional<size_t> by_x, std::optional<size_t> by_y = std::nullopt) {
  Sharding sharding;
  sharding[ParallelType::DIDx] = by_x;
  sharding[ParallelType::DIDy] = by_y;
  return sharding;
}

/// Which elements, row by row.
std::vector<bool> elementsOf(const std::vector<multidevice::PartRange>& ranges) {
  const auto isIn = [](const multidevice::PartRange& range, int64_t at) {
    return at >= range.begin * kSize / range.of && at < range.end * kSize / range.of;
  };
  std::vector<bool> all;
  for (int64_t i = 0; i < kSize * kSize; ++i) {
    all.push_back(isIn(ranges[0], i / kSize) && isIn(ranges[1], i % kSize));
  }
  return all;
}

void checkPieces(const Shared& from, const Shared& to) {
  std::map<int64_t, std::vector<int>> got;  // by device: how often each element came
  for (const Piece& piece : piecesOf(from, to, 2)) {
    const std::vector<bool> elements = elementsOf(piece.ranges);
    REQUIRE(from.mesh.has(piece.team[0]));
    const std::vector<bool> present = elementsOf(from.rangesOf(piece.team[0], 2));
    for (size_t e = 0; e < elements.size(); ++e) {
      CHECK((!elements[e] || present[e]));
    }
    for (size_t t = piece.team.size() == 1 ? 0 : 1; t < piece.team.size(); ++t) {
      const int64_t device = piece.team[t];
      const bool is_sent = piece.team.size() > 1;
      std::vector<int>& counts = got[device];
      counts.resize(elements.size());
      const std::vector<bool> own = from.mesh.has(device) ? elementsOf(from.rangesOf(device, 2))
                                                          : std::vector<bool>(elements.size());
      for (size_t e = 0; e < elements.size(); ++e) {
        counts[e] += elements[e] ? 1 : 0;
        CHECK_FALSE((elements[e] && is_sent && own[e]));  // what it has is not sent to it
      }
    }
  }
  for (const int64_t device : to.mesh.devices()) {
    const std::vector<bool> wanted = elementsOf(to.rangesOf(device, 2));
    CHECK(got[device] == std::vector<int>(wanted.begin(), wanted.end()));
  }
  CHECK(got.size() == to.mesh.devices().size());
}

TEST_CASE("handover: each device gets what it lacks, and nothing else") {
  const auto none = std::nullopt;
  const DeviceMesh one({0}), pair({0, 1}), others({2, 3}), beside({1, 2}), three({2, 3, 4}),
      square({0, 1, 2, 3}, {2, 2}), turned({3, 1, 2, 0}, {2, 2});
  const std::vector<std::pair<Shared, Shared>> all = {
      {{one, {}}, {others, cut(0)}},
      {{one, {}}, {three, cut(1)}},
      {{one, {}}, {pair, cut(0)}},
      {{three, cut(0)}, {one, {}}},
      {{pair, cut(0)}, {others, cut(0)}},
      {{pair, cut(0)}, {others, cut(1)}},
      {{pair, cut(0)}, {three, cut(0)}},
      {{pair, cut(0)}, {three, cut(1)}},
      {{pair, cut(none)}, {beside, cut(none)}},
      {{pair, cut(1)}, {beside, cut(1)}},
      {{square, cut(0, 1)}, {turned, cut(0, 1)}},
      {{square, cut(0, 1)}, {turned, cut(1, 0)}},
      {{square, cut(0)}, {three, cut(none)}},
  };
  for (const auto& [from, to] : all) {
    CAPTURE(from.mesh.toString() + ", " + from.sharding.toString());
    CAPTURE(to.mesh.toString() + ", " + to.sharding.toString());
    checkPieces(from, to);
  }
}

TEST_CASE("handover: a tensor for many devices is sent to all of them at once") {
  const std::vector<Piece> whole = piecesOf({DeviceMesh({0}), {}}, {DeviceMesh({1, 2, 3}), {}}, 2);
  REQUIRE(whole.size() == 1);
  CHECK(whole[0].team == std::vector<int64_t>{0, 1, 2, 3});
  // Devices that have the same take turns.
  const std::vector<Piece> parts =
      piecesOf({DeviceMesh({0, 1}), {}}, {DeviceMesh({2, 3}), cut(0)}, 2);
  REQUIRE(parts.size() == 2);
  CHECK(parts[0].team == std::vector<int64_t>{0, 2});
  CHECK(parts[1].team == std::vector<int64_t>{1, 3});
}

}  // namespace
}  // namespace nvfuser
