// Rows too long for the registers of a block wait in the shared memory of a cluster's blocks: every
// input is read once, and all is one kernel.
#include "automatic.h"

using namespace nvfuser;
using automatic::Define;
using automatic::input;
using automatic::output;
using automatic::wide;

namespace {

Val* eps() { return IrBuilder::create<Val>(1e-5); }

/// Each run on emulated CUDA is one kernel that holds its rows in shared memory of a cluster.
void checkHeld(const Define& define, const std::vector<automatic::Input>& inputs) {
  for (Device* device : testDevices()) {
    CAPTURE(device->properties().name);
    automatic::Program program(define, *device);
    program.run(inputs);
    if (device->kind() == DeviceKind::Cpu) {
      continue;
    }
    const std::string report = program.cache().report();
    CAPTURE(report);
    CHECK(program.kernels() == 1);
    CHECK(report.find("held in shared memory") != std::string::npos);
    CHECK(report.find(", cluster 8") != std::string::npos);
  }
}

}  // namespace

TEST_CASE("rows in shared memory: softmax, whole vectors of threads and others") {
  const Define softmaxed = [](Fusion& fusion) {
    TensorView* x = wide(input(fusion, 2, DataType::BFloat16));
    output(fusion, softmax(x, 1), DataType::BFloat16);
  };
  for (int64_t row : {131072, 65544, 100008}) {
    CAPTURE(row);
    checkHeld(softmaxed, {{{3, row}, DataType::BFloat16}});
  }
}

TEST_CASE("rows in shared memory: layer norm, with and without a whole share for each block") {
  const Define normalised = [](Fusion& fusion) {
    TensorView* x = input(fusion, 2, DataType::Float);
    TensorView* w = input(fusion, 1, DataType::Float);
    const auto result = layer_norm(x, 1, w, nullptr, eps());
    fusion.addOutput(result.output);
    fusion.addOutput(result.invstd);
  };
  for (int64_t row : {131072, 33004, 65540}) {
    CAPTURE(row);
    checkHeld(normalised, {{{2, row}}, {{row}}});
  }
}

TEST_CASE("rows in shared memory: logarithms of which the greatest is wanted wait in registers") {
  const Define levels = [](Fusion& fusion) {
    TensorView* level = log(clamp(input(fusion, 2, DataType::Float), eps(), nullptr));
    TensorView* greatest = broadcast(max(level, {1}), {false, true});
    output(fusion, div(sub(level, greatest), IrBuilder::create<Val>(4.0)), DataType::Float);
  };
  for (Device* device : testDevices()) {
    CAPTURE(device->properties().name);
    automatic::Program program(levels, *device);
    program.run({{{3, 240000}}});
    if (device->kind() != DeviceKind::Cpu) {
      const std::string report = program.cache().report();
      CAPTURE(report);
      CHECK(program.kernels() == 1);
      CHECK(report.find("held in registers") != std::string::npos);
      CHECK(report.find(", cluster 8") != std::string::npos);
    }
  }
}

TEST_CASE("rows in shared memory: two inputs, and what is computed from both") {
  const Define added = [](Fusion& fusion) {
    TensorView* x = wide(input(fusion, 2, DataType::Half));
    TensorView* y = wide(input(fusion, 2, DataType::Half));
    TensorView* w = wide(input(fusion, 1, DataType::Half));
    TensorView* total = add(x, y);
    output(fusion, total, DataType::Half);
    output(fusion, rms_norm(total, 1, w, eps()).output, DataType::Half);
  };
  checkHeld(
      added,
      {{{2, 65536}, DataType::Half}, {{2, 65536}, DataType::Half}, {{65536}, DataType::Half}});
}
