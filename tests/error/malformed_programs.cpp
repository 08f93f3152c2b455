// Wrong programs: what the define-time functions refuse, and what shows when the Fusion is whole.
#include <ir/internal_nodes.h>
#include <malformed.h>
#include <runtime/fusion_executor_cache.h>

namespace nvfuser::malformed {

namespace {

using D = DataType;

/// A tensor of a Fusion that outlives the case.
TensorView* foreignTensor() {
  static Fusion other;
  FusionGuard guard(&other);
  return makeContigConcreteTensor({2, 3});
}

/// Runs `use` as a user would who forgot the FusionGuard.
void withoutGuard(const std::function<void()>& use) {
  FusionGuard none(nullptr);
  use();
}

std::vector<Case> interfaceCases() {
  return {
      {"a scalar without a guard", "create: there is no active Fusion; make a FusionGuard",
       [](Program&) { withoutGuard([] { IrBuilder::create<Val>(D::Double); }); }},
      {"a tensor without a guard", "TensorViewBuilder: there is no active Fusion",
       [](Program&) { withoutGuard([] { makeContigTensor(2); }); }},
      {"inlining without a guard", "inlining: there is no active Fusion",
       [](Program&) { withoutGuard([] { inlineMost(); }); }},
      {"an input that is null", "addInput: null",
       [](Program& p) {
         p.ready();
         p.fusion.addInput(nullptr);
       }},
      {"an input of another Fusion",
       "does not belong to this Fusion; create it under a FusionGuard",
       [](Program& p) {
         p.ready();
         p.fusion.addInput(foreignTensor());
       }},
      {"an input added twice", "is registered already; an input is added once",
       [](Program& p) {
         TensorView* x = p.input({2});
         p.ready();
         p.fusion.addInput(x);
       }},
      {"a constant as input", "is a constant; an input is a symbolic value",
       [](Program& p) {
         Val* two = num(2);
         p.ready();
         p.fusion.addInput(two);
       }},
      {"an axis as input", "is neither a tensor nor a scalar",
       [](Program& p) {
         TensorView* x = p.input({2});
         p.ready();
         p.fusion.addInput(x->axis(0));
       }},
      {"a sum as input", "has reduction axes; only tensors that were made as inputs",
       [](Program& p) {
         TensorView* total = sum(p.input({2, 3}), {1});
         p.ready();
         p.fusion.addInput(total);
       }},
      {"an output that is null", "addOutput: null",
       [](Program& p) {
         p.ready();
         p.fusion.addOutput(nullptr);
       }},
      {"an output of another Fusion", "does not belong to this Fusion",
       [](Program& p) {
         p.ready();
         p.fusion.addOutput(foreignTensor());
       }},
      {"a scalar as output", "Non-TensorView outputs are not supported at this point",
       [](Program& p) {
         Val* s = add(num(1), num(2));
         p.ready();
         p.fusion.addOutput(s);
       }},
      {"an output that nothing computes", "is neither an input nor computed by an operation",
       [](Program& p) {
         TensorView* x = makeContigTensor(1);
         p.ready();
         p.fusion.addOutput(x);
       }},
      {"replacing what is no output", "is not an output of this Fusion",
       [](Program& p) {
         TensorView* y = neg(p.input({2}));
         p.ready();
         p.fusion.replaceOutput(y, neg(y));
       }},
      {"replacing an output by null", "replaceOutput: the replacement is null",
       [](Program& p) {
         TensorView* y = p.output(neg(p.input({2})));
         p.ready();
         p.fusion.replaceOutput(y, nullptr);
       }},
      {"replacing an output by a foreign tensor", "does not belong to this Fusion",
       [](Program& p) {
         TensorView* y = p.output(neg(p.input({2})));
         p.ready();
         p.fusion.replaceOutput(y, foreignTensor());
       }},
      {"an alias of null", "aliasOutputToInput: the output is null",
       [](Program& p) {
         TensorView* x = p.input({2});
         p.ready();
         p.fusion.aliasOutputToInput(nullptr, x, AllocationType::ReuseBuffer);
       }},
      {"an alias to null", "aliasOutputToInput: the input is null",
       [](Program& p) {
         TensorView* y = neg(p.input({2}));
         p.ready();
         p.fusion.aliasOutputToInput(y, nullptr, AllocationType::ReuseBuffer);
       }},
      {"an alias to what is no input", "an output can only reuse the storage of an input",
       [](Program& p) {
         TensorView* y = neg(p.input({2}));
         TensorView* z = neg(y);
         p.ready();
         p.fusion.aliasOutputToInput(z, y, AllocationType::ReuseBuffer);
       }},
      {"an alias of another dtype", "dtypes double and float differ",
       [](Program& p) {
         TensorView* x = p.input({2});
         TensorView* y = castOp(D::Double, x);
         p.ready();
         p.fusion.aliasOutputToInput(y, x, AllocationType::ReuseBuffer);
       }},
      {"an alias of another rank", "has 1 axes, but",
       [](Program& p) {
         TensorView* x = p.input({2, 3});
         TensorView* y = sum(x, {1});
         p.ready();
         p.fusion.aliasOutputToInput(y, x, AllocationType::ReuseBuffer);
       }},
      {"an alias of another size", "sizes 4 and 2 of axis 0 differ",
       [](Program& p) {
         TensorView* x = p.input({2});
         TensorView* y = pad(x, {num(1), num(1)});
         p.ready();
         p.fusion.aliasOutputToInput(y, x, AllocationType::ReuseBuffer);
       }},
      {"two aliases to one input", "is reused by",
       [](Program& p) {
         TensorView* x = p.input({2});
         TensorView* y = neg(x);
         TensorView* z = exp(x);
         p.fusion.aliasOutputToInput(y, x, AllocationType::ReuseBuffer);
         p.ready();
         p.fusion.aliasOutputToInput(z, x, AllocationType::ReuseBuffer);
       }},
      {"an alias to two inputs", "is written to T0_g_float[iS0{2}] already; write set() of it to",
       [](Program& p) {
         TensorView* x = p.input({2});
         TensorView* y = p.input({2});
         TensorView* z = add(x, y);
         p.fusion.aliasOutputToInput(z, x, AllocationType::ReuseBuffer);
         p.ready();
         p.fusion.aliasOutputToInput(z, y, AllocationType::ReuseBuffer);
       }},
      {"a tensor that was never added", "is neither an input of the Fusion nor computed in it",
       [](Program& p) {
         p.output(neg(makeContigTensor(1)));
         p.ready();
         p.fusion.verify();
       }},
      {"an input that was removed", "addInput it",
       [](Program& p) {
         TensorView* x = p.input({2});
         p.output(neg(x));
         p.fusion.removeInput(x);
         p.lower();
       }},
      {"a cache for no Fusion", "FusionExecutorCache: the fusion is null",
       [](Program&) { FusionExecutorCache cache(nullptr); }},
      {"a cache for a broken Fusion", "is neither an input of the Fusion nor computed in it",
       [](Program&) {
         auto fusion = std::make_unique<Fusion>();
         FusionGuard guard(fusion.get());
         fusion->addOutput(neg(makeContigTensor(1)));
         FusionExecutorCache cache(std::move(fusion));
       }},
  };
}

std::vector<Case> tensorCases() {
  return {
      {"a negative rank", "the number of dimensions must not be negative, got -1",
       [](Program&) { makeContigTensor(-1); }},
      {"a size that is none", "a size is -1 (symbolic), 1 (broadcast) or a constant, got -7",
       [](Program&) { makeConcreteTensor({3, -7}); }},
      {"a tensor without a dtype", "a tensor needs a data type",
       [](Program&) { makeContigTensor(1, D::Null); }},
      {"contiguity for too many axes", "Length of contiguity argument (3) must match",
       [](Program&) {
         TensorViewBuilder().ndims(2).contiguity(Contiguity{true, true, true}).build();
       }},
      {"expanded flags for too few axes", "expanded has 1 entries for 2 dimensions",
       [](Program&) { TensorViewBuilder().ndims(2).expanded({true}).build(); }},
      {"a stride order with too few entries", "stride_order has 1 entries for 2 dimensions",
       [](Program&) { TensorViewBuilder().ndims(2).strideOrder({0}).build(); }},
      {"a stride order out of range", "stride_order argument is out of range: 2",
       [](Program&) { TensorViewBuilder().ndims(2).strideOrder({0, 2}).build(); }},
      {"a stride order with an axis twice", "duplicated stride_order entries: 1",
       [](Program&) { TensorViewBuilder().ndims(2).strideOrder({1, 1}).build(); }},
      {"contiguity set for too few axes", "Length of contiguity argument (1) must match",
       [](Program& p) {
         TensorView* x = p.input({2, 3});
         p.ready();
         x->setContiguity(Contiguity{true});
       }},
      {"more elements than an index can count", "more than 2^63 - 1 elements",
       [](Program& p) {
         const int64_t big = int64_t{1} << 40;
         p.ready();
         makeContigConcreteTensor({big, big});
       }},
  };
}

std::vector<Case> operationCases() {
  return {
      {"sizes that do not agree", "add: sizes of corresponding axes do not agree: 3 and 4",
       [](Program& p) { add(p.input({2, 3}), p.input({2, 4})); }},
      {"an operand that is null", "mul: operand 2 is null",
       [](Program& p) { mul(p.input({2}), static_cast<TensorView*>(nullptr)); }},
      {"operands of two Fusions", "belongs to another Fusion",
       [](Program& p) { add(p.input({2, 3}), foreignTensor()); }},
      {"bits of a real number", "Integer or boolean input is required for bitwise_and but found",
       [](Program& p) { bitwise_and(p.input({2}), p.input({2})); }},
      {"a condition that is no truth value", "where: Condition should be of DataType Bool",
       [](Program& p) {
         TensorView* x = p.input({2});
         where(x, x, x);
       }},
      {"integers without a common type",
       "lt: no integer type holds the values of uint64_t and of int64_t; cast one of the operands "
       "to the other's type, or both to double",
       [](Program& p) { lt(p.input({3}, D::UInt64), p.input({3}, D::Int)); }},
      {"an order of complex numbers", "lt: not defined for operands of type",
       [](Program& p) {
         TensorView* z = p.input({2}, D::ComplexFloat);
         lt(z, z);
       }},
      {"a cast to nothing", "cast: the data type to cast to is missing",
       [](Program& p) { castOp(D::Null, p.input({2})); }},
      {"bits read as a wider type", "BitCast only works for types of the same size",
       [](Program& p) { bitCastOp(D::Double, p.input({2})); }},
      {"a sum over an axis that is none", "Tried to access out of boundary index 2",
       [](Program& p) { sum(p.input({2, 3}), {2}); }},
      {"a sum over an axis twice", "axis 1 is given twice; name each axis once",
       [](Program& p) { sum(p.input({2, 3}), {1, -1}); }},
      {"the least complex number", "min: not defined for operands",
       [](Program& p) { min(p.input({2}, D::ComplexFloat), {0}); }},
      {"Welford of half precision", "please upcast to float",
       [](Program& p) { Welford(p.input({2}, D::Half), {0}); }},
      {"flags for other axes than there are", "number of false entries in is_broadcast_dim",
       [](Program& p) { broadcast(p.input({2, 3}), {true, false}); }},
      {"squeeze of a long axis", "Can not squeeze dimension(s) with size != 1",
       [](Program& p) { squeeze(p.input({2, 3}), {0}); }},
      {"expand of a long axis", "has extent 2 and cannot be expanded to 5",
       [](Program& p) { expand(p.input({2}), {num(5)}); }},
      {"expand to a negative size", "expand: size -3 of axis 0 is negative",
       [](Program& p) { expand(p.input({1}), {num(-3)}); }},
      {"permute with an axis twice", "permute: axis 0 of T0",
       [](Program& p) { permute(p.input({2, 3}), std::vector<int64_t>{0, 0}); }},
      {"a reshape that does not fit", "Total element counts across view operation must match",
       [](Program& p) { reshape(p.input({2, 3}), {2, 3}, {4}); }},
      {"a reshape with two open sizes", "A maximum of one value of -1 can be provided to reshape",
       [](Program& p) { reshape(p.input({2, 3}), {2, 3}, {-1, -1}); }},
      {"a reshape to a negative size", "is negative; -1 stands for what is left",
       [](Program& p) { reshape(p.input({2, 3}), {2, 3}, {-2, 3}); }},
      {"a reshape of other sizes than there are", "does not fit its extent 2",
       [](Program& p) { reshape(p.input({2, 3}), {3, 3}, {9}); }},
      {"a slice of too many axes", "does not match slice dimensions",
       [](Program& p) { slice(p.input({2, 3}), {0, 0, 0}, {1, 1, 1}); }},
      {"a slice with steps", "All slice operation strides must be of const size 1",
       [](Program& p) { slice(p.input({4}), {0}, {4}, {2}); }},
      {"a pad of too many axes", "pad: 4 widths were given",
       [](Program& p) { pad(p.input({4}), {num(1), num(1), num(1), num(1)}); }},
      {"a pad that cuts more than there is", "cut more than axis 0",
       [](Program& p) { pad(p.input({4}), {num(-3), num(-2)}); }},
      {"a cat of nothing", "No input tensor given", [](Program&) { cat({}, 0); }},
      {"a cat of two dtypes", "Can't concatenate tensors with different data types",
       [](Program& p) { cat({p.input({2}), p.input({2}, D::Half)}, 0); }},
      {"a cat of two widths", "cat: sizes of axis 1 differ",
       [](Program& p) { cat({p.input({2, 3}), p.input({2, 4})}, 0); }},
      {"a select beyond the end", "select: index 3 is outside axis 0",
       [](Program& p) { select(p.input({3}), 0, num(3)); }},
      {"real numbers as an index", "an index tensor holds integers",
       [](Program& p) { indexSelect(p.input({3}), 0, p.input({2})); }},
      {"a gather of another rank", "Tensor arguments have different dimensions 2 and 1",
       [](Program& p) { gather(p.input({3, 4}), 0, p.input({2}, D::Int)); }},
      {"a scatter of another dtype", "cast one of them",
       [](Program& p) { scatter(p.input({3}), 0, p.input({2}, D::Int), p.input({2}, D::Half)); }},
      {"a tensor of a negative size", "full: size 0 of the shape is negative",
       [](Program&) { full({num(-2)}, num(1), D::Float); }},
      {"a tensor of a size that divides by zero", "divided by zero",
       [](Program&) { full({div(num(4), num(0))}, num(1), D::Float); }},
      {"a range with a step of zero", "arange: step must not be zero",
       [](Program&) { arange(num(0), num(5), num(0)); }},
      {"random integers", "Random distributions only create floating point types!",
       [](Program&) { rand({num(2)}, D::Int); }},
      {"a seed without an offset", "rng_seed and rng_offset must be provided together",
       [](Program&) { rand({num(2)}, D::Float, num(1)); }},
      {"dropout with a probability above one", "dropout: prob must be between 0 and 1, got 1.5",
       [](Program& p) { dropout(p.input({2}), real(1.5), real(1.0)); }},
      {"a norm over more axes than there are", "layer_norm: the last 3 axes of",
       [](Program& p) { layer_norm(p.input({2, 3}), 3, nullptr, nullptr, real(1e-5)); }},
      {"a norm with a weight of another shape", "layer_norm: weight",
       [](Program& p) {
         TensorView* x = p.input({2, 3});
         layer_norm(x, 1, x, nullptr, real(1e-5));
       }},
      {"a softmax over an axis that is none", "softmax: Tried to access out of boundary index 2",
       [](Program& p) { softmax(p.input({2, 3}), 2); }},
      {"a batch norm that trains what is no input", "must be an input of the fusion",
       [](Program& p) {
         TensorView* running = neg(p.input({3}));
         batch_norm(p.input({2, 3}), nullptr, nullptr, running, running, true, real(0.1),
                    real(1e-5));
       }},
      {"a variance with a negative correction", "variance: correction must be non-negative",
       [](Program& p) { variance(p.input({2, 3}), {0}, int64_t{-1}, false); }},
      {"an operation that is not in the table", "there is no pointwise function of this name",
       [](Program& p) { callPointwise("frobnicate", {p.input({2})}); }},
      {"an operation with too few operands", "add: takes 2 operands, got 1",
       [](Program& p) { callPointwise("add", {p.input({2})}); }},
  };
}

}  // namespace

std::vector<Case> programs() {
  std::vector<Case> all = interfaceCases();
  for (const auto& more : {tensorCases(), operationCases()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

TEST_CASE("malformed programs are refused") {
  for (const Case& wrong : programs()) {
    checkCase(wrong);
  }
}

}  // namespace nvfuser::malformed
