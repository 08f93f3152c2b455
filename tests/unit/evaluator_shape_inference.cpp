#include <doctest/doctest.h>

#include <evaluator/shape_inference.h>
#include <ir/builder.h>
#include <ops/all_ops.h>

namespace nvfuser {
namespace {

/// A Fusion of two inputs of any size, called with sizes.
struct Shapes {
  Fusion fusion;
  FusionGuard guard{&fusion};
  TensorView* x = input(2);
  TensorView* y = input(2);

  TensorView* input(int64_t rank) {
    TensorView* tv = makeSymbolicTensor(rank);
    fusion.addInput(tv);
    return tv;
  }
  Val* size(TensorView* tv, int64_t axis) { return shape(tv)[static_cast<size_t>(axis)]; }
  Val* number(int64_t value) { return IrBuilder::create<Val>(value, DataType::Index); }

  /// "iterates", "settles", or the error.
  std::string call(const std::vector<int64_t>& of_x, const std::vector<int64_t>& of_y,
                   ShapeInference::Scope scope = ShapeInference::Scope::Defined) {
    ExpressionEvaluator sizes;
    sizes.bindTensor(x, of_x);
    sizes.bindTensor(y, of_y);
    try {
      return ShapeInference(fusion, scope).canIterate(sizes) ? "iterates" : "settles";
    } catch (const UserError& error) {
      return error.what();
    }
  }
  std::string scheduled(const std::vector<int64_t>& of_x, const std::vector<int64_t>& of_y) {
    ExpressionEvaluator sizes;
    sizes.bindTensor(x, of_x);
    sizes.bindTensor(y, of_y);
    try {
      ShapeInference(fusion, ShapeInference::Scope::Used).requireIterated(sizes);
      return "iterates";
    } catch (const UserError& error) {
      return error.what();
    }
  }
};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE_FIXTURE(Shapes, "shape inference: sizes that meet are equal, or one is stretched") {
  fusion.addOutput(add(x, y));
  CHECK(call({4, 6}, {4, 6}) == "iterates");
  CHECK(call({1, 6}, {1, 6}) == "iterates");
  CHECK(call({0, 6}, {0, 6}) == "iterates");
  CHECK(call({1, 6}, {4, 6}) == "settles");
  CHECK(call({4, 1}, {1, 6}) == "settles");
  CHECK(call({0, 6}, {1, 6}) == "settles");
  const std::string refused = call({4, 6}, {4, 5});
  INFO(refused);
  CHECK(contains(refused, "axis 1 of T0 has size 6 and axis 1 of T1 has size 5"));
  CHECK(contains(refused, "they meet in add; they must be equal, or one of them 1"));
  CHECK(contains(call({0, 6}, {2, 6}), "has size 0 and axis 0 of T1 has size 2"));
}

TEST_CASE_FIXTURE(Shapes, "shape inference: a schedule iterates over what it was made for") {
  fusion.addOutput(add(x, y));
  CHECK(scheduled({4, 6}, {4, 6}) == "iterates");
  CHECK(contains(scheduled({1, 6}, {4, 6}),
                 "they must be equal: a schedule stretches only what is declared with size 1"));
}

TEST_CASE_FIXTURE(Shapes, "shape inference: a stretched size is the size of what comes next") {
  // T2 is as long as the longer of both, whichever of them names its extent.
  TensorView* sum = add(x, y);
  fusion.addOutput(mul(sum, x));
  fusion.addOutput(mul(sum, y));
  CHECK(call({1, 6}, {4, 6}) == "settles");
  CHECK(call({4, 6}, {1, 6}) == "settles");
  CHECK(contains(call({4, 6}, {3, 6}), "has size 4 and axis 0 of T1 has size 3"));
}

TEST_CASE_FIXTURE(Shapes, "shape inference: a reshape counts stretched axes at their length") {
  fusion.addOutput(reshape(maximum(x, y), {number(-1)}));
  TensorView* flat = fusion.outputs()[0]->as<TensorView>();
  fusion.addOutput(add(flat, reshape(y, {number(-1)})));
  CHECK(call({2, 3}, {2, 3}) == "iterates");
  CHECK(call({1, 3}, {2, 3}) == "settles");
  CHECK(call({1, 1}, {1, 1}) == "iterates");
  CHECK(contains(call({2, 3}, {2, 1}), "has size 6 and axis 0 of"));
  CHECK(call({2, 3}, {1, 1}) == "settles");
}

TEST_CASE_FIXTURE(Shapes, "shape inference: what a reshape is asked for has the same elements") {
  fusion.addOutput(reshape(x, {size(y, 0), size(y, 1)}));
  CHECK(call({2, 6}, {3, 4}) == "iterates");
  CHECK(call({2, 6}, {12, 1}) == "iterates");
  CHECK(call({2, 0}, {0, 7}) == "settles");
  CHECK(contains(call({2, 6}, {3, 5}), "Total element counts across view operation must match"));
  CHECK(contains(call({2, 4}, {3, 4}), "Total element counts across view operation must match"));
}

TEST_CASE_FIXTURE(Shapes, "shape inference: -1 is what the other sizes leave") {
  fusion.addOutput(reshape(x, {size(y, 0), number(-1)}));
  CHECK(call({2, 6}, {3, 4}) == "iterates");
  CHECK(contains(call({2, 6}, {5, 4}), "Total element counts across view operation must match"));
  CHECK(contains(call({2, 6}, {0, 4}), "must be positive"));
}

TEST_CASE_FIXTURE(Shapes, "shape inference: an axis that is dropped has one element") {
  Val* rows = number(1);
  TensorView* row = slice(x, {{size(y, 0), add(size(y, 0), rows)}, {}});
  fusion.addOutput(squeeze(row, std::vector<int64_t>{0}));
  CHECK(call({4, 6}, {3, 6}) == "settles");
  CHECK(contains(call({4, 6}, {4, 6}), "squeeze: axis 0 of T2 has size 0, but 1 is"));
}

TEST_CASE_FIXTURE(Shapes, "shape inference: an expanded axis has the size, or one element") {
  fusion.addOutput(expand(x, {size(y, 0), number(-1)}));
  CHECK(call({4, 6}, {4, 6}) == "iterates");
  CHECK(call({1, 6}, {4, 6}) == "settles");
  CHECK(contains(call({3, 6}, {4, 6}), "expand: axis 0 of T0 has size 3, but 4 is needed"));
  CHECK(contains(call({0, 6}, {1, 6}), "has size 0, but 1 is needed"));
}

TEST_CASE_FIXTURE(Shapes, "shape inference: joined parts are not stretched") {
  fusion.addOutput(cat({x, y}, 0));
  CHECK(call({4, 6}, {2, 6}) == "iterates");
  CHECK(contains(call({4, 6}, {2, 1}), "they meet in cat; they must be equal"));
}

TEST_CASE_FIXTURE(Shapes, "shape inference: ranges as they are given lie inside of the tensor") {
  fusion.addOutput(slice(x, {{size(y, 0), size(y, 1)}, {}}, true));
  CHECK(call({4, 6}, {1, 3}) == "iterates");
  CHECK(call({4, 6}, {4, 4}) == "iterates");
  CHECK(contains(call({4, 6}, {1, 5}),
                 "the range from 1 to 5 of axis 0 of T0 leaves its 4 elements"));
  CHECK(contains(call({4, 6}, {3, 1}), "would have -2 elements"));
}

TEST_CASE_FIXTURE(Shapes, "shape inference: rows meet columns in a product") {
  fusion.addOutput(matmul(x, y));
  CHECK(call({4, 6}, {6, 5}) == "iterates");
  CHECK(contains(call({4, 6}, {5, 5}), "has size 6 and axis 0 of T1 has size 5"));
  CHECK(contains(call({4, 1}, {5, 5}), "they meet in matmul; they must be equal"));
}

TEST_CASE_FIXTURE(Shapes, "shape inference: queries, keys, values and masks of attention fit") {
  TensorView* keys = broadcast(y, {true, true, false, false});
  fusion.addOutput(sdpfa_fwd(keys, keys, keys, x, nullptr, nullptr, nullptr, nullptr).output);
  CHECK(call({5, 5}, {5, 6}) == "iterates");
  CHECK(call({1, 5}, {5, 6}) == "settles");
  CHECK(contains(call({2, 5}, {5, 6}),
                 "axis 0 of T0 has 2 elements, but axis 2 of T2 has 5; both have to be equal, or "
                 "the first of them 1"));
  sdpfa_fwd(broadcast(x, {true, true, false, false}), keys, keys, nullptr, nullptr, nullptr,
            nullptr, nullptr);
  CHECK(contains(call({5, 5}, {5, 6}), "has 6 elements, but axis 3 of"));
}

TEST_CASE_FIXTURE(Shapes, "shape inference: scales of a product are as many as rows and columns") {
  auto half = [](TensorView* tv) { return castOp(DataType::BFloat16, tv); };
  fusion.addOutput(
      scaled_mm(half(x), half(y), sum(x, {1}), sum(y, {0}), nullptr, nullptr, nullptr).tv);
  CHECK(call({4, 6}, {6, 5}) == "iterates");
  CHECK(contains(call({4, 6}, {7, 5}), "has 7 elements, but axis 1 of"));
  scaled_mm(half(x), half(y), sum(x, {0}), sum(y, {0}), nullptr, nullptr, nullptr);
  CHECK(call({6, 6}, {6, 5}) == "iterates");
  CHECK(contains(call({4, 6}, {6, 5}), "has 6 elements, but axis 0 of"));
}

TEST_CASE_FIXTURE(Shapes, "shape inference: an index is not longer than what it is applied to") {
  TensorView* index = castOp(DataType::Int, y);
  fusion.addOutput(gather(x, 1, index));
  CHECK(call({4, 6}, {4, 9}) == "iterates");
  CHECK(call({4, 6}, {3, 2}) == "iterates");
  CHECK(contains(call({4, 6}, {5, 2}),
                 "gather: along axis 0 the index T2 has extent 5, but T0 only 4"));
  fusion.addOutput(scatter(x, 0, index, x));
  CHECK(contains(call({4, 6}, {4, 7}), "scatter: along axis 1 the index T2 has extent 7"));
  CHECK(contains(call({4, 6}, {5, 6}), "has extent 5, but T0 only 4"));
}

TEST_CASE_FIXTURE(Shapes, "shape inference: what nothing needs is checked where it was written") {
  mul(x, y);
  fusion.addOutput(add(x, x));
  CHECK(contains(call({4, 6}, {3, 6}), "they meet in mul"));
  CHECK(call({4, 6}, {3, 6}, ShapeInference::Scope::Used) == "iterates");
}

TEST_CASE_FIXTURE(Shapes, "shape inference: no index counts more than 2^63 - 1 bytes") {
  fusion.addOutput(reshape(broadcast(x, {false, false, true}), {number(-1)}));
  fusion.addOutput(full({size(x, 0), size(x, 1), size(y, 0)}, number(0), DataType::Float));
  CHECK(contains(call({1 << 30, 1 << 30}, {1 << 30, 2}), "has more bytes than 2^63 - 1"));
  CHECK(call({1 << 20, 1 << 20}, {4, 2}) == "iterates");
}

}  // namespace
}  // namespace nvfuser
