// Which pointers a kernel's compiler may take to be the only way to their memory.
#include <doctest/doctest.h>

#include <codegen.h>
#include <device_lower/lower2device.h>
#include <fusion.h>
#include <ops/all_ops.h>
#include <support/text.h>

using namespace nvfuser;

namespace {

/// Names of the tensors that are restrict, in order.
std::string restricted(Fusion& fusion) {
  const std::string kernel = codegen::generateCudaKernel(GpuLower(&fusion).run());
  std::string names;
  constexpr std::string_view kWord = "__restrict__ ";
  for (size_t at = 0; (at = kernel.find(kWord, at)) != std::string::npos;) {
    at += kWord.size();
    append(names, text(kernel.substr(at, kernel.find_first_of(",)", at) - at), " "));
  }
  return names;
}

}  // namespace

TEST_CASE("restrict: tensors with memory of their own") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = makeContigTensor(1);
  fusion.addInput(x);
  fusion.addOutput(neg(x));
  CHECK(restricted(fusion) == "T0 T1 ");
}

TEST_CASE("restrict: neither an output in an input's memory nor that input") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = makeContigTensor(1);
  TensorView* y = makeContigTensor(1);
  fusion.addInput(x);
  fusion.addInput(y);
  TensorView* updated = neg(x);
  TensorView* result = neg(y);
  fusion.addOutput(updated);
  fusion.addOutput(result);
  fusion.aliasOutputToInput(updated, x, AllocationType::ReuseBuffer);
  CHECK(restricted(fusion) == "T1 T3 ");
}
