// A product is one number, whoever reads it: what would be seen of one that is added before it is
// rounded. Results are truth values, so that nothing is tolerated.
#include "automatic.h"

using namespace nvfuser;
using namespace nvfuser::automatic;

namespace {

Val* number(double value) { return IrBuilder::create<Val>(value); }

/// Whether no element of a row is above the row's greatest, where both are taken from products.
TensorView* noneAbove(TensorView* of_elements, TensorView* of_greatest) {
  const int64_t rank = of_elements->nDims();
  std::vector<bool> last(static_cast<size_t>(rank), false);
  last.back() = true;
  TensorView* greatest = broadcast(max(of_greatest, {-1}), last);
  return le(sub(of_elements, greatest), number(0));
}

/// What a tensor is moved or copied by on its way to a reader.
struct Move {
  const char* name;
  std::function<TensorView*(TensorView*)> apply;
};
const Move kMoves[] = {
    {"read as it is", [](TensorView* y) { return y; }},
    {"set", [](TensorView* y) { return set(y); }},
    {"cast there and back",
     [](TensorView* y) { return castOp(DataType::Float, castOp(DataType::Double, y)); }},
    {"sign turned twice", [](TensorView* y) { return neg(neg(y)); }},
    {"where", [](TensorView* y) { return where(lt(y, number(1e30)), y, number(0)); }},
    {"broadcast and squeezed",
     [](TensorView* y) {
       return squeeze(broadcast(y, {false, true, false}), std::vector<int64_t>{1});
     }},
    {"slices joined",
     [](TensorView* y) {
       const std::vector<TensorView*> halves = chunk(y, 2, 1);
       return cat(halves, 1);
     }},
    {"transposed twice", [](TensorView* y) { return transpose(set(transpose(y, 0, 1)), 0, 1); }},
};

const std::vector<std::vector<Input>> kRuns = {
    {{{3, 65}}}, {{{64, 65}}}, {{{7, 1024}}}, {{{2, 9001}}}, {{{1, 2}}}};

}  // namespace

TEST_CASE("contraction: none is above the greatest, however the product gets there") {
  for (const Move& move : kMoves) {
    CAPTURE(move.name);
    check(
        [&](Fusion& fusion) {
          TensorView* y = mul(input(fusion, 2, DataType::Float), number(1e9 / 3));
          fusion.addOutput(noneAbove(y, move.apply(y)));
          fusion.addOutput(noneAbove(move.apply(y), y));
        },
        kRuns, "", 0);
  }
}

TEST_CASE("contraction: a product that is computed twice is one number") {
  for (DataType dtype : {DataType::Float, DataType::Double, DataType::Half, DataType::BFloat16}) {
    CAPTURE(dtype);
    std::vector<std::vector<Input>> runs;
    for (const std::vector<Input>& run : kRuns) {
      runs.push_back({{run[0].sizes, dtype}, {run[0].sizes, dtype}});
    }
    check(
        [&](Fusion& fusion) {
          TensorView* a = wide(input(fusion, 2, dtype));
          TensorView* b = wide(input(fusion, 2, dtype));
          fusion.addOutput(noneAbove(mul(a, b), mul(b, a)));
          fusion.addOutput(eq(sub(mul(a, b), mul(b, a)), number(0)));
          fusion.addOutput(eq(add(mul(neg(a), b), mul(b, a)), number(0)));
          fusion.addOutput(ge(sub(mul(a, a), mul(abs(a), abs(a))), number(0)));
        },
        runs, "", 0);
  }
}

TEST_CASE("contraction: parts of complex products") {
  for (DataType dtype : {DataType::ComplexFloat, DataType::ComplexDouble}) {
    CAPTURE(dtype);
    check(
        [&](Fusion& fusion) {
          TensorView* a = input(fusion, 1, dtype);
          TensorView* b = input(fusion, 1, dtype);
          fusion.addOutput(eq(sub(mul(a, b), mul(b, a)), number(0)));
          // z times its conjugate is real.
          TensorView* conjugate = complex(real(a), neg(imag(a)));
          fusion.addOutput(eq(imag(mul(a, conjugate)), number(0)));
        },
        {{{{100}, dtype}, {{100}, dtype}}}, "", 0);
  }
}

TEST_CASE("contraction: in another kernel, which computes the product again") {
  check(
      [](Fusion& fusion) {
        TensorView* x = input(fusion, 2, DataType::Float);
        TensorView* y = mul(x, number(1e9 / 3));
        // The greatest of all is one kernel, sums of columns behind it another.
        TensorView* all = broadcast(max(y, {0, 1}), {true, true});
        TensorView* below = sub(y, all);
        fusion.addOutput(le(below, number(0)));
        fusion.addOutput(eq(max(below, {0, 1}), number(0)));
        fusion.addOutput(le(sum(below, {0}), number(0)));
        fusion.addOutput(le(sum(below, {1}), number(0)));
      },
      {{{{65, 64}}}, {{{300, 40}}}}, "", 0);
}

TEST_CASE("contraction: softmax and its relatives of large products are finite") {
  const auto finite = [](Fusion& fusion, TensorView* tv) { fusion.addOutput(isfinite(tv)); };
  check(
      [&](Fusion& fusion) {
        TensorView* y = mul(input(fusion, 2, DataType::Float), number(1e9));
        TensorView* greatest = broadcast(max(y, {1}), {false, true});
        TensorView* total = sum(exp(sub(y, greatest)), {1});
        finite(fusion, softmax(y, 1));
        finite(fusion, log_softmax(y, 1));
        finite(fusion, add(max(y, {1}), log(total)));
      },
      kRuns, "", 0);
}

TEST_CASE("contraction: deviations of equal products from their mean are 0") {
  for (Device* device : testDevices()) {
    CAPTURE(device->properties().name);
    Program program(
        [](Fusion& fusion) {
          TensorView* y = mul(input(fusion, 2, DataType::Float), number(1.0 / 3));
          fusion.addOutput(variance_mean(y, {1}, 1, false).var);
          fusion.addOutput(sub(y, broadcast(max(y, {1}), {false, true})));
        },
        *device);
    const auto results = program.cache().runFusionWithInputs(KernelArgumentHolder{
        Tensor::full({3, 500}, PolymorphicValue(1e6 + 0.3), DataType::Float, *device)});
    for (size_t i : {0, 1}) {
      for (float x : results[i].tensor().toHost<float>()) {
        CHECK(x == 0.0F);
      }
    }
  }
}
