// Reductions over no elements mean one thing: by kernels of all devices, schedules made by hand or
// not, sizes that are constants or that only a call tells; and in the interpreter.
#include <cmath>
#include <limits>

#include "automatic.h"
#include "scheduled.h"

using namespace nvfuser;

namespace {

using D = DataType;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool isSame(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

void checkAll(const Tensor& result, double expected) {
  for (const double got : result.toHost<double>()) {
    CAPTURE(got);
    CAPTURE(expected);
    CHECK(isSame(got, expected));
  }
}

/// The statistics of `x` over `axes`, as outputs.
void addWelford(Fusion& fusion, TensorView* x, const std::vector<int64_t>& axes) {
  const WelfordResult moments = Welford(x, axes);
  fusion.addOutput(moments.avg);
  fusion.addOutput(moments.var_sum);
  fusion.addOutput(moments.n);
}

const std::vector<double> kOfNothing{kNaN, 0, 0};

/// Runs `define`, of one input, for inputs of these sizes, in turn and back, and checks the outputs
/// of the calls whose input has no elements.
void checkCalls(const automatic::Define& define, DataType dtype,
                const std::vector<std::vector<int64_t>>& calls,
                const std::vector<double>& expected) {
  for (Device* device : testDevices()) {
    CAPTURE(device->properties().name);
    automatic::Program program(define, *device);
    for (size_t i = 0; i < 2 * calls.size(); ++i) {
      const std::vector<int64_t>& sizes = calls[i < calls.size() ? i : 2 * calls.size() - 1 - i];
      CAPTURE(sizes);
      const KernelArgumentHolder arguments = automatic::makeInputs({{sizes, dtype}}, *device);
      program.run(arguments);
      const KernelArgumentHolder results = program.cache().runFusionWithInputs(arguments);
      for (size_t k = 0; arguments[0].tensor().numel() == 0 && k < expected.size(); ++k) {
        CAPTURE(k);
        checkAll(results[k].tensor(), expected[k]);
      }
    }
  }
}

}  // namespace

TEST_CASE("no elements: mean, deviations and count, by automatic schedules") {
  for (const DataType dtype : {DataType(D::Float), DataType(D::Double)}) {
    CAPTURE(dtype);
    const std::vector<std::vector<int64_t>> rank_2{{3, 4}, {3, 0}, {2, 1},
                                                   {0, 4}, {0, 0}, {70, 90}};
    for (const std::vector<int64_t>& axes : {std::vector<int64_t>{1}, {0}, {0, 1}}) {
      CAPTURE(axes);
      checkCalls(
          [&](Fusion& fusion) { addWelford(fusion, automatic::input(fusion, 2, dtype), axes); },
          dtype, rank_2, kOfNothing);
    }
    const std::vector<std::vector<int64_t>> rank_3{
        {2, 3, 4}, {2, 0, 4}, {0, 3, 2}, {2, 3, 0}, {0, 3, 0}};
    for (const std::vector<int64_t>& axes : {std::vector<int64_t>{0, 2}, {1}}) {
      CAPTURE(axes);
      checkCalls(
          [&](Fusion& fusion) { addWelford(fusion, automatic::input(fusion, 3, dtype), axes); },
          dtype, rank_3, kOfNothing);
    }
  }
}

TEST_CASE("no elements: a size that is the constant 0") {
  checkCalls(
      [](Fusion& fusion) {
        TensorView* x = makeContigConcreteTensor({-1, 0});
        fusion.addInput(x);
        addWelford(fusion, x, {1});
        addWelford(fusion, exp(x), {0, 1});
      },
      D::Float, {{3, 0}, {0, 0}, {1, 0}}, {kNaN, 0, 0, kNaN, 0, 0});
}

TEST_CASE("no elements: an axis that is expanded to nothing, and one element repeated") {
  checkCalls(
      [](Fusion& fusion) {
        TensorView* x = automatic::input(fusion, 1, D::Float);
        TensorView* wide =
            expand(broadcast(x, {false, true}), {IrBuilder::create<Val>(int64_t{-1}), size(x, 0)});
        addWelford(fusion, wide, {1});
        addWelford(fusion, wide, {0, 1});
      },
      D::Float, {{3}, {0}, {1}}, {kNaN, 0, 0, kNaN, 0, 0});
}

TEST_CASE("no elements: cut into several kernels") {
  checkCalls(
      [](Fusion& fusion) {
        TensorView* x = automatic::input(fusion, 2, D::Float);
        TensorView* cut = segment_set(mul(x, x));
        const WelfordResult moments = Welford(cut, {1});
        TensorView* mean = segment_set(moments.avg);
        fusion.addOutput(add(mean, mean));
        fusion.addOutput(moments.var_sum);
        fusion.addOutput(sum(cut, {1}));
      },
      D::Float, {{3, 4}, {3, 0}, {5, 0}, {1, 0}, {2, 1}}, {kNaN, 0, 0});
}

TEST_CASE("no elements: one side of joined statistics, or both") {
  struct Case {
    int64_t own, given;
    double avg, var_sum, n;
  };
  // Own elements are 0.5 each; the given statistics are of `given` numbers.
  const std::vector<Case> cases{
      {0, 3, 2.0, 6.0, 3}, {4, 0, 0.5, 0.0, 4}, {0, 0, kNaN, 0.0, 0}, {1, 1, 1.25, 6.0 + 1.125, 2}};
  for (Device* device : testDevices()) {
    CAPTURE(device->properties().name);
    automatic::Program program(
        [](Fusion& fusion) {
          TensorView* x = automatic::input(fusion, 2, D::Float);
          TensorView* avg = automatic::input(fusion, 1, D::Float);
          TensorView* var = automatic::input(fusion, 1, D::Float);
          Val* n = IrBuilder::create<Val>(D::Int);
          fusion.addInput(n);
          const WelfordResult moments = Welford(x, {1}, avg, var, n);
          fusion.addOutput(moments.avg);
          fusion.addOutput(moments.var_sum);
          fusion.addOutput(moments.n);
        },
        *device);
    for (const Case& one : cases) {
      CAPTURE(one.own);
      CAPTURE(one.given);
      KernelArgumentHolder arguments;
      arguments.push(Tensor::full({2, one.own}, 0.5, D::Float, *device));
      // What a side without numbers gives as its mean is of no interest.
      arguments.push(Tensor::full({2}, one.given == 0 ? kNaN : 2.0, D::Float, *device));
      arguments.push(Tensor::full({2}, one.given == 0 ? kInfinity : 6.0, D::Float, *device));
      arguments.push(one.given);
      program.run(arguments);
      const KernelArgumentHolder results = program.cache().runFusionWithInputs(arguments);
      checkAll(results[0].tensor(), one.avg);
      checkAll(results[1].tensor(), one.var_sum);
      checkAll(results[2].tensor(), one.n);
    }
  }
}

namespace {

/// Runs a hand-made schedule of statistics, whose outputs are mean, deviations and count, for sizes
/// some of which have no elements, or fewer than there are parts.
void checkScheduled(int64_t rank, const std::vector<int64_t>& axes,
                    const std::function<void(const WelfordResult&)>& schedule,
                    const std::vector<std::vector<int64_t>>& calls) {
  std::vector<scheduled::Sizes> runs;
  for (const std::vector<int64_t>& sizes : calls) {
    runs.push_back({sizes});
  }
  const auto define = [&](Fusion& fusion) {
    TensorView* x = makeContigTensor(rank);
    fusion.addInput(x);
    const WelfordResult moments = Welford(x, axes);
    fusion.addOutput(moments.avg);
    fusion.addOutput(moments.var_sum);
    fusion.addOutput(moments.n);
    schedule(moments);
  };
  for (Device* device : testDevices()) {
    scheduled::checkOn(
        *device, define, runs, D::Float, {},
        [](Fusion& fusion, KernelExecutor& executor, const KernelArgumentHolder& arguments) {
          const KernelArgumentHolder results = executor.run(arguments);
          testValidate(&fusion, results, arguments, __LINE__, __FILE__);
          for (size_t k = 0; arguments[0].tensor().numel() == 0 && k < kOfNothing.size(); ++k) {
            checkAll(results[k].tensor(), kOfNothing[k]);
          }
        });
  }
}

}  // namespace

TEST_CASE("no elements: schedules made by hand, parts of which are empty") {
  const std::vector<std::vector<int64_t>> calls{{3, 100}, {3, 0}, {3, 2}, {3, 1}, {1, 0}};
  SUBCASE("in registers") {
    checkScheduled(2, {1}, [](const WelfordResult&) {}, calls);
  }
  SUBCASE("by threads") {
    checkScheduled(
        2, {1},
        [](const WelfordResult& moments) {
          moments.avg->split(1, 32);
          moments.avg->axis(2)->parallelize(ParallelType::TIDx);
          moments.avg->axis(0)->parallelize(ParallelType::BIDx);
          scheduled::scheduleLike(moments.avg);
        },
        calls);
  }
  SUBCASE("in parts, then by threads") {
    checkScheduled(
        2, {1},
        [](const WelfordResult& moments) {
          moments.avg->split(1, 16, false);
          std::vector<TensorView*> parts =
              moments.avg->rFactor({2}, {moments.avg, moments.var_sum, moments.n});
          moments.avg->axis(1)->parallelize(ParallelType::TIDx);
          parts[0]->axis(1)->parallelize(ParallelType::TIDx);
          scheduler_utils::parallelizeAllLike(moments.avg);
          inlineMost();
        },
        calls);
  }
  SUBCASE("by blocks") {
    checkScheduled(
        2, {1},
        [](const WelfordResult& moments) {
          moments.avg->split(1, 4, false);
          moments.avg->axis(0)->parallelize(ParallelType::BIDy);
          moments.avg->axis(1)->parallelize(ParallelType::BIDx);
          scheduled::scheduleLike(moments.avg);
          inlineMost();
        },
        calls);
  }
  SUBCASE("by as many blocks as there are elements") {
    checkScheduled(
        2, {1},
        [](const WelfordResult& moments) {
          moments.avg->split(1, 8);
          moments.avg->axis(0)->parallelize(ParallelType::BIDy);
          moments.avg->axis(1)->parallelize(ParallelType::BIDx);
          moments.avg->axis(2)->parallelize(ParallelType::TIDx);
          scheduled::scheduleLike(moments.avg);
          inlineMost();
        },
        calls);
  }
  SUBCASE("in parts, then by blocks and threads") {
    checkScheduled(
        2, {1},
        [](const WelfordResult& moments) {
          moments.avg->split(1, 4, false);
          moments.avg->split(2, 8, false);
          std::vector<TensorView*> parts =
              moments.avg->rFactor({3}, {moments.avg, moments.var_sum, moments.n});
          for (TensorView* tv : {parts[0], moments.avg}) {
            tv->axis(0)->parallelize(ParallelType::BIDy);
            tv->axis(1)->parallelize(ParallelType::BIDx);
            tv->axis(2)->parallelize(ParallelType::TIDx);
          }
          scheduler_utils::parallelizeAllLike(moments.avg);
          inlineMost();
        },
        calls);
  }
}

TEST_CASE("no elements: sum, product, greatest and least") {
  struct Dtype {
    DataType dtype;
    double least, greatest;
  };
  for (const Dtype& one :
       {Dtype{D::Float, -kInfinity, kInfinity}, Dtype{D::Double, -kInfinity, kInfinity},
        Dtype{D::Half, -kInfinity, kInfinity}, Dtype{D::BFloat16, -kInfinity, kInfinity},
        Dtype{D::Int32, -2147483648.0, 2147483647.0}}) {
    CAPTURE(one.dtype);
    for (const std::vector<int64_t>& axes : {std::vector<int64_t>{1}, {0, 1}}) {
      checkCalls(
          [&](Fusion& fusion) {
            TensorView* x = automatic::input(fusion, 2, one.dtype);
            fusion.addOutput(sum(x, axes));
            fusion.addOutput(prod(x, axes));
            fusion.addOutput(max(x, axes));
            fusion.addOutput(min(x, axes));
          },
          one.dtype, {{3, 4}, {3, 0}, {1, 0}, {2, 1}}, {0, 1, one.least, one.greatest});
    }
  }
}

TEST_CASE("no elements: mean, variance and their normalisations") {
  checkCalls(
      [](Fusion& fusion) {
        TensorView* x = automatic::input(fusion, 2, D::Float);
        const VarMeanResult both = variance_mean(x, {1}, 1, true);
        fusion.addOutput(both.var);
        fusion.addOutput(both.mean);
        fusion.addOutput(mean(x, {1}, false));
        fusion.addOutput(variance(x, {1}, int64_t{0}, false));
        const ForwardNormResult norm =
            layer_norm(x, 1, nullptr, nullptr, IrBuilder::create<Val>(1e-5));
        fusion.addOutput(norm.mean);
        fusion.addOutput(norm.invstd);
        fusion.addOutput(norm.output);
      },
      D::Float, {{3, 4}, {3, 0}, {1, 0}, {2, 1}}, {kNaN, kNaN, kNaN, kNaN, kNaN, kNaN, kNaN});
}
