// Barriers where threads exchange data, and nowhere else; memory as large as it must be.
#include <doctest/doctest.h>

#include <device_lower/lower.h>
#include <ops/all_ops.h>
#include <scheduler/utils.h>

using namespace nvfuser;
using enum ParallelType;

namespace {

/// T0[8, 64] → T1 = set (shared) → T2 = exp (output).
struct Exchange {
  Fusion fusion;
  FusionGuard guard{&fusion};
  TensorView* in = makeContigConcreteTensor({8, 64});
  TensorView* load;
  TensorView* out;

  Exchange() {
    fusion.addInput(in);
    load = set(in);
    out = exp(load);
    fusion.addOutput(out);
    load->setMemoryType(MemoryType::Shared);
  }

  /// "block: T1 is complete", one for each barrier in order.
  std::vector<std::string> barriers() {
    lowering = lower(&fusion, LowerOptions());
    std::vector<std::string> found;
    kir::forEach(lowering.kernel.body, [&](const kir::Stmt& stmt) {
      if (auto* sync = std::get_if<kir::Sync>(&stmt.node)) {
        const char* kind = sync->kind == kir::SyncKind::GridBarrier ? "grid: " : "block: ";
        found.push_back(kind + sync->comment);
      }
    });
    return found;
  }
  Lowering lowering;
};

using Barriers = std::vector<std::string>;

const kir::Buffer& bufferOf(const Lowering& lowering, const TensorView* tv) {
  return *lowering.allocations->of(tv).buffer;
}

}  // namespace

TEST_CASE("syncs: one thread needs none") { CHECK(Exchange().barriers() == Barriers{}); }

TEST_CASE("syncs: a thread that reads what it wrote needs none") {
  Exchange e;
  for (TensorView* tv : {e.load, e.out}) {
    tv->axis(1)->parallelize(TIDx);
  }
  CHECK(e.barriers() == Barriers{});
}

TEST_CASE("syncs: another thread's data needs one") {
  Exchange e;
  e.load->axis(1)->parallelize(TIDx);
  SUBCASE("transposed") { e.out->axis(0)->parallelize(TIDx); }
  SUBCASE("read by all") {}
  SUBCASE("another split") {
    e.out->split(1, 32);
    e.out->axis(2)->parallelize(TIDx);
  }
  SUBCASE("another dimension") { e.out->axis(1)->parallelize(TIDy); }
  CHECK(e.barriers() == Barriers{"block: T1 is complete"});
}

TEST_CASE("syncs: what one thread wrote and all read needs one") {
  Exchange e;
  e.out->axis(1)->parallelize(TIDx);
  CHECK(e.barriers() == Barriers{"block: T1 is complete"});
}

TEST_CASE("syncs: a loop that writes again needs a second one at its end") {
  Exchange e;
  e.load->split(1, 32);
  e.out->split(1, 16);
  e.load->axis(2)->parallelize(TIDx);
  e.out->axis(2)->parallelize(TIDx);
  e.load->inlineAt(1);
  CHECK(e.barriers() == Barriers{"block: T1 is complete", "block: T1 may be written again"});
}

TEST_CASE("syncs: what a gather reads another thread has written") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* in = makeContigConcreteTensor({8, 64});
  TensorView* at = makeContigConcreteTensor({8, 64}, DataType::Int);
  fusion.addInput(in);
  fusion.addInput(at);
  TensorView* load = set(in);
  load->setMemoryType(MemoryType::Shared);
  TensorView* read = takeAlongAxis(load, at, 1);
  fusion.addOutput(add(read, load));  // makes the axes of all three one class
  int axis = 0;
  size_t barriers = 0;
  SUBCASE("along the axis of the threads") {
    axis = 1;
    barriers = 1;
  }
  SUBCASE("along another axis") {}
  for (TensorView* tv : {load, read, read->uses()[0]->output(0)->as<TensorView>()}) {
    tv->axis(axis)->parallelize(TIDx);
  }
  size_t found = 0;
  const Lowering lowering = lower(&fusion, LowerOptions());
  kir::forEach(lowering.kernel.body, [&](const kir::Stmt& stmt) {
    found += std::holds_alternative<kir::Sync>(stmt.node) ? 1 : 0;
  });
  CHECK(found == barriers);
}

TEST_CASE("syncs: a block loop is no loop") {
  Exchange e;
  e.load->axis(0)->parallelize(BIDx);
  e.out->axis(0)->parallelize(BIDx);
  e.load->inlineAt(1);
  SUBCASE("one thread") { CHECK(e.barriers() == Barriers{}); }
  SUBCASE("threads that exchange") {
    e.load->axis(1)->parallelize(TIDx);
    e.out->split(1, 16);
    e.out->axis(2)->parallelize(TIDx);
    CHECK(e.barriers() == Barriers{"block: T1 is complete"});
  }
}

TEST_CASE("syncs: one barrier serves several tensors") {
  Exchange e;
  TensorView* second = neg(e.in);
  second->setMemoryType(MemoryType::Shared);
  TensorView* both = add(e.load, second);
  e.fusion.addOutput(both);
  for (TensorView* tv : {e.load, second}) {
    tv->axis(1)->parallelize(TIDx);
  }
  for (TensorView* tv : {e.out, both}) {
    tv->axis(0)->parallelize(TIDx);
  }
  CHECK(e.barriers().size() <= 2);
  CHECK(e.barriers().size() >= 1);
}

TEST_CASE("syncs: blocks that exchange need a barrier of the grid") {
  Exchange e;
  e.load->setMemoryType(MemoryType::Global);
  e.load->axis(0)->parallelize(BIDx);
  SUBCASE("their own rows") {
    e.out->axis(0)->parallelize(BIDx);
    CHECK(e.barriers() == Barriers{});
    CHECK_FALSE(e.lowering.kernel.cooperative);
  }
  SUBCASE("other rows") {
    e.out->axis(1)->parallelize(BIDx);
    CHECK(e.barriers() == Barriers{"grid: T1 is complete"});
    CHECK(e.lowering.kernel.cooperative);
  }
}

TEST_CASE("allocation: what is inlined takes no room, what is bound is spread") {
  Exchange e;
  auto elements = [&] {
    e.barriers();
    return bufferOf(e.lowering, e.load).elements->toString();
  };
  SUBCASE("all of it") { CHECK(elements() == "512"); }
  SUBCASE("one row") {
    e.load->inlineAt(1);
    CHECK(elements() == "64");
  }
  SUBCASE("shared memory spans threads") {
    e.load->axis(1)->parallelize(TIDx);
    e.out->axis(1)->parallelize(TIDx);
    CHECK(elements() == "512");
  }
  SUBCASE("shared memory does not span blocks") {
    e.load->axis(0)->parallelize(BIDx);
    e.out->axis(0)->parallelize(BIDx);
    CHECK(elements() == "64");
  }
  SUBCASE("registers span neither") {
    e.load->setMemoryType(MemoryType::Local);
    for (TensorView* tv : {e.load, e.out}) {
      tv->axis(0)->parallelize(BIDx);
      tv->split(1, 16);
      tv->axis(2)->parallelize(TIDx);
    }
    CHECK(elements() == "4");
  }
}

TEST_CASE("allocation: shared buffers do not overlap and are aligned") {
  Exchange e;
  TensorView* odd = set(e.in);
  odd->setMemoryType(MemoryType::Shared);
  TensorView* out = neg(odd);
  e.fusion.addOutput(out);
  odd->inlineAt(1);
  e.barriers();
  std::vector<std::pair<int64_t, int64_t>> ranges;
  for (const TensorView* tv : {e.load, odd}) {
    const kir::Buffer& buffer = bufferOf(e.lowering, tv);
    REQUIRE(buffer.shared_offset->isConstant());
    const int64_t offset = buffer.shared_offset->value;
    CHECK(offset % 16 == 0);
    ranges.emplace_back(offset, offset + buffer.elements->value * 4);
  }
  CHECK((ranges[0].second <= ranges[1].first || ranges[1].second <= ranges[0].first));
  CHECK(e.lowering.kernel.shared_bytes->value >= std::max(ranges[0].second, ranges[1].second));
}
