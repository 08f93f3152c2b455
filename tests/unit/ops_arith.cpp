// Shapes, dtypes and axes of operations.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include <ir/axis_map.h>
#include <ir/builder.h>
#include <ir/fusion.h>
#include <ops/all_ops.h>
#include <ops/table/pointwise.h>

using namespace nvfuser;

namespace {

using D = DataType;

template <typename Number>
Val* constant(Number value) {
  return IrBuilder::create<Val>(PolymorphicValue(value));
}

/// "i3 b1 b1(5) r4 i?": kind and extent of each logical axis, ? for a symbol.
std::string axes(const TensorView* tv) {
  return join(tv->getLogicalDomain(), " ", [](const IterDomain* id) {
    auto size = [](const Val* v) {
      return v->isConst() ? std::to_string(v->value().as<int64_t>()) : std::string("?");
    };
    const char* kind = id->isReduction()         ? "r"
                       : id->isBroadcast()       ? "b"
                       : id->isVectorComponent() ? "v"
                                                 : "i";
    std::string shown = kind + size(id->extent());
    if (id->hasExpandedExtent()) {
      shown += "(" + size(id->expandedExtent()) + ")";
    }
    return shown;
  });
}

struct Arith {
  Fusion fusion;
  FusionGuard guard{&fusion};
};

}  // namespace

TEST_CASE_FIXTURE(Arith, "every pointwise function makes an expression of its row") {
  TensorView* whole = makeSymbolicTensor(2, D::Int);
  TensorView* full_tv = makeSymbolicTensor(2, D::Float);
  TensorView* flag = makeSymbolicTensor(2, D::Bool);
  TensorView* pair = makeSymbolicTensor(2, D::ComplexFloat);
  for (TensorView* in : {whole, full_tv, flag, pair}) {
    fusion.addInput(in);
  }
  for (const PointwiseFunction& function : pointwiseFunctions()) {
    CAPTURE(function.name);
    if (function.name == "sign") {
      continue;  // declared in composite.h
    }
    bool of_integers = function.rule == DtypeRule::Integer || function.rule == DtypeRule::Bitwise;
    Val* any = of_integers ? whole : function.rule == DtypeRule::RealPart ? pair : full_tv;
    std::vector<Val*> operands(static_cast<size_t>(function.arity), any);
    if (function.rule == DtypeRule::Select) {
      operands[0] = flag;
    }
    if (function.name == "clamp" || function.name == "threshold") {
      operands[1] = operands[2] = constant(1.0);
    }
    Val* out = callPointwise(function.name, operands);
    REQUIRE(out->isA<TensorView>());
    CHECK(out->as<TensorView>()->nDims() == 2);
    CHECK(out->definition() != nullptr);
    fusion.addOutput(out);
  }
  fusion.verify();
}

TEST_CASE_FIXTURE(Arith, "scalars alone give a scalar") {
  Val* a = IrBuilder::create<Val>(D::Double);
  Val* out = mul(add(a, constant(1.0)), exp(a));
  CHECK(out->isScalar());
  CHECK(out->definition()->as<BinaryOp>()->getBinaryOpType() == BinaryOpType::Mul);
  CHECK(where(gt(a, constant(0.0)), a, constant(1.0))->dtype() == D::Double);
}

TEST_CASE_FIXTURE(Arith, "axes meet by position") {
  TensorView* a = makeConcreteTensor({-1, 1, 5});
  TensorView* b = makeConcreteTensor({3, 4, 1});
  TensorView* c = add(a, b);
  CHECK(axes(c) == "i3 i4 i5");
  CHECK(mapAxes(c->definition(), a, c).size() == 3);
  CHECK(c->getLogicalDomain()[0] != b->getLogicalDomain()[0]);
  CHECK(c->getContiguity() == Contiguity{true, true, true});
  // Leading axes are added.
  TensorView* row = makeConcreteTensor({5});
  TensorView* d = add(c, row);
  CHECK(axes(d) == "i3 i4 i5");
  CHECK(axes(d->definition()->input(1)->as<TensorView>()) == "b1 b1 i5");
  // Broadcast with broadcast stays.
  CHECK(axes(add(makeConcreteTensor({1, 2}), makeConcreteTensor({1, 2}))) == "b1 i2");
  // Constants are preferred, symbols are kept.
  CHECK(axes(add(makeSymbolicTensor(1), makeConcreteTensor({7}))) == "i7");
  TensorView* symbolic = makeSymbolicTensor(1);
  CHECK(neg(symbolic)->getLogicalDomain()[0]->extent() ==
        symbolic->getLogicalDomain()[0]->extent());
}

TEST_CASE_FIXTURE(Arith, "expanded axes") {
  TensorView* wide = expand(makeConcreteTensor({1, 3}), {constant(4), constant(-1)});
  CHECK(axes(wide) == "b1(4) i3");
  CHECK(axes(exp(wide)) == "b1(4) i3");
  CHECK(axes(add(wide, makeConcreteTensor({1, 3}))) == "b1(4) i3");
  CHECK(axes(add(wide, makeConcreteTensor({4, 3}))) == "i4 i3");
  CHECK(axes(add(wide, makeSymbolicTensor(2))) == "i4 i3");
}

TEST_CASE_FIXTURE(Arith, "operations after a reduction see the axes that are left") {
  TensorView* s = sum(makeConcreteTensor({2, 3, 4}), {1});
  CHECK(axes(s) == "i2 r3 i4");
  CHECK(axes(exp(s)) == "i2 i4");
  CHECK(axes(add(s, makeConcreteTensor({2, 4}))) == "i2 i4");
}

TEST_CASE_FIXTURE(Arith, "reductions") {
  TensorView* x = makeConcreteTensor({2, 3, 4});
  CHECK(axes(sum(x, {0, -1})) == "r2 i3 r4");
  CHECK(axes(sum(x, {1}, true)) == "i2 b1 i4");
  CHECK(sum(x, {1})->dtype() == D::Float);
  auto* op = sum(x, {1})->definition()->as<ReductionOp>();
  CHECK(op->getReductionOpType() == BinaryOpType::Add);
  CHECK(op->init()->isZero());
  CHECK(prod(x, {1})->definition()->as<ReductionOp>()->init()->isOne());
  CHECK(max(x, {1})->definition()->as<ReductionOp>()->init()->value().as<double>() == -INFINITY);
  CHECK(min(x, {1})->definition()->as<ReductionOp>()->init()->value().as<double>() == INFINITY);
  // Over no axes: a copy.
  CHECK(axes(sum(x, {})) == "i2 i3 i4");
  CHECK(sum(x, {})->definition()->isA<LoadStoreOp>());
  CHECK(sum(makeSymbolicTensor(0), {0})->nDims() == 0);
}

TEST_CASE_FIXTURE(Arith, "dtypes of reductions") {
  TensorView* whole = makeConcreteTensor({2, 3}, D::Int32);
  CHECK(sum(whole, {0})->dtype() == D::Int);
  CHECK(sum(makeConcreteTensor({2}, D::Bool), {0})->dtype() == D::Int);
  CHECK(max(whole, {0})->dtype() == D::Int32);
  CHECK(max(whole, {0})->definition()->as<ReductionOp>()->init()->value().as<int64_t>() ==
        std::numeric_limits<int32_t>::min());
  CHECK(sum(whole, {0}, false, D::Double)->dtype() == D::Double);
  // Reduced precision is accumulated in Float.
  TensorView* h = sum(makeConcreteTensor({2, 3}, D::Half), {1});
  CHECK(h->dtype() == D::Half);
  CHECK(axes(h) == "i2");
  CHECK(h->definition()->input(0)->definition()->as<ReductionOp>()->out()->dtype() == D::Float);
}

TEST_CASE_FIXTURE(Arith, "reductions of broadcast axes") {
  TensorView* x = makeConcreteTensor({2, 1, 4});
  TensorView* squeezed = sum(x, {1});
  CHECK(axes(squeezed) == "i2 i4");
  CHECK(squeezed->definition()->isA<SqueezeOp>());
  CHECK(axes(sum(x, {1}, true)) == "i2 b1 i4");
  TensorView* both = sum(x, {0, 1});
  CHECK(axes(both) == "r2 i4");
  CHECK(both->definition()->isA<ReductionOp>());

  TensorView* wide = expand(x, {constant(-1), constant(5), constant(-1)});
  auto* times = sum(wide, {1})->definition()->as<BinaryOp>();
  CHECK(times->getBinaryOpType() == BinaryOpType::Mul);
  CHECK(times->rhs()->value().as<double>() == 5.0);
  CHECK(prod(wide, {1})->definition()->as<BinaryOp>()->getBinaryOpType() == BinaryOpType::Pow);
  CHECK(max(wide, {1})->definition()->isA<SqueezeOp>());
  // The initial value counts once.
  TensorView* started = reductionOp(BinaryOpType::Add, {0, 1}, constant(3.0), wide);
  CHECK(started->definition()->as<BinaryOp>()->getBinaryOpType() == BinaryOpType::Add);
  CHECK(axes(started) == "i4");
}

TEST_CASE_FIXTURE(Arith, "welford") {
  TensorView* x = makeConcreteTensor({2, 3});
  WelfordResult w = Welford(x, {1});
  CHECK(axes(w.avg) == "i2 r3");
  CHECK(axes(w.var_sum) == "i2 r3");
  CHECK(w.n->dtype() == D::Index);
  CHECK(w.avg->definition() == w.n->definition());
  CHECK(siblingsOf(w.avg).size() == 2);

  TensorView* wide = expand(makeConcreteTensor({2, 1}), {constant(-1), constant(5)});
  WelfordResult flat = Welford(wide, {1});
  CHECK(axes(flat.avg) == "i2");
  CHECK(axes(flat.n) == "i2");
  CHECK(flat.n->dtype() == D::Index);

  TensorView* start = makeConcreteTensor({2});
  WelfordResult more = Welford(x, {1}, start, start, constant(7));
  CHECK(axes(more.avg) == "i2");
  CHECK(more.n->dtype() == D::Index);
}

TEST_CASE_FIXTURE(Arith, "sum_to") {
  TensorView* x = makeConcreteTensor({2, 3, 4});
  CHECK(axes(sum_to(x, std::vector<int64_t>{1, 4})) == "b1 i4");
  CHECK(sum_to(x, std::vector<int64_t>{2, 3, 4}) == x);
  CHECK(axes(sum_to(x, std::vector<Val*>{constant(4)})) == "r2 r3 i4");
}

TEST_CASE_FIXTURE(Arith, "made from nothing") {
  Val* n = IrBuilder::create<Val>(D::Int);
  CHECK(axes(full({constant(2), n, constant(1)}, constant(0.5), D::Float)) == "i2 i? b1");
  CHECK(full({}, constant(0.5), D::Half)->nDims() == 0);
  CHECK(zeros({constant(2)}, D::Int)->definition()->as<FullOp>()->getFillValue()->dtype() ==
        D::Int);
  TensorView* x = makeConcreteTensor({2, 3}, D::Half);
  CHECK(axes(ones_like(x)) == "i2 i3");
  CHECK(ones_like(x)->dtype() == D::Half);
  CHECK(zeros_like(static_cast<Val*>(x))->isA<TensorView>());
  CHECK(zeros_like(constant(2.0))->isZero());
  CHECK(axes(iota(constant(5))) == "i5");
  CHECK(iota(constant(5))->dtype() == D::Int);
  CHECK(axes(arange(constant(0), constant(7), constant(2))) == "i4");
  CHECK(axes(arange(constant(5), constant(0), constant(-2))) == "i3");
  CHECK(axes(arange(n)) == "i?");
  CHECK(axes(eye(constant(3), D::Float)) == "i3 i3");
  CHECK(axes(eye(constant(3), constant(4), D::Float)) == "i3 i4");
  CHECK(tensor(constant(3.0))->nDims() == 0);
  CHECK(tensor(constant(3.0))->dtype() == D::Double);
  CHECK(size(x, -1)->value().as<int64_t>() == 3);
  CHECK(shape(x).size() == 2);
  CHECK(at(shape(x), 0)->value().as<int64_t>() == 2);
  TensorView* pair = makeConcreteTensor({3}, D::ComplexFloat);
  CHECK(axes(viewAsScalar(pair)) == "i3 v2");
  CHECK(viewAsScalar(pair)->dtype() == D::Float);
}

TEST_CASE_FIXTURE(Arith, "random numbers") {
  TensorView* r = rand({constant(2), constant(3)}, D::Float);
  CHECK(axes(r) == "i2 i3");
  auto* op = r->definition()->as<RNGOp>();
  CHECK(op->getRNGOpType() == RNGOpType::Uniform);
  CHECK(!op->isDeterministic());
  Val* seed = IrBuilder::create<Val>(D::Int);
  auto* seeded = normal({constant(2)}, constant(0.0), constant(1.0), D::Double, seed, seed)
                     ->definition()
                     ->as<RNGOp>();
  CHECK(seeded->isDeterministic());
  CHECK(seeded->numParameters() == 2);
  CHECK(seeded->parameter(1)->dtype() == D::Double);
  // Below one also after rounding to fewer digits.
  TensorView* h = rand_like(makeConcreteTensor({4}, D::Half));
  CHECK(h->dtype() == D::Half);
  CHECK(h->definition()->input(0)->definition()->as<BinaryOp>()->getBinaryOpType() ==
        BinaryOpType::Min);
  CHECK(uniform({constant(2)}, constant(0), constant(1), D::Float)->dtype() == D::Float);
  CHECK(randn_like(static_cast<Val*>(r))->isA<TensorView>());
}

TEST_CASE_FIXTURE(Arith, "casts") {
  TensorView* x = makeConcreteTensor({2});
  CHECK(castOp(D::Half, x)->dtype() == D::Half);
  CHECK(castOp(D::Float, x)->definition()->isA<LoadStoreOp>());
  CHECK(maybeCastOp(D::Float, x) == x);
  CHECK(bitCastOp(D::Int32, x)->dtype() == D::Int32);
}

TEST_CASE_FIXTURE(Arith, "composed functions") {
  TensorView* x = makeConcreteTensor({2, 3});
  CHECK(axes(add_alpha(x, x, constant(2.0))) == "i2 i3");
  CHECK(axes(addcmul(x, constant(1.0), x, constant(2.0))) == "i2 i3");
  CHECK(axes(fusedMultiplySum(x, x, {1})) == "i2 r3");
  CHECK(clamp(x, nullptr, constant(1.0))->definition()->as<TernaryOp>()->in2()->isConst());
  CHECK(binaryOp(BinaryOpType::Add, x, x, D::Double)->dtype() == D::Double);
  CHECK(unaryOp(UnaryOpType::Sqrt, x)->dtype() == D::Float);
  CHECK(unaryOp(UnaryOpType::Exp, makeConcreteTensor({2}, D::Int), TypePromotion::float_op_config)
            ->dtype() == D::Float);
}
