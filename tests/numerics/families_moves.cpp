// Families whose elements go elsewhere: transposes, rotary embeddings, joins, tables, products.
#include "families.h"

namespace nvfuser::families {

namespace {

using Inputs = std::vector<Input>;

std::vector<IterDomain*> axesOf(const TensorView* tv) {
  return TensorDomain::noReductions(tv->getLogicalDomain());
}

/// The first and second half of the last axis.
std::pair<TensorView*, TensorView*> halves(TensorView* x) {
  Val* extent = axesOf(x).back()->extent();
  Val* half = SimplifyingIrBuilder::divExpr(extent, whole(2));
  std::vector<Slice> first(axesOf(x).size());
  std::vector<Slice> second(axesOf(x).size());
  first.back() = {whole(0), half};
  second.back() = {half, extent};
  return {slice(x, first, true), slice(x, second, true)};
}

/// (−second half, first half)
TensorView* turned(TensorView* x) {
  const auto [first, second] = halves(x);
  return cat({castOp(x->dtype(), neg(second)), first}, -1);
}

/// Cosines and sines [sequence, numbers] for a tensor of more axes.
struct Angles {
  TensorView* cosines;
  TensorView* sines;

  Angles(Fusion& fusion, DataType dtype, size_t axes_before)
      : cosines(behind(wide(fusion, 2, dtype), axes_before)),
        sines(behind(wide(fusion, 2, dtype), axes_before)) {}
};

TensorView* rotated(TensorView* x, const Angles& by) {
  return add(mul(x, by.cosines), mul(turned(x), by.sines));
}

/// As gradients of the slices and the join: pads and slices.
TensorView* rotatedBack(TensorView* dy, const Angles& by) {
  const auto [of_second, of_first] = halves(mul(dy, by.sines));
  Val* half = axesOf(of_first).back()->extent();
  return add(add(mul(dy, by.cosines), pad(of_first, {whole(0), half})),
             pad(neg(of_second), {half, whole(0)}));
}

void rotary(Fusion& fusion, DataType dtype) {
  TensorView* x = wide(fusion, 3, dtype);
  output(fusion, rotated(x, Angles(fusion, dtype, 1)), dtype);
}

/// Turned before it is cast.
void rotaryInNarrowType(Fusion& fusion, DataType dtype) {
  TensorView* x = given(fusion, 3, dtype);
  const Angles by(fusion, dtype, 1);
  TensorView* sum = add(mul(castOp(DataType::Float, x), by.cosines),
                        mul(castOp(DataType::Float, turned(x)), by.sines));
  output(fusion, sum, dtype);
}

void rotaryGradient(Fusion& fusion, DataType dtype) {
  TensorView* dy = wide(fusion, 3, dtype);
  output(fusion, rotatedBack(dy, Angles(fusion, dtype, 1)), dtype);
}

void rotaryOfTwo(Fusion& fusion, DataType dtype) {
  TensorView* q = wide(fusion, 3, dtype);
  TensorView* k = wide(fusion, 3, dtype);
  const Angles by(fusion, dtype, 1);
  output(fusion, rotated(q, by), dtype);
  output(fusion, rotated(k, by), dtype);
}

/// The heads lie behind the sequence in memory.
void rotaryOfHeads(Fusion& fusion, DataType dtype) {
  TensorView* x = permute(wide(fusion, 4, dtype), {0, 2, 1, 3});
  output(fusion, rotated(x, Angles(fusion, dtype, 2)), dtype);
}

void rotaryOfAFirstPart(Fusion& fusion, DataType dtype) {
  TensorView* x = wide(fusion, 3, dtype);
  const auto [first, second] = halves(x);
  output(fusion, cat({rotated(first, Angles(fusion, dtype, 1)), second}, -1), dtype);
}

void rotaryInAGroup(Fusion& fusion, DataType dtype) {
  TensorView* x = wide(fusion, 3, dtype);
  TensorView* y = wide(fusion, 3, dtype);
  TensorView* total = mul(add(x, y), sigmoid(y));
  output(fusion, total, dtype);
  output(fusion, relu(rotated(total, Angles(fusion, dtype, 1))), dtype);
}

void normAndRotary(Fusion& fusion, DataType dtype) {
  TensorView* x = given(fusion, 3, dtype);
  TensorView* w = given(fusion, 1, dtype);
  TensorView* normed = rms_norm(x, 1, w, number(1e-5)).output;
  output(fusion, rotated(normed, Angles(fusion, dtype, 1)), dtype);
}

/// Heads × sequence × numbers, an even number of those.
Inputs ofRotary(int64_t batch, int64_t hidden, DataType dtype, size_t count, int64_t of_angles,
                size_t weights) {
  const int64_t numbers = hidden + hidden % 2 + (hidden % 4 == 2 && of_angles == 2 ? 2 : 0);
  const int64_t heads = batch % 4 == 0 ? 4 : 1;
  Inputs inputs(count, Input{{heads, batch / heads, numbers}, dtype});
  inputs.resize(count + weights, Input{{numbers}, dtype});
  inputs.resize(count + weights + 2, Input{{batch / heads, numbers / of_angles}, dtype});
  return inputs;
}

auto rotaryInputs(size_t count, int64_t of_angles = 1, size_t weights = 0) {
  return [=](int64_t batch, int64_t hidden, DataType dtype) {
    return ofRotary(batch, hidden + (of_angles == 2 ? 4 - hidden % 4 : 0), dtype, count, of_angles,
                    weights);
  };
}

auto matrices(size_t count) {
  return [=](int64_t batch, int64_t hidden, DataType dtype) {
    return Inputs(count, Input{{batch, hidden}, dtype});
  };
}

}  // namespace

std::vector<Family> moves() {
  return {
      {"transpose of a sum, relu", 1, 1,
       [](Fusion& f, DataType t) {
         TensorView* x = wide(f, 2, t);
         output(f, transpose(relu(add(x, wide(f, 2, t))), 0, 1), t);
       },
       matrices(2)},
      {"transpose in three dimensions", 1, 1,
       [](Fusion& f, DataType t) { output(f, permute(sin(wide(f, 3, t)), {0, 2, 1}), t); },
       [](int64_t batch, int64_t hidden, DataType t) {
         const int64_t outer = batch % 2 == 0 ? 2 : 1;
         return Inputs{{{outer, batch / outer, hidden}, t}};
       }},
      {"rotary embedding", 1, 1, rotary, rotaryInputs(1)},
      {"rotary embedding, cast behind", 1, 1, rotaryInNarrowType, rotaryInputs(1)},
      {"rotary embedding, gradient", 1, 1, rotaryGradient, rotaryInputs(1)},
      {"rotary embedding of two", 1, 1, rotaryOfTwo, rotaryInputs(2)},
      {"rotary embedding of heads", 1, 1, rotaryOfHeads,
       [](int64_t batch, int64_t hidden, DataType t) {
         const int64_t heads = batch % 4 == 0 ? 4 : 1;
         const int64_t numbers = hidden + hidden % 2;
         return Inputs{{{1, batch / heads, heads, numbers}, t},
                       {{batch / heads, numbers}, t},
                       {{batch / heads, numbers}, t}};
       }},
      {"rotary embedding of a part", 1, 1, rotaryOfAFirstPart, rotaryInputs(1, 2)},
      {"rotary embedding in a group", 1, 1, rotaryInAGroup, rotaryInputs(2)},
      {"RMS norm and rotary embedding", 1, 1, normAndRotary, rotaryInputs(1, 1, 1)},
      {"join", 1, 1,
       [](Fusion& f, DataType t) {
         TensorView* x = wide(f, 2, t);
         output(f, cat({sin(x), wide(f, 2, t)}, 1), t);
       },
       matrices(2)},
      {"pad in a group", 1, 1,
       [](Fusion& f, DataType t) {
         TensorView* x = wide(f, 2, t);
         output(f, exp(neg(pad(cos(x), {whole(2), whole(1)}, number(3.0)))), t);
       },
       matrices(1)},
      {"table of rows", 1, 1,
       [](Fusion& f, DataType t) {
         TensorView* table = given(f, 2, t);
         TensorView* index = given(f, 1, DataType::Int);
         output(f, mul(castOp(DataType::Float, indexSelect(table, 0, index)), number(2.0)), t);
       },
       [](int64_t batch, int64_t hidden, DataType t) {
         return Inputs{{{hidden, 16}, t}, {{batch}, DataType::Int}};
       }},
      {"scatter of a product, then relu", 2, 2,
       [](Fusion& f, DataType t) {
         TensorView* self = given(f, 2, t);
         TensorView* index = given(f, 2, DataType::Int);
         TensorView* x = wide(f, 2, t);
         TensorView* added = castOp(t, mul(x, x));
         TensorView* sums = scatter(self, 1, index, added, BinaryOpType::Add);
         output(f, relu(castOp(DataType::Float, sums)), t);
       },
       [](int64_t batch, int64_t hidden, DataType t) {
         return Inputs{
             {{batch, hidden}, t}, {{batch, hidden}, DataType::Int}, {{batch, hidden}, t}};
       }},
      {"product with bias, then gelu", 1, 1,
       [](Fusion& f, DataType t) {
         TensorView* x = given(f, 2, t);
         TensorView* w = given(f, 2, t);
         output(f, gelu(castOp(DataType::Float, linear(x, w, given(f, 1, t)))), t);
       },
       [](int64_t batch, int64_t hidden, DataType t) {
         return Inputs{{{batch, hidden}, t}, {{8, hidden}, t}, {{8}, t}};
       }},
  };
}

}  // namespace nvfuser::families
