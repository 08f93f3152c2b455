// Axes whose sizes are worked out are Symbolic in a definition, and settled before anything is
// planned or lowered.
#include <functional>

#include <device_lower/lower.h>
#include <device_lower/lower2device.h>
#include <op_fixture.h>
#include <ops/all_ops.h>
#include <ops/utils.h>
#include <scheduler/utils.h>
#include <settling/settle.h>

using namespace nvfuser;

namespace {

using D = DataType;

/// The letters of the logical axes: "?i".
std::string kinds(const TensorView* tv) {
  return join(tv->getLogicalDomain(), "",
              [](const IterDomain* id) { return iterTypeName(id->getIterType()); });
}

bool hasSymbolic(const Fusion& fusion) { return fusion.toString().find('?') != std::string::npos; }

/// `x[:1]`: one row, or none.
TensorView* firstRow(TensorView* x) {
  return slice(x, {{nullptr, IrBuilder::create<Val>(int64_t{1})}, {}});
}

}  // namespace

TEST_CASE_FIXTURE(OpFixture, "symbolic axes: a computed size, and only that, makes one") {
  TensorView* x = symbolic(2);
  TensorView* fixed = constant({4, 6});
  TensorView* index = symbolic(1, D::Int);
  Val* n = IrBuilder::create<Val>(D::Int);
  fusion.addInput(n);
  CHECK(kinds(x) == "ii");
  CHECK(kinds(firstRow(x)) == "?i");
  CHECK(kinds(slice(fixed, {1, 2}, {3, 6})) == "ii");
  CHECK(kinds(pad(x, {num(1), num(2)})) == "i?");
  CHECK(kinds(pad(fixed, {num(1), num(2)})) == "ii");
  CHECK(kinds(cat({x, x}, 0)) == "?i");
  CHECK(kinds(reshape(x, {num(-1)})) == "?");
  CHECK(kinds(reshape(x, {num(2), num(-1)})) == "i?");
  CHECK(kinds(reshape(x, {extent(x, 0), num(2), num(-1)})) == "ii?");
  CHECK(kinds(reshape(fixed, {num(2), num(12)})) == "ii");
  CHECK(kinds(reshape(x, {4, 6}, {8, 3})) == "?i");
  CHECK(kinds(flatten(x)) == "?");
  CHECK(kinds(chunk(x, 3, 1)[0]) == "i?");
  CHECK(kinds(repeat(x, {2, 1})) == "?i");
  CHECK(kinds(full({n, num(3), num(1), extent(x, 0)}, real(1), D::Float)) == "?ibi");
  CHECK(kinds(iota(n)) == "?");
  CHECK(kinds(iota(num(5))) == "i");
  CHECK(kinds(indexSelect(x, 0, index)) == "ii");
  CHECK(kinds(indexSelect(firstRow(x), 1, index)) == "?i");
  CHECK(kinds(broadcast(firstRow(x), {false, true, false})) == "?bi");
  CHECK(kinds(expand(broadcast(index, {true, false}), {n, num(-1)})) == "bi");
}

TEST_CASE_FIXTURE(OpFixture, "symbolic axes: what results where they meet others") {
  TensorView* x = symbolic(2);
  TensorView* row = firstRow(x);
  TensorView* fixed = constant({4, 6});
  CHECK(kinds(relu(row)) == "?i");
  CHECK(kinds(add(row, row)) == "?i");
  CHECK(kinds(mul(row, broadcast(symbolic(1), {true, false}))) == "?i");
  // Whether the row is stretched, a call tells.
  CHECK(kinds(mul(row, x)) == "?i");
  CHECK(kinds(mul(x, row)) == "?i");
  CHECK(kinds(mul(row, fixed)) == "ii");
  CHECK(kinds(sum(row, {1})) == "?r");
  CHECK(kinds(sum(row, {0})) == "ri");
  CHECK(kinds(sum(row, {0}, true)) == "bi");
  CHECK(kinds(permute(row, {1, 0})) == "i?");
  CHECK(kinds(squeeze(row, {0})) == "i");
  CHECK(kinds(matmul(row, transpose(x))) == "?i");
}

TEST_CASE("symbolic axes: which kinds meet and merge") {
  using enum IterType;
  constexpr IterType kAll[] = {Iteration,     Reduction,       Broadcast, Stride,
                               GatherScatter, VectorComponent, Symbolic};
  for (const IterType one : kAll) {
    CHECK(mergedIterType(one, one) == one);
    CHECK(mergedIterType(one, Broadcast) == one);
    CHECK(mergedIterType(Broadcast, one) == one);
    CHECK(mergedIterType(Reduction, one).has_value() == (one == Reduction || one == Broadcast));
    for (const IterType other : kAll) {
      CHECK(mergedIterType(one, other) == mergedIterType(other, one));
    }
    if (one == Reduction || one == Stride) {
      CHECK_THROWS_AS(ops::promoteIterType(one, Iteration), InternalError);
      continue;
    }
    CHECK(ops::promoteIterType(one, one) == one);
    CHECK(ops::promoteIterType(one, Broadcast) == one);
    CHECK(ops::promoteIterType(Iteration, one) == Iteration);
  }
  CHECK(mergedIterType(Symbolic, Iteration) == Symbolic);
  CHECK(ops::promoteIterType(Symbolic, Broadcast) == Symbolic);
}

TEST_CASE_FIXTURE(OpFixture, "symbolic axes: settled ones are iterated, and stay so in copies") {
  TensorView* x = symbolic(2);
  TensorView* row = firstRow(x);
  fusion.addOutput(row);
  CHECK(hasSymbolic(fusion));
  CHECK_THROWS_AS(fusion.verifySettled(), InternalError);
  Fusion unsettled(fusion);
  fusion.settleAxes();
  CHECK(kinds(row) == "ii");
  CHECK(kinds(firstRow(x)) == "ii");  // defined later
  CHECK_NOTHROW(fusion.verifySettled());
  CHECK(Fusion(fusion).axesAreSettled());
  CHECK(hasSymbolic(unsettled));
  fusion.clear();
  CHECK_FALSE(fusion.axesAreSettled());
}

TEST_CASE_FIXTURE(OpFixture, "symbolic axes: a call's form says what each is") {
  TensorView* x = symbolic(2);
  TensorView* row = firstRow(x);
  fusion.addOutput(mul(x, row));
  fusion.addOutput(relu(row));
  const settling::FormQuestions questions(fusion);
  const std::string many(questions.extents().size(), static_cast<char>(settling::Count::Many));
  CHECK_FALSE(hasSymbolic(*settling::settle(fusion, questions, many)));

  std::string one_row = many;
  for (size_t i = 0; i < many.size(); ++i) {
    if (questions.extents()[i] == extent(row, 0)) {
      one_row[i] = static_cast<char>(settling::Count::One);
    }
  }
  const std::unique_ptr<Fusion> settled = settling::settle(fusion, questions, one_row);
  CHECK_FALSE(hasSymbolic(*settled));
  CHECK(kinds(settled->outputs()[0]->as<TensorView>()) == "ii");
  CHECK(kinds(settled->outputs()[1]->as<TensorView>()) == "bi");
  CHECK(hasSymbolic(fusion));
}

TEST_CASE_FIXTURE(OpFixture,
                  "symbolic axes: a schedule takes them as they are, a kernel does not") {
  TensorView* x = symbolic(2);
  TensorView* wide = pad(x, {num(1), num(2)});
  wide->setMemoryType(MemoryType::Global);
  TensorView* out = relu(wide);
  fusion.addOutput(out);
  out->split(1, 32);
  CHECK(iterTypeName(out->axis(1)->getIterType()) == "?");
  CHECK(iterTypeName(out->axis(2)->getIterType()) == "?");
  out->merge(0);
  CHECK(iterTypeName(out->axis(0)->getIterType()) == "?");
  CHECK_THROWS_AS(lower(&fusion, LowerOptions()), InternalError);
  GpuLower lowered(&fusion);  // a copy, whose axes it settles
  CHECK_FALSE(lowered.run()->body.empty());
  CHECK(hasSymbolic(fusion));
}
