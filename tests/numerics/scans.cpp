// Scans within kernels, scheduled by hand and automatically: on the CPU and on emulated CUDA,
// against the reference.
#include <numerics/automatic.h>
#include <numerics/scheduled.h>

using namespace nvfuser;

namespace {

using automatic::input;
using automatic::output;

/// scan(x + x) · x along `dim`.
automatic::Define beside(int64_t rank, int64_t dim, DataType dtype, BinaryOpType type,
                         bool backward = false) {
  return [=](Fusion& fusion) {
    TensorView* x = automatic::wide(input(fusion, rank, dtype));
    output(fusion, mul(scan(add(x, x), dim, type, nullptr, backward), x), dtype);
  };
}

/// x → copy → scan → copy, all with the loops that `loops` gives the last one.
void checkLoops(const std::function<void(TensorView*)>& loops,
                const std::vector<scheduled::Sizes>& runs, int64_t rank = 2, int64_t dim = 1,
                bool backward = false) {
  scheduled::check(
      [&](Fusion& fusion) {
        TensorView* x = input(fusion, rank, DataType::Float);
        TensorView* result = add(scan(mul(x, x), dim, BinaryOpType::Add, nullptr, backward), x);
        fusion.addOutput(result);
        x->cacheAfter();
        loops(result);
        scheduled::scheduleLike(result);
        inlineMost();
      },
      runs);
}

}  // namespace

TEST_CASE("scans along serial loops, whole and split") {
  const std::vector<scheduled::Sizes> runs{{{3, 40}}, {{5, 1}}, {{1, 7}}, {{2, 129}}};
  for (bool backward : {false, true}) {
    CAPTURE(backward);
    checkLoops([](TensorView*) {}, runs, 2, 1, backward);
    checkLoops([](TensorView* tv) { tv->axis(0)->parallelize(ParallelType::BIDx); }, runs, 2, 1,
               backward);
    checkLoops(
        [](TensorView* tv) {
          tv->split(1, 8);
          tv->split(1, 3);
          tv->axis(0)->parallelize(ParallelType::TIDx);
        },
        runs, 2, 1, backward);
    // Columns behind the scanned axis have a carry each.
    checkLoops(
        [](TensorView* tv) {
          tv->split(1, 4);
          tv->reorder({{0, 1}, {1, 0}});
          tv->axis(0)->parallelize(ParallelType::BIDx);
        },
        runs, 2, 0, backward);
  }
}

TEST_CASE("scans along threads of a block") {
  const std::vector<scheduled::Sizes> runs{{{3, 40}}, {{5, 1}}, {{1, 7}}, {{2, 300}}};
  for (bool backward : {false, true}) {
    CAPTURE(backward);
    for (int threads : {4, 32, 48, 64}) {
      CAPTURE(threads);
      for (int items : {1, 2}) {
        CAPTURE(items);
        // Rows of a block each, then two rows of a block.
        for (int rows : {1, 2}) {
          checkLoops(
              [&](TensorView* tv) {
                tv->split(1, items);
                tv->split(1, threads);
                tv->split(0, rows);
                tv->axis(0)->parallelize(ParallelType::BIDx);
                tv->axis(1)->parallelize(ParallelType::TIDy);
                tv->axis(3)->parallelize(ParallelType::TIDx);
              },
              runs, 2, 1, backward);
        }
        // Columns beside each other.
        checkLoops(
            [&](TensorView* tv) {
              tv->split(0, items);
              tv->split(0, threads);
              tv->split(3, 8);
              tv->reorder({{3, 0}, {4, 1}});
              tv->axis(1)->parallelize(ParallelType::TIDx);
              tv->axis(3)->parallelize(ParallelType::TIDy);
            },
            {{{40, 3}}, {{1, 9}}, {{300, 8}}}, 2, 0, backward);
      }
    }
  }
}

TEST_CASE("scans with what is around them are one kernel") {
  for (PrimDataType dtype : {DataType::Float, DataType::Double, DataType::BFloat16, DataType::Half,
                             DataType::Int, DataType::Int32}) {
    for (int64_t dim : {0, 1, 2}) {
      CAPTURE(dim);
      automatic::check(beside(3, dim, dtype, BinaryOpType::Add, dim == 1),
                       {{{{5, 7, 3}, dtype}}, {{{2, 300, 40}, dtype}}, {{{3, 4, 1100}, dtype}}},
                       "scan");
    }
  }
  for (BinaryOpType type : {BinaryOpType::Mul, BinaryOpType::Max, BinaryOpType::Min,
                            BinaryOpType::FMax, BinaryOpType::FMin}) {
    automatic::check(beside(2, 1, DataType::Float, type), {{{{6, 33}}}, {{{2, 130}}}}, "scan");
    automatic::check(beside(2, 0, DataType::Float, type, true), {{{{33, 6}}}}, "scan");
  }
  automatic::check(beside(1, 0, DataType::Float, BinaryOpType::Add), {{{{5000}}}, {{{1}}}});
}

TEST_CASE("scans of few long columns") {
  for (bool backward : {false, true}) {
    automatic::check(beside(2, 0, DataType::Int, BinaryOpType::Add, backward),
                     {{{{9000, 3}, DataType::Int}}, {{{20001, 1}, DataType::Int}}}, "scan");
    automatic::check(beside(3, 1, DataType::Float, BinaryOpType::Max, backward), {{{{2, 3333, 5}}}},
                     "scan");
  }
}

TEST_CASE("scans alone, of strided and of no elements") {
  const auto alone = [](Fusion& fusion) {
    TensorView* x = makeSymbolicTensor(2);
    fusion.addInput(x);
    fusion.addOutput(cumsum(x, 1));
  };
  automatic::check(alone, {{{{4, 33}, DataType::Float, {1, 9}}}, {{{70, 65}}}}, "scan");
  automatic::check(alone, {{{{3, 0}}}, {{{0, 3}}}, {{{3, 1}}}}, "", 0);
}

TEST_CASE("two scans, and a scan of a scan") {
  automatic::check(
      [](Fusion& fusion) {
        TensorView* x = input(fusion, 2, DataType::Float);
        TensorView* y = input(fusion, 2, DataType::Float);
        fusion.addOutput(
            div(cumsum(x, 1), add(cumsum(mul(y, y), 1), IrBuilder::create<Val>(1e-3))));
      },
      {{{{8, 64}}, {{8, 64}}}, {{{3, 1000}}, {{3, 1000}}}}, "scan");
  for (int64_t dim : {0, 1}) {
    automatic::check(
        [dim](Fusion& fusion) {
          TensorView* x = input(fusion, 2, DataType::Float);
          TensorView* once = cumsum(x, dim);
          fusion.addOutput(once);
          fusion.addOutput(scan(sin(once), dim, BinaryOpType::Max));
        },
        {{{{8, 64}}}, {{{65, 70}}}}, "scan");
  }
  // In different directions they are two kernels.
  automatic::check(
      [](Fusion& fusion) {
        TensorView* x = input(fusion, 2, DataType::Float);
        fusion.addOutput(add(cumsum(x, 1), scan(x, 1, BinaryOpType::Add, nullptr, true)));
      },
      {{{{8, 64}}}}, "scan", 2);
}

TEST_CASE("scans that start from a value, of broadcast and of indexed operands") {
  automatic::check(
      [](Fusion& fusion) {
        TensorView* x = input(fusion, 2, DataType::Float);
        TensorView* row = input(fusion, 1, DataType::Float);
        TensorView* both = add(x, broadcast(row, {false, true}));
        fusion.addOutput(scan(both, 1, BinaryOpType::Add, IrBuilder::create<Val>(2.5)));
      },
      {{{{8, 64}}, {{8}}}}, "scan");
  automatic::check(
      [](Fusion& fusion) {
        TensorView* x = input(fusion, 2, DataType::BFloat16);
        TensorView* column = input(fusion, 1, DataType::Float);
        fusion.addOutput(mul(scan(x, 1, BinaryOpType::Add, IrBuilder::create<Val>(0.3)),
                             broadcast(column, {true, false})));
      },
      {{{{8, 64}, DataType::BFloat16}, {{64}}}}, "scan");
  // A one-hot mask along tokens.
  automatic::check(
      [](Fusion& fusion) {
        TensorView* chosen = input(fusion, 1, DataType::Int);
        TensorView* places = iota(IrBuilder::create<Val>(int64_t{16}));
        TensorView* mask = castOp(
            DataType::Int, eq(broadcast(chosen, {false, true}), broadcast(places, {true, false})));
        fusion.addOutput(mul(sub(cumsum(mask, 0), IrBuilder::create<Val>(int64_t{1})), mask));
      },
      {{{{600}, DataType::Int}}}, "scan");
}

TEST_CASE("running maxima keep NaN") {
  for (Device* device : testDevices()) {
    for (BinaryOpType type : {BinaryOpType::Max, BinaryOpType::FMax}) {
      automatic::Program program(
          [&](Fusion& fusion) {
            TensorView* x = input(fusion, 2, DataType::Float);
            fusion.addOutput(scan(x, 1, type));
          },
          *device);
      std::vector<float> values(3 * 70, 1.0F);
      for (size_t i : {size_t{0}, size_t{100}, size_t{209}}) {
        values[i] = std::numeric_limits<float>::quiet_NaN();
      }
      KernelArgumentHolder arguments;
      arguments.push(Tensor::fromHost(values, {3, 70}, *device));
      program.run(arguments);
    }
  }
}

// The loops are cut from the scan's columns and copies of them, so each copy has a scan of its own:
// a thread of a GPU has one copy of one column. A vector of the CPU has whole columns with all of
// their copies, or the scan is a kernel of its own.
TEST_CASE("scans beside a tensor that has more axes within theirs") {
  struct Sizes {
    int64_t rows, columns, copies;
    size_t host_kernels;
  };
  for (const Sizes& n :
       {Sizes{17, 5, 5, 2}, Sizes{9, 7, 3, 2}, Sizes{4, 33, 2, 1}, Sizes{30, 3, 11, 2}}) {
    for (bool backward : {false, true}) {
      const auto define = [&](Fusion& fusion) {
        TensorView* x = makeContigConcreteTensor({n.rows, n.columns});
        TensorView* y = makeContigConcreteTensor({n.rows, n.columns, n.copies});
        fusion.addInput(x);
        fusion.addInput(y);
        TensorView* sums = scan(x, 0, BinaryOpType::Add, nullptr, backward);
        fusion.addOutput(mul(broadcast(sums, {false, false, true}), y));
      };
      for (Device* device : testDevices()) {
        CAPTURE(device->properties().name);
        CAPTURE(n.columns);
        CAPTURE(backward);
        automatic::Program program(define, *device);
        program.run({{{n.rows, n.columns}}, {{n.rows, n.columns, n.copies}}});
        CHECK(program.kernels() == (device->kind() == DeviceKind::Cpu ? n.host_kernels : 1));
      }
    }
  }
}
