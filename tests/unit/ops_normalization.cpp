#include <doctest/doctest.h>

#include <algorithm>

#include <ir/builder.h>
#include <op_fixture.h>
#include <ops/alias.h>
#include <ops/arith.h>
#include <ops/normalization.h>
#include <shape_text.h>

namespace nvfuser {
namespace {

struct NormFixture : OpFixture {
  int64_t count(ExprKind kind) const {
    const std::vector<Expr*> exprs = fusion.exprs();
    return std::count_if(exprs.begin(), exprs.end(), [&](Expr* e) { return e->kind() == kind; });
  }
};

TEST_CASE_FIXTURE(NormFixture, "mean: shapes, dtypes and the divisor") {
  TensorView* x = constant({3, 4, 5});
  CHECK(shapeText(mean(x, {1}, false)) == "[3, 5]");
  CHECK(shapeText(mean(x, {-1, 0}, true)) == "[b, 4, b]");
  CHECK(shapeText(mean(x, {}, false)) == "[]");
  TensorView* y = mean(x, {0, 2}, false);
  const Val* n = y->definition()->as<BinaryOp>()->rhs();
  CHECK(y->definition()->as<BinaryOp>()->getBinaryOpType() == BinaryOpType::Div);
  REQUIRE(n->isConst());
  CHECK(n->value().as<int64_t>() == 15);
  CHECK(n->dtype() == DataType::Float);
  checkSound({y});
}

TEST_CASE_FIXTURE(NormFixture, "statistics are computed in Float or wider") {
  CHECK(mean(constant({4}, DataType::Half), {0}, false)->dtype() == DataType::Float);
  CHECK(mean(constant({4}, DataType::BFloat16), {0}, false)->dtype() == DataType::Float);
  CHECK(mean(constant({4}, DataType::Int), {0}, false)->dtype() == DataType::Float);
  CHECK(mean(constant({4}, DataType::Double), {0}, false)->dtype() == DataType::Double);
  CHECK(mean(constant({4}, DataType::ComplexFloat), {0}, false)->dtype() == DataType::ComplexFloat);
  CHECK(variance(constant({4}, DataType::ComplexFloat), {0}, true, false)->dtype() ==
        DataType::Float);
  CHECK(softmax(constant({4}, DataType::Half), 0)->dtype() == DataType::Float);
}

TEST_CASE_FIXTURE(NormFixture, "the divisor of a symbolic mean is a product of extents") {
  TensorView* y = mean(symbolic(2), {0, 1}, false);
  const Val* n = y->definition()->as<BinaryOp>()->rhs();
  CHECK(!n->isConst());
  CHECK(n->dtype() == DataType::Float);
  checkSound({y});
}

TEST_CASE_FIXTURE(NormFixture, "variance takes two passes and corrects the count") {
  TensorView* x = constant({3, 8});
  TensorView* biased = variance(x, {1}, false, false);
  TensorView* unbiased = variance(x, {1}, true, true);
  TensorView* clamped = variance(x, {1}, int64_t{100}, false);
  CHECK(shapeText(biased) == "[3]");
  CHECK(shapeText(unbiased) == "[3, b]");
  auto divisor = [](TensorView* tv) {
    if (tv->definition()->isA<BroadcastOp>()) {
      tv = tv->definition()->input(0)->as<TensorView>();
    }
    return tv->definition()->as<BinaryOp>()->rhs()->value().as<int64_t>();
  };
  CHECK(divisor(biased) == 8);
  CHECK(divisor(unbiased) == 7);
  CHECK(divisor(clamped) == 0);
  checkSound({biased, unbiased});
  CHECK(count(ExprKind::WelfordOp) == 0);
  CHECK(count(ExprKind::ReductionOp) == 4);
}

TEST_CASE_FIXTURE(NormFixture, "variance_mean is one Welford pass") {
  VarMeanResult r = variance_mean(constant({3, 8}), {1}, 1, false);
  CHECK(shapeText(r.var) == "[3]");
  CHECK(r.mean->definition()->isA<WelfordOp>());
  VarMeanResult kept = variance_mean(constant({3, 8}), {0}, 0, true);
  CHECK(shapeText(kept.var) == "[b, 8]");
  CHECK(shapeText(kept.mean) == "[b, 8]");
  checkSound({r.var, r.mean, kept.var, kept.mean});
  CHECK(count(ExprKind::WelfordOp) == 2);
}

TEST_CASE_FIXTURE(NormFixture, "variance_mean of complex numbers") {
  VarMeanResult r = variance_mean(constant({8}, DataType::ComplexDouble), {0}, 1, false);
  CHECK(r.var->dtype() == DataType::Double);
  CHECK(r.mean->dtype() == DataType::ComplexDouble);
}

TEST_CASE_FIXTURE(NormFixture, "standard_deviation is the root of the variance") {
  TensorView* y = standard_deviation(constant({8}), {0}, true, false);
  CHECK(y->definition()->as<UnaryOp>()->getUnaryOpType() == UnaryOpType::Sqrt);
}

TEST_CASE_FIXTURE(NormFixture, "softmax and log_softmax keep the shape and reduce twice") {
  TensorView* x = symbolic(3);
  TensorView* y = softmax(x, 1);
  CHECK(y->getLogicalDomain()[1]->extent() == x->getLogicalDomain()[1]->extent());
  checkSound({y});
  CHECK(count(ExprKind::ReductionOp) == 2);
  TensorView* z = log_softmax(x, -1);
  checkSound({z});
  CHECK(count(ExprKind::ReductionOp) == 4);
  CHECK(shapeText(softmax(constant({}), -1)) == "[]");
}

TEST_CASE_FIXTURE(NormFixture, "softmax over an axis of extent 1") {
  TensorView* y = softmax(constant({3, 1}), 1);
  CHECK(shapeText(y) == "[3, b]");
  checkSound({y});
}

TEST_CASE_FIXTURE(NormFixture, "softmax backward reduces once") {
  TensorView* dy = symbolic(2);
  TensorView* y = symbolic(2);
  checkSound({softmax_backward(dy, y, 1), log_softmax_backward(dy, y, 1)});
  CHECK(count(ExprKind::ReductionOp) == 2);
}

TEST_CASE_FIXTURE(NormFixture, "layer_norm: both forms, statistics with extent 1") {
  TensorView* x = constant({6, 4, 5}, DataType::Half);
  TensorView* w = constant({4, 5});
  TensorView* b = constant({4, 5});
  ForwardNormResult r = layer_norm(x, std::vector<int64_t>{4, 5}, w, b, real(1e-5));
  CHECK(shapeText(r.output) == "[6, 4, 5]");
  CHECK(shapeText(r.mean) == "[6, b, b]");
  CHECK(shapeText(r.invstd) == "[6, b, b]");
  CHECK(r.output->dtype() == DataType::Float);
  ForwardNormResult plain = layer_norm(x, 1, nullptr, nullptr, real(1e-5));
  CHECK(shapeText(plain.mean) == "[6, 4, b]");
  ForwardNormResult whole = layer_norm(x, 3, nullptr, nullptr, real(1e-5));
  CHECK(shapeText(whole.mean) == "[b, b, b]");
  checkSound({r.output, plain.output, whole.output});
}

TEST_CASE_FIXTURE(NormFixture, "rms_norm") {
  ForwardRMSNormResult r = rms_norm(symbolic(2), std::vector<int64_t>{-1}, symbolic(1), real(1e-5));
  CHECK(r.invstd->getLogicalDomain()[1]->isBroadcast());
  checkSound({r.output, r.invstd});
  CHECK(count(ExprKind::ReductionOp) == 1);
}

TEST_CASE_FIXTURE(NormFixture, "layer_norm_backward gives what the mask asks for") {
  TensorView* x = constant({6, 5});
  TensorView* w = constant({5});
  TensorView* stats = constant({6, 1});
  BackwardNormResult all =
      layer_norm_backward(constant({6, 5}), x, {5}, stats, stats, w, w, {true, true, true});
  CHECK(shapeText(all.grad_input) == "[6, 5]");
  CHECK(shapeText(all.grad_weight) == "[5]");
  CHECK(shapeText(all.grad_bias) == "[5]");
  BackwardNormResult none =
      layer_norm_backward(constant({6, 5}), x, {5}, stats, stats, w, nullptr, {false, false, true});
  CHECK(none.grad_input == nullptr);
  CHECK(none.grad_weight == nullptr);
  CHECK(none.grad_bias == nullptr);
  checkSound({all.grad_input, all.grad_weight, all.grad_bias});
}

TEST_CASE_FIXTURE(NormFixture, "norm backward takes statistics without the normalised axes too") {
  TensorView* x = constant({6, 5});
  BackwardRMSNormResult r =
      rms_norm_backward(constant({6, 5}), x, {5}, constant({6}), constant({5}), {true, true});
  CHECK(shapeText(r.grad_input) == "[6, 5]");
  CHECK(shapeText(r.grad_weight) == "[5]");
  BackwardRMSNormResult t = thunder_rms_norm_backward(constant({6, 5}), x, {5}, constant({6, 1}),
                                                      constant({5}), {true, true});
  checkSound({r.grad_input, r.grad_weight, t.grad_input, t.grad_weight});
}

TEST_CASE_FIXTURE(NormFixture,
                  "norm backward without outer axes needs no reduction for the weight") {
  TensorView* x = constant({5});
  BackwardNormResult r = layer_norm_backward(constant({5}), x, {5}, constant({1}), constant({1}),
                                             constant({5}), constant({5}), {true, true, true});
  CHECK(shapeText(r.grad_weight) == "[5]");
  CHECK(shapeText(r.grad_bias) == "[5]");
  checkSound({r.grad_input, r.grad_weight, r.grad_bias});
}

TEST_CASE_FIXTURE(NormFixture, "batch_norm in training updates running statistics in place") {
  TensorView* x = constant({4, 3, 5, 5});
  TensorView* c = constant({3});
  TensorView* running_mean = constant({3});
  TensorView* running_var = constant({3});
  ForwardNormResult r = batch_norm(x, c, c, running_mean, running_var, true, real(0.1), real(1e-5));
  CHECK(shapeText(r.output) == "[4, 3, 5, 5]");
  CHECK(shapeText(r.mean) == "[3]");
  CHECK(shapeText(r.invstd) == "[3]");
  CHECK(fusion.getOutputAliases().size() == 2);
  for (const auto& [out, alias] : fusion.getOutputAliases()) {
    CHECK(alias.type == AllocationType::ReuseBuffer);
    CHECK(alias.visibility == OutputVisibility::kHidden);
    CHECK((alias.aliased_io == running_mean || alias.aliased_io == running_var));
  }
  checkSound({r.output, r.mean, r.invstd});
}

TEST_CASE_FIXTURE(NormFixture,
                  "running statistics that are casts of inputs are written as the inputs") {
  TensorView* mean = constant({3}, DataType::Half);
  TensorView* variance = constant({3}, DataType::Half);
  batch_norm(constant({4, 3}), nullptr, nullptr, castOp(DataType::Float, mean),
             castOp(DataType::Float, variance), true, real(0.1), real(1e-5));
  CHECK(fusion.getOutputAliases().size() == 2);
  for (const auto& [out, alias] : fusion.getOutputAliases()) {
    CHECK((alias.aliased_io == mean || alias.aliased_io == variance));
    CHECK(out->dtype() == DataType::Half);
  }
}

TEST_CASE_FIXTURE(NormFixture, "batch_norm outside training uses the running statistics") {
  TensorView* c = constant({3});
  ForwardNormResult r = batch_norm(constant({4, 5, 5, 3}), c, c, c, c, false, real(0.1), real(1e-5),
                                   /*channels_last=*/true);
  CHECK(shapeText(r.output) == "[4, 5, 5, 3]");
  CHECK(shapeText(r.mean) == "[0]");
  CHECK(fusion.getOutputAliases().empty());
  checkSound({r.output});
  CHECK(count(ExprKind::ReductionOp) == 0);
}

TEST_CASE_FIXTURE(NormFixture, "instance_norm has statistics for each sample") {
  TensorView* c = constant({3});
  ForwardNormResult r = instance_norm(constant({4, 3, 5, 6}), c, c, constant({3}), constant({3}),
                                      true, real(0.1), real(1e-5));
  CHECK(shapeText(r.mean) == "[4, 3]");
  CHECK(shapeText(r.invstd) == "[4, 3]");
  CHECK(fusion.getOutputAliases().size() == 2);
  ForwardNormResult last = instance_norm(constant({4, 5, 6, 3}), nullptr, nullptr, nullptr, nullptr,
                                         true, nullptr, real(1e-5), true);
  CHECK(shapeText(last.mean) == "[4, 3]");
  CHECK(shapeText(last.output) == "[4, 5, 6, 3]");
  checkSound({r.output, last.output});
}

TEST_CASE_FIXTURE(NormFixture, "batch_norm_backward, training and not") {
  TensorView* x = constant({4, 3, 5});
  TensorView* dy = constant({4, 3, 5});
  TensorView* c = constant({3});
  for (bool training : {true, false}) {
    BackwardNormResult r =
        batch_norm_backward(x, dy, c, c, c, c, c, training, real(1e-5), {true, true, true});
    CHECK(shapeText(r.grad_input) == "[4, 3, 5]");
    CHECK(shapeText(r.grad_weight) == "[3]");
    CHECK(shapeText(r.grad_bias) == "[3]");
    checkSound({r.grad_input, r.grad_weight, r.grad_bias});
  }
}

TEST_CASE_FIXTURE(NormFixture, "instance_norm_backward") {
  TensorView* x = constant({4, 3, 5});
  TensorView* stats = constant({4, 3});
  BackwardNormResult r =
      instance_norm_backward(x, constant({4, 3, 5}), constant({3}), nullptr, nullptr, stats, stats,
                             true, real(1e-5), {true, true, true});
  CHECK(shapeText(r.grad_input) == "[4, 3, 5]");
  CHECK(shapeText(r.grad_weight) == "[3]");
  checkSound({r.grad_input, r.grad_weight, r.grad_bias});
}

}  // namespace
}  // namespace nvfuser
