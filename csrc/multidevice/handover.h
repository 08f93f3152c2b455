/// A tensor that devices of another mesh get: which pieces each device sends to which, so that a
/// device receives what it lacks and nothing else.
///
///   on {0 1}, rows cut → on {2}, whole      rows 0 to 1/2: 0 to 2;  rows 1/2 to 1: 1 to 2
///   on {0}, whole → on {1 2}, rows cut      rows 0 to 1/2: 0 to 1;  rows 1/2 to 1: 0 to 2
///   on {0 1}, whole → on {1 2}, whole       all of it: 0 to 2; 1 has it
#pragma once

#include <string>
#include <vector>

#include <multidevice/sharding.h>

namespace nvfuser::multidevice {

/// From `begin` to `end` of `of` equal parts of an axis.
struct PartRange {
  int64_t begin = 0, end = 1, of = 1;
  friend bool operator==(const PartRange&, const PartRange&) = default;
};

/// How the devices of a mesh share a tensor.
struct Shared {
  DeviceMesh mesh;
  Sharding sharding;

  /// What a device has of each axis.
  std::vector<PartRange> rangesOf(int64_t device, size_t axes) const;
  /// Into how many parts an axis is cut.
  int64_t parts(size_t axis) const;
};

/// What goes from the first device of a team to the others. One that has it itself is a team of
/// one: it moves the piece to where it belongs.
struct Piece {
  std::vector<int64_t> team;
  std::vector<PartRange> ranges;  ///< of the whole, by axis
};

/// The pieces of a tensor of so many axes, in the order in which all devices come to them.
std::vector<Piece> piecesOf(const Shared& from, const Shared& to, size_t axes);

struct Handover {
  size_t from, to;  ///< slots: places of values among all of a call's
  DataType dtype;
  size_t axes;
  Shared given, wanted;
  std::vector<Piece> pieces;
  std::string what;    ///< for messages
  std::string tensor;  ///< the same
  /// The first one knows the sizes, which it tells the others.
  std::vector<int64_t> teamOfSizes() const;
};

}  // namespace nvfuser::multidevice
