// Right programs run with wrong arguments: their number, kinds, dtypes and sizes. Each executor
// still runs right ones afterwards.
#include <malformed_inputs.h>
#include <runtime/fusion_executor_cache.h>

namespace nvfuser::malformed {

namespace {

/// out = in · s with a scalar of a dtype.
void scaled(Program& p, DataType dtype) {
  TensorView* x = p.symbolicInput(1, dtype == D::Int ? D::Int : D::Float);
  Val* s = IrBuilder::create<Val>(dtype);
  p.fusion.addInput(s);
  p.output(mul(x, s));
}

Val* sizeInput(Program& p) {
  Val* size = IrBuilder::create<Val>(D::Int);
  p.fusion.addInput(size);
  return size;
}

std::vector<Case> argumentCases() {
  return {
      {"too few arguments", "contains less argument than kernel's input",
       [](Program& p) {
         sumOfTwo(p);
         runWrong(p, {floats({4, 6})}, {floats({4, 6}), floats({4, 6})});
       }},
      {"too many arguments", "contains more arguments than kernel's input",
       [](Program& p) {
         sumOfTwo(p);
         const Tensor x = floats({4, 6});
         runWrong(p, {x, x, x}, {x, x});
       }},
      {"a tensor of another dtype", "bound to a tensor of dtype float, but got a tensor of dtype",
       [](Program& p) {
         sumOfTwo(p);
         const Tensor x = floats({4, 6});
         runWrong(p, {x, Tensor::ones({4, 6}, D::Double)}, {x, x});
       }},
      {"a tensor of another rank", "bound to a tensor of rank 2, but got a tensor of rank 1",
       [](Program& p) {
         sumOfTwo(p);
         const Tensor x = floats({4, 6});
         runWrong(p, {x, floats({6})}, {x, x});
       }},
      {"tensors of two shapes", "the inputs' sizes do not agree",
       [](Program& p) {
         sumOfTwo(p);
         runWrong(p, {floats({4, 6}), floats({4, 5})}, {floats({4, 6}), floats({4, 6})});
       }},
      {"one row where there are many", "the inputs' sizes do not agree",
       [](Program& p) {
         sumOfTwo(p);
         runWrong(p, {floats({4, 6}), floats({1, 6})}, {floats({4, 6}), floats({4, 6})});
       }},
      {"a size other than the constant one", "Tried to bind to a constant value: 6 as 5",
       [](Program& p) {
         p.output(neg(p.input({4, 6})));
         runWrong(p, {floats({4, 5})}, {floats({4, 6})});
       }},
      {"many rows where there is one", "Tried to bind to a constant value: 1 as 3",
       [](Program& p) {
         p.output(neg(p.input({1, 6})));
         runWrong(p, {floats({3, 6})}, {floats({1, 6})});
       }},
      {"a number for a tensor", "to be an at::Tensor but got scalar",
       [](Program& p) {
         sumOfTwo(p);
         const Tensor x = floats({4, 6});
         runWrong(p, {x, 2.0}, {x, x});
       }},
      {"a tensor for a number", "to be a scalar but got float tensor of rank 1",
       [](Program& p) {
         scaled(p, D::Double);
         runWrong(p, {floats({3}), floats({3})}, {floats({3}), 2.0});
       }},
      {"a real number for an integer", "is not compatible with the expected data type: int64_t",
       [](Program& p) {
         scaled(p, D::Int);
         const Tensor x = Tensor::arange(3);
         runWrong(p, {x, 2.5}, {x, 2});
       }},
      {"a complex number for a real one", "is not compatible with the expected data type: double",
       [](Program& p) {
         scaled(p, D::Double);
         runWrong(p, {floats({3}), std::complex<double>(1, 2)}, {floats({3}), 2.0});
       }},
      {"no number at all", "to have a value, but got none",
       [](Program& p) {
         scaled(p, D::Double);
         runWrong(p, {floats({3}), PolymorphicValue()}, {floats({3}), 2.0});
       }},
      {"an undefined tensor", "to be a tensor with storage, but got an undefined one",
       [](Program& p) {
         p.output(neg(p.symbolicInput(1)));
         runWrong(p, {Tensor()}, {floats({3})});
       }},
      {"a tensor without memory", "has no memory (a meta tensor)",
       [](Program& p) {
         p.output(neg(p.symbolicInput(1)));
         runWrong(p, {Tensor::meta({3}, {1}, D::Float)}, {floats({3})});
       }},
      {"tensors on two devices", "The arguments are on several devices",
       [](Program& p) {
         sumOfTwo(p);
         const Tensor x = floats({4, 6});
         runWrong(p, {x, x.copyTo(emulatedDevice())}, {x, x});
       }},
      {"columns where rows were promised", "'s stride mismatch with contiguity info",
       [](Program& p) {
         p.output(neg(p.symbolicInput(2)));
         runWrong(p, {floats({6, 4}).permute({1, 0})}, {floats({4, 6})});
       }},
      {"a gap where none was promised", "is declared contiguous and needs stride 6",
       [](Program& p) {
         p.output(neg(p.symbolicInput(2)));
         runWrong(p, {floats({4, 8}).slice(1, 0, 6)}, {floats({4, 6})});
       }},
      {"real rows for an expanded axis", "an expanded dimension has stride 0",
       [](Program& p) {
         TensorView* x = TensorViewBuilder().ndims(1).expanded({true}).build();
         p.fusion.addInput(x);
         p.output(neg(x));
         runWrong(p, {floats({4})}, {floats({1}).expand({4})});
       }},
      {"a run before compile", "nothing is compiled; call compile(fusion) first",
       [](Program&) { KernelExecutor().run({floats({3})}); }},
      {"a scalar that nobody gives", "it is neither an input of the Fusion nor computed from",
       [](Program& p) {
         p.output(mul(p.symbolicInput(1), IrBuilder::create<Val>(D::Double)));
         KernelExecutor executor;
         executor.adopt(p.fusion);
         executor.run({floats({3})});
       }},
      {"a size that nobody gives", "depends on a scalar that no input gives a value to",
       [](Program& p) {
         p.output(full({IrBuilder::create<Val>(D::Int)}, num(1), D::Float));
         KernelExecutor executor;
         executor.adopt(p.fusion);
         executor.run({});
       }},
  };
}

std::vector<Case> sizeCases() {
  return {
      {"a reshape that does not fit its sizes",
       "Total element counts across view operation must match",
       [](Program& p) {
         TensorView* x = p.symbolicInput(2);
         p.output(reshape(set(x), {sizeInput(p), sizeInput(p)}));
         runWrong(p, {floats({4, 6}), 5, 4}, {floats({4, 6}), 3, 8});
       }},
      {"an index that its axis does not have",
       "gather: index 7 is out of range for an axis of extent 5",
       [](Program& p) {
         TensorView* x = p.symbolicInput(1);
         TensorView* index = p.symbolicInput(1, D::Int);
         p.output(gather(x, 0, index));
         const std::vector<int64_t> wrong = {0, 7}, right = {0, 4};
         runWrong(p, {floats({5}), Tensor::fromHost(wrong, {2})},
                  {floats({5}), Tensor::fromHost(right, {2})});
       }},
      {"a reshape whose first size is wrong", "gives 9 elements, but there are 6",
       [](Program& p) {
         TensorView* x = p.symbolicInput(2);
         p.output(reshape(x, {sizeInput(p), num(3)}));
         runWrong(p, {floats({2, 3}), 3}, {floats({2, 3}), 2});
       }},
      {"a reshape that leaves a rest", "Total element counts across view operation must match",
       [](Program& p) {
         p.output(reshape(p.symbolicInput(2), {num(-1), num(4)}));
         runWrong(p, {floats({3, 6})}, {floats({4, 6})});
       }},
      {"a reshape of sizes other than those it was made for",
       "Total element counts across view operation must match",
       [](Program& p) {
         p.output(reshape(p.symbolicInput(1), {6}, {2, 3}));
         runWrong(p, {floats({7})}, {floats({6})});
       }},
      {"a reshape to one element of many", "Total element counts across view operation must match",
       [](Program& p) {
         p.output(reshape(p.symbolicInput(1), {num(1), num(1)}));
         runWrong(p, {floats({7})}, {floats({1})});
       }},
      {"a negative size", "a size must not be negative",
       [](Program& p) {
         p.output(full({sizeInput(p)}, num(1), D::Float));
         runWrong(p, {-3}, {3});
       }},
      {"a pad that cuts more than there is at run time", "a size must not be negative",
       [](Program& p) {
         TensorView* x = p.symbolicInput(1);
         p.output(pad(x, {sizeInput(p), num(0)}));
         runWrong(p, {floats({3}), -5}, {floats({3}), 2});
       }},
      {"a size divided by zero", "is divided by zero",
       [](Program& p) {
         TensorView* x = p.symbolicInput(1);
         Val* parts = sizeInput(p);
         Val* size = div(x->axis(0)->extent(), parts);
         p.output(full({size}, num(1), D::Float));
         runWrong(p, {floats({6}), 0}, {floats({6}), 2});
       }},
      {"a split by a factor of zero", "is split by a factor of 0, which must be positive",
       [](Program& p) {
         TensorView* x = p.symbolicInput(1);
         Val* factor = sizeInput(p);
         TensorView* out = p.output(set(x));
         out->split(0, factor);
         runWrong(p, {floats({6}), 0}, {floats({6}), 2});
       }},
      {"a split by a negative factor", "is split by a factor of -2, which must be positive",
       [](Program& p) {
         TensorView* x = p.symbolicInput(1);
         Val* factor = sizeInput(p);
         TensorView* out = p.output(set(x));
         out->split(0, factor);
         runWrong(p, {floats({6}), -2}, {floats({6}), 2});
       }},
      {"more elements than an index counts", "has more bytes than 2^63 - 1",
       [](Program& p) {
         Val* rows = sizeInput(p);
         p.output(full({rows, sizeInput(p)}, num(1), D::Float));
         runWrong(p, {int64_t{1} << 40, int64_t{1} << 40}, {3, 4});
       }},
      {"32-bit indices for more than they count", "index_type Int32, but a tensor has elements",
       [](Program& p) {
         TensorView* x = makeSymbolicTensor(1);
         p.fusion.addInput(x);
         p.output(slice(x, std::vector<Slice>{{num(0), num(4), nullptr}}));
         KernelExecutor executor;
         executor.adopt(p.fusion);
         CompileParams params;
         params.index_type = PrimDataType::Int32;
         executor.run({floats({1}).copyTo(emulatedDevice()).expand({int64_t{1} << 33})}, {},
                      LaunchParams(), params);
       }},
      {"a wrong launch dimension", "LaunchParams ask for blockIdx.x of 3",
       [](Program& p) {
         TensorView* out = p.output(neg(p.symbolicInput(1)));
         out->axis(0)->parallelize(ParallelType::BIDx);
         runWrong(p, {floats({4})}, {floats({4})}, {}, LaunchParams(3));
       }},
  };
}

std::vector<Case> cacheCases() {
  auto sumCache = [] {
    auto fusion = std::make_unique<Fusion>();
    FusionGuard guard(fusion.get());
    TensorView* x = makeContigTensor(2);
    fusion->addInput(x);
    fusion->addOutput(sum(x, {1}));
    return fusion;
  };
  return {
      {"a cache run with another rank", "bound to a tensor of rank 2, but got a tensor of rank 1",
       [=](Program&) {
         FusionExecutorCache cache(sumCache());
         const std::string message = messageOf([&] { cache.runFusionWithInputs({floats({3})}); });
         const Tensor x = floats({3, 4});
         testValidate(cache.fusion(), cache.runFusionWithInputs({x}), {x}, __LINE__, __FILE__);
         throw UserError(message);
       }},
      {"a cache run without arguments", "contains less argument than kernel's input",
       [=](Program&) { FusionExecutorCache(sumCache()).runFusionWithInputs({}); }},
      {"a cache run on two devices", "several devices",
       [](Program&) {
         auto fusion = std::make_unique<Fusion>();
         FusionGuard guard(fusion.get());
         TensorView* x = makeContigTensor(1);
         TensorView* y = makeContigTensor(1);
         fusion->addInput(x);
         fusion->addInput(y);
         fusion->addOutput(add(x, y));
         FusionExecutorCache cache(std::move(fusion));
         const Tensor there = emulated(floats({3}));
         for (int i = 0; i < 2; ++i) {  // the second call has a plan
           cache.runFusionWithInputs({there, there});
         }
         const std::string message =
             messageOf([&] { cache.runFusionWithInputs({there, floats({3})}); });
         const std::string reversed =
             messageOf([&] { cache.runFusionWithInputs({floats({3}), there}); });
         const std::string near = cpuDevice().properties().name;
         const std::string far = there.device().properties().name;
         const std::string words =
             "run: KernelExecutor does not support the Fusion provided. The arguments are on "
             "several devices (";
         CHECK(message.find(words + far + " and " + near + ")") != std::string::npos);
         CHECK(reversed.find(words + near + " and " + far + ")") != std::string::npos);
         throw UserError(message);
       }},
      {"a cache run with a reshape that does not fit",
       "Total element counts across view operation must match",
       [](Program&) {
         auto fusion = std::make_unique<Fusion>();
         FusionGuard guard(fusion.get());
         TensorView* x = makeContigTensor(1);
         fusion->addInput(x);
         Val* size = IrBuilder::create<Val>(D::Int);
         fusion->addInput(size);
         fusion->addOutput(reshape(neg(x), {size, num(2)}));
         FusionExecutorCache(std::move(fusion)).runFusionWithInputs({floats({6}), 4});
       }},
  };
}

}  // namespace

std::vector<Case> wrongArguments() {
  std::vector<Case> all;
  for (const auto& more : {argumentCases(), sizeCases(), cacheCases()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

TEST_CASE("malformed arguments are refused") {
  for (const Case& wrong : wrongArguments()) {
    checkCase(wrong);
  }
}

}  // namespace nvfuser::malformed
