// Right programs run with tensors that they cannot read or write, or on devices that cannot run
// them; and tensors that cannot be. Each executor still runs right ones afterwards.
#include <malformed_inputs.h>

namespace nvfuser::malformed {

namespace {

/// Negates a matrix in its own memory.
void negateInPlace(Program& p, const Tensor& matrix) {
  TensorView* x = makeSymbolicTensor(2);
  p.fusion.addInput(x);
  p.fusion.aliasOutputToInput(neg(x), x, AllocationType::ReuseBuffer);
  KernelExecutor executor;
  executor.adopt(p.fusion);
  executor.run({matrix});
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
      {"in place of an expanded tensor", "refers to a single memory location: output 0, T1",
       [](Program& p) { negateInPlace(p, floats({1, 3}).expand({4, 3})); }},
      {"in place of overlapping rows", "which has sizes [3, 2] and strides [1, 1]; clone() it",
       [](Program& p) { negateInPlace(p, floats({4}).asStrided({3, 2}, {1, 1}, 0)); }},
      {"in place of a tensor of another size", "of sizes [4] is written to the storage of input 0",
       [](Program& p) {
         TensorView* x = p.symbolicInput(1);
         p.fusion.aliasOutputToInput(neg(p.symbolicInput(1)), x, AllocationType::ReuseBuffer);
         KernelExecutor executor;
         executor.adopt(p.fusion);
         executor.run({floats({3}), floats({4})});
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
      {"memory before the first element", "strides [-3, 1]: -3 is negative",
       [](Program&) { Tensor::emptyStrided({2, 3}, {-3, 1}, D::Float); }},
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
      {"more threads than a block has",
       "block extent 2048 is outside 1…1024 of threadIdx.x; split the axis",
       [](Program& p) {
         p.output(neg(p.symbolicInput(1)))->axis(0)->parallelize(ParallelType::TIDx);
         runWrong(p, {emulated(floats({2048}))}, {emulated(floats({64}))});
       }},
      {"more blocks than a grid has along y",
       "grid extent 65536 is outside 1…65535 of blockIdx.y; split the axis",
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

}  // namespace

std::vector<Case> wrongStorage() {
  std::vector<Case> all;
  for (const auto& more : {memoryCases(), tensorCases(), deviceCases()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

TEST_CASE("malformed tensors are refused") {
  for (const Case& wrong : wrongStorage()) {
    checkCase(wrong);
  }
}

}  // namespace nvfuser::malformed
