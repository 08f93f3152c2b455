// What ends a product of matrices and is done by who runs it: recognised, and right; everything
// else stays a kernel.
#include <doctest/doctest.h>

#include <external/providers.h>
#include <numerics/automatic.h>

using namespace nvfuser;

namespace {

using automatic::Input;
using Tensors = std::vector<TensorView*>;
using Define = std::function<std::vector<TensorView*>(const Tensors&)>;

/// On all devices, one call and `kernels` kernels; the report names the call `what`. Half and
/// BFloat16 are rounded before a bias is added or gelu computed, which cuBLASLt does not do: there
/// these ends (all but relu) stay a kernel.
void check(const std::vector<Input>& inputs, const Define& define, size_t kernels,
           const std::string& what) {
  constexpr size_t npos = std::string::npos;
  CAPTURE(what);
  for (Device* device : testDevices()) {
    CAPTURE(device->properties().name);
    auto fusion = std::make_unique<Fusion>();
    {
      FusionGuard guard(fusion.get());
      Tensors tensors;
      for (const Input& one : inputs) {
        tensors.push_back(
            automatic::input(*fusion, static_cast<int64_t>(one.sizes.size()), one.dtype));
      }
      for (TensorView* output : define(tensors)) {
        fusion->addOutput(output);
      }
    }
    FusionExecutorCache cache(std::move(fusion));
    const KernelArgumentHolder arguments = automatic::makeInputs(inputs, *device);
    for (int run = 0; run < 2; ++run) {
      const KernelArgumentHolder results = cache.runFusionWithInputs(arguments);
      testValidate(cache.fusion(), results, arguments, __LINE__, __FILE__, what);
    }
    CAPTURE(cache.report());
    CHECK(cache.numExternalCalls() == 1);
    const bool rounds_between = device->kind() == DeviceKind::Cuda &&
                                inputs[0].dtype != DataType::Float && what.find(" + ") != npos &&
                                what != "linear + relu";
    CHECK(cache.numKernels() == (rounds_between ? 1 : kernels));
    const std::string name = rounds_between ? what.substr(0, what.find(" + ")) : what;
    CHECK(cache.report().find(name + ", run by") != npos);
  }
}

/// As a program of Half or BFloat16 writes it: computed in Float, rounded at the end.
TensorView* as(DataType dtype, TensorView* tv) {
  return tv->dtype() == dtype ? tv : castOp(dtype, tv);
}

}  // namespace

TEST_CASE("relu, tanh_gelu and a bias end a product") {
  for (DataType dtype :
       {DataType(DataType::Float), DataType(DataType::BFloat16), DataType(DataType::Half)}) {
    for (int64_t rows : {3, 100}) {  // few rows, and tiles
      const Input x{{rows, 45}, dtype}, w{{300, 45}, dtype}, v{{45, 300}, dtype}, b{{300}, dtype};
      check(
          {x, w}, [&](const Tensors& t) { return Tensors{as(dtype, relu(linear(t[0], t[1])))}; }, 0,
          "linear + relu");
      check(
          {x, w, b},
          [&](const Tensors& t) { return Tensors{as(dtype, tanh_gelu(linear(t[0], t[1], t[2])))}; },
          0, "linear + tanh_gelu");
      check(
          {x, v, b},
          [&](const Tensors& t) { return Tensors{as(dtype, relu(add(matmul(t[0], t[1]), t[2])))}; },
          0, "matmul + bias + relu");
      check(
          {x, w, b},
          [&](const Tensors& t) {
            return Tensors{as(dtype, tanh_gelu(add(t[2], linear(t[0], t[1]))))};
          },
          0, "linear + bias + tanh_gelu");
      check(
          {x, v, b},
          [&](const Tensors& t) { return Tensors{as(dtype, add(matmul(t[0], t[1]), t[2]))}; }, 0,
          "matmul + bias");
    }
  }
  check(
      {{{2, 3, 5, 7}}, {{7, 6}}, {{6}}},
      [](const Tensors& t) { return Tensors{relu(add(matmul(t[0], t[1]), t[2]))}; }, 0,
      "matmul + bias + relu");
}

TEST_CASE("what is no epilogue stays a kernel") {
  const Input x{{9, 33}}, w{{20, 33}}, b{{20}}, full{{9, 20}};
  check({x, w}, [](const Tensors& t) { return Tensors{gelu(linear(t[0], t[1]))}; }, 1, "linear");
  check({x, w}, [](const Tensors& t) { return Tensors{sigmoid(linear(t[0], t[1]))}; }, 1, "linear");
  check(
      {x, w, full}, [](const Tensors& t) { return Tensors{relu(add(linear(t[0], t[1]), t[2]))}; },
      1, "linear");
  check(
      {x, w, b, b},
      [](const Tensors& t) { return Tensors{relu(add(linear(t[0], t[1], t[2]), t[3]))}; }, 1,
      "linear");  // a second bias
  check(
      {x, w},
      [](const Tensors& t) {
        TensorView* y = linear(t[0], t[1]);
        return Tensors{y, relu(y)};
      },
      1, "linear");  // the product is wanted too
  check(
      {x, w}, [](const Tensors& t) { return Tensors{sum(relu(linear(t[0], t[1])), {1})}; }, 1,
      "linear");
  check(
      {{{9, 33}, DataType::Double}, {{20, 33}, DataType::Double}},
      [](const Tensors& t) { return Tensors{relu(linear(t[0], t[1]))}; }, 1, "linear");
  check(
      {{{9, 33}, DataType::BFloat16}, {{20, 33}, DataType::BFloat16}},
      [](const Tensors& t) { return Tensors{relu(castOp(DataType::Float, linear(t[0], t[1])))}; },
      1, "linear");  // a result of another dtype
}

TEST_CASE("a registered provider gets products without an epilogue") {
  int asked = 0;
  const int64_t id = external::registerProvider("linear", DeviceKind::Cpu, "another",
                                                [&](const external::Call& call) {
                                                  ++asked;
                                                  CHECK_FALSE(call.hasEpilogue());
                                                  external::runPortable(call);
                                                  return true;
                                                });
  auto fusion = std::make_unique<Fusion>();
  {
    FusionGuard guard(fusion.get());
    TensorView* x = automatic::input(*fusion, 2, DataType::Float);
    TensorView* w = automatic::input(*fusion, 2, DataType::Float);
    fusion->addOutput(relu(linear(x, w)));
  }
  FusionExecutorCache cache(std::move(fusion));
  const KernelArgumentHolder arguments =
      automatic::makeInputs({{{9, 33}}, {{20, 33}}}, cpuDevice());
  const KernelArgumentHolder results = cache.runFusionWithInputs(arguments);
  external::unregisterProvider(id);
  testValidate(cache.fusion(), results, arguments, __LINE__, __FILE__);
  CHECK(asked == 1);
  CHECK(cache.numKernels() == 1);
}
