#include <doctest/doctest.h>

#include <ir/builder.h>
#include <ops/alias.h>
#include <ops/arith.h>
#include <ops/indexing.h>
#include <user_error.h>

namespace nvfuser {
namespace {

Val* num(int64_t value) { return IrBuilder::create<Val>(PolymorphicValue(value)); }

TEST_CASE("bad uses of copies and axes of extent 1") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = makeContigConcreteTensor({3, 4});
  TensorView* unit = makeContigConcreteTensor({1, 4});
  TensorView* wide = expand(unit, {num(5), num(4)});
  TensorView* null = nullptr;
  checkAll({
      {"set: the operand is null", [&] { set(null); }},
      {"cannot be read as double: an element of float has 32 bits",
       [&] { view(x, DataType::Double); }},
      {"Can not squeeze dimension(s) with size != 1: axis 0", [&] { squeeze(x, {0}); }},
      {"Can not squeeze dimension(s) with size != 1", [&] { squeeze(makeContigTensor(1), {0}); }},
      {"is expanded; pass squeeze_expanded", [&] { squeeze(wide, {0}); }},
      {"squeeze: Tried to access out of boundary index 2", [&] { squeeze(x, {2}); }},
      {"squeeze: 1 flags were given for the 2 axes", [&] { squeeze(x, std::vector<bool>{true}); }},
      {"unsqueeze: Tried to access out of boundary index 3", [&] { unsqueeze(x, 3); }},
      {"unsqueeze: Tried to access out of boundary index -4", [&] { unsqueeze(x, -4); }},
      {"Invalid broadcast, number of false entries in is_broadcast_dim expected to be 2 but "
       "received 1",
       [&] { broadcast(x, {true, false}); }},
      {"expand: 1 sizes were given for the 2 axes", [&] { expand(x, {num(3)}); }},
      {"has extent 3 and cannot be expanded to 5", [&] { expand(x, {num(5), num(4)}); }},
      {"has extent 5 and cannot be expanded to 6", [&] { expand(wide, {num(6), num(4)}); }},
      {"expand: size -3 of axis 0 is negative", [&] { expand(unit, {num(-3), num(4)}); }},
      {"expand: sizes are integer scalars, got null", [&] { expand(unit, {nullptr, num(4)}); }},
      {"repeat: 1 counts were given for the 2 axes", [&] { repeat(x, {2}); }},
      {"repeat: a count must not be negative, got -1", [&] { repeat(x, {-1, 2}); }},
  });
}

TEST_CASE("bad uses of permute and transpose") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = makeContigConcreteTensor({3, 4});
  checkAll({
      {"Operator permute expects `dims` argument to have the same length as input!",
       [&] { permute(x, std::vector<int64_t>{0}); }},
      {"permute: axis 0 of T0", [&] { permute(x, std::vector<int64_t>{0, -2}); }},
      {"permute: Tried to access out of boundary index 2",
       [&] { permute(x, std::vector<int64_t>{0, 2}); }},
      {"cannot go to position 0: the axis or the position is named twice",
       [&] { permute(x, std::unordered_map<int64_t, int64_t>{{0, 0}, {1, 0}}); }},
      {"transpose: Tried to access out of boundary index 5", [&] { transpose(x, 0, 5); }},
      {"only tensors of at most 2 axes", [&] { transpose(makeContigTensor(3)); }},
  });
}

TEST_CASE("bad uses of reshape and flatten") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = makeContigConcreteTensor({3, 4});
  TensorView* rows = makeConcreteTensor({-1, 6});
  const std::vector<int64_t> from{3, 4};
  checkAll({
      {"A maximum of one value of -1 can be provided to reshape.",
       [&] { reshape(x, from, {-1, -1}); }},
      {"Total element counts across view operation must match", [&] { reshape(x, from, {5}); }},
      {"Total element counts across view operation must match", [&] { reshape(x, from, {5, -1}); }},
      {"Total element counts across view operation must match", [&] { reshape(x, from, {0}); }},
      {"Total element counts across view operation must match",
       [&] { reshape(rows, {rows->getLogicalDomain()[0]->extent(), num(7)}); }},
      {"Total element counts across view operation must match",
       [&] { reshape(makeContigConcreteTensor({0}), {0}, {1}); }},
      {"is negative; -1 stands for what is left", [&] { reshape(x, from, {-2, 6}); }},
      {"-1 beside a size of 0",
       [&] { reshape(makeContigConcreteTensor({0, 3}), {0, 3}, {0, -1}); }},
      {"reshape: 1 original sizes were given for the 2 axes", [&] { reshape(x, {12}, {12}); }},
      {"original size 5 of axis 0 does not fit its extent 3", [&] { reshape(x, {5, 4}, {20}); }},
      {"reshape: sizes are integer scalars",
       [&] { reshape(x, {IrBuilder::create<Val>(PolymorphicValue(2.0))}); }},
      {"start_dim 1 is behind end_dim 0", [&] { flatten(x, 1, 0); }},
      {"flatten: Tried to access out of boundary index 2", [&] { flatten(x, 0, 2); }},
  });
}

TEST_CASE("bad uses of slice and chunk") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = makeContigConcreteTensor({3, 4});
  checkAll({
      {"Number of tensor dimensions does not match slice dimensions!",
       [&] { slice(x, {0, 0, 0}, {1, 1, 1}); }},
      {"Slice indexing attribute dimensions don't match!", [&] { slice(x, {0, 0}, {1}); }},
      {"Slice start_indices and strides don't match!", [&] { slice(x, {0, 0}, {1, 1}, {1}); }},
      {"nvFuser Limitation: All slice operation strides must be of const size 1.",
       [&] { slice(x, {0, 0}, {3, 4}, {1, 2}); }},
      {"nvFuser Limitation: All slice operation strides must be of const size 1.",
       [&] {
         slice(x, {Slice{}, Slice{nullptr, nullptr, IrBuilder::create<Val>(DataType::Int)}});
       }},
      {"end_indices must be greater than or equal to start_indices",
       [&] { slice(x, {Slice{num(2), num(1), nullptr}, Slice{}}, true); }},
      {"slice: bounds are integer scalars",
       [&] { slice(x, {Slice{IrBuilder::create<Val>(PolymorphicValue(1.0))}, Slice{}}); }},
      {"chunk: the number of chunks must be positive, got 0", [&] { chunk(x, 0, 0); }},
      {"chunk: Tried to access out of boundary index 2", [&] { chunk(x, 2, 2); }},
  });
}

TEST_CASE("bad uses of pad and cat") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = makeContigConcreteTensor({3, 4});
  TensorView* half = makeContigConcreteTensor({3, 4}, DataType::Half);
  TensorView* null = nullptr;
  checkAll({
      {"pad: 3 widths were given", [&] { pad(x, {num(1), num(1), num(1)}); }},
      {"pad: 6 widths were given", [&] { pad(x, std::vector<Val*>(6, num(1))); }},
      {"pad: widths are integer scalars, got null", [&] { pad(x, {nullptr, num(1)}); }},
      {"cut more than axis 1", [&] { pad(x, {num(-3), num(-2)}); }},
      {"Tensor arg and pad value must have the same dtype.",
       [&] { pad(x, {num(1), num(1)}, num(1)); }},
      {"cannot be a broadcast axis",
       [&] { pad(x, {num(1), num(1)}, nullptr, IterType::Broadcast); }},
      {"No input tensor given", [&] { cat({}, 0); }},
      {"cat: the operand is null", [&] { cat({x, null}, 0); }},
      {"Invalid dimension to cat: 2", [&] { cat({x, x}, 2); }},
      {"Unexpected number of dimensions", [&] { cat({x, makeContigConcreteTensor({3})}, 0); }},
      {"Can't concatenate tensors with different data types", [&] { cat({x, half}, 0); }},
      {"cat: sizes of axis 1 differ", [&] { cat({x, makeContigConcreteTensor({3, 5})}, 0); }},
  });
}

TEST_CASE("bad uses of indexed access") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = makeContigConcreteTensor({3, 4});
  TensorView* index = makeContigConcreteTensor({3, 4}, DataType::Int);
  TensorView* line = makeContigConcreteTensor({7}, DataType::Int);
  TensorView* null = nullptr;
  checkAll({
      {"select: the index is an integer scalar, got null", [&] { select(x, 0, nullptr); }},
      {"select: index 3 is outside axis 0", [&] { select(x, 0, num(3)); }},
      {"select: index -4 is outside axis 0", [&] { select(x, 0, num(-4)); }},
      {"select: Tried to access out of boundary index 2", [&] { select(x, 2, num(0)); }},
      {"indexSelect: the operand is null", [&] { indexSelect(x, 0, null); }},
      {"an index tensor holds integers", [&] { indexSelect(x, 0, x); }},
      {"it must have one or none", [&] { indexSelect(x, 0, index); }},
      {"has no axis to select from", [&] { indexSelect(makeContigConcreteTensor({}), 0, line); }},
      {"Tensor arguments have different dimensions 2 and 1", [&] { gather(x, 0, line); }},
      {"Tensor arguments have dimension 2 so dim argument must satisfy -2 <= dim < 2",
       [&] { gather(x, 2, index); }},
      {"the index may be shorter, not longer",
       [&] { gather(x, 0, makeContigConcreteTensor({2, 5}, DataType::Int)); }},
      {"takeAlongAxis, axis 0",
       [&] { takeAlongAxis(x, makeContigConcreteTensor({2, 4}, DataType::Int), 1); }},
      {"cannot be accumulated by sub; add, mul, max and min can",
       [&] { scatter(x, 0, index, x, BinaryOpType::Sub); }},
      {"scatter: the source is null", [&] { scatter(x, 0, index, nullptr); }},
      {"scatter: Tensor arguments have different dimensions 1 and 2",
       [&] { scatter(x, 0, index, makeContigConcreteTensor({3})); }},
      {"cast one of them",
       [&] { scatter(x, 0, index, makeContigConcreteTensor({3, 4}, DataType::Half)); }},
  });
}

}  // namespace
}  // namespace nvfuser
