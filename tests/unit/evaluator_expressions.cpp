#include <doctest/doctest.h>

#include <evaluator/expression_evaluator.h>
#include <evaluator/interpreter.h>
#include <ir/builder.h>

namespace nvfuser {
namespace {

struct Scalars {
  Fusion fusion;
  FusionGuard guard{&fusion};
  ExpressionEvaluator evaluator;

  Val* symbol(DataType dtype = DataType::Int) { return IrBuilder::create<Val>(dtype); }
  Val* number(PolymorphicValue value) { return IrBuilder::create<Val>(value); }
  int64_t integer(Val* val) { return evaluator.evaluate(val).as<int64_t>(); }
};

template <typename Call>
std::string errorOf(const Call& call) {
  try {
    call();
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE_FIXTURE(Scalars, "expressions are known once their symbols are bound") {
  Val* a = symbol();
  Val* b = symbol();
  Val* c = IrBuilder::addExpr(IrBuilder::mulExpr(a, b), number(1));
  CHECK(!evaluator.evaluate(c).hasValue());
  CHECK(!evaluator.isKnown(c));
  evaluator.bind(a, 6);
  CHECK(!evaluator.isKnown(c));
  evaluator.bind(b, 7);
  CHECK(integer(c) == 43);
  evaluator.bind(b, 8);
  CHECK(integer(c) == 49);
  const ExpressionEvaluator& read_only = evaluator;
  CHECK(read_only.evaluate(c).as<int64_t>() == 49);
  evaluator.invalidate(b);
  CHECK(!evaluator.isKnown(c));
}

TEST_CASE_FIXTURE(Scalars, "integers follow C++, and division by zero has no value") {
  Val* a = symbol();
  Val* b = symbol();
  evaluator.bind(a, -7);
  evaluator.bind(b, 2);
  CHECK(integer(IrBuilder::divExpr(a, b)) == -3);
  CHECK(integer(IrBuilder::modExpr(a, b)) == -1);
  CHECK(integer(IrBuilder::ceilDivExpr(a, b)) == -3);
  CHECK(integer(IrBuilder::ceilDivExpr(b, number(7))) == 1);
  CHECK(integer(IrBuilder::maxExpr(a, b)) == 2);
  CHECK(integer(IrBuilder::gcdExpr(number(12), number(18))) == 6);
  CHECK(integer(IrBuilder::lShiftExpr(b, number(3))) == 16);
  CHECK(integer(IrBuilder::whereExpr(IrBuilder::ltExpr(a, b), number(1), number(2))) == 1);
  CHECK(integer(IrBuilder::negExpr(a)) == 7);
  CHECK(integer(IrBuilder::absExpr(a)) == 7);
  CHECK(evaluator.evaluate(IrBuilder::logicalNotExpr(IrBuilder::ltExpr(a, b))) ==
        PolymorphicValue(false));
  evaluator.bind(b, 0);
  CHECK(!evaluator.isKnown(IrBuilder::divExpr(a, b)));
  CHECK(!evaluator.isKnown(IrBuilder::modExpr(a, b)));
  CHECK(!evaluator.isKnown(IrBuilder::ceilDivExpr(a, b)));
}

TEST_CASE_FIXTURE(Scalars, "floats, casts and complex numbers") {
  Val* x = symbol(DataType::Double);
  evaluator.bind(x, 0.1);
  CHECK(evaluator.evaluate(IrBuilder::mulExpr(x, x)).as<double>() == doctest::Approx(0.01));
  Val* single = IrBuilder::maybeCastExpr(DataType::Float, x);
  CHECK(evaluator.evaluate(single).as<double>() == static_cast<double>(0.1f));
  Val* cut = IrBuilder::maybeCastExpr(DataType::Int, IrBuilder::mulExpr(x, number(55.0)));
  CHECK(integer(cut) == 5);
  CHECK(evaluator.evaluate(IrBuilder::maxExpr(x, number(2.5))).as<double>() == 2.5);
  CHECK(evaluator.evaluate(IrBuilder::unaryExpr(UnaryOpType::Sqrt, number(2.0))).as<double>() ==
        doctest::Approx(1.41421356));
  Val* z = number(std::complex<double>(1, 2));
  CHECK(evaluator.evaluate(IrBuilder::mulExpr(z, z)).as<std::complex<double>>() ==
        std::complex<double>(-3, 4));
  CHECK(number(3)->evaluate().as<int64_t>() == 3);
  CHECK(IrBuilder::addExpr(number(3), number(4))->evaluate().as<int64_t>() == 7);
  CHECK(!IrBuilder::addExpr(symbol(), number(4))->evaluate().hasValue());
}

TEST_CASE_FIXTURE(Scalars, "named scalars and launch dimensions") {
  Val* tid = IrBuilder::create<NamedScalar>("threadIdx.x", DataType::Index);
  Val* extent = IrBuilder::create<NamedScalar>("blockDim.y", DataType::Index);
  evaluator.bind("threadIdx.x", 5);
  evaluator.bind(ParallelType::TIDy, 128);
  CHECK(integer(IrBuilder::addExpr(tid, extent)) == 133);
  CHECK(evaluator.evaluate(ParallelType::TIDy).as<int64_t>() == 128);
  CHECK(!evaluator.evaluate(ParallelType::BIDx).hasValue());
  CHECK(contains(errorOf([&] { evaluator.bind(ParallelType::Vectorize, 4); }), "has no extent"));
}

TEST_CASE_FIXTURE(Scalars, "bindings that contradict what is known") {
  Val* four = number(4);
  evaluator.bind(four, 4);
  CHECK(contains(errorOf([&] { evaluator.bind(four, 5); }),
                 "Tried to bind to a constant value: 4 as 5"));
  Val* a = symbol();
  Val* twice = IrBuilder::mulExpr(a, number(2));
  evaluator.bind(a, 3);
  evaluator.bind(twice, 6, true);
  const std::string error = errorOf([&] { evaluator.bind(twice, 8, true); });
  CHECK(contains(error, "Tried to bind to a value: "));
  CHECK(contains(error, "(which evaluated to 6) as 8"));
  CHECK(contains(errorOf([&] { evaluator.bind(a, std::complex<double>(2, 1)); }),
                 "Scalar value (2,1) is not compatible with the expected data type: int64_t."));
  Val* d = symbol(DataType::Double);
  CHECK(contains(errorOf([&] { evaluator.bind(d, std::complex<double>(2, 1)); }),
                 "Scalar value (2,1) is not compatible with the expected data type: double."));
}

TEST_CASE_FIXTURE(Scalars, "a deep chain needs no deep stack") {
  Val* sum = symbol();
  evaluator.bind(sum, 0);
  Val* one = number(1);
  for (int i = 0; i < 100000; ++i) {
    sum = IrBuilder::addExpr(sum, one);
  }
  CHECK(integer(sum) == 100000);
}

TEST_CASE_FIXTURE(Scalars, "the extents of a tensor are its sizes") {
  TensorView* x = makeContigTensor(2);
  evaluator.bindTensor(x, {3, 5});
  CHECK(integer(x->axis(0)->extent()) == 3);
  CHECK(integer(x->axis(1)->extent()) == 5);
  x->split(1, 4);
  CHECK(integer(x->axis(1)->extent()) == 2);
  CHECK(contains(errorOf([&] { evaluator.bindTensor(x, {3}); }),
                 "rank 2, but got a tensor of rank 1"));
  CHECK(contains(errorOf([&] { evaluator.bindTensor(x, {4, 5}); }), "(which evaluated to 3) as 4"));
  TensorView* b = makeConcreteTensor({1, 4});
  CHECK(contains(errorOf([&] { evaluator.bindTensor(b, {2, 4}); }),
                 "Tried to bind to a constant value: 1 as 2"));
  CHECK(contains(errorOf([&] { evaluator.bindTensor(b, {1, 5}); }),
                 "Tried to bind to a constant value: 4 as 5"));
}

TEST_CASE_FIXTURE(Scalars, "strides have to keep what the tensor promises") {
  TensorView* x = makeContigTensor(3);
  evaluator.bindTensor(x, {2, 3, 4}, {12, 4, 1});
  const std::string error = errorOf([&] { evaluator.bindTensor(x, {2, 3, 4}, {12, 1, 3}); });
  CHECK(contains(error, "'s stride mismatch with contiguity info."));
  // Axes of extent 1 and empty tensors have no layout.
  ExpressionEvaluator other;
  other.bindTensor(x, {1, 3, 4}, {999, 4, 1});
  ExpressionEvaluator empty;
  empty.bindTensor(x, {0, 3, 4}, {1, 2, 3});

  TensorView* permuted = TensorViewBuilder().ndims(2).contiguity(true).strideOrder({0, 1}).build();
  ExpressionEvaluator outer;
  outer.bindTensor(permuted, {3, 5}, {1, 3});
  CHECK(contains(errorOf([&] { outer.bindTensor(permuted, {3, 5}, {5, 1}); }),
                 "stride mismatch with contiguity info."));
  AllocationLayout layout = allocationLayout(permuted, {3, 5}, {1, 3}, outer);
  CHECK(layout.sizes == std::vector<int64_t>{5, 3});
  CHECK(layout.strides == std::vector<int64_t>{3, 1});

  Val* extent = symbol(DataType::Index);
  TensorView* expanded = TensorViewBuilder()
                             .shape(std::vector<Val*>{extent, symbol(DataType::Index)})
                             .expanded({true, false})
                             .contiguity(true)
                             .build();
  ExpressionEvaluator wide;
  wide.bindTensor(expanded, {7, 5}, {0, 1});
  CHECK(wide.evaluate(extent).as<int64_t>() == 7);
  CHECK(contains(errorOf([&] { wide.bindTensor(expanded, {7, 5}, {5, 1}); }),
                 "Expecting an expanded dimension on dimension 0"));
}

TEST_CASE_FIXTURE(Scalars, "an allocation domain may split and merge the logical one") {
  TensorView* x = makeSymbolicTensor(2);
  auto [outer, inner] =
      IterDomain::split(x->axis(1), IrBuilder::create<Val>(4, DataType::Index), true);
  x->setAllocationDomain({outer, x->axis(0), inner}, true);
  AllocationLayout layout = allocationLayout(x, {3, 8}, {4, 12}, evaluator);
  CHECK(layout.sizes == std::vector<int64_t>{2, 3, 4});
  CHECK(layout.strides == std::vector<int64_t>{48, 4, 12});
  CHECK(contains(errorOf([&] { allocationLayout(x, {3, 7}, {4, 12}, evaluator); }),
                 "does not divide"));
}

TEST_CASE_FIXTURE(Scalars, "arguments that do not fit the inputs") {
  TensorView* x = makeContigTensor(2);
  Val* d = symbol(DataType::Double);
  fusion.addInput(x);
  fusion.addInput(d);
  float data[6] = {};
  const TensorRef good{.data = data, .dtype = DataType::Float, .sizes = {2, 3}, .strides = {3, 1}};
  auto bound = [&](std::vector<InterpreterInput> inputs) {
    return errorOf([&] { bindInputs(fusion, inputs); });
  };
  CHECK(bound({good, PolymorphicValue(2.0)}).empty());
  CHECK(bound({good, PolymorphicValue(2)}).empty());
  CHECK(contains(bound({PolymorphicValue(2), PolymorphicValue(2.0)}), "Expected input 0, T0"));
  CHECK(contains(bound({PolymorphicValue(2), PolymorphicValue(2.0)}),
                 ", to be an at::Tensor but got scalar 2"));
  CHECK(contains(bound({good, good}), ", to be a scalar but got float tensor of rank 2"));
  TensorRef half = good;
  half.dtype = DataType::Half;
  CHECK(contains(bound({half, PolymorphicValue(2.0)}),
                 ", to be bound to a tensor of dtype float, but got a tensor of dtype __half"));
  TensorRef flat{.data = data, .dtype = DataType::Float, .sizes = {6}, .strides = {1}};
  CHECK(contains(bound({flat, PolymorphicValue(2.0)}),
                 ", to be bound to a tensor of rank 2, but got a tensor of rank 1"));
  CHECK(
      contains(bound({good}), "KernelArgumentHolder contains less argument than kernel's input."));
  CHECK(contains(bound({good, PolymorphicValue(2.0), PolymorphicValue(2.0)}),
                 "Inputs were not set up correctly."));
  CHECK(contains(bound({good, PolymorphicValue(std::complex<double>(2, 1))}),
                 "Scalar value (2,1) is not compatible with the expected data type: double."));
}

}  // namespace
}  // namespace nvfuser
