// Conflicts of accesses to shared memory, counted by hand and found in kernels.
#include <doctest/doctest.h>

#include <device_lower/bank_conflict.h>
#include <device_lower/lower2device.h>
#include <fusion.h>
#include <ir/builder.h>
#include <ops/all_ops.h>
#include <runtime/executor.h>
#include <scheduler/utils.h>
#include <transpose_schedule.h>

namespace nvfuser {
namespace {

/// Lane i of 32 asks for `bytes` bytes from i * stride on.
int waysOf(int64_t stride, int64_t bytes) {
  std::vector<int64_t> first;
  std::vector<int> lanes;
  for (int lane = 0; lane < 32; ++lane) {
    first.push_back(lane * stride);
    lanes.push_back(lane);
  }
  return conflictWays(first, lanes, bytes);
}

TEST_CASE("bank conflicts: strides of a warp") {
  CHECK(waysOf(0, 4) == 1);  // one word for all
  CHECK(waysOf(1, 1) == 1);
  CHECK(waysOf(2, 2) == 1);
  CHECK(waysOf(4, 4) == 1);
  CHECK(waysOf(8, 4) == 2);
  CHECK(waysOf(12, 4) == 1);  // odd strides meet all banks
  CHECK(waysOf(16, 4) == 4);
  CHECK(waysOf(128, 4) == 32);
  CHECK(waysOf(132, 4) == 1);  // padded rows
  CHECK(waysOf(128, 2) == 32);
  CHECK(waysOf(8, 8) == 1);  // half a warp at a time
  CHECK(waysOf(16, 8) == 2);
  CHECK(waysOf(16, 16) == 1);  // a quarter of a warp at a time
  CHECK(waysOf(128, 16) == 8);
  CHECK(waysOf(144, 16) == 1);
}

TEST_CASE("bank conflicts: few lanes") {
  CHECK(conflictWays({}, {}, 4) == 0);
  CHECK(conflictWays({0, 128}, {0, 1}, 4) == 2);
  CHECK(conflictWays({0, 128}, {0, 31}, 4) == 2);
  CHECK(conflictWays({0, 128}, {0, 31}, 8) == 1);  // in different halves
}

TEST_CASE("bank conflicts: a transpose through shared memory, plain and swizzled") {
  struct Case {
    DataType dtype;
    int plain;
  };
  // Rows of 32 elements: 64 bytes of half visit every second row's banks again.
  for (auto [dtype, plain] : {Case{DataType::Float, 32}, Case{DataType::Half, 16}}) {
    for (bool swizzled : {false, true}) {
      CAPTURE(swizzled);
      Fusion fusion;
      transposeThroughTile(fusion, swizzled, dtype);
      const std::vector<BankConflict> conflicts = fusion.bankConflictInfo();
      CAPTURE(toString(conflicts));
      REQUIRE(conflicts.size() == 2);
      CHECK(conflicts[0].is_write);
      CHECK_FALSE(conflicts[1].is_write);
      CHECK(conflicts[0].tv == conflicts[1].tv);
      CHECK(conflicts[0].ways == 1);
      if (!swizzled) {
        CHECK(conflicts[1].ways == plain);
      } else if (dtype == DataType::Float) {
        CHECK(conflicts[1].ways == 1);
      } else {
        CHECK(conflicts[1].ways < plain);
      }
    }
  }
}

TEST_CASE("bank conflicts: lanes that a predicate stops do not count") {
  // Only 5 rows of the tile exist: 5 lanes read one column of it.
  Fusion fusion;
  transposeThroughTile(fusion, false);
  GpuLower lower(&fusion);
  const kir::Kernel& kernel = *lower.run();
  auto rows = [&](int64_t size) {
    return findBankConflicts(
        kernel, [&](kir::Scalar a) { return kir::evaluate(a, [&](kir::Scalar) { return size; }); });
  };
  CHECK(rows(32)[1].ways == 32);
  CHECK(rows(5)[1].ways == 5);
}

TEST_CASE("bank conflicts: no shared memory, nothing to say") {
  Fusion fusion;
  {
    FusionGuard guard(&fusion);
    TensorView* in = makeContigTensor(1);
    fusion.addInput(in);
    fusion.addOutput(add(in, IrBuilder::create<Val>(1.0)));
  }
  CHECK(fusion.bankConflictInfo().empty());
  CHECK(toString(fusion.bankConflictInfo()) == "no access to shared memory\n");
}

}  // namespace
}  // namespace nvfuser
