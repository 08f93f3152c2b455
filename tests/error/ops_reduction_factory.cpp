// Wrong reductions, shapes and random numbers.
#include <doctest/doctest.h>

#include <cmath>

#include <ir/builder.h>
#include <ir/fusion.h>
#include <ops/all_ops.h>

using namespace nvfuser;

namespace {

using D = DataType;

template <typename Number>
Val* constant(Number value) {
  return IrBuilder::create<Val>(PolymorphicValue(value));
}

struct Reductions {
  Fusion fusion;
  FusionGuard guard{&fusion};
  TensorView* x = makeConcreteTensor({2, 3});
};

}  // namespace

#define CHECK_ERROR(statement, words) \
  CHECK_THROWS_WITH_AS(static_cast<void>(statement), doctest::Contains(words), UserError)

TEST_CASE_FIXTURE(Reductions, "axes") {
  CHECK_ERROR(
      sum(x, {2}),
      "sum: Tried to access out of boundary index 2. total index: 2 axes in T0 (valid: -2 to 1)");
  CHECK_ERROR(sum(x, {-3}), "sum: Tried to access out of boundary index -3");
  CHECK_ERROR(prod(x, {2}), "prod: Tried to access out of boundary index 2");
  CHECK_ERROR(max(x, {2}), "max: Tried to access out of boundary index 2");
  CHECK_ERROR(min(x, {2}), "min: Tried to access out of boundary index 2");
  CHECK_ERROR(mean(x, {2}, false), "mean: Tried to access out of boundary index 2");
  CHECK_ERROR(fusedMultiplySum(x, x, {2}), "fusedMultiplySum: Tried to access out of boundary");
  CHECK_ERROR(reductionOp(BinaryOpType::Add, {2}, constant(0.0), x),
              "reductionOp: Tried to access out of boundary index 2. total index: 2 axes in T0");
  CHECK_ERROR(sum(x, {0, 0}), "sum: axis 0 is given twice");
  CHECK_ERROR(max(x, {1, -1}), "max: axis 1 is given twice");
  CHECK_ERROR(sum(nullptr, {0}), "sum: operand 1 is null");
}

TEST_CASE_FIXTURE(Reductions, "dtypes and initial values") {
  CHECK_ERROR(max(x, {0}, false, D::Double), "max: A dtype other than Null");
  CHECK_ERROR(min(makeConcreteTensor({2}, D::ComplexFloat), {0}), "min: not defined for operands");
  CHECK_ERROR(reductionOp(BinaryOpType::Add, {0}, IrBuilder::create<Val>(D::Float), x),
              "is not a constant");
  CHECK_ERROR(reductionOp(BinaryOpType::Add, {0}, nullptr, x), "the initial value is missing");
  CHECK_ERROR(reductionOpRaw(BinaryOpType::Sub, {0}, constant(0.0), x),
              "sub is not associative and commutative");
}

TEST_CASE_FIXTURE(Reductions, "welford") {
  CHECK_ERROR(Welford(makeConcreteTensor({2}, D::Half), {0}), "please upcast to float");
  CHECK_ERROR(Welford(makeSymbolicTensor(0), {0}), "has no axes");
  CHECK_ERROR(Welford(x, {}), "welford: No reduction axis specified");
  CHECK_ERROR(Welford(x, {0}, x), "are given together or not at all");
}

TEST_CASE_FIXTURE(Reductions, "shapes") {
  CHECK_ERROR(full({constant(-2)}, constant(1.0), D::Float),
              "full: size 0 of the shape is negative");
  CHECK_ERROR(full({constant(2), constant(1.5)}, constant(1.0), D::Float),
              "full: size 1 of the shape must be an integer scalar");
  CHECK_ERROR(full({}, static_cast<Val*>(x), D::Float), "full: fill_value (T0) must be a scalar");
  CHECK_ERROR(full({}, constant(1.0), D::Null), "full: the data type is missing");
  CHECK_ERROR(size(x, 2), "size");
  CHECK_ERROR(at({constant(1)}, 3), "at");
  CHECK_ERROR(sum_to(x, std::vector<int64_t>{1, 1, 1}), "sum_to: Error trying to reduce");
  CHECK_ERROR(viewAsScalar(x), "must have complex type");
}

TEST_CASE_FIXTURE(Reductions, "ranges") {
  CHECK_ERROR(iota(constant(5), nullptr, constant(0)), "iota: step value must not equal zero");
  CHECK_ERROR(iota(constant(5), constant(1.5)), "iota: start value dtype does not match");
  CHECK_ERROR(iota(constant(5), constant(INFINITY), nullptr, D::Float), "start must be finite");
  CHECK_ERROR(iota(constant(5), nullptr, nullptr, D::Bool), "must be an integer or floating-point");
  CHECK_ERROR(arange(constant(0), constant(5), constant(0)), "arange: step must not be zero");
  CHECK_ERROR(arange(constant(0), constant(5), constant(-1)), "change the sign of step");
}

TEST_CASE_FIXTURE(Reductions, "random numbers") {
  CHECK_ERROR(rand({constant(2)}, D::Int),
              "Random distributions only create floating point types!");
  CHECK_ERROR(rand_like(makeConcreteTensor({2}, D::Bool)), "only create floating point types");
  CHECK_ERROR(rand({constant(2)}, D::Float, constant(1)),
              "rng_seed and rng_offset must be provided together");
  CHECK_ERROR(rand({constant(2)}, D::Float, constant(1.0), constant(1)), "must be integer scalars");
  CHECK_ERROR(normal({constant(2)}, static_cast<Val*>(x), constant(1.0), D::Float),
              "must be real scalars");
  auto of_threads = [](Val* threads, Val* width, Val* seed) {
    return uniform_of_threads({constant(8)}, threads, width, seed, constant(0));
  };
  CHECK_ERROR(of_threads(constant(64), constant(6), constant(1)),
              "width must be a constant, a positive multiple of 4, got 6");
  CHECK_ERROR(of_threads(constant(0), constant(4), constant(1)), "threads must be a constant");
  CHECK_ERROR(of_threads(IrBuilder::create<Val>(D::Int), constant(4), constant(1)),
              "threads must be a constant, a positive multiple of 1");
  CHECK_ERROR(of_threads(constant(64), constant(4), nullptr),
              "rng_seed must be an integer scalar, got none");
  CHECK_ERROR(of_threads(constant(64), constant(1.5), constant(1)),
              "width must be an integer scalar");
}
