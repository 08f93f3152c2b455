// Right programs run with wrong arguments. Each executor still runs right ones afterwards.
#include <algorithm>
#include <fstream>
#include <iostream>
#include <set>

#include <malformed.h>
#include <runtime/fusion_executor_cache.h>

namespace nvfuser::malformed {

namespace {

using D = DataType;

Tensor floats(std::vector<int64_t> sizes) { return Tensor::randn(std::move(sizes), D::Float, 1); }

/// Compiles the program for the CPU, runs it with wrong arguments, and then with right ones.
void runWrong(Program& p, const KernelArgumentHolder& wrong, const KernelArgumentHolder& right,
              const KernelArgumentHolder& outputs = {}, const LaunchParams& launch = LaunchParams(),
              const CompileParams& params = {}) {
  KernelExecutor executor;
  executor.adopt(p.fusion);
  std::string message = messageOf([&] { executor.run(wrong, outputs, launch, params); });
  KernelArgumentHolder results = executor.run(right);
  testValidate(&p.fusion, results, right, __LINE__, __FILE__);
  if (message != "no error") {
    if (message.starts_with("not a user error")) {
      throw InternalError(message);
    }
    throw UserError(message);
  }
}

/// out[4, 6] = in0[4, 6] + in1[4, 6], sizes symbolic.
void sumOfTwo(Program& p) {
  TensorView* a = p.symbolicInput(2);
  TensorView* b = p.symbolicInput(2);
  p.output(add(a, b));
}

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
      {"tensors on two devices", "the arguments are on several devices",
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

std::vector<Case> memoryCases() {
  return {
      {"too few outputs", "1 output tensors were given for a fusion with 2 outputs",
       [](Program& p) {
         TensorView* x = p.symbolicInput(1);
         p.output(neg(x));
         p.output(exp(x));
         const Tensor t = floats({3});
         runWrong(p, {t}, {t}, {Tensor::zeros({3}, D::Float)});
       }},
      {"an output of another size", "needs a tensor float[3]",
       [](Program& p) {
         p.output(neg(p.symbolicInput(1)));
         runWrong(p, {floats({3})}, {floats({3})}, {Tensor::zeros({4}, D::Float)});
       }},
      {"an output of another dtype", "needs a tensor float[3]",
       [](Program& p) {
         p.output(neg(p.symbolicInput(1)));
         runWrong(p, {floats({3})}, {floats({3})}, {Tensor::zeros({3}, D::Double)});
       }},
      {"an output with gaps", "with strides [1], got",
       [](Program& p) {
         p.output(neg(p.symbolicInput(1)));
         runWrong(p, {floats({3})}, {floats({3})},
                  {Tensor::zeros({6}, D::Float).slice(0, 0, 6, 2)});
       }},
      {"an output on another device", "but the kernel runs on",
       [](Program& p) {
         p.output(neg(p.symbolicInput(1)));
         runWrong(p, {floats({3})}, {floats({3})},
                  {Tensor::zeros({3}, D::Float, emulatedDevice())});
       }},
      {"an undefined output", "undefined",
       [](Program& p) {
         p.output(neg(p.symbolicInput(1)));
         runWrong(p, {floats({3})}, {floats({3})}, {Tensor()});
       }},
      {"an output over an input", "overlaps the memory of input 0",
       [](Program& p) {
         p.output(neg(p.symbolicInput(1)));
         const Tensor x = floats({3});
         runWrong(p, {x}, {floats({3})}, {x});
       }},
      {"an output over a part of an input", "overlaps the memory of input 0",
       [](Program& p) {
         p.output(neg(p.symbolicInput(1)));
         const Tensor x = floats({6});
         runWrong(p, {x.slice(0, 0, 4)}, {floats({4})}, {x.slice(0, 2, 6)});
       }},
      {"two outputs in one place", "outputs 0, T1",
       [](Program& p) {
         TensorView* x = p.symbolicInput(1);
         p.output(neg(x));
         p.output(exp(x));
         const Tensor t = Tensor::zeros({3}, D::Float);
         runWrong(p, {floats({3})}, {floats({3})}, {t, t});
       }},
      {"in place of an expanded tensor", "is written to the storage of input",
       [](Program& p) {
         TensorView* x = makeSymbolicTensor(2);
         p.fusion.addInput(x);
         p.fusion.aliasOutputToInput(neg(x), x, AllocationType::ReuseBuffer);
         KernelExecutor executor;
         executor.adopt(p.fusion);
         executor.run({floats({1, 3}).expand({4, 3})});
       }},
      {"in place of columns", "pass a dense tensor of these sizes",
       [](Program& p) {
         TensorView* x = makeSymbolicTensor(2);
         p.fusion.addInput(x);
         p.fusion.aliasOutputToInput(neg(x), x, AllocationType::ReuseBuffer);
         KernelExecutor executor;
         executor.adopt(p.fusion);
         executor.run({floats({3, 4}).permute({1, 0})});
       }},
      {"in place over another input's part", "overlaps the memory of input 1",
       [](Program& p) {
         TensorView* x = p.symbolicInput(1);
         TensorView* y = p.symbolicInput(1);
         p.fusion.aliasOutputToInput(add(x, y), x, AllocationType::ReuseBuffer);
         KernelExecutor executor;
         executor.adopt(p.fusion);
         const Tensor t = floats({6});
         executor.run({t.slice(0, 0, 4), t.slice(0, 2, 6)});
       }},
  };
}

std::vector<Case> tensorCases() {
  return {
      {"a tensor of a negative size at run time", "-2 is negative",
       [](Program&) { Tensor::zeros({-2}, D::Float); }},
      {"a tensor that no memory holds", "more bytes than 2^63 - 1",
       [](Program&) { Tensor::empty({int64_t{1} << 40, int64_t{1} << 40}, D::Float); }},
      {"strides for too few axes", "a tensor of 2 axes was given 1 strides",
       [](Program&) { Tensor::emptyStrided({2, 3}, {1}, D::Float); }},
      {"data that does not fill a tensor", "3 elements do not fill a tensor of sizes [2, 2]",
       [](Program&) { Tensor::fromHost(std::vector<float>{1, 2, 3}, {2, 2}); }},
      {"a copy to another shape", "dtype and sizes have to be the same",
       [](Program&) { floats({3}).copyFrom(floats({4})); }},
      {"the one element of many", "has 3 elements, not one", [](Program&) { floats({3}).item(); }},
      {"a permutation with an axis twice", "stands twice in [0, 0]",
       [](Program&) { floats({2, 3}).permute({0, 0}); }},
      {"a view of another size", "cannot have the sizes [4]",
       [](Program&) { floats({3}).view({4}); }},
      {"a view of columns", "is not contiguous; take contiguous() first",
       [](Program&) { floats({3, 4}).permute({1, 0}).view({12}); }},
      {"an expand of many rows", "only axes of extent 1 expand",
       [](Program&) { floats({3}).expand({6}); }},
  };
}

/// A copy in vectors of four floats, one block of threads for each row.
void vectorCopy(Program& p) {
  TensorView* x = p.symbolicInput(2);
  TensorView* load = set(x);
  TensorView* out = p.output(set(load));
  for (TensorView* tv : {load, out}) {
    tv->split(1, 4);
    tv->axis(0)->parallelize(ParallelType::BIDx);
    tv->axis(1)->parallelize(ParallelType::TIDx);
  }
  load->inlineAt(2);
  load->axis(2)->parallelize(ParallelType::Vectorize);
  out->axis(2)->parallelize(ParallelType::Vectorize);
}

Tensor emulated(const Tensor& tensor) { return tensor.copyTo(emulatedDevice()); }

std::vector<Case> deviceCases() {
  return {
      {"rows that are no whole vectors", "to be a multiple of 4, got 6",
       [](Program& p) {
         vectorCopy(p);
         runWrong(p, {emulated(floats({3, 6}))}, {emulated(floats({3, 8}))});
       }},
      {"a tensor that begins inside a vector", "its address to be a multiple of 16 bytes",
       [](Program& p) {
         vectorCopy(p);
         const Tensor shifted = emulated(floats({9})).slice(0, 1, 9).view({1, 8});
         runWrong(p, {shifted}, {emulated(floats({3, 8}))});
       }},
      {"more threads than a block has", "block extent 2048 is outside 1…1024",
       [](Program& p) {
         p.output(neg(p.symbolicInput(1)))->axis(0)->parallelize(ParallelType::TIDx);
         runWrong(p, {emulated(floats({2048}))}, {emulated(floats({64}))});
       }},
      {"more blocks than a grid has along y", "grid extent 65536 is outside 1…65535",
       [](Program& p) {
         TensorView* out = p.output(neg(p.symbolicInput(1)));
         out->axis(0)->parallelize(ParallelType::BIDy);
         runWrong(p, {emulated(floats({65536}))}, {emulated(floats({5}))});
       }},
      {"more shared memory than a block has", "800000 bytes of shared memory, at most",
       [](Program& p) {
         TensorView* load = set(p.symbolicInput(1));
         TensorView* out = p.output(neg(load));
         load->setMemoryType(MemoryType::Shared);
         (void)out;
         runWrong(p, {emulated(floats({200000}))}, {emulated(floats({100}))});
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
         FusionExecutorCache(std::move(fusion))
             .runFusionWithInputs({floats({3}), emulated(floats({3}))});
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

std::vector<Case> inputs() {
  std::vector<Case> all;
  for (const auto& more :
       {argumentCases(), sizeCases(), memoryCases(), tensorCases(), deviceCases(), cacheCases()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

TEST_CASE("malformed arguments are refused") {
  for (const Case& wrong : inputs()) {
    checkCase(wrong);
  }
}

namespace {

/// The words of the tables in docs/errors.md: the second cell of each row, without its quotes.
std::vector<std::string> documentedWords() {
  std::ifstream file(std::string(NVFUSER_TESTS_DIR) + "/../docs/errors.md");
  REQUIRE_MESSAGE(file.good(), "docs/errors.md is missing");
  std::vector<std::string> words;
  for (std::string line; std::getline(file, line);) {
    const size_t from = line.find("| `");
    const size_t to = line.rfind("` |");
    if (line.starts_with("| ") && from != std::string::npos && to != std::string::npos) {
      words.push_back(line.substr(from + 3, to - from - 3));
    }
  }
  return words;
}

/// Whether the parts between "…" occur in this order.
bool matches(const std::string& message, const std::string& words) {
  static const std::string kAnything = "…";
  size_t at = 0;
  for (size_t from = 0; from <= words.size();) {
    const size_t to = std::min(words.find(kAnything, from), words.size());
    const std::string part = words.substr(from, to - from);
    at = message.find(part, at);
    if (at == std::string::npos) {
      return false;
    }
    at += part.size();
    from = to + kAnything.size();
  }
  return true;
}

}  // namespace

TEST_CASE("malformed cases: docs/errors.md quotes what is said") {
  std::vector<std::string> messages;
  for (const auto& table : {programs(), schedules(), inputs()}) {
    for (const Case& wrong : table) {
      messages.push_back(checkCase(wrong));
    }
  }
  const std::vector<std::string> documented = documentedWords();
  CHECK(documented.size() >= 40);
  for (const std::string& words : documented) {
    const bool said =
        std::any_of(messages.begin(), messages.end(),
                    [&](const std::string& message) { return matches(message, words); });
    CHECK_MESSAGE(said, "no case says: ", words);
  }
}

TEST_CASE("malformed cases: at least 100, all distinct") {
  const size_t counts[] = {programs().size(), schedules().size(), inputs().size()};
  std::set<std::string> names;
  for (const auto& table : {programs(), schedules(), inputs()}) {
    for (const Case& wrong : table) {
      CHECK_MESSAGE(names.insert(wrong.name).second, wrong.name, " is in the tables twice");
      CHECK_MESSAGE(wrong.words.size() >= 8, wrong.name, ": '", wrong.words, "' says too little");
    }
  }
  std::cout << "malformed: " << counts[0] << " programs, " << counts[1] << " schedules, "
            << counts[2] << " arguments: " << names.size() << " cases\n";
  CHECK(names.size() >= 100);
}

}  // namespace nvfuser::malformed
