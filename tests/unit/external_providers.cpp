// Who runs an operation of a library: in which order providers are asked, and with what memory.
#include <doctest/doctest.h>

#include <external/providers.h>
#include <fusion.h>
#include <ir/builder.h>
#include <ops/all_ops.h>

namespace nvfuser {
namespace {

using external::Call;
using external::Results;
using external::Turn;

struct Registration {
  explicit Registration(int64_t given) : id(given) {}
  ~Registration() { external::unregisterProvider(id); }
  int64_t id;
};

/// A cumsum of three numbers, whose result has memory when somebody asks for it.
struct CumsumCall {
  CumsumCall() : guard(&fusion) {
    const TensorView* sums = cumsum(makeContigTensor(1), 0);
    call.op = sums->definition();
    call.inputs.emplace_back(TensorRef{numbers, DataType::Float, {3}, {1}});
    call.outputs.push_back({nullptr, DataType::Float, {3}, {1}});
    call.machine = &machine;
    call.declined = &declined;
    call.allocate = [this] {
      ++allocations;
      call.outputs[0].data = result;
    };
  }

  Fusion fusion;
  FusionGuard guard;
  float numbers[3] = {1, 2, 3};
  float result[3] = {0, 0, 0};
  external::Machine machine;
  int allocations = 0;
  std::string declined;
  Call call;
};

Registration registered(const char* name, external::Provider provider, Turn turn = Turn::First,
                        Results results = Results::Allocated, DeviceKind device = DeviceKind::Cpu) {
  return Registration(
      external::registerProvider("scan", device, name, std::move(provider), turn, results));
}

TEST_CASE("providers that adopt results get no memory, all others do") {
  CumsumCall one;
  {
    const Registration adopts = registered(
        "adopts", [](const Call& call) { return call.outputs[0].data == nullptr; }, Turn::First,
        Results::Adopted);
    std::string why;
    CHECK(external::runOnDevice(one.call, &why) == "adopts");
    CHECK(one.allocations == 0);
  }
  const Registration declines = registered(
      "declines",
      [](const Call& call) {
        *call.declined = "not today";
        return false;
      },
      Turn::First, Results::Adopted);
  std::string why;
  CHECK(external::runOnDevice(one.call, &why) == "portable code");
  CHECK(one.allocations == 1);
  CHECK(one.result[2] == 6);
  CHECK(one.declined == "not today");
}

TEST_CASE("providers for the rest are asked when the device's library declines") {
  CumsumCall one;
  one.machine.kind = DeviceKind::Cuda;
  std::string why;
  CHECK_FALSE(external::runOnDevice(one.call, &why));
  CHECK(why.find("import torch") != std::string::npos);
  const auto takes = [](const Call&) { return true; };
  const Registration rest =
      registered("rest", takes, Turn::ForTheRest, Results::Allocated, DeviceKind::Cuda);
  CHECK(external::runOnDevice(one.call, &why) == "rest");
  const Registration first =
      registered("first", takes, Turn::First, Results::Allocated, DeviceKind::Cuda);
  CHECK(external::runOnDevice(one.call, &why) == "first");
}

TEST_CASE("a provider for the rest leaves products their epilogues") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  const TensorView* product = matmul(makeContigTensor(2), makeContigTensor(2));
  const auto takes = [&] {
    return external::takesEpilogue(product->definition(), Epilogue::Relu, false, DeviceKind::Cuda);
  };
  const auto declines = [](const Call&) { return false; };
  CHECK(takes());
  const Registration rest(
      external::registerProvider("matmul", DeviceKind::Cuda, "rest", declines, Turn::ForTheRest));
  CHECK(takes());
  const Registration first(
      external::registerProvider("matmul", DeviceKind::Cuda, "first", declines));
  CHECK_FALSE(takes());
}

}  // namespace
}  // namespace nvfuser
